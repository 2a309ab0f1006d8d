/*
 * reply.h - what antiphase-topology answers, taken apart.  Pure; the texts come from
 * another process and are hostile until checked.
 */
#ifndef TOPOLOGY_REPLY_H
#define TOPOLOGY_REPLY_H

#include <stddef.h>

struct err;
struct topo;

/*
 * Checks that a reply (terminated) is one, and no error.  'from' is where it came from,
 * for messages.  0, or -EINVAL with 'err' filled: the service's own words, if it has any.
 */
int topo_reply_check(const char *from, const char *reply, size_t n, struct err *err);

/* The plan in the reply to "snapshot", as a new reference; 0 or as above. */
int topo_reply_plan(const char *from, const char *reply, size_t n,
		    struct topo **ret_topo, struct err *err);

#endif
