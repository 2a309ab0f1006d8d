/*
 * policy.h - the schedulers of the literature, each a row in one table of mechanisms.
 *
 * A policy decides when something has happened: at once (a job came or went, a mechanism
 * wakes up), or at the next round, or when leases end.  Then
 *
 *	admit -> (plan | order -> size -> group -> fit and place) -> augment
 *
 * and the answer is a plan (plan.h).  Fitting serves jobs in order: each is placed into
 * what is left, and one that does not fit ends the walk (POL_STRICT) or is passed over
 * (POL_SKIP).  What is kept of running jobs is the policy's (enum pol_keep).
 *
 * CASSINI and antiphase are augmentations: they choose among candidates that the policy
 * holds equally good, which policy_decide() gives them (augment.h).
 *
 * The table with sources and parameters: 'antiphase sim policies', docs/policies/.  A new
 * scheduler is a row in table.c, and a file for each mechanism that is not there yet.
 *
 * Pure: no I/O, no clock; deterministic for a seed.  After Blox (EuroSys 2024), whose
 * decomposition into slots this follows.
 */
#ifndef POLICIES_POLICY_H
#define POLICIES_POLICY_H

#include "policies/mechanism.h"

struct err;
struct policy;

enum pol_drive {
	POL_EVENTS, /* Whenever something happens. */
	POL_ROUNDS, /* Every round_s, if anything is there. */
	POL_LEASES, /* A job keeps its GPUs for lease_s; when leases end, or GPUs are free. */
};

/* A row. */
struct policy_spec {
	const char *name;   /* "tiresias". */
	const char *text;   /* One line: what it does. */
	const char *source; /* Paper, and where the rule was read. */
	enum pol_drive drive;
	enum pol_keep keep;
	double round_s;   /* Or lease_s. */
	double restart_s; /* What a start after a stop costs. */
	bool adapts;      /* Jobs choose their batches, and report (view.h). */
	const struct pol_admit *admit; /* NULL: everybody. */
	const struct pol_order *order; /* NULL where there is a planner. */
	const struct pol_size *size;   /* NULL: what was asked for. */
	const struct pol_group *group; /* NULL: nobody shares. */
	const struct pol_place *place;
	const struct pol_planner *planner; /* NULL: the steps above. */
	/* Values that differ from the mechanisms' defaults; ends with one without a name. */
	const struct pol_param *params;
};

/* Ends with one without a name. */
extern const struct policy_spec policy_table[];
const struct policy_spec *
policy_find(const char *name); /* NULL; see err.h for guesses. */

/* A parameter that the user sets: "name=value", as the table of parameters has it. */
struct policy_opts {
	uint64_t seed;
	const char *const *sets;
	size_t n_sets;
	double round_s, restart_s; /* NAN: the spec's. */
	/* Name of another placement; NULL: the spec's.  Planners have none: not for them. */
	const char *place;
	const double *samples; /* GPU seconds that jobs took elsewhere, ascending. */
	size_t n_samples;      /* 0: not known. */
};

/* Returns 0, or -EINVAL with 'err' filled: no such parameter, or out of its range. */
int policy_new(const struct policy_spec *spec, const struct policy_opts *opts,
	       const struct pol_cluster *cluster, struct policy **ret_policy,
	       struct err *err);
void policy_free(struct policy *policy); /* Accepts NULL. */
double policy_restart_s(const struct policy *policy);
/* Of a round, or of a lease, at whose ends it decides again; INFINITY: it has neither. */
double policy_round_s(const struct policy *policy);
/* GPUs that a job can have at most: those of one type, where the policy knows types. */
uint32_t policy_most_gpus(const struct policy *policy);

/* Events are told after the view has them, in the order in which they happened. */
void policy_event(struct policy *policy, const struct pol_view *view,
		  enum pol_event event, const struct pol_job *job);

/* When it wants to decide next, if nothing happens before: INFINITY, never. */
double policy_wakeup_s(struct policy *policy, const struct pol_view *view);
/* Whether it decides now, after what has been told: rounds and leases wait. */
bool policy_is_due(const struct policy *policy, const struct pol_view *view);

/*
 * Decides: up to 'n_max' plans that it holds equally good, its own first.  Plans are
 * cleared, and keep their memory.  Returns how many, at least one.
 */
uint32_t policy_decide(struct policy *policy, const struct pol_view *view,
		       struct pol_plan *plans, uint32_t n_max);

/* Which plan was taken up: what mechanisms with queues want to know. */
void policy_taken(struct policy *policy, const struct pol_view *view,
		  const struct pol_plan *plan);

#endif
