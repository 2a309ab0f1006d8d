/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advice_svg.h - the circle of one link under an advice.
 */
#ifndef CLI_ADVICE_SVG_H
#define CLI_ADVICE_SVG_H

#include <stdbool.h>
#include <stdint.h>

struct advice_set;
struct routes;
struct topo;
struct workload;

/* The link whose jobs exceed it most under the set, or TOPO_NONE. */
uint32_t advice_worst_link(const struct advice_set *set);

/*
 * Draws the jobs that the set puts on 'link': at its shifts, or, if not
 * 'at_shifts', as if all started with their arrival.  Returns the new text of
 * an SVG document; free with free(); or NULL if a job cannot be routed.
 */
char *advice_link_svg(const struct advice_set *set, const struct workload *workload,
		      struct topo *topo, struct routes *routes, uint32_t link,
		      bool at_shifts, const char *subtitle);

#endif
