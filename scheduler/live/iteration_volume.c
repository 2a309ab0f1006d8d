/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/live/iteration_volume.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/vec.h"
#include "scheduler/live/live.h"
#include "scheduler/live/live_constants.h"

#define MS_NS 1000000

/* The bytes of one series in the measured span. */
struct row {
	double *bins; /* Owned.  NAN: not known. */
	double bytes;
	bool is_own; /* Of rank 0's host, or of the only one with frames. */
};

struct measure {
	const struct live *live;
	const struct iteration_volume_sample *iterations;
	size_t n_iterations;
	int64_t from_ms;
	size_t n_ms;
	uint32_t *scratch; /* Owned. */
	VEC(struct row) rows;
};

static int64_t
ms_of(int64_t ns)
{
	return ns / MS_NS - (ns % MS_NS < 0);
}

/*
 * Finds the last iterations that all hosts have reported and whose bins are kept: of
 * long iterations perhaps one or two.
 */
static int
choose_window(struct measure *m, const struct iteration_volume_sample *iterations,
	      size_t n)
{
	int64_t to_ms = live_complete_ms(m->live);
	int64_t oldest_ms = to_ms - (int64_t)live_span_ms(m->live);
	size_t first;

	if (to_ms == LIVE_NEVER)
		return -ENODATA;
	while (n && ms_of(iterations[n - 1].end_ns) > to_ms)
		n--;
	if (n < ITERATION_VOLUME_N_MIN)
		return -EAGAIN;
	first = n > ITERATION_VOLUME_MAX_ITERATIONS
			? n - ITERATION_VOLUME_MAX_ITERATIONS
			: 0;
	while (first < n && (ms_of(iterations[first].begin_ns) < oldest_ms ||
			     iterations[n - 1].end_ns - iterations[first].begin_ns >
				     VOLUME_MAX_MS * (int64_t)MS_NS))
		first++;
	if (first == n)
		return -EAGAIN;
	m->iterations = iterations + first;
	m->n_iterations = n - first;
	m->from_ms = ms_of(iterations[first].begin_ns);
	m->n_ms = (size_t)(ms_of(iterations[n - 1].end_ns) - m->from_ms);
	return m->n_ms ? 0 : -EAGAIN;
}

static void
take_series(struct measure *m, uint32_t series, bool is_own)
{
	struct row row = { .is_own = is_own };
	size_t n_known = 0;

	live_bins(m->live, series, m->from_ms, m->n_ms, m->scratch);
	for (size_t t = 0; t < m->n_ms; t++)
		n_known += m->scratch[t] != TELE_GAP;
	if ((double)n_known < (1 - SERIES_MAX_GAPS) * (double)m->n_ms)
		return;
	row.bins = xcalloc(m->n_ms, sizeof *row.bins);
	for (size_t t = 0; t < m->n_ms; t++) {
		row.bins[t] = m->scratch[t] == TELE_GAP ? 0 : m->scratch[t];
		row.bytes += row.bins[t];
	}
	row.bytes *= (double)m->n_ms / (double)n_known;
	if (row.bytes > 0)
		vec_push(&m->rows, row);
	else
		free(row.bins);
}

static uint32_t
host_of(const struct live *live, uint32_t series)
{
	return live_interface(live, live_series(live, series)->interface)->host;
}

/* Series of switches repeat the same traffic. */
static void
take_all(struct measure *m, const uint32_t *series, size_t n, uint32_t host)
{
	VEC(uint32_t) wanted = VEC_EMPTY;
	size_t n_picked;

	for (size_t i = 0; i < n; i++)
		if (live_series(m->live, series[i])->has_bins &&
		    live_has_traffic(m->live, series[i]) &&
		    !(live_host(m->live, host_of(m->live, series[i]))->flags &
		      TELE_IMPORTED))
			vec_push(&wanted, series[i]);
	n_picked = wanted.n > ITERATION_VOLUME_MAX_SERIES ? ITERATION_VOLUME_MAX_SERIES
							  : wanted.n;
	for (size_t i = 0; i < n_picked; i++) {
		uint32_t one = wanted.items[i * wanted.n / n_picked];

		take_series(m, one, host_of(m->live, one) == host);
	}
	vec_free(&wanted);
}

