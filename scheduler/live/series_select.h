/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series_select.h - the series of a job that its profile is estimated from, and their
 * bins.
 *
 * job_profiler.h defines the choice ('series', 'gaps'). For job_profiler.c only.
 */
#ifndef SCHEDULER_LIVE_SERIES_SELECT_H
#define SCHEDULER_LIVE_SERIES_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct live;
struct series_select;
struct series_set;

/*
 * Begins with series[n] of a job, up to live_complete_ms() and at most 'max_ms' back.
 * 'live' is borrowed; the series keep their numbers meanwhile.
 */
struct series_select *series_select_new(const struct live *live, const uint32_t *series,
					size_t n, uint32_t max_ms);
void series_select_free(struct series_select *select); /* Accepts NULL. */

/* Reads some more series; true if more are left. The other functions need all. */
bool series_select_step(struct series_select *select);

const struct live *series_select_live(const struct series_select *select);
int64_t series_select_to_ms(const struct series_select *select); /* Where it ends. */
size_t series_select_n_of_job(
	const struct series_select *select); /* Series; the job's, pooled or not. */
bool series_select_is_empty(const struct series_select *select); /* None has traffic. */
uint32_t series_select_traffic_ms(
	const struct series_select *select); /* Since the first of its traffic. */
uint32_t
series_select_idle_ms(const struct series_select *select); /* Since the last of it. */

/*
 * Makes the last 'window_ms' of the pooled series, and the unknown share of it; returns
 * the number of series. Release with series_fini(), also after 0.
 */
size_t series_select_make_set(struct series_select *select, uint32_t window_ms,
			      struct series_set *ret_set, double *ret_gap_frac);

#endif
