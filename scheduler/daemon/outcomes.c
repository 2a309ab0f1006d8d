/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/outcomes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/jsonw.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"
#include "scheduler/daemon/jobs.h"
#include "scheduler/daemon/pace.h"
#include "scheduler/daemon/telemetry.h"
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/live.h"
#include "scheduler/store/store.h"

/* Each job's shift is checked once in this many seconds, a part of them each second. */
#define EVERY_S 10
/* After this time without the job its outcome is forgotten. */
#define FORGET_NS (60 * INT64_C(1000000000))
/* After a restart: older outcomes are dropped; others wait this long for their jobs. */
#define MAX_AGE_US  INT64_C(86400000000)
#define RESTORED_NS (120 * INT64_C(1000000000))

struct entry {
	struct outcome outcome;
	int64_t wanted_ns; /* Monotonic: when the job was last known. */
	int64_t estimated_ns;
	int64_t restored_ns; /* When it was restored; 0: not, or no longer. */
};

struct outcomes {
	struct outcomes_opts opts;
	const struct live *live;             /* Of the telemetry. */
	const struct job_profiler *profiler; /* Of the telemetry. */
	struct strtab *names;                /* Owned. */
	VEC(struct entry *) jobs; /* Owned; by number in 'names'; NULL: free. */
	uint64_t n_followed;
	uint32_t n_paced; /* With iterations. */
	uint64_t n_full;
	unsigned turn;
};

static void
entry_free(struct entry *entry)
{
	if (!entry)
		return;
	outcome_fini(&entry->outcome);
	free(entry);
}

void
outcomes_free(struct outcomes *outcomes)
{
	if (!outcomes)
		return;
	for (size_t i = 0; i < outcomes->jobs.n; i++)
		entry_free(outcomes->jobs.items[i]);
	vec_free(&outcomes->jobs);
	strtab_free(outcomes->names);
	free(outcomes);
}

static struct entry *
find(const struct outcomes *outcomes, const char *job)
{
	uint32_t id = strtab_find(outcomes->names, job);

	return id == STRTAB_NONE ? NULL : outcomes->jobs.items[id];
}

static struct entry *
make(struct outcomes *outcomes, const char *job)
{
	uint32_t id = strtab_intern(outcomes->names, job);

	if (id == outcomes->jobs.n)
		vec_push(&outcomes->jobs, NULL);
	if (!outcomes->jobs.items[id])
		outcomes->jobs.items[id] = xcalloc(1, sizeof(struct entry));
	outcomes->jobs.items[id]->wanted_ns = clk_monotonic_ns();
	return outcomes->jobs.items[id];
}

/* ---- Documents and messages ----------------------------------------------------------- */

static void
put_followed(struct jsonw *w, enum outcome_followed followed)
{
	if (followed == OUTCOME_NOT_KNOWN)
		jsonw_null(w, "followed");
	else
		jsonw_bool(w, "followed", followed == OUTCOME_FOLLOWED);
}

static void
put_known(struct jsonw *w, const char *key, double value)
{
	if (value > 0)
		jsonw_rounded(w, key, value, 4);
	else
		jsonw_null(w, key);
}

static void
put_place(const struct outcomes *outcomes, const struct outcome *outcome,
	  struct jsonw *w)
{
	bool is_there = outcome->place_followed == OUTCOME_FOLLOWED;

	jsonw_object(w, "place");
	jsonw_int(w, "at_us", outcome->place_at_us);
	jsonw_str(w, "nodes", outcome->nodes);
	put_followed(w, outcome->place_followed);
	put_known(w, "slowdown_advised", outcome->place_slowdown);
	put_known(w, "slowdown",
		  is_there ? outcome_slowdown(outcome, live_now_ns(outcomes->live))
			   : 0);
	jsonw_end(w);
}

static void
put_times(struct jsonw *w, const char *key, const struct outcome_times *times)
{
	jsonw_object(w, key);
	jsonw_int(w, "iterations", times->n);
	jsonw_int(w, "mean_us", times->mean_us);
	jsonw_int(w, "p50_us", times->p50_us);
	jsonw_int(w, "p99_us", times->p99_us);
	jsonw_end(w);
}

