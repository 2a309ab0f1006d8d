/*
 * mechanism.h - the slots that policies are composed of; each mechanism is a file.
 *
 *	admit   which submitted jobs are considered at all
 *	order   in which order those are served, and whether one that does not fit is
 *	        waited for (strict) or passed over (skip)
 *	size    how many GPUs, or which share of the time, each is to have
 *	group   who shares GPUs with whom
 *	place   on which GPUs
 *	plan    several of these at once, instead of order to place
 *	keep    what running jobs keep when there is a new plan
 *
 * A mechanism has a state of its own, zeroed when it begins, and never looks at another
 * one's.  It is told what happens (on_event), and says when it wants to be asked even if
 * nothing does (wakeup_s).  Pure; deterministic: ties go by what the header of the
 * mechanism says, then by submission, then by id; randomness is from the stream handed in.
 */
#ifndef POLICIES_MECHANISM_H
#define POLICIES_MECHANISM_H

#include "policies/plan.h"
#include "policies/view.h"

struct rng;

enum pol_event {
	POL_ARRIVED, /* A job was submitted; all but 'admit' hear of it once it is let in. */
	POL_STARTED,
	POL_STOPPED, /* Preempted. */
	POL_DONE,    /* It is not in the view any more. */
	POL_CHANGED, /* What it has to do, or how fast it does that, is not as it was. */
	POL_N_EVENTS,
};

/* A number that may be set: "las.limit1_gpu_s". */
struct pol_param {
	const char *name, *text; /* text: one line, with its unit and its source. */
	double value, min, max;  /* value: the default. */
	bool is_whole;           /* A count, or one of several ways: no fractions. */
};

/* What every mechanism begins with. */
struct pol_module {
	const char *name;               /* As in the table of policies: "2d-las". */
	const char *text;               /* One line. */
	const struct pol_param *params; /* Ends with one without a name; or NULL. */
	size_t state_size;
	/* Any may be NULL.  'params': values in the order of the above. */
	void (*init)(void *state, const double *params,
		     const struct pol_cluster *cluster, struct rng *rng);
	void (*fini)(void *state);
	void (*on_event)(void *state, const struct pol_view *view, enum pol_event event,
			 const struct pol_job *job);
	double (*wakeup_s)(void *state, const struct pol_view *view); /* INFINITY. */
	/*
	 * Whether values, each in its range, contradict one another: a static text that
	 * says what to set; NULL: they do not.
	 */
	const char *(*why_not)(const double *params);
	/* After init: the GPU seconds that jobs took elsewhere, ascending. */
	void (*samples)(void *state, const double *sorted, size_t n);
	/* After init, where jobs have GPUs on lease (lease.h): how long one is. */
	void (*leases)(void *state, double lease_s);
};

struct pol_admit {
	struct pol_module module;
	/* Whether a submitted job is let in now; once in it stays. */
	bool (*admit)(void *state, const struct pol_view *view,
		      const struct pol_job *job);
};

enum pol_fit {
	POL_STRICT, /* Nobody passes one that does not fit. */
	POL_SKIP,   /* Whoever fits, runs. */
};

struct pol_order {
	struct pol_module module;
	enum pol_fit fit;
	/*
	 * Writes the ids of all jobs that it was told of into the order of service;
	 * returns how many.  One that is not written is not served this time.
	 */
	uint32_t (*order)(void *state, const struct pol_view *view, uint32_t *ret_ids);
	/*
	 * Where types of GPUs differ: writes the type of each of what 'order' wrote last,
	 * which then has a job once for each type that it may have; it runs on the first
	 * that has room.  Only with POL_KEEP_CHOSEN.  NULL: each is there once, for any.
	 */
	void (*types)(void *state, uint32_t *ret_types);
	/* Is told what came of it (queues whose running jobs keep their place); or NULL. */
	void (*served)(void *state, const struct pol_view *view,
		       const struct pol_plan *plan);
};

/* What is asked for a job, before it has a place. */
struct pol_want {
	uint32_t job, n_gpus, type; /* type POL_NONE: any. */
	uint32_t group;             /* As in a grant. */
	uint32_t n_held; /* What it has now: most wait, and are not looked at. */
	double share;
};

struct pol_size {
	struct pol_module module;
	/*
	 * For jobs in the order of service; n_gpus 0: none for now.  May put them into
	 * another order: that in which they are placed.
	 */
	void (*size)(void *state, const struct pol_view *view, struct pol_want *wants,
		     uint32_t n);
};

struct pol_group {
	struct pol_module module;
	/* Sets 'group' of wants, in the order of service. */
	void (*group)(void *state, const struct pol_view *view, struct pol_want *wants,
		      uint32_t n);
};

/* GPUs that are free, as a plan grows.  See place.h for what all placements share. */
struct pol_free {
	uint32_t *n_free; /* [n_nodes] */
	uint32_t n_all;
};

struct pol_place {
	struct pol_module module;
	/*
	 * Takes 'want' from 'free' and appends its pieces, ascending by node; returns how
	 * many, or 0 if it does not fit there, and then takes nothing.
	 */
	uint32_t (*place)(void *state, const struct pol_view *view,
			  const struct pol_want *want, struct pol_free *free,
			  struct pol_plan *plan);
	bool scatters; /* Any GPUs are as good to it as any others. */
	/* Where that is so: whether they are not for this job; NULL: for none. */
	bool (*is_bound)(const void *state, const struct pol_job *job);
};

struct pol_planner {
	struct pol_module module;
	/*
	 * Makes up to 'n_max' plans of about the same score, best first; returns how many,
	 * at least one.
	 */
	uint32_t (*plan)(void *state, const struct pol_view *view, const uint32_t *ids,
			 uint32_t n, struct pol_plan *plans, uint32_t n_max);
	/*
	 * By node: its part.  Nodes of different parts are not as good as each other,
	 * however alike they look (augment.h).  Borrowed, and always the same; NULL: all
	 * are of one.
	 */
	const uint32_t *(*parts)(const void *state);
};

/* What running jobs keep. */
enum pol_keep {
	POL_KEEP_NOTHING, /* The cluster is emptied, and served in order anew. */
	POL_KEEP_PLACE,   /* Who goes on does so where it is, if it can. */
	POL_KEEP_ALL,     /* Who runs, runs on: no preemption. */
	/*
	 * Who runs is chosen first, by number alone; then the largest are placed first,
	 * of equals those that can have the place they had.
	 */
	POL_KEEP_CHOSEN,
};

#endif
