/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mechanism.h - the slots that policies are composed of.
 *
 *	admit   which submitted jobs are considered at all
 *	order   the order of service, and what happens when a job does not fit: the jobs
 *	        behind it wait too (strict), or are tried (skip)
 *	size    how many GPUs each job gets
 *	place   on which GPUs
 *	plan    several of these at once, instead of order, size and place
 *	keep    what running jobs keep when there is a new plan
 *
 * Each mechanism is a file.  It has its own state, which starts zeroed, and never
 * reads the state of another mechanism.  It receives events (on_event) and may ask
 * to be called at a time without an event (wakeup_s). Mechanisms are pure and
 * deterministic: ties go by the rule in the mechanism's comment, then by submission,
 * then by id; randomness comes from the stream that init receives.
 */
#ifndef POLICIES_MECHANISM_H
#define POLICIES_MECHANISM_H

#include "policies/plan.h"
#include "policies/view.h"

struct rng;

enum pol_event {
	POL_ARRIVED, /* Submitted; for all slots but 'admit', admitted. */
	POL_STARTED,
	POL_STOPPED, /* Preempted. */
	POL_DONE,    /* The view no longer has the job. */
	POL_CHANGED, /* Its remaining work or its speed has changed. */
	POL_N_EVENTS,
};

/* A parameter that the user may set: "las.limit0". */
struct pol_param {
	const char *name, *text; /* text: one line, with the unit and the source. */
	double value, min, max;  /* value: the default. */
	bool is_whole;           /* No fractions: a count or a choice. */
};

/* A whole number and a switch, as a struct pol_param. */
#define POL_WHOLE(name, text, value, min, max)    \
	{                                         \
		name, text, value, min, max, true \
	}
#define POL_SWITCH(name, text, value)         \
	{                                     \
		name, text, value, 0, 1, true \
	}

/* The first member of every mechanism. */
struct pol_module {
	const char *name; /* "2d-las"; unique within its slot. */
	const char *text; /* One line. */
	const struct pol_param
		*params; /* Ends with an entry without a name; or NULL. */
	size_t state_size;
	/* Any may be NULL.  'params': values, in the order of the table above. */
	void (*init)(void *state, const double *params,
		     const struct pol_cluster *cluster, struct rng *rng);
	void (*fini)(void *state);
	void (*on_event)(void *state, const struct pol_view *view, enum pol_event event,
			 const struct pol_job *job);
	double (*wakeup_s)(void *state, const struct pol_view *view); /* INFINITY. */
	/*
	 * Checks values, each of which is in its range, against one another.  Returns a
	 * static text that says what to set, or NULL if they are consistent.
	 */
	const char *(*why_not)(const double *params);
	/*
	 * Called after init with the GPU seconds of jobs that ran elsewhere,
	 * ascending.
	 */
	void (*samples)(void *state, const double *sorted, size_t n);
	/*
	 * Called after init where jobs hold leases (lease.h), with the length of one.
	 */
	void (*leases)(void *state, double lease_s);
	/* Called after init where the policy has rounds, with the length of one. */
	void (*rounds)(void *state, double round_s);
};

struct pol_admit {
	struct pol_module module;
	/* Whether a submitted job is admitted now.  An admitted job stays admitted. */
	bool (*admit)(void *state, const struct pol_view *view,
		      const struct pol_job *job);
};

enum pol_fit {
	POL_STRICT, /* A job that does not fit ends the walk. */
	POL_SKIP,   /* A job that does not fit is skipped. */
};

struct pol_order {
	struct pol_module module;
	enum pol_fit fit;
	/*
	 * Writes the ids of the jobs to serve, in the order of service; returns how
	 * many.  A job that is left out is not served this time.
	 */
	uint32_t (*order)(void *state, const struct pol_view *view, uint32_t *ret_ids);
	/*
	 * For clusters with several types of GPUs: writes the type of each entry that
	 * 'order' wrote last.  A job is then listed once for each type that it may use
	 * and runs on the first that has room.  Only with POL_KEEP_CHOSEN. NULL: each
	 * job is listed once, for any type.
	 */
	void (*types)(void *state, uint32_t *ret_types);
	/* Receives the plan that was chosen; or NULL. */
	void (*served)(void *state, const struct pol_view *view,
		       const struct pol_plan *plan);
};

/* The GPUs that a job is to get, before placement. */
struct pol_want {
	uint32_t job, n_gpus, type; /* type POL_NONE: any. */
	uint32_t n_held;  /* GPUs that it has now; a copy, since most jobs have none. */
	uint32_t n_ranks; /* On each GPU, as in pol_grant; 0: one. */
};

struct pol_size {
	struct pol_module module;
	/*
	 * Sets n_gpus of jobs in the order of service; 0: none for now.  May reorder
	 * the array: jobs are placed in its order.
	 */
	void (*size)(void *state, const struct pol_view *view, struct pol_want *wants,
		     uint32_t n);
};

/* GPUs that are free while a plan grows; see places.h. */
struct pol_free {
	uint32_t *n_free; /* [n_nodes] */
	uint32_t n_all;
};

struct pol_place {
	struct pol_module module;
	/*
	 * Takes 'want' from 'free' and appends its pieces, ascending by node.  Returns
	 * how many pieces, or 0 if the job does not fit; then nothing is taken.
	 */
	uint32_t (*place)(void *state, const struct pol_view *view,
			  const struct pol_want *want, struct pol_free *free,
			  struct pol_plan *plan);
	bool scatters; /* All GPUs are equivalent. */
	/* With 'scatters': whether this job's GPUs matter nevertheless; NULL: never. */
	bool (*is_bound)(const void *state, const struct pol_job *job);
};

struct pol_planner {
	struct pol_module module;
	/*
	 * Makes up to 'n_max' plans of about the same score, best first; returns how
	 * many, at least one.
	 */
	uint32_t (*plan)(void *state, const struct pol_view *view,
			 struct pol_plan *plans, uint32_t n_max);
	/*
	 * By node, its part: nodes of different parts are never interchangeable
	 * (augment.h).  Borrowed, and always the same; NULL: there are no parts.
	 */
	const uint32_t *(*parts)(const void *state);
	bool by_type; /* The GPUs of a job are of one type. */
	/* It accounts for GPUs beyond its plans, so these have no variants (augment.h). */
	bool is_fixed;
};

/* How a new plan treats running jobs. */
enum pol_keep {
	POL_KEEP_NOTHING, /* The cluster is emptied and filled anew, in order. */
	POL_KEEP_PLACE,   /* A job that continues keeps its place if possible. */
	POL_KEEP_ALL,     /* Running jobs continue: no preemption. */
	/*
	 * Jobs are chosen first, by number of GPUs alone.  Then they are placed,
	 * largest first; among equals, jobs that can keep their place go first.
	 */
	POL_KEEP_CHOSEN,
};

#endif
