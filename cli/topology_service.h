/*
 * topology_service.h - verbs that ask antiphase-topology.
 */
#ifndef CLI_TOPOLOGY_SERVICE_H
#define CLI_TOPOLOGY_SERVICE_H

#include <stdbool.h>
#include <stddef.h>

struct bus_keys;
struct err;
struct topo;

#define TOPOLOGY_SERVICE "tcp://127.0.0.1:7462"
#define TOPOLOGY_CHANGES "tcp://127.0.0.1:7463"

/*
 * The directory of keys for what these functions connect to, of the option --keys that
 * verbs fill; NULL at first, then that of $ANTIPHASE_KEYS, if it is set.
 */
extern const char *topology_keys;

/* Loads them: 0, with NULL if there are none; or -errno with 'err' filled. */
int topology_load_keys(struct bus_keys **ret_keys, struct err *err);

/* True if a FILE operand is the address of a service instead. */
bool topology_is_endpoint(const char *path);

/*
 * Sends a request.  Returns 0 and a new reply that is no error; or -ECONNREFUSED if
 * nobody answers (exit 3), -EACCES for a wrong key (5), -EINVAL for an error reply, with
 * 'err' filled.
 */
int topology_ask(const char *endpoint, const char *request, char **ret_reply,
		 size_t *ret_n, struct err *err);

/* The service's plan.  Returns 0 and a new reference, or as topology_ask(). */
int topology_ask_plan(const char *endpoint, struct topo **ret_topo, struct err *err);

/* Prints 'err' and returns the exit status for what these functions returned. */
int topology_fail(int error, const struct err *err);

#endif
