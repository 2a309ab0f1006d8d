/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostlist.h - host lists in Slurm's notation: "n[01-16,20],gpu7".
 */
#ifndef LIB_BASE_HOSTLIST_H
#define LIB_BASE_HOSTLIST_H

#include <stddef.h>

struct strbuf;

#define HOSTLIST_MAX_NAME 255 /* Characters of one expanded name. */

/*
 * Calls 'name' for each name of 'text', in order, until it returns a negative errno,
 * which is then the result.  Otherwise returns 0, -EINVAL with a static reason in
 * '*ret_why', or -E2BIG for more than 'max_names'.  A name has at most two bracket
 * groups.
 */
int hostlist_expand(const char *text, size_t max_names,
		    int (*name)(void *ctx, const char *name), void *ctx,
		    const char **ret_why);

/* Appends the names, with consecutive ones folded into ranges. */
void hostlist_fold(const char *const *names, size_t n, struct strbuf *out);

#endif
