/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_profiler_events.c - iterations from collective events. Declared in
 * job_profiler.h.
 *
 * An iteration is a repeated sequence of k collectives: the smallest k for which the
 * message sizes repeat with lag k, and the times from collective i to i + k vary
 * little.
 */
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/stats.h"
#include "lib/base/vec.h"
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/live.h"
#include "scheduler/live/live_constants.h"

struct collective {
	int64_t begin_ns;
	uint64_t bytes;
};

/* Collectives of one process, in order of time. */
struct sequence {
	VEC(struct collective) of;
};

static bool
is_same_process(const struct live_event *x, const struct live_event *y)
{
	return x->host == y->host && x->pid == y->pid;
}

static int
compare_processes(const void *a, const void *b)
{
	const struct live_event *x = a, *y = b;

	if (x->host != y->host)
		return x->host < y->host ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* The events since 'from_ns' of the process with the most, in order of time. */
static void
pick_process(const struct live_event *events, size_t n, int64_t from_ns,
	     struct sequence *out)
{
	struct live_event *sorted = xcalloc(n + 1, sizeof *sorted);
	size_t n_recent = 0;

	for (size_t i = 0; i < n; i++)
		if (events[i].begin_ns >= from_ns)
			sorted[n_recent++] = events[i];
	qsort(sorted, n_recent, sizeof *sorted, compare_processes);
	for (size_t first = 0, end; first < n_recent; first = end) {
		for (end = first + 1; end < n_recent; end++)
			if (!is_same_process(&sorted[end], &sorted[first]))
				break;
		if (end - first <= out->of.n)
			continue;
		out->of.n = 0;
		for (size_t k = first; k < end; k++)
			vec_push(&out->of, ((struct collective){ sorted[k].begin_ns,
								 sorted[k].bytes }));
	}
	free(sorted);
}

/* True if k collectives are an iteration; fills the times of 'n' - k of them. */
static bool
repeats(const struct collective *c, size_t n, size_t k, double *ret_us)
{
	size_t n_misfits = 0;
	double mean;

	for (size_t i = 0; i + k < n; i++) {
		n_misfits += c[i].bytes != c[i + k].bytes;
		ret_us[i] = (double)(c[i + k].begin_ns - c[i].begin_ns) / 1e3;
	}
	mean = stats_mean(ret_us, n - k);
	return (double)n_misfits <= EVENTS_MAX_MISFITS * (double)(n - k) && mean > 0 &&
	       stats_sd(ret_us, n - k) <= EVENTS_MAX_JITTER * mean;
}

int64_t
job_profiler_event_period_us(const struct live *live, uint32_t job, int64_t from_ns,
			     double *ret_jitter_us)
{
	struct sequence one = { .of = VEC_EMPTY };
	size_t n;
	const struct live_event *events = live_events(live, job, &n);
	int64_t period_us = 0;
	double *times_us;

	pick_process(events, n, from_ns, &one);
	n = one.of.n;
	times_us = xcalloc(n + 1, sizeof *times_us);
	for (size_t k = 1;
	     k <= EVENTS_MAX_SEQUENCE && (EVENTS_MIN_REPEATS + 1) * k <= n; k++) {
		if (!repeats(one.of.items, n, k, times_us))
			continue;
		if (ret_jitter_us)
			*ret_jitter_us = stats_sd(times_us, n - k);
		period_us = (int64_t)(stats_hodges_lehmann(times_us, n - k) + 0.5);
		break;
	}
	free(times_us);
	vec_free(&one.of);
	return period_us;
}
