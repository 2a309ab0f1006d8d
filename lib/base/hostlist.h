/*
 * hostlist.h - lists of names as Slurm writes them: "n[01-16,20],gpu7".
 */
#ifndef LIB_BASE_HOSTLIST_H
#define LIB_BASE_HOSTLIST_H

#include <stddef.h>

struct strbuf;

#define HOSTLIST_MAX_NAME 255 /* Characters of one expanded name. */

/*
 * Expands 'text' and calls 'name' for each name in order, with the number of
 * names limited to 'max_names'.  'name' returns 0 to go on or a negative
 * errno, which is returned.  Returns 0, -EINVAL with a static reason in
 * '*ret_why', or -E2BIG.  Up to two bracket groups a name.
 */
int hostlist_expand(const char *text, size_t max_names,
		    int (*name)(void *ctx, const char *name), void *ctx,
		    const char **ret_why);

/* Appends the names, folded into ranges where they follow each other. */
void hostlist_fold(const char *const *names, size_t n, struct strbuf *out);

#endif
