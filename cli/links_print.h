/* SPDX-License-Identifier: Apache-2.0 */
/*
 * links_print.h - links and the jobs on them, for people and for programs.
 */
#ifndef CLI_LINKS_PRINT_H
#define CLI_LINKS_PRINT_H

#include <stdbool.h>
#include <stddef.h>

struct contention;
struct contention_link;
struct screen;
struct strbuf;

/* Whether a link is in the default selection: OVER > 0 or PEAK > 70 %. */
bool links_is_notable(const struct contention_link *link);

/*
 * The lines of a table of links[0 .. n), heading first, within 'columns' if names
 * allow it.  Returns a new array of n + 1 lines, each to be freed.
 */
char **links_table(const struct screen *screen,
		   const struct contention_link *const *links, size_t n,
		   unsigned columns);

/* One link of 'found': the traffic that it carries and the jobs that send it. */
void links_detail(const struct screen *screen, const struct contention *found,
		  const struct contention_link *link, struct strbuf *out);

#endif
