/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collisions_print.h - the flows that meet on links, for people and for programs
 *
 * As scheduler/live/collisions.h finds them: which flows, by which hash, and which
 * other path has room.
 */
#ifndef CLI_COLLISIONS_PRINT_H
#define CLI_COLLISIONS_PRINT_H

#include <stddef.h>

struct contention;
struct contention_link;
struct jsonw;
struct screen;
struct strbuf;

/* A line for each flow that crosses a link of 'found'; none if its jobs do not meet. */
void collisions_add(const struct screen *screen, const struct contention *found,
		    const struct contention_link *link, struct strbuf *out);

/*
 * A line for each full link of links[0 .. n) with flows that have another path.  Of
 * links with the same flows, only for the first.
 */
void collisions_add_all(const struct screen *screen, const struct contention *found,
			const struct contention_link *const *links, size_t n,
			struct strbuf *out);

/* The array "collisions": the flows on each of these links. */
void collisions_json(const struct screen *screen, const struct contention *found,
		     const struct contention_link *const *links, size_t n,
		     struct jsonw *w);

#endif
