/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_profiler.c - from windows of the live state to series, and from series to profiles.
 */
#include "scheduler/live/job_profiler.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/sort.h"
#include "lib/base/sorter.h"
#include "lib/base/vec.h"
#include "scheduler/live/job_series.h"
#include "scheduler/live/live.h"
#include "scheduler/live/live_constants.h"
#include "scheduler/live/profiled_job.h"
#include "scheduler/live/series_select.h"

/* Work of one step: series, and comparisons. */
#define SERIES_A_STEP 16384
#define MOVES_A_STEP  8192

enum preparing {
	PREPARED,
	PREPARE_SERIES,
	PREPARE_JOBS,
	PREPARE_ORDER,
	PREPARE_WAITING,
};

struct job_profiler {
	VEC(struct profiled_job *) by_number; /* Owned; NULL: never had traffic. */
	VEC(const struct profiled_job *) sorted;
	/* Jobs left in this round, the next one last. */
	VEC(struct profiled_job *) waiting;
	struct job_series
		job_series; /* Owned. Series with bins when the round began. */
	/* The stage of the start of a round. */
	enum preparing preparing;
	uint32_t n_series, next_series; /* Their number when it began. */
	bool *has_traffic;              /* Owned. By job, of as many as 'by_number'. */
	bool is_new;                    /* A job is not in 'sorted' yet. */
	struct sorter *sorter;          /* Owned. Sorts them again. */
	/* The job being estimated, window by window; or NULL. */
	struct profiled_job *in_hand;
	struct series_select *select; /* Owned. Of that job. */
	uint32_t window_ms;           /* The present window, or the next one. */
	bool is_in_window;            /* The detector works on 'set', of this window. */
	struct series_set set;        /* Owned. */
	double gap_frac;
	struct detector *detector; /* Owned. */
	int64_t last_ns;
	bool has_run;
};

struct job_profiler *
job_profiler_new(void)
{
	struct job_profiler *profiler = xcalloc(1, sizeof *profiler);

	profiler->detector = detector_new();
	return profiler;
}

static void
leave_window(struct job_profiler *profiler)
{
	series_fini(&profiler->set);
	profiler->is_in_window = false;
}

static void
let_go(struct job_profiler *profiler)
{
	leave_window(profiler);
	series_select_free(profiler->select);
	profiler->select = NULL;
	profiler->in_hand = NULL;
}

static void
stop_preparing(struct job_profiler *profiler)
{
	free(profiler->has_traffic);
	profiler->has_traffic = NULL;
	sorter_free(profiler->sorter);
	profiler->sorter = NULL;
	profiler->preparing = PREPARED;
}

void
job_profiler_free(struct job_profiler *profiler)
{
	if (!profiler)
		return;
	for (size_t i = 0; i < profiler->by_number.n; i++)
		profiled_job_free(profiler->by_number.items[i]);
	vec_free(&profiler->by_number);
	vec_free(&profiler->sorted);
	vec_free(&profiler->waiting);
	stop_preparing(profiler);
	let_go(profiler);
	detector_free(profiler->detector);
	job_series_fini(&profiler->job_series);
	free(profiler);
}

/* ---- One job --------------------------------------------------------------------- */

/* Begins a window; false if it has no data. */
static bool
enter_window(struct job_profiler *profiler)
{
	struct profiled_job *job = profiler->in_hand;
	const struct live *live = series_select_live(profiler->select);

	if (series_select_make_set(profiler->select, profiler->window_ms,
				   &profiler->set, &profiler->gap_frac) == 0) {
		series_fini(&profiler->set);
		profiled_job_refuse(
			job, xasprintf("more than a fifth of the last %.0f s are gaps",
				       profiler->window_ms / 1e3));
		return false;
	}
	detector_begin(profiler->detector, &profiler->set, NULL,
		       live_job_name(live, job->job));
	profiler->is_in_window = true;
	return true;
}

