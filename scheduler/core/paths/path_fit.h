/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_fit.h - the sum of squares between links' counters and an assignment of flows to
 * paths, kept up to date as flows move
 *
 * For path_inference.c, whose header has the model. Each link has the inner products of
 * its flows' series, filtered and centered, so that a move costs O(flows of the link).
 */
#ifndef SCHEDULER_CORE_PATHS_PATH_FIT_H
#define SCHEDULER_CORE_PATHS_PATH_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct path_inference_problem;

#define PATH_FIT_NONE UINT32_MAX

struct path_fit;

/* All flows are off; filters are estimated as if each flow used its paths equally. */
struct path_fit *path_fit_new(const struct path_inference_problem *problem);
void path_fit_free(struct path_fit *fit); /* Accepts NULL. */

/* Estimates filters and noise given the present paths; returns whether filters changed. */
bool path_fit_estimate(struct path_fit *fit);

/* Puts a flow on a path, or on PATH_FIT_NONE. */
void path_fit_move(struct path_fit *fit, uint32_t flow, uint32_t path);
uint32_t path_fit_path(const struct path_fit *fit, uint32_t flow);
/* The change of the weighted sum of squares if the flow moved there. O(links). */
double path_fit_gain(const struct path_fit *fit, uint32_t flow, uint32_t path);
/* The weighted sum of squares that the flow alone has on links of only one of them. */
double path_fit_power(const struct path_fit *fit, uint32_t flow, uint32_t a,
		      uint32_t b);

/* Whether the flow's series is known and varies. */
bool path_fit_varies(const struct path_fit *fit, uint32_t flow);
/* Whether one of its links has more flows than are kept. */
bool path_fit_is_crowded(const struct path_fit *fit, uint32_t flow);
/* Whether there are counters of a link that is on only one of two paths of the flow. */
bool path_fit_tells_apart(const struct path_fit *fit, uint32_t flow, uint32_t a,
			  uint32_t b);

/*
 * The factor of the flow that fits best on the links that 'path' has and 'other' has
 * not, all other flows and its own present path as they are.
 */
double path_fit_factor(const struct path_fit *fit, uint32_t flow, uint32_t path,
		       uint32_t other);

/*
 * The part of their variance that flows explain on the counted links of the flow's
 * path: of the link where it is least. Below 0: it were better without any flow.
 */
double path_fit_explained(const struct path_fit *fit, uint32_t flow);

/* Flows that may share a counted link with 'flow', but not itself; new array. */
uint32_t *path_fit_neighbors(struct path_fit *fit, uint32_t flow, size_t *ret_n);

/* ---- Bin by bin ------------------------------------------------------------------- */

/* Remembers the present paths for path_fit_difference(). */
void path_fit_remember(struct path_fit *fit);
/*
 * Adds, for flows[0 .. n) that have moved since then, how much the weighted squares of
 * each bin have grown, to parts[n_parts], equal parts of the time.
 */
void path_fit_difference(struct path_fit *fit, const uint32_t *flows, size_t n,
			 double *parts, size_t n_parts);

#endif
