/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status_jobs.c - the JSON of running jobs.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/jsonw.h"
#include "scheduler/live/contention.h"
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/job_series.h"
#include "scheduler/live/live.h"
#include "scheduler/live/status.h"

static int
compare_names(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;
	int order = strverscmp(*x, *y);

	return order ? order : strcmp(*x, *y);
}

static void
add_host(const struct status *status, uint32_t series, uint32_t job,
	 struct status_names *names)
{
	const struct live_series *s = live_series(status->live, series);
	uint32_t host = live_interface(status->live, s->interface)->host;

	if (s->job == job && live_has_traffic(status->live, series))
		vec_push(&names->names, live_host(status->live, host)->name);
}

void
status_hosts(const struct status *status, const struct job_series *job_series,
	     uint32_t job, struct status_names *ret_hosts)
{
	const uint32_t *series;
	size_t n = 0, n_series;

	*ret_hosts = (struct status_names){ .names = VEC_EMPTY };
	if (job_series) {
		series = job_series_of(job_series, job, &n_series);
		for (size_t i = 0; i < n_series; i++)
			add_host(status, series[i], job, ret_hosts);
	} else {
		for (uint32_t s = 0; s < live_n_series(status->live); s++)
			add_host(status, s, job, ret_hosts);
	}
	if (!ret_hosts->names.n)
		return;
	qsort(ret_hosts->names.items, ret_hosts->names.n,
	      sizeof *ret_hosts->names.items, compare_names);
	for (size_t i = 0; i < ret_hosts->names.n; i++)
		if (n == 0 || strcmp(ret_hosts->names.items[n - 1],
				     ret_hosts->names.items[i]) != 0)
			ret_hosts->names.items[n++] = ret_hosts->names.items[i];
	ret_hosts->names.n = n;
}

static void
put_int(struct jsonw *w, const char *key, int64_t value, bool is_known)
{
	if (is_known)
		jsonw_int(w, key, value);
	else
		jsonw_null(w, key);
}

static void
put_num(struct jsonw *w, const char *key, double value, bool is_known)
{
	if (is_known)
		jsonw_rounded(w, key, value, 4);
	else
		jsonw_null(w, key);
}

void
status_json_phases(const struct profile *p, struct jsonw *w)
{
	jsonw_array(w, "phases");
	for (size_t i = 0; i < p->n_phases; i++) {
		jsonw_flat_object(w, NULL);
		jsonw_int(w, "start_us", p->phases[i].start_us);
		jsonw_int(w, "duration_us", p->phases[i].duration_us);
		jsonw_rounded(w, "rate_bps", p->phases[i].rate_bps, 0);
		jsonw_end(w);
	}
	jsonw_end(w);
}

static void
put_links(const struct contention *found, const struct contention_by_job *on,
	  uint32_t job, struct jsonw *w)
{
	jsonw_array(w, "links");
	for (size_t i = on->first[job]; i < on->first[job + 1]; i++)
		jsonw_str(w, NULL, found->links[on->items[i].link].name);
	jsonw_end(w);
}

static void
put_job(const struct status *status, const struct contention *found,
	const struct contention_by_job *on, const struct job_series *job_series,
	const struct profiled_job *job, struct jsonw *w)
{
	const struct profile *p = &job->detection.profile;
	bool known = job->has_estimate;
	struct status_names hosts;

	jsonw_object(w, NULL);
	jsonw_str(w, "job", live_job_name(status->live, job->job));
	status_hosts(status, job_series, job->job, &hosts);
	jsonw_flat_array(w, "hosts");
	for (size_t i = 0; i < hosts.names.n; i++)
		jsonw_str(w, NULL, hosts.names.items[i]);
	jsonw_end(w);
	vec_free(&hosts.names);
	put_int(w, "period_us", p->period_us, known);
	put_int(w, "jitter_us", p->jitter_us, known);
	put_num(w, "duty_ratio", known ? profile_duty(p) : 0, known);
	put_num(w, "bytes_per_iteration", p->bytes_per_iteration, known);
	put_int(w, "iterations", p->n_iterations, known);
	put_num(w, "confidence", p->confidence, known);
	put_int(w, "window_us", job->window_ms * INT64_C(1000), known);
	put_int(w, "age_us", known ? status_estimate_age_ns(status, job) / 1000 : 0,
		known);
	jsonw_int(w, "series", job->n_series);
	jsonw_int(w, "series_left_out", job->n_left_out);
	put_num(w, "gap_ratio", job->gap_frac, known);
	jsonw_bool(w, "has_events", job->has_events);
	put_int(w, "harmonic_of_us", job->harmonic_of_us, job->harmonic_of_us > 0);
	jsonw_bool(w, "has_changed", job->has_alarm);
	put_int(w, "changed_at_us", job->alarm_ns / 1000, job->has_alarm);
	put_int(w, "period_before_us", job->period_before_us, job->has_alarm);
	put_num(w, "bytes_before", job->bytes_before, job->has_alarm);
	jsonw_str(w, "why", job->why);
	jsonw_flat_array(w, "trend_us");
	for (uint32_t i = 0; i < job->n_trend; i++)
		jsonw_int(w, NULL, job->trend_us[i]);
	jsonw_end(w);
	status_json_phases(p, w);
	put_links(found, on, job->job, w);
	jsonw_end(w);
}

void
status_json_jobs(const struct status *status, const struct contention *found,
		 const struct profiled_job *const *jobs, size_t n, struct jsonw *w)
{
	struct job_series job_series;
	struct contention_by_job on;

	job_series_init(&job_series, status->live, false);
	contention_by_job_init(&on, found, live_n_jobs(status->live));
	jsonw_array(w, "jobs");
	for (size_t i = 0; i < n; i++)
		put_job(status, found, &on, &job_series, jobs[i], w);
	jsonw_end(w);
	contention_by_job_fini(&on);
	job_series_fini(&job_series);
}