/* Reads the result of the window; true if there is a profile. */
static bool
judge_window(struct job_profiler *profiler)
{
	struct profiled_job *job = profiler->in_hand;
	const struct live *live = series_select_live(profiler->select);
	int64_t at_ns = series_select_to_ms(profiler->select) * 1000000;
	struct detection found = { 0 };
	struct err err = { .text = "" };
	size_t n = profiler->set.n_series;
	int error = detector_end(profiler->detector, &found, &err);

	leave_window(profiler);
	if (error < 0) {
		profiled_job_refuse(job, xstrdup(err.text));
		return false;
	}
	if (found.profile.n_iterations < JOB_PROFILER_MIN_ITERATIONS) {
		profiled_job_refuse(
			job, xasprintf("only %lld iterations of %.0f ms were seen, %d "
				       "are wanted",
				       (long long)found.profile.n_iterations,
				       (double)found.profile.period_us / 1e3,
				       JOB_PROFILER_MIN_ITERATIONS));
		detection_fini(&found);
		return false;
	}
	profiled_job_use_events(live, job, &found,
				at_ns - profiler->window_ms * INT64_C(1000000));
	job->n_series = (uint32_t)n;
	job->n_left_out = (uint32_t)(series_select_n_of_job(profiler->select) - n);
	job->gap_frac = profiler->gap_frac;
	profiled_job_publish(job, &found, at_ns, profiler->window_ms);
	return true;
}

static void
take_in_hand(struct job_profiler *profiler, const struct live *live,
	     struct profiled_job *job)
{
	size_t n_series;
	const uint32_t *series =
		job_series_of(&profiler->job_series, job->job, &n_series);

	profiler->select =
		series_select_new(live, series, n_series, JOB_PROFILER_MAX_WINDOW_MS);
	profiler->in_hand = job;
	profiler->window_ms = 0;
}

/* Starts with all series of the job; false: no estimate is possible now. */
static bool
choose_window(struct job_profiler *profiler)
{
	struct profiled_job *job = profiler->in_hand;
	/* The time before the job began and after it ended does not count. */
	uint32_t window_ms = series_select_traffic_ms(profiler->select);
	uint32_t idle_ms = series_select_idle_ms(profiler->select);

	profiler->window_ms = window_ms;
	if (series_select_is_empty(profiler->select))
		profiled_job_refuse(job, xstrdup("no traffic was seen in raw series"));
	else if (idle_ms > PROFILER_MAX_IDLE_MS)
		profiled_job_refuse(job,
				    xasprintf("no traffic for %.0f s", idle_ms / 1e3));
	else if (window_ms < PROFILER_MIN_SPAN_MS)
		profiled_job_refuse(job,
				    xasprintf("only %.1f s of traffic were seen so far",
					      window_ms / 1e3));
	else
		return true;
	return false;
}

/* The next shorter window of 30, 20 and 10 s; 0: none. */
static uint32_t
shorter(uint32_t window_ms)
{
	uint32_t ms = (window_ms - 1) / JOB_PROFILER_MIN_WINDOW_MS *
		      JOB_PROFILER_MIN_WINDOW_MS;

	return ms < JOB_PROFILER_MAX_WINDOW_MS ? ms : JOB_PROFILER_MAX_WINDOW_MS;
}

/* A step for the present job; true if more steps are needed. */
static bool
go_on(struct job_profiler *profiler)
{
	if (profiler->is_in_window) {
		if (detector_step(profiler->detector))
			return true;
		if (judge_window(profiler))
			return false;
		profiler->window_ms = shorter(profiler->window_ms);
	} else if (series_select_step(profiler->select)) {
		return true;
	} else if (!profiler->window_ms) {
		return choose_window(profiler);
	} else if (!enter_window(profiler)) {
		profiler->window_ms = shorter(profiler->window_ms);
	}
	return profiler->window_ms > 0;
}

/* ---- All jobs -------------------------------------------------------------------- */

static int
compare_jobs(uint32_t a, uint32_t b, void *live)
{
	const char *x = live_job_name(live, a), *y = live_job_name(live, b);
	int order = strverscmp(x, y);

	return order ? order : strcmp(x, y);
}

/* A job that ended is shown for a while; a later run of that name starts anew. */
static bool
has_ended(const struct job_profiler *profiler, const struct live *live,
	  const struct profiled_job *job)
{
	int64_t age_ns = live_now_ns(live) - job->at_ns;

	/* Negative for long: the clock was stepped back since. */
	return !profiler->has_traffic[job->job] &&
	       !(job->has_estimate && age_ns <= JOB_PROFILER_FORGET_NS &&
		 age_ns >= -JOB_PROFILER_FORGET_NS);
}

