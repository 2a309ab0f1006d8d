/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outcome.h - the outcome of an advice: whether it was followed, and what it gained.
 *
 * Of a place: whether the job ran on the advised hosts, and its slowdown (mean
 * iteration over that of its profile), to compare with the predicted one.
 *
 * Of a shift (or turns): a steered job follows it once it has waited as ordered or is
 * within all its windows, and does not follow it if neither happens within
 * OUTCOME_N_PATIENCE iterations. The iterations of the last minute before are compared
 * with those of the last minute since:
 *
 *	gain = 1 - mean since / mean before,
 *	gain_error: half width of its 95 % interval, the iterations taken as independent
 *
 * and that range with the advised gain. Until an advice is followed, 'before' is the
 * minute before now. A job that was steered from its start has no 'before', and no
 * gain.
 *
 * Iteration times are those that pacers report, including antiphase's delays; without a
 * pacer, the periods of successive estimates of the traffic. Orders to the pacer are kept
 * beside them. Pure.
 */
#ifndef SCHEDULER_DAEMON_OUTCOME_H
#define SCHEDULER_DAEMON_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/control/steer.h"

#define OUTCOME_SPAN_NS    INT64_C(60000000000)
#define OUTCOME_N_KEPT     512 /* Iterations: the last ones, whatever their span. */
#define OUTCOME_N_ORDERS   64  /* Likewise. */
#define OUTCOME_N_MIN      8   /* On each side, to state a gain. */
#define OUTCOME_N_PATIENCE 20
#define OUTCOME_N_BOUNDS   10

enum outcome_followed {
	OUTCOME_NOT_KNOWN, /* Not yet. */
	OUTCOME_FOLLOWED,
	OUTCOME_NOT_FOLLOWED,
};

enum outcome_verdict {
	OUTCOME_TOO_EARLY, /* To tell whether it is followed, or its gain. */
	OUTCOME_UNHEEDED,  /* Not followed. */
	OUTCOME_NO_BEFORE, /* Followed from the start: nothing to compare with. */
	OUTCOME_LESS,      /* Gained less than advised, beyond the error. */
	OUTCOME_AS_ADVISED,
	OUTCOME_MORE,
	OUTCOME_N_VERDICTS,
};

/* "too_early", "not_followed", "no_before", "less", "as_advised", "more". */
extern const char *const outcome_verdict_names[];

struct outcome_times {
	uint32_t n;
	int64_t mean_us, p50_us, p99_us;
	double error_us; /* Of the mean: half width of its interval of 95 %. */
};

struct outcome_iteration {
	int64_t begin_ns;
	int64_t took_us;
};

/* An order to the job's pacer. */
struct outcome_order {
	int64_t at_ns; /* Begin of the reported iteration that caused it. */
	int64_t max_us;
	enum steer_why why;
};

struct outcome {
	/* Iterations: a ring, allocated at the first one. */
	struct outcome_iteration *kept;
	uint64_t n;                   /* So far. */
	struct outcome_order *orders; /* Likewise. */
	uint64_t n_orders;
	bool has_begun, has_pacer;
	uint64_t number;
	int64_t begin_ns;
	uint64_t histogram[OUTCOME_N_BOUNDS + 1]; /* By outcome_bounds_s; and above. */
	double sum_s;

	/* The advised place. */
	bool has_place;
	char *nodes; /* Owned.  Hostlist. */
	int64_t place_at_us;
	double place_slowdown; /* Predicted; 0: not. */
	int64_t isolated_us;   /* Its isolated iteration; 0: unknown. */
	enum outcome_followed place_followed;

	/* The advised shift. Ended: there is no advice any more. */
	bool has_shift, has_ended;
	int64_t since_ns, followed_ns; /* Clock of the iterations. */
	uint64_t n_since;              /* 'n' then. */
	double gain_low, gain_high;
	enum outcome_followed followed;
	struct outcome_times before, after;
	double gain, gain_error;
	enum outcome_verdict verdict;

	uint64_t n_followed; /* Times that an advice was found to be followed. */
};

/* Upper bounds of the histogram, in seconds. */
extern const double outcome_bounds_s[OUTCOME_N_BOUNDS];

void outcome_fini(struct outcome *outcome); /* Accepts a zeroed one, as all here. */

/* A pacer's iteration begins.  One that is out of order counts as the first. */
void outcome_begin(struct outcome *outcome, uint64_t number, int64_t begin_ns);
/* Adds an estimate of the traffic; ignored for a job with a pacer. */
void outcome_estimate(struct outcome *outcome, int64_t at_ns, int64_t period_us);
void outcome_order(struct outcome *outcome, const struct outcome_order *order);

/* How many iterations and orders are kept; and these, from 0, the oldest, on. */
size_t outcome_n_iterations(const struct outcome *outcome);
struct outcome_iteration outcome_iteration_at(const struct outcome *outcome, size_t i);
size_t outcome_n_orders(const struct outcome *outcome);
struct outcome_order outcome_order_at(const struct outcome *outcome, size_t i);

/* A place is advised; a new one replaces the last. */
void outcome_place(struct outcome *outcome, const char *nodes, int64_t at_us,
		   double slowdown, int64_t isolated_us);
/* The job runs on 'nodes'; true if that is new. A bad hostlist: false. */
bool outcome_runs_on(struct outcome *outcome, const char *nodes);

/* How a job is steered now. */
struct outcome_steered {
	bool is_advised; /* The advice is more than to let it run. */
	bool is_steered;
	int64_t begun_ns; /* When it waited as ordered or was in all windows; 0. */
	double gain_low, gain_high;
};

/*
 * Updates the shift's outcome; true if 'followed' or the verdict has changed. With
 * 'is_advised' false the last outcome stays. O(OUTCOME_N_KEPT log).
 */
bool outcome_step(struct outcome *outcome, int64_t now_ns,
		  const struct outcome_steered *steered);
/* Mean iteration of the last minute over the isolated one; 0: unknown. */
double outcome_slowdown(const struct outcome *outcome, int64_t now_ns);

/* ---- outcome_json.c: over a restart -------------------------------------------------- */

struct json;
struct json_doc;
struct jsonw;

/* Writes "state": the advice and its outcome so far, without the iterations. */
void outcome_state_write(const struct outcome *outcome, struct jsonw *w);
/* Reads it into a zeroed one; -EINVAL for bad input, and nothing is set. */
int outcome_state_read(const struct json_doc *doc, const struct json *state,
		       struct outcome *ret_outcome);

#endif
