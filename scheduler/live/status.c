/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/live/status.h"

#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/jsonw.h"
#include "lib/base/strtab.h"
#include "scheduler/live/contention.h"
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/live.h"

int64_t
status_age_ns(const struct status *status, int64_t to_ms)
{
	return live_now_ns(status->live) - to_ms * 1000000 + status->idle_ns;
}

int64_t
status_host_age_ns(const struct status *status, uint32_t host)
{
	return live_age_ns(status->live, host) + status->heard_idle_ns;
}

bool
status_is_silent(const struct status *status, uint32_t host)
{
	return status_host_age_ns(status, host) > LIVE_SILENT_NS;
}

/* Wall clock microseconds for "at_us": the newest frame's; 0: none. */
static int64_t
status_at_us(const struct status *status)
{
	int64_t now_ns = live_now_ns(status->live);

	return now_ns == LIVE_NEVER ? 0 : now_ns / 1000;
}

int64_t
status_estimate_age_ns(const struct status *status, const struct profiled_job *job)
{
	return status_age_ns(status, job->at_ns / 1000000);
}

void
status_census(const struct status *status, struct status_census *ret_census)
{
	struct status_census census = { .worst_clock_ns = -1 };

	for (uint32_t i = 0; i < live_n_hosts(status->live); i++) {
		const struct live_host *host = live_host(status->live, i);

		census.gaps += host->gaps;
		census.lost += host->lost_records;
		census.unplaced += host->unplaced_jobs;
		census.restarts += host->restarts;
		census.is_simulated |= (host->flags & TELE_SIMULATED) != 0;
		census.n_off += live_is_off(status->live, i);
		if (host->clock_error_ns > census.worst_clock_ns)
			census.worst_clock_ns = host->clock_error_ns;
		if (host->flags & TELE_IMPORTED) {
			census.n_switches++;
			continue;
		}
		census.n_hosts++;
		census.n_fresh += !status_is_silent(status, i);
	}
	*ret_census = census;
}

static void
put_host(const struct status *status, uint32_t i, struct jsonw *w)
{
	const struct live_host *host = live_host(status->live, i);

	jsonw_flat_object(w, NULL);
	jsonw_str(w, "host", host->name);
	jsonw_int(w, "age_us", status_host_age_ns(status, i) / 1000);
	jsonw_bool(w, "is_silent", status_is_silent(status, i));
	jsonw_bool(w, "is_switch", (host->flags & TELE_IMPORTED) != 0);
	jsonw_int(w, "missing_frames", (int64_t)host->gaps);
	jsonw_int(w, "restarts", (int64_t)host->restarts);
	jsonw_int(w, "lost_records", (int64_t)host->lost_records);
	if (host->clock_error_ns >= 0)
		jsonw_int(w, "clock_error_us", host->clock_error_ns / 1000);
	else
		jsonw_null(w, "clock_error_us");
	jsonw_end(w);
}

static void
put_hosts(const struct status *status, struct jsonw *w)
{
	uint32_t n = live_n_hosts(status->live), n_told = 0;
	uint32_t max = status->max_hosts ? status->max_hosts : n;
	bool is_all = n <= max;

	jsonw_array(w, "hosts");
	for (uint32_t i = 0; i < n && n_told < max; i++) {
		if (!is_all && !status_is_silent(status, i))
			continue;
		put_host(status, i, w);
		n_told++;
	}
	jsonw_end(w);
	if (status->max_hosts)
		jsonw_int(w, "hosts_left_out", n - n_told);
}

void
status_json_footer(const struct status *status, int64_t from_ms, int64_t to_ms,
		   struct jsonw *w)
{
	struct status_census census;

	status_census(status, &census);
	jsonw_int(w, "at_us", status_at_us(status));
	jsonw_int(w, "window_us", (to_ms - from_ms) * 1000);
	if (to_ms > from_ms)
		jsonw_int(w, "data_age_us", status_age_ns(status, to_ms) / 1000);
	else
		jsonw_null(w, "data_age_us");
	jsonw_bool(w, "is_simulated", census.is_simulated);
	jsonw_bool(w, "has_fabric", status->has_fabric);
	put_hosts(status, w);
}

/* ---- Starts of contention -------------------------------------------------------- */

/* Of one link; since_ms is INT64_MIN without contention. */
struct since_link {
	int64_t since_ms;
	bool is_older; /* It had begun before our first window. */
	bool is_known; /* False: its number is free. */
	bool is_used;  /* Since contention_starts_forget(). */
};

struct contention_starts {
	struct strtab *links; /* Owned. */
	VEC(struct since_link) seen;
	size_t n_known;
};

struct contention_starts *
contention_starts_new(void)
{
	struct contention_starts *since = xcalloc(1, sizeof *since);

	since->links = strtab_new();
	return since;
}

void
contention_starts_free(struct contention_starts *since)
{
	if (!since)
		return;
	strtab_free(since->links);
	vec_free(&since->seen);
	free(since);
}

void
contention_starts_remember_some(struct contention_starts *since,
				struct contention *found, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		struct contention_link *link = &found->links[i];
		uint32_t id = strtab_intern(since->links, link->name);
		struct since_link *seen;

		if (id == since->seen.n)
			vec_push(&since->seen, ((struct since_link){ .since_ms = 0 }));
		seen = &since->seen.items[id];
		since->n_known += !seen->is_known;
		if (!seen->is_known)
			*seen = (struct since_link){ .since_ms = INT64_MIN,
						     .is_known = true };
		seen->is_used = true;
		link->number = id;
		if (link->since_ms == INT64_MIN || seen->since_ms == INT64_MIN ||
		    link->since_ms - found->from_ms >= CONTENTION_PAUSE_MS) {
			seen->since_ms = link->since_ms;
			seen->is_older = link->is_since_older;
		}
		link->since_ms = seen->since_ms;
		link->is_since_older = seen->is_older;
	}
}

void
contention_starts_remember(struct contention_starts *since, struct contention *found)
{
	contention_starts_remember_some(since, found, 0, found->n_links);
}

size_t
contention_starts_n(const struct contention_starts *since)
{
	return since->n_known;
}

void
contention_starts_move(struct contention_starts *since, int64_t step_ms)
{
	for (uint32_t i = 0; i < since->seen.n; i++)
		if (since->seen.items[i].since_ms != INT64_MIN)
			since->seen.items[i].since_ms += step_ms;
}

void
contention_starts_forget(struct contention_starts *since)
{
	for (uint32_t i = 0; i < since->seen.n; i++) {
		struct since_link *seen = &since->seen.items[i];

		if (seen->is_known && !seen->is_used) {
			seen->is_known = false;
			since->n_known--;
			strtab_remove(since->links, i);
		}
		seen->is_used = false;
	}
}