static void
forget_ended(struct job_profiler *profiler, const struct live *live)
{
	size_t n = 0;

	for (size_t i = 0; i < profiler->sorted.n; i++)
		if (!has_ended(profiler, live, profiler->sorted.items[i]))
			profiler->sorted.items[n++] = profiler->sorted.items[i];
	profiler->sorted.n = n;
	for (size_t j = 0; j < profiler->by_number.n; j++) {
		struct profiled_job *job = profiler->by_number.items[j];

		if (!job || !has_ended(profiler, live, job))
			continue;
		profiled_job_free(job);
		profiler->by_number.items[j] = NULL;
	}
}

/* Sorts the jobs by name, in steps; true at the end. */
static bool
sort_jobs(struct job_profiler *profiler, const struct live *live)
{
	const uint32_t *order;
	size_t n = 0;

	if (!profiler->sorter) {
		uint32_t *numbers = xcalloc(profiler->by_number.n + 1, sizeof *numbers);

		for (uint32_t j = 0; j < profiler->by_number.n; j++)
			if (profiler->by_number.items[j])
				numbers[n++] = j;
		profiler->sorter =
			sorter_new(profiler->by_number.n, compare_jobs, (void *)live);
		sorter_set(profiler->sorter, numbers, n);
		free(numbers);
	}
	if (!sorter_step(profiler->sorter, MOVES_A_STEP))
		return false;
	order = sorter_items(profiler->sorter, &n);
	profiler->sorted.n = 0;
	for (size_t i = 0; i < n; i++)
		vec_push(&profiler->sorted, profiler->by_number.items[order[i]]);
	sorter_free(profiler->sorter);
	profiler->sorter = NULL;
	profiler->is_new = false;
	return true;
}

/* Makes an entry for each job that has traffic now; true at the end. */
static bool
find_jobs(struct job_profiler *profiler, const struct live *live)
{
	for (int i = 0; i < SERIES_A_STEP && profiler->next_series < profiler->n_series;
	     i++) {
		uint32_t s = profiler->next_series++, job = live_series(live, s)->job;
		struct profiled_job **at;

		if (job >= TELE_OTHER || !live_has_traffic(live, s))
			continue;
		profiler->has_traffic[job] = true;
		at = &profiler->by_number.items[job];
		if (*at)
			continue;
		*at = xcalloc(1, sizeof **at);
		(*at)->job = job;
		profiler->is_new = true;
	}
	return profiler->next_series == profiler->n_series;
}

static void
begin_jobs(struct job_profiler *profiler, const struct live *live)
{
	job_series_fini(&profiler->job_series);
	job_series_init(&profiler->job_series, live, true);
	while (profiler->by_number.n < live_n_jobs(live))
		vec_push(&profiler->by_number, NULL);
	profiler->has_traffic =
		xcalloc(profiler->by_number.n + 1, sizeof *profiler->has_traffic);
	profiler->n_series = live_n_series(live);
	profiler->next_series = 0;
}

/* ---- Rounds ---------------------------------------------------------------------- */

/* The job that has waited longest is last. */
static int
compare_waiting(const void *a, const void *b)
{
	const struct profiled_job *const *x = a, *const *y = b;

	if ((*x)->tried_ns != (*y)->tried_ns)
		return (*x)->tried_ns > (*y)->tried_ns ? -1 : 1;
	return (*x)->job > (*y)->job ? -1 : 1;
}

/* Whether raw frames come for any of its kept series. */
static bool
is_told_raw(const struct job_profiler *profiler, const struct live *live, uint32_t job)
{
	size_t n;
	const uint32_t *series = job_series_of(&profiler->job_series, job, &n);

	for (size_t i = 0; i < n; i++)
		if (live_is_raw(live, series[i]))
			return true;
	return false;
}

/*
 * A job with summaries only cannot be estimated; its last estimate stays until it is
 * too old.
 */
