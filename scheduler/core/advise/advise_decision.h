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
	bool is_shifted;            /* Whether the movable jobs are shifted. */
	enum engine_pacing *pacing; /* Owned.  By job of the component. */
	struct prediction prediction;
	double goodput;  /* Sum of weight / slowdown. */
	uint32_t harmed; /* A job beyond the cap, or TOPO_NONE. */
	bool pays;       /* It saves more than its delay costs. */
};

struct decision {
	const struct component *component;
	const struct advise_ctx *ctx;
	struct plan *plan;
	bool is_predicted; /* The plan's slowdowns are those without a change. */
	bool *is_movable; /* Owned.  By job of the component: shifting has an effect. */
	bool has_movable;
	int64_t *phase_us, *slack_us; /* Owned.  By job of the component. */
	double *excess_bps;           /* Owned.  By link, at those phases. */
	VEC(struct variant)
	variants; /* Least intrusive first; the first one changes nothing. */
};

/* True if job i of the component starts at its phase in this variant. */
bool variant_is_phased(const struct decision *d, const struct variant *variant,
		       size_t i);

/*
 * Predicts all variants worth trying: no change, shifts only, a gate for the jobs below
 * a load threshold, and the grid.
 */
void variants_predict(struct decision *d);
void variants_fini(struct decision *d);

/* The index of the best variant that harms no job and pays. */
size_t variants_choose(const struct decision *d);

#endif
