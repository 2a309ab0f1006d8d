/* SPDX-License-Identifier: Apache-2.0 */
/* live_view.c - queries of the live state. */
#include "scheduler/live/live.h"
#include "scheduler/live/live_priv.h"

int64_t
live_now_ns(const struct live *live)
{
	return live->now_ns;
}

int64_t
live_elapsed_ns(const struct live *live)
{
	return live->elapsed_ns;
}

int64_t
live_complete_ms(const struct live *live)
{
	int64_t least_ns = LIVE_NEVER;

	for (uint32_t i = 0; i < live->hosts.n; i++) {
		const struct host *host = &live->hosts.items[i];
		int64_t raw_ns = host->seen.raw_ns;

		if (raw_ns == LIVE_NEVER || raw_ns > live->now_ns + LIVE_OFF_NS ||
		    raw_ns < live->now_ns - LIVE_OFF_NS ||
		    live->elapsed_ns - host->raw_heard_ns > LIVE_SILENT_NS)
			continue;
		if (least_ns == LIVE_NEVER || raw_ns < least_ns)
			least_ns = raw_ns;
	}
	return least_ns == LIVE_NEVER ? LIVE_NEVER : live_ms_floor(least_ns);
}

uint32_t
live_span_ms(const struct live *live)
{
	int64_t to_ms = live_complete_ms(live), first_ms = to_ms;

	for (size_t i = 0; i < live->interfaces.n && to_ms != LIVE_NEVER; i++) {
		const struct interface *it = &live->interfaces.items[i];
		int64_t at_ms;

		if (it->covered.n == 0)
			continue;
		at_ms = it->covered.items[0].from_ms +
			live_offset_ms(&live->hosts.items[it->seen.host]);
		if (at_ms < first_ms)
			first_ms = at_ms;
	}
	if (to_ms - first_ms > live->keep_ms)
		return live->keep_ms;
	return (uint32_t)(to_ms - first_ms);
}

uint32_t
live_n_hosts(const struct live *live)
{
	return (uint32_t)live->hosts.n;
}

uint32_t
live_n_interfaces(const struct live *live)
{
	return (uint32_t)live->interfaces.n;
}

uint32_t
live_n_jobs(const struct live *live)
{
	return (uint32_t)live->jobs.n;
}

bool
live_is_job(const struct live *live, uint32_t job)
{
	return job < live->jobs.n && live->jobs.items[job].is_known;
}

uint32_t
live_n_known_jobs(const struct live *live)
{
	return live->n_known_jobs;
}

uint32_t
live_n_series(const struct live *live)
{
	return (uint32_t)live->series.n;
}

const struct live_host *
live_host(const struct live *live, uint32_t host)
{
	return &live->hosts.items[host].seen;
}

const struct live_interface *
live_interface(const struct live *live, uint32_t interface)
{
	return &live->interfaces.items[interface].seen;
}

const struct live_series *
live_series(const struct live *live, uint32_t series)
{
	return &live->series.items[series]->seen;
}

const char *
live_job_name(const struct live *live, uint32_t job)
{
	if (job == TELE_LINK)
		return "(all)";
	return job == TELE_OTHER ? "(other)" : strtab_name(live->job_names, job);
}

uint32_t
live_find_job(const struct live *live, const char *name)
{
	uint32_t id = strtab_find(live->job_names, name);

	return id == STRTAB_NONE ? TELE_LINK : id;
}

uint32_t
live_find_series(const struct live *live, uint32_t interface, uint32_t job,
		 enum tele_direction direction)
{
	const struct series *s =
		live_series_of(live, live_series_key(interface, job, direction));

	return s ? s->number : UINT32_MAX;
}

int64_t
live_age_ns(const struct live *live, uint32_t host)
{
	return live->elapsed_ns - live->hosts.items[host].heard_ns;
}

bool
live_is_silent(const struct live *live, uint32_t host)
{
	return live_age_ns(live, host) > LIVE_SILENT_NS;
}

bool
live_is_off(const struct live *live, uint32_t host)
{
	int64_t ahead_ns = live->hosts.items[host].seen.time_ns - live->now_ns;

	return !live_is_silent(live, host) &&
	       (ahead_ns > LIVE_OFF_NS || ahead_ns < -LIVE_OFF_NS);
}

bool
live_has_summary(const struct live *live, uint32_t host)
{
	const struct live_host *told = live_host(live, host);

	return told->summary_ns != LIVE_NEVER && told->summary_window_ns > 0 &&
	       live->elapsed_ns - live->hosts.items[host].summary_heard_ns <=
		       LIVE_SILENT_NS;
}

uint64_t
live_window_bytes(const struct live *live, uint32_t series)
{
	const struct live_series *s = live_series(live, series);
	uint32_t host = live_interface(live, s->interface)->host;

	if (!s->has_summary || s->summary_ns != live_host(live, host)->summary_ns)
		return 0;
	return s->window_bytes;
}