static void
find_waiting(struct job_profiler *profiler, const struct live *live)
{
	profiler->waiting.n = 0;
	for (size_t i = 0; i < profiler->by_number.n; i++) {
		struct profiled_job *job = profiler->by_number.items[i];

		if (!job)
			continue;
		if (is_told_raw(profiler, live, job->job))
			vec_push(&profiler->waiting, job);
		else if (!job->has_estimate && !job->why)
			profiled_job_refuse(
				job, xstrdup("no traffic was seen in raw series"));
	}
	sort_items(profiler->waiting.items, profiler->waiting.n, compare_waiting);
}

/* A step of the start of a round. */
static void
prepare(struct job_profiler *profiler, const struct live *live)
{
	switch (profiler->preparing) {
	case PREPARE_SERIES:
		begin_jobs(profiler, live);
		profiler->preparing = PREPARE_JOBS;
		break;
	case PREPARE_JOBS:
		if (!find_jobs(profiler, live))
			break;
		forget_ended(profiler, live);
		/* There may be very many jobs, but few come and go. */
		profiler->preparing =
			profiler->is_new ? PREPARE_ORDER : PREPARE_WAITING;
		break;
	case PREPARE_ORDER:
		if (sort_jobs(profiler, live))
			profiler->preparing = PREPARE_WAITING;
		break;
	case PREPARE_WAITING:
		find_waiting(profiler, live);
		stop_preparing(profiler);
		break;
	case PREPARED:
		break;
	}
}

static void
begin_round(struct job_profiler *profiler, const struct live *live)
{
	let_go(profiler);
	stop_preparing(profiler);
	profiler->last_ns = live_now_ns(live);
	profiler->has_run = true;
	profiler->waiting.n = 0;
	profiler->preparing = PREPARE_SERIES;
}

bool
job_profiler_begin(struct job_profiler *profiler, const struct live *live)
{
	int64_t now_ns = live_now_ns(live);

	if (now_ns == LIVE_NEVER)
		return false;
	if (!profiler->has_run) { /* The first estimate comes after a while, too. */
		profiler->has_run = true;
		profiler->last_ns = now_ns;
		return false;
	}
	/* The clock may have been stepped back. */
	if (now_ns >= profiler->last_ns &&
	    now_ns - profiler->last_ns < JOB_PROFILER_EVERY_NS)
		return false;
	begin_round(profiler, live);
	return true;
}

bool
job_profiler_next(struct job_profiler *profiler, const struct live *live)
{
	struct profiled_job *job = profiler->in_hand;

	if (profiler->preparing != PREPARED) {
		prepare(profiler, live);
		return true;
	}
	if (!job) {
		if (!profiler->waiting.n)
			return false;
		take_in_hand(profiler, live,
			     profiler->waiting.items[--profiler->waiting.n]);
		return true;
	}
	if (go_on(profiler))
		return true;
	job->tried_ns = live_elapsed_ns(live);
	let_go(profiler);
	return profiler->waiting.n;
}

void
job_profiler_stop(struct job_profiler *profiler)
{
	let_go(profiler);
	stop_preparing(profiler);
	profiler->waiting.n = 0;
}

void
job_profiler_now(struct job_profiler *profiler, const struct live *live)
{
	begin_round(profiler, live);
	while (job_profiler_next(profiler, live))
		continue;
}

bool
job_profiler_step(struct job_profiler *profiler, const struct live *live)
{
	if (!job_profiler_begin(profiler, live))
		return false;
	while (profiler->preparing != PREPARED)
		prepare(profiler, live);
	if (profiler->waiting.n > JOB_PROFILER_MAX_AT_ONCE) {
		size_t n = profiler->waiting.n - JOB_PROFILER_MAX_AT_ONCE;

		profiler->waiting.n = JOB_PROFILER_MAX_AT_ONCE;
		memmove(profiler->waiting.items, profiler->waiting.items + n,
			profiler->waiting.n * sizeof *profiler->waiting.items);
	}
	while (job_profiler_next(profiler, live))
		continue;
	return true;
}

const struct profiled_job *const *
job_profiler_jobs(const struct job_profiler *profiler, size_t *ret_n)
{
	*ret_n = profiler->sorted.n;
	return profiler->sorted.items;
}

const struct profiled_job *
job_profiler_find(const struct job_profiler *profiler, uint32_t job)
{
	return job < profiler->by_number.n ? profiler->by_number.items[job] : NULL;
}