/* The series that carry the job's collectives. */
static void
thin(struct measure *m)
{
	double most = 0;
	size_t n = 0;
	bool has_own = false;

	for (size_t i = 0; i < m->rows.n; i++)
		most = fmax(most, m->rows.items[i].bytes);
	for (size_t i = 0; i < m->rows.n; i++) {
		struct row row = m->rows.items[i];

		if (row.bytes < SERIES_MIN_SHARE * most) {
			free(row.bins);
			continue;
		}
		has_own |= row.is_own;
		m->rows.items[n++] = row;
	}
	m->rows.n = n;
	for (size_t i = 0; i < n && !has_own; i++)
		m->rows.items[i].is_own = true;
}

/* Bytes of rank 0's host in [from_ms, to_ms) of the measured span. */
static double
own_bytes(const struct measure *m, int64_t from_ms, int64_t to_ms)
{
	double bytes = 0;

	if (to_ms > (int64_t)m->n_ms)
		to_ms = (int64_t)m->n_ms;
	for (size_t i = 0; i < m->rows.n; i++)
		for (int64_t t = from_ms; m->rows.items[i].is_own && t < to_ms; t++)
			bytes += m->rows.items[i].bins[t];
	return bytes;
}

/* Finds how traffic is spread over the time in collectives of an iteration. */
static void
judge(const struct measure *m, const struct iteration_volume_sample *it, double *bytes,
      double *within, size_t *n_busy)
{
	int64_t from_ms = ms_of(it->begin_ns) - m->from_ms;
	int64_t end_ms = ms_of(it->end_ns) - m->from_ms;
	int64_t comm_ms = (it->comm_ns + MS_NS - 1) / MS_NS;
	int64_t to_ms = from_ms + comm_ms + VOLUME_LATE_MS < end_ms
				? from_ms + comm_ms + VOLUME_LATE_MS
				: end_ms;
	double here = own_bytes(m, from_ms, to_ms);

	*bytes += own_bytes(m, from_ms, end_ms);
	*within += here;
	for (int64_t k = 0; k < ITERATION_VOLUME_N_CELLS; k++) {
		/* Short cells overlap. */
		int64_t a = from_ms + k * comm_ms / ITERATION_VOLUME_N_CELLS;
		int64_t b = from_ms + (k + 1) * comm_ms / ITERATION_VOLUME_N_CELLS;
		int64_t b_least = a + 1;
		double mean;

		b = b > b_least ? b : b_least;
		b = b < end_ms ? b : end_ms;
		mean = here * (double)(b - a) / (double)(comm_ms > 0 ? comm_ms : 1);
		*n_busy += b > a && here > 0 &&
			   own_bytes(m, a, b) >= VOLUME_MIN_CELL * mean;
	}
}

static void
sum_up(const struct measure *m, struct iteration_volume *ret_volume)
{
	struct iteration_volume sent = { .n_iterations = m->n_iterations,
					 .n_series = m->rows.n };
	double bytes = 0, within = 0;
	size_t n_busy = 0;

	for (size_t i = 0; i < m->rows.n; i++)
		sent.bytes += m->rows.items[i].bytes;
	sent.bytes /= (double)m->rows.n * (double)m->n_iterations;
	for (size_t i = 0; i < m->n_iterations; i++)
		judge(m, &m->iterations[i], &bytes, &within, &n_busy);
	sent.within_frac = bytes > 0 ? within / bytes : 0;
	sent.busy_frac =
		(double)n_busy / (double)(ITERATION_VOLUME_N_CELLS * m->n_iterations);
	*ret_volume = sent;
}

int
iteration_volume_measure(const struct live *live, const uint32_t *series,
			 size_t n_series, uint32_t host,
			 const struct iteration_volume_sample *iterations, size_t n,
			 struct iteration_volume *ret_volume)
{
	struct measure m = { .live = live };
	int r = choose_window(&m, iterations, n);

	if (r < 0)
		return r;
	m.scratch = xcalloc(m.n_ms, sizeof *m.scratch);
	take_all(&m, series, n_series, host);
	thin(&m);
	if (m.rows.n)
		sum_up(&m, ret_volume);
	r = m.rows.n ? 0 : -ENODATA;
	for (size_t i = 0; i < m.rows.n; i++)
		free(m.rows.items[i].bins);
	vec_free(&m.rows);
	free(m.scratch);
	return r;
}