static void
put_shift(const struct outcome *outcome, struct jsonw *w)
{
	bool has_gain = outcome->verdict >= OUTCOME_LESS;

	jsonw_object(w, "shift");
	jsonw_int(w, "since_us", outcome->since_ns / 1000);
	jsonw_bool(w, "is_advised", !outcome->has_ended);
	put_followed(w, outcome->followed);
	jsonw_str(w, "verdict", outcome_verdict_names[outcome->verdict]);
	jsonw_str(w, "source", outcome->has_pacer ? "pacer" : "traffic");
	put_times(w, "before", &outcome->before);
	put_times(w, "after", &outcome->after);
	jsonw_rounded(w, "gain_low", outcome->gain_low, 4);
	jsonw_rounded(w, "gain_high", outcome->gain_high, 4);
	if (has_gain) {
		jsonw_rounded(w, "gain", outcome->gain, 4);
		jsonw_rounded(w, "gain_error", outcome->gain_error, 4);
	} else {
		jsonw_null(w, "gain");
		jsonw_null(w, "gain_error");
	}
	jsonw_end(w);
}

/* Writes "outcome" of this job, or null. */
static void
put_outcome(void *ctx, const char *job, struct jsonw *w)
{
	const struct outcomes *outcomes = ctx;
	const struct entry *entry = find(outcomes, job);

	if (!entry || (!entry->outcome.has_place && !entry->outcome.has_shift)) {
		jsonw_null(w, "outcome");
		return;
	}
	jsonw_object(w, "outcome");
	if (entry->outcome.has_place)
		put_place(outcomes, &entry->outcome, w);
	else
		jsonw_null(w, "place");
	if (entry->outcome.has_shift)
		put_shift(&entry->outcome, w);
	else
		jsonw_null(w, "shift");
	jsonw_end(w);
}

static void
keep(struct outcomes *outcomes, const char *job)
{
	const struct entry *entry = find(outcomes, job);
	int64_t now_us = clk_wall_us();
	char *text = NULL;
	size_t length;
	struct jsonw w;
	FILE *out;

	if (!outcomes->opts.store)
		return;
	out = open_memstream(&text, &length);
	BUG_ON(!out);
	jsonw_init(&w, out);
	jsonw_flat_object(&w, NULL);
	jsonw_str(&w, "schema", "antiphase.outcome/1");
	jsonw_str(&w, "job", job);
	jsonw_int(&w, "at_us", now_us);
	put_outcome(outcomes, job, &w);
	if (entry)
		outcome_state_write(&entry->outcome, &w);
	jsonw_end(&w);
	jsonw_finish(&w);
	fclose(out);
	text[strcspn(text, "\n")] = '\0';
	store_put(outcomes->opts.store, STORE_OUTCOME, job, now_us, text);
	free(text);
}

/* ---- Input ---------------------------------------------------------------------------- */

/* Whether the iterations of one more job may be kept; counts refusals. */
static bool
has_room(struct outcomes *outcomes, const struct entry *entry)
{
	if (entry->outcome.kept || outcomes->n_paced < OUTCOMES_MAX_PACED)
		return true;
	outcomes->n_full++;
	return false;
}

static void
on_iteration(void *ctx, const char *job, uint64_t number, int64_t begin_ns)
{
	struct outcomes *outcomes = ctx;
	struct entry *entry = make(outcomes, job);
	bool had_iterations = entry->outcome.kept;

	if (!has_room(outcomes, entry))
		return;
	outcome_begin(&entry->outcome, number, begin_ns);
	outcomes->n_paced += !had_iterations && entry->outcome.kept;
}

static void
on_order(void *ctx, const char *job, int64_t at_ns, const struct steer_order *order)
{
	struct entry *entry = find(ctx, job);

	if (entry && entry->outcome.kept)
		outcome_order(&entry->outcome,
			      &(struct outcome_order){ .at_ns = at_ns,
						       .max_us = order->max_ns / 1000,
						       .why = order->why });
}

