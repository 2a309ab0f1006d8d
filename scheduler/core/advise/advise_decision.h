/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advise_decision.h - the decision on shifts and pacing of one component, between
 * advise_shift.c and advise_variants.c.
 */
#ifndef SCHEDULER_CORE_ADVISE_ADVISE_DECISION_H
#define SCHEDULER_CORE_ADVISE_ADVISE_DECISION_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "scheduler/core/advise/advise_internal.h"

/* One variant of advice for the component, with its prediction. */
struct variant {
	bool is_shifted;            /* The movable jobs are. */
	enum engine_pacing *pacing; /* Owned.  Of its jobs. */
	struct prediction prediction;
	double goodput;  /* Sum of weight / slowdown. */
	uint32_t harmed; /* A job beyond the cap, or TOPO_NONE. */
	bool pays;       /* Saves more than its delay. */
};

struct decision {
	const struct component *component;
	const struct advise_ctx *ctx;
	struct plan *plan;
	bool *is_movable; /* Owned.  Of its jobs: a shift can do something. */
	bool has_movable;
	int64_t *phase_us, *slack_us; /* Owned.  Of its jobs. */
	double *excess_bps;           /* Owned.  Of its links, at those phases. */
	VEC(struct variant)
	variants; /* The least intrusive first; the first is: nothing. */
};

/* True if job i of the component starts at its phase in this variant. */
bool variant_is_phased(const struct decision *d, const struct variant *variant,
		       size_t i);

/*
 * Predicts all variants worth trying: nothing, shifts only, a gate for as many jobs as
 * a load threshold lets in, and the grid.
 */
void variants_predict(struct decision *d);
void variants_fini(struct decision *d);

/* The index of the best variant that harms no job and pays. */
size_t variants_choose(const struct decision *d);

#endif
