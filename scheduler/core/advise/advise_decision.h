/*
 * advise_decision.h - one component while its shifts and pacing are decided;
 * what advise_shift.c and advise_ways.c share.
 */
#ifndef SCHEDULER_CORE_ADVISE_ADVISE_DECISION_H
#define SCHEDULER_CORE_ADVISE_ADVISE_DECISION_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "scheduler/core/advise/advise_internal.h"

/* A way to act on a component, and what it is predicted to give. */
struct way {
	bool is_shifted;            /* Its movable jobs, that is. */
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
	VEC(struct way) ways; /* By how little they ask; the first asks nothing. */
};

/* Whether job number i of the component starts at its phase in this way. */
bool way_is_phased(const struct decision *d, const struct way *way, size_t i);

/*
 * Predicts all ways worth trying: nothing, the shifts alone, turns at a gate
 * for as many jobs as a load threshold lets in, and the grid.
 */
void ways_predict(struct decision *d);
void ways_fini(struct decision *d);

/* The index of the best way that harms nobody and pays. */
size_t ways_choose(const struct decision *d);

#endif