/* Likewise: an estimate of the traffic. */
static void
on_estimate(struct outcomes *outcomes, struct entry *entry,
	    const struct profiled_job *seen)
{
	bool had_iterations = entry->outcome.kept;

	entry->estimated_ns = seen->at_ns;
	if (!has_room(outcomes, entry))
		return;
	outcome_estimate(&entry->outcome, seen->at_ns,
			 seen->detection.profile.period_us);
	outcomes->n_paced += !had_iterations && entry->outcome.kept;
}

static void
on_place(void *ctx, const struct job *job, double slowdown)
{
	struct outcomes *outcomes = ctx;
	struct outcome *outcome = &make(outcomes, job->name)->outcome;

	if (outcome->has_place && strcmp(outcome->nodes, job->nodes) == 0)
		return;
	outcome_place(outcome, job->nodes, job->at_us, slowdown,
		      job->profile.period_us);
	keep(outcomes, job->name);
}

/* ---- Restart -------------------------------------------------------------------------- */

static bool
on_kept(void *ctx, const char *key, int64_t at_us, const char *json)
{
	struct outcomes *outcomes = ctx;
	struct json_doc *doc;
	const struct json *state;
	struct outcome outcome;
	struct entry *entry;
	struct err err;

	if (clk_wall_us() - at_us > MAX_AGE_US ||
	    json_parse("store", json, strlen(json), &doc, &err) < 0)
		return true;
	state = json_find(json_root(doc), "state");
	if (state && outcome_state_read(doc, state, &outcome) == 0) {
		entry = make(outcomes, key);
		outcomes->n_paced -= entry->outcome.kept != NULL;
		outcome_fini(&entry->outcome);
		entry->outcome = outcome;
		entry->restored_ns = clk_monotonic_ns();
	}
	json_doc_free(doc);
	return true;
}

int
outcomes_restore(struct outcomes *outcomes, struct err *err)
{
	int r;

	if (!outcomes->opts.store)
		return 0;
	r = store_read(outcomes->opts.store, STORE_OUTCOME, NULL, SCHED_MAX_JOBS,
		       on_kept, outcomes, err);
	return r < 0 ? r : 0;
}

/* The outcome changed, and the advice has to show it. */
static void
note(struct outcomes *outcomes, const char *name)
{
	struct job *job = jobs_find(outcomes->opts.jobs, name);

	if (job)
		job->is_outcome_new = true;
	keep(outcomes, name);
}

/* Checks whether started jobs run where advised. */
static void
check_places(struct outcomes *outcomes)
{
	const struct sched_snapshot *snapshot = outcomes->opts.snapshot;

	for (size_t i = 0; i < snapshot->n_jobs; i++) {
		const struct sched_job *job = &snapshot->jobs[i];
		struct entry *entry = find(outcomes, job->id), *here;

		if (!entry)
			continue;
		entry->wanted_ns = clk_monotonic_ns();
		if (job->state == SCHED_WAITING || !*job->nodes ||
		    !entry->outcome.has_place ||
		    entry->outcome.place_followed != OUTCOME_NOT_KNOWN)
			continue;
		/* A task of an array has another name when it runs. */
		here = make(outcomes, job->local_id);
		if (here != entry) {
			outcome_place(&here->outcome, entry->outcome.nodes,
				      entry->outcome.place_at_us,
				      entry->outcome.place_slowdown,
				      entry->outcome.isolated_us);
			entry->outcome.has_place = false;
		}
		if (!outcome_runs_on(&here->outcome, job->nodes))
			continue;
		outcomes->n_followed +=
			here->outcome.place_followed == OUTCOME_FOLLOWED;
		note(outcomes, job->local_id);
	}
}

static struct outcome_steered
steered_now(const struct outcomes *outcomes, const struct job *job)
{
	struct outcome_steered steered = { .is_steered = job->is_steered };
	struct advisor_view view;
	struct steer_state state;

	if (job->refusal != JOBS_ADVISED || !jobs_view(outcomes->opts.jobs, job, &view))
		return steered;
	pace_state(outcomes->opts.pace, job, &state);
	steered.is_advised = view.mode != STEER_FREE;
	steered.begun_ns = state.first_shift_ns ? state.first_shift_ns
			   : state.is_settled   ? state.settled_ns
						: 0;
	steered.gain_low = view.shift_gain_low;
	steered.gain_high = view.shift_gain_high;
	return steered;
}

