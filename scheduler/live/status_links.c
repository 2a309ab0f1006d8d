/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status_links.c - the JSON of links.
 */
#include <stdint.h>

#include "lib/base/jsonw.h"
#include "scheduler/live/contention.h"
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/live.h"
#include "scheduler/live/status.h"

double
status_overlap_us(const struct status *status, const struct contention_link *link,
		  const struct contention_pair *pair, uint32_t job)
{
	const struct profiled_job *profiler = job_profiler_find(status->profiler, job);

	if (!(profiler && profiler->has_estimate) || !link->known_ms)
		return -1;
	return (double)profiler->detection.profile.period_us * pair->overlap_ms /
	       link->known_ms;
}

/* A number, or null if unknown. */
static void
put_known(struct jsonw *w, const char *key, double value, bool is_known, int decimals)
{
	if (is_known)
		jsonw_rounded(w, key, value, decimals);
	else
		jsonw_null(w, key);
}

/* 'bps' NULL: unknown. */
static void
put_history(const struct status *status, const float *bps, struct jsonw *w)
{
	size_t n = status->omits_history ? 0 : CONTENTION_COLUMNS;

	jsonw_flat_array(w, "history_bps");
	for (size_t c = 0; c < n; c++)
		put_known(w, NULL, bps ? (double)bps[c] : 0, bps && bps[c] >= 0, 0);
	jsonw_end(w);
}

static void
put_job(const struct status *status, const struct contention_link *link,
	const struct contention_job *job, struct jsonw *w)
{
	bool is_raw = link->known_ms > 0;

	jsonw_object(w, NULL);
	jsonw_str(w, "job", live_job_name(status->live, job->job));
	put_known(w, "now_bps", job->now_bps, job->now_bps >= 0, 0);
	put_known(w, "mean_bps", job->mean_bps, is_raw, 0);
	jsonw_rounded(w, "peak_bps", job->peak_bps, 0);
	put_known(w, "alone_bps", job->isolated_bps, job->active_ms > job->overlap_ms,
		  0);
	put_known(w, "overlap_bps", job->overlap_bps, job->overlap_ms > 0, 0);
	put_known(w, "active_us", job->active_ms * 1e3, is_raw, 0);
	put_known(w, "overlap_us", job->overlap_ms * 1e3, is_raw, 0);
	if (is_raw) {
		put_history(status, job->history_bps, w);
	} else {
		jsonw_flat_array(w, "history_bps");
		jsonw_end(w);
	}
	jsonw_end(w);
}

static void
put_pair(const struct status *status, const struct contention_link *link,
	 const struct contention_pair *pair, struct jsonw *w)
{
	const uint32_t both[] = { pair->a, pair->b };

	jsonw_flat_object(w, NULL);
	jsonw_array(w, "jobs");
	for (int k = 0; k < 2; k++)
		jsonw_str(w, NULL, live_job_name(status->live, both[k]));
	jsonw_end(w);
	jsonw_int(w, "overlap_us", pair->overlap_ms * INT64_C(1000));
	jsonw_int(w, "over_us", pair->over_ms * INT64_C(1000));
	jsonw_array(w, "overlap_us_per_iteration");
	for (int k = 0; k < 2; k++) {
		double us = status_overlap_us(status, link, pair, both[k]);

		put_known(w, NULL, us, us >= 0, 0);
	}
	jsonw_end(w);
	jsonw_end(w);
}

static void
put_link(const struct status *status, const struct contention_link *link,
	 struct jsonw *w)
{
	double over = contention_over_frac(link);

	jsonw_object(w, NULL);
	jsonw_str(w, "link", link->name);
	jsonw_str(w, "basis", contention_basis_names[link->basis]);
	jsonw_bool(w, "is_up", link->is_up);
	jsonw_int(w, "from_tier", link->from_tier);
	jsonw_int(w, "to_tier", link->to_tier);
	put_known(w, "capacity_bps", link->capacity_bps, link->capacity_bps > 0, 0);
	put_known(w, "now_bps", link->now_bps, link->now_bps >= 0, 0);
	put_known(w, "mean_bps", link->mean_bps, link->mean_bps >= 0, 0);
	put_known(w, "peak_bps", link->peak_bps, link->peak_bps >= 0, 0);
	put_known(w, "other_bps", link->other_bps, link->known_ms > 0, 0);
	put_known(w, "over_ratio", over, over >= 0, 6);
	put_known(w, "queue_bytes", link->queue_bytes, link->has_counts, 0);
	put_known(w, "total_retransmits", (double)link->total_retransmits,
		  link->has_counts, 0);
	put_known(w, "total_ce", (double)link->total_ce, link->has_counts, 0);
	jsonw_int(w, "known_us", link->known_ms * INT64_C(1000));
	if (link->since_ms != INT64_MIN)
		jsonw_int(w, "since_us", link->since_ms * 1000);
	else
		jsonw_null(w, "since_us");
	jsonw_array(w, "jobs");
	for (size_t i = 0; i < link->n_jobs; i++)
		put_job(status, link, &link->jobs[i], w);
	jsonw_end(w);
	jsonw_array(w, "pairs");
	for (size_t i = 0; i < link->n_pairs; i++)
		put_pair(status, link, &link->pairs[i], w);
	jsonw_end(w);
	put_history(status, link->history_bps, w);
	jsonw_end(w);
}

void
status_json_links(const struct status *status,
		  const struct contention_link *const *links, size_t n, struct jsonw *w)
{
	jsonw_array(w, "links");
	for (size_t i = 0; i < n; i++)
		put_link(status, links[i], w);
	jsonw_end(w);
}
