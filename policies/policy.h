/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy.h - scheduling policies of the literature: rows of one table of mechanisms.
 *
 * A policy decides at an event (arrival, end, wakeup), at the next round, or when
 * leases end.  Then
 *
 *	admit -> (plan | order -> size -> fit and place) -> augment
 *
 * and the result is a plan (plan.h). Jobs are served in order: each is placed into the
 * remaining GPUs; one that does not fit ends the walk (POL_STRICT) or is skipped
 * (POL_SKIP). enum pol_keep says what running jobs keep.
 *
 * CASSINI and antiphase are augmentations: they choose among the equally good plans
 * that policy_decide() returns (augment.h).
 *
 * 'antiphase sim policies' prints the table with sources and parameters;
 * docs/policies/ has a page for each.  docs/howto-policy.md shows how to add one.
 *
 * Pure: no I/O, no clock; deterministic for a seed.  The decomposition into slots
 * follows Blox (EuroSys 2024).
 */
#ifndef POLICIES_POLICY_H
#define POLICIES_POLICY_H

#include "policies/mechanism.h"

struct err;
struct policy;

enum pol_drive {
	POL_EVENTS, /* At each event. */
	POL_ROUNDS, /* Every round_s, while there are jobs. */
	POL_LEASES, /* When leases of round_s end, or GPUs are free. */
};

/* A row of the table. */
struct policy_spec {
	const char *name;   /* "tiresias". */
	const char *text;   /* One line: its rule. */
	const char *source; /* The paper, and the code that was followed. */
	enum pol_drive drive;
	enum pol_keep keep;
	double round_s;   /* Length of a round or a lease. */
	double restart_s; /* The cost of a start after a stop; see struct pol_costs. */
	bool adapts;      /* Jobs choose their batch sizes, and report (view.h). */
	const struct pol_admit *admit; /* NULL: every job. */
	const struct pol_order *order; /* NULL with a planner. */
	const struct pol_size *size;   /* NULL: what the job asked for. */
	const struct pol_place *place;
	const struct pol_planner *planner; /* NULL: the steps above. */
	/*
	 * Values other than the mechanisms' defaults; ends with an entry without a
	 * name.
	 */
	const struct pol_param *params;
};

/* Ends with an entry without a name. */
extern const struct policy_spec policy_table[];
const struct policy_spec *policy_find(const char *name); /* Or NULL. */

/* Seconds that a job has GPUs and makes no progress, once it has begun. */
struct pol_costs {
	double restart_s; /* A start after a stop. */
	double resize_s;  /* Another number of GPUs while it runs. */
	double migrate_s; /* Other GPUs while it runs, and as many. */
};

/* Settings of the user; 'sets' has "NAME=VALUE" for the mechanisms' parameters. */
struct policy_opts {
	uint64_t seed;
	const char *const *sets;
	size_t n_sets;
	double round_s, restart_s;          /* NAN: the spec's. */
	const double *resize_s, *migrate_s; /* NULL: as restart_s. */
	/* Another placement; NULL: the spec's.  Ignored with a planner. */
	const char *place;
	const double *samples; /* GPU seconds of jobs that ran elsewhere, ascending. */
	size_t n_samples;
};

/* Returns 0, or -EINVAL with 'err' filled: unknown parameter, or out of range. */
int policy_new(const struct policy_spec *spec, const struct policy_opts *opts,
	       const struct pol_cluster *cluster, struct policy **ret_policy,
	       struct err *err);
void policy_free(struct policy *policy); /* Accepts NULL. */
struct pol_costs policy_costs(const struct policy *policy);
/* The length of a round or a lease; INFINITY if the policy has neither. */
double policy_round_s(const struct policy *policy);
/* The most GPUs that a job can get: those of one type, if the policy knows types. */
uint32_t policy_max_gpus(const struct policy *policy);

/*
 * Whether a job may run on other nodes than those that the policy chose, and the next plan
 * leaves it there: nodes are of one type, there is no planner, and running jobs keep
 * their place.
 */
bool policy_keeps_places(const struct policy *policy);

/* The view already shows the event; events come in order of time. */
void policy_event(struct policy *policy, const struct pol_view *view,
		  enum pol_event event, const struct pol_job *job);

/* The next time to decide if there is no event before; or INFINITY. */
double policy_wakeup_s(struct policy *policy, const struct pol_view *view);
/* Whether the policy decides now; policies with rounds wait for the next one. */
bool policy_is_due(const struct policy *policy, const struct pol_view *view);

/*
 * Decides: fills up to 'n_max' equally good plans, the policy's own first.  Plans are
 * cleared and keep their memory.  Returns how many, at least one.
 */
uint32_t policy_decide(struct policy *policy, const struct pol_view *view,
		       struct pol_plan *plans, uint32_t n_max);

/*
 * Fills 'plan' with one that is as good to the policy as 'base', one of those it
 * decided, with one job elsewhere.  Returns false if there is none.
 */
bool policy_vary(struct policy *policy, const struct pol_view *view,
		 const struct pol_plan *base, struct pol_plan *plan);

/* Reports which plan was chosen; some orders need it. */
void policy_taken(struct policy *policy, const struct pol_view *view,
		  const struct pol_plan *plan);

#endif