bool
live_has_traffic(const struct live *live, uint32_t series)
{
	const struct series *s = live->series.items[series];
	const struct live_interface *it =
		&live->interfaces.items[s->seen.interface].seen;
	int64_t end_ms = live->hosts.items[it->host].raw_mono_ms;

	if (live_age_ns(live, it->host) > live->keep_ms * NS_PER_MS)
		return false;
	if (s->ring && s->seen.last_ms != LIVE_NEVER && end_ms != LIVE_NEVER &&
	    s->seen.last_ms >= end_ms - live->keep_ms)
		return true;
	return live_window_bytes(live, series) > 0 &&
	       live->elapsed_ns - live->hosts.items[it->host].summary_heard_ns <=
		       live->keep_ms * NS_PER_MS;
}

void
live_bins(const struct live *live, uint32_t series, int64_t from_ms, size_t n,
	  uint32_t *ret_bins)
{
	const struct series *s = live->series.items[series];
	const struct interface *interface = &live->interfaces.items[s->seen.interface];
	int64_t from =
		from_ms - live_offset_ms(&live->hosts.items[interface->seen.host]);
	int64_t to = from + (int64_t)n, first, last;
	size_t at;

	for (size_t i = 0; i < n; i++)
		ret_bins[i] = TELE_GAP;
	for (size_t k = 0; k < interface->covered.n; k++) {
		const struct span *span = &interface->covered.items[k];
		int64_t a = span->from_ms > from ? span->from_ms : from;
		int64_t b = span->to_ms < to ? span->to_ms : to;

		for (int64_t ms = a; ms < b; ms++)
			ret_bins[ms - from] = 0;
	}
	if (!s->ring)
		return;
	/* The part within the ring, without a look-up for each bin. */
	first = s->end_ms - live->keep_ms > from ? s->end_ms - live->keep_ms : from;
	last = s->end_ms < to ? s->end_ms : to;
	if (first >= last)
		return;
	at = live_ring_at(live, first);
	for (int64_t ms = first; ms < last; ms++) {
		uint32_t bytes = s->ring[at];

		if (bytes != LIVE_UNTOLD)
			ret_bins[ms - from] = bytes == LIVE_ZERO ? 0 : bytes;
		if (++at == live->keep_ms)
			at = 0;
	}
}

bool
live_is_raw(const struct live *live, uint32_t series)
{
	const struct series *s = live->series.items[series];
	uint32_t id = live->interfaces.items[s->seen.interface].seen.host;
	int64_t age_ns = live->elapsed_ns - live->hosts.items[id].raw_heard_ns;

	return s->ring &&
	       (age_ns <= LIVE_SILENT_NS ||
		(live_is_silent(live, id) && age_ns <= live->keep_ms * NS_PER_MS));
}

/* How many of an interface's kept milliseconds are covered by frames. */
static int64_t
covered_ms(const struct live *live, const struct interface *interface)
{
	int64_t oldest_ms =
		live->hosts.items[interface->seen.host].raw_mono_ms - live->keep_ms;
	int64_t sum_ms = 0;

	for (size_t i = 0; i < interface->covered.n; i++) {
		const struct span *span = &interface->covered.items[i];

		if (span->to_ms > oldest_ms)
			sum_ms +=
				span->to_ms -
				(span->from_ms > oldest_ms ? span->from_ms : oldest_ms);
	}
	return sum_ms;
}

double
live_mean_bytes_per_ms(const struct live *live, uint32_t series)
{
	const struct series *s = live->series.items[series];
	const struct interface *interface = &live->interfaces.items[s->seen.interface];
	const struct host *it = &live->hosts.items[interface->seen.host];
	const struct live_host *host = &it->seen;
	int64_t told_ms;

	if (!live_has_traffic(live, series))
		return 0;
	/* A host without raw frames may still send summaries. */
	if (s->ring && (host->summary_ns == LIVE_NEVER ||
			it->raw_heard_ns >= it->summary_heard_ns - LIVE_SILENT_NS)) {
		told_ms = covered_ms(live, interface);
		return (double)s->kept_bytes / (double)(told_ms > 0 ? told_ms : 1);
	}
	return host->summary_window_ns > 0
		       ? (double)live_window_bytes(live, series) * NS_PER_MS /
				 (double)host->summary_window_ns
		       : 0;
}

const struct live_event *
live_events(const struct live *live, uint32_t job, size_t *ret_n)
{
	*ret_n = live->jobs.items[job].events.n;
	return live->jobs.items[job].events.items;
}

size_t
live_bytes(const struct live *live)
{
	return live->bytes;
}

const struct live_counts *
live_counts(const struct live *live)
{
	return &live->counts;
}
