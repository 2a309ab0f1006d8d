/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_fit_internal.h - what the files of path_fit share.
 *
 * With R_f the filtered and centered series of flow f on a link, and S the flows there,
 * the residual is e = y - sum over S of R_f.  Kept are |e|^2, the products u_f = R_f e of
 * all flows that may come, and G_fg = R_f R_g:
 *
 *	f leaves:  |e|^2 += G_ff + 2 u_f,  u_g += G_fg
 *	f comes:   |e|^2 += G_ff - 2 u_f,  u_g -= G_fg
 */
#ifndef SCHEDULER_CORE_PATHS_PATH_FIT_INTERNAL_H
#define SCHEDULER_CORE_PATHS_PATH_FIT_INTERNAL_H

#include "scheduler/core/paths/path_fit.h"
#include "scheduler/core/paths/path_inference.h"

/* Bins of a block, within which series are centered. */
#define PATH_FIT_BLOCK 16

/*
 * A filter of a clock: what counters report of bin t is
 *
 *	(1 - mix) x(t + shift) + mix x(t + shift - 1 bin)
 *
 * with x the traffic of one bin from that time on. Readings at other times than bins
 * end are spread evenly over the bins between them, which gives the mix.
 */
struct path_fit_filter {
	int32_t shift; /* In parts of a bin: from -1 bin to below 2. */
	uint8_t mix;   /* In quarters. */
};

struct path_fit_link {
	bool is_counted;
	uint32_t n_flows, n_valid;
	uint32_t *flows; /* Owned. Flows that may cross it. */
	uint8_t *valid;  /* Owned. [n_bins]. */
	float *y;        /* Owned. [n_bins], centered; 0 where not valid. */
	float *e;        /* Owned. Residual of the remembered paths, or NULL. */
	float *gram;     /* Owned. [n_flows][n_flows]. */
	double *u;       /* Owned. [n_flows]. */
	double yy, rss, floor, weight;
};

struct path_fit {
	const struct path_inference_problem *problem; /* Borrowed. */
	struct path_fit_link *links;                  /* Owned. */
	uint32_t **places;     /* Owned. By flow: place in each of its path_links. */
	uint32_t *path;        /* Owned. By flow. */
	uint32_t *remembered;  /* Owned. By flow. */
	bool *varies, *crowds; /* Owned. By flow. */
	uint32_t n_clocks;
	struct path_fit_filter *filters; /* Owned. By clock. */
	double *trust;                   /* Owned. By clock, 0 to 1. */
	float **windows; /* Owned. By flow: bytes of one bin from each part on. */
	uint8_t **known; /* Owned. By flow: [n_bins]. */
	size_t n_windows;
	float *series; /* Owned. [PATH_INFERENCE_MAX_FLOWS][n_bins]. */
};

#define PATH_FIT_NO_PLACE UINT32_MAX

static inline uint32_t
path_fit_first(const struct path_inference_flow *flow, uint32_t path)
{
	return path ? flow->path_ends[path - 1] : 0;
}

static inline bool
path_fit_has_link(const struct path_inference_flow *flow, uint32_t path, uint32_t link)
{
	if (path == PATH_FIT_NONE)
		return false;
	for (uint32_t i = path_fit_first(flow, path); i < flow->path_ends[path]; i++)
		if (flow->path_links[i] == link)
			return true;
	return false;
}

/* ---- Series (path_fit_filter.c) --------------------------------------------------- */

/* Subtracts from each block its mean over the link's valid bins; others become 0. */
void path_fit_center(const struct path_fit_link *link, size_t n_bins, float *series);

/* The filtered and centered series of a flow on link 'l', [n_bins]. */
void path_fit_series(const struct path_fit *fit, uint32_t l, uint32_t flow,
		     float *ret_series);

double path_fit_product(const float *a, const float *b, size_t n);

/* Sets a clock's filter, and how far it is to be trusted, before any path is known. */
void path_fit_guess_filter(struct path_fit *fit, uint32_t clock);

/* Estimates a clock's filter, given the present paths; returns whether it has changed. */
bool path_fit_estimate_filter(struct path_fit *fit, uint32_t clock);

#endif
