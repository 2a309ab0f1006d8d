/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_inference.h - which of its equally short paths each flow takes, inferred from
 * byte counters of links
 *
 * Given are, for the same bins of time, the bytes r_f(t) that the host of each flow
 * sent, and the bytes y_l(t) that links carried. A flow takes one path, so
 *
 *	y_l(t) = sum over flows f whose path has l of (k * r_f)(t) + b_l + noise
 *
 * k is a filter of three bins with weights >= 0 that add up to 1. It is the same for
 * all links of one clock (a switch) and stands for a difference of clocks of up to one
 * bin, and for counters that are read more rarely than bins end. b_l is other traffic.
 * It may change from one block of BLOCK bins to the next: only how traffic varies within
 * blocks counts, and constant traffic says nothing.
 *
 * The assignment of flows to paths with the least sum of squares, over all links in
 * units of each link's noise, is found by descent. For each flow and each of its other
 * paths the best assignment with the flow on that path is found, too. A path is an
 * answer only if
 *
 *	- it fits better than each other one by PATH_INFERENCE_MARGIN standard errors.
 *	  That is Vuong's test (1989) on the means of N_BATCHES parts of the time, so it
 *	  asks neither for normal nor for independent noise;
 *	- the difference is no less than MIN_EFFECT of what the flow alone would make:
 *	  flows that are nearly proportional to each other are not told apart, since
 *	  hosts and switches count slightly different bytes;
 *	- a fit with a free factor of the flow has it near 1 on the path, and near 0 on
 *	  each other one: a flow that is split, or whose true path is not among those
 *	  given, fits nowhere;
 *	- on each link of the path, flows explain part of the variance: they do not where
 *	  counters are read much more rarely than bins end.
 *
 * Otherwise the path is not known, with a reason. Less than 1 % of the answers are to
 * be wrong; tests/unit/test_path_inference.c and docs/paths.md measure it.
 *
 * Pure and deterministic. Memory: O(links x flows of a link squared), at most
 * PATH_INFERENCE_MAX_FLOWS of a link. Time: that times bins, plus O(flows x paths x
 * flows that share links x paths).
 */
#ifndef SCHEDULER_CORE_PATHS_PATH_INFERENCE_H
#define SCHEDULER_CORE_PATHS_PATH_INFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A bin of which nothing is known. */
#define PATH_INFERENCE_GAP (-1.0f)

/* Fewer known bins of a link say nothing. */
#define PATH_INFERENCE_MIN_BINS 32

/* Standard errors by which an answer fits better than each other path. */
#define PATH_INFERENCE_MARGIN 4.0

/* Flows that may cross a link: those that vary most; the others are other traffic. */
#define PATH_INFERENCE_MAX_FLOWS 64

/* Of a flow; with more, its path is not known. */
#define PATH_INFERENCE_MAX_PATHS 64

struct path_inference_flow {
	const float *bytes;        /* [n_bins * n_parts]. */
	uint32_t n_paths;          /* At least 1. */
	const uint32_t *path_ends; /* Path p has path_links[path_ends[p - 1], or 0 .. */
	const uint32_t *path_links; /* path_ends[p]): indices of links. */
};

struct path_inference_link {
	const float *bytes; /* [n_bins]; NULL: not counted. */
	uint32_t clock;     /* Links with the same number have the same clock. */
};

struct path_inference_problem {
	size_t n_bins;
	size_t n_parts; /* Of a bin, in the series of flows. */
	size_t n_flows, n_links;
	const struct path_inference_flow *flows;
	const struct path_inference_link *links;
};

enum path_inference_reason {
	PATH_INFERENCE_KNOWN,
	PATH_INFERENCE_NO_COUNTERS, /* No counters of links that tell paths apart. */
	PATH_INFERENCE_NO_TRAFFIC,  /* The flow's own series is unknown, or constant. */
	PATH_INFERENCE_UNCLEAR,     /* Another path fits about as well, so far. */
	PATH_INFERENCE_NO_FIT,      /* No path fits: split, or another destination. */
	PATH_INFERENCE_TOO_MANY,    /* Paths, or flows on its links. */
};

/* "known", "the links' counters are not known", and so on. */
extern const char *const path_inference_reason_texts[];

struct path_inference_answer {
	enum path_inference_reason reason;
	uint32_t path; /* The best one; without meaning but for KNOWN. */
	double margin; /* Standard errors by which it fits better than any other one. */
};

/* Fills ret_answers[n_flows]. */
void path_inference_run(const struct path_inference_problem *problem,
			struct path_inference_answer *ret_answers);

#endif