static void
check_shift(struct outcomes *outcomes, const struct job *job)
{
	const struct outcome_steered steered = steered_now(outcomes, job);
	uint32_t id = live_find_job(outcomes->live, job->name);
	const struct profiled_job *seen =
		id < TELE_OTHER ? job_profiler_find(outcomes->profiler, id) : NULL;
	struct entry *entry = find(outcomes, job->name);
	uint64_t n_followed;

	if (!entry && !steered.is_advised)
		return;
	entry = make(outcomes, job->name);
	/* After a restart its advice is late; it has not ended. */
	if (entry->restored_ns && !steered.is_advised &&
	    clk_monotonic_ns() - entry->restored_ns < RESTORED_NS)
		return;
	entry->restored_ns = 0;
	if (seen && seen->has_estimate && seen->at_ns != entry->estimated_ns)
		on_estimate(outcomes, entry, seen);
	n_followed = entry->outcome.n_followed;
	if (live_now_ns(outcomes->live) != LIVE_NEVER &&
	    outcome_step(&entry->outcome, live_now_ns(outcomes->live), &steered))
		note(outcomes, job->name);
	outcomes->n_followed += entry->outcome.n_followed - n_followed;
}

/* Forgets outcomes of jobs that are gone; the store keeps the last state. */
static void
forget_gone(struct outcomes *outcomes)
{
	int64_t now_ns = clk_monotonic_ns();

	for (uint32_t i = outcomes->turn; i < outcomes->jobs.n; i += EVERY_S) {
		struct entry *entry = outcomes->jobs.items[i];

		if (!entry || now_ns - entry->wanted_ns < FORGET_NS)
			continue;
		if (entry->outcome.has_place || entry->outcome.has_shift) {
			keep(outcomes, strtab_name(outcomes->names, i));
			/* Its history stays. */
			if (outcomes->opts.store)
				store_delete(outcomes->opts.store, STORE_OUTCOME,
					     strtab_name(outcomes->names, i));
		}
		outcomes->n_paced -= entry->outcome.kept != NULL;
		entry_free(entry);
		outcomes->jobs.items[i] = NULL;
		strtab_remove(outcomes->names, i);
	}
}

void
outcomes_tick(struct outcomes *outcomes)
{
	const struct jobs *jobs = outcomes->opts.jobs;

	outcomes->turn = (outcomes->turn + 1) % EVERY_S;
	check_places(outcomes);
	for (size_t i = outcomes->turn; i < jobs_n_places(jobs); i += EVERY_S)
		if (jobs_at(jobs, i))
			check_shift(outcomes, jobs_at(jobs, i));
	forget_gone(outcomes);
}

struct outcomes *
outcomes_new(const struct outcomes_opts *opts)
{
	struct outcomes *outcomes = xcalloc(1, sizeof *outcomes);

	outcomes->opts = *opts;
	outcomes->live = telemetry_live(opts->telemetry);
	outcomes->profiler = telemetry_profiler(opts->telemetry);
	outcomes->names = strtab_new();
	jobs_set_outcomes(opts->jobs,
			  &(struct jobs_outcomes){ on_place, put_outcome, outcomes });
	pace_on_iteration(opts->pace, on_iteration, outcomes);
	pace_on_order(opts->pace, on_order, outcomes);
	return outcomes;
}

const struct outcome *
outcomes_find(const struct outcomes *outcomes, const char *job)
{
	const struct entry *entry = find(outcomes, job);

	return entry ? &entry->outcome : NULL;
}

uint64_t
outcomes_n_full(const struct outcomes *outcomes)
{
	return outcomes->n_full;
}

uint64_t
outcomes_n_followed(const struct outcomes *outcomes)
{
	return outcomes->n_followed;
}

const struct outcome *
outcomes_paced(const struct outcomes *outcomes, size_t *i, const char **ret_job)
{

	for (; *i < outcomes->jobs.n; (*i)++) {
		const struct entry *entry = outcomes->jobs.items[*i];

		if (!entry || !entry->outcome.has_pacer)
			continue;
		*ret_job = strtab_name(outcomes->names, (uint32_t)(*i)++);
		return &entry->outcome;
	}
	return NULL;
}
