/* SPDX-License-Identifier: Apache-2.0 */
/* job_series.c - the index, made by a counting sort. */
#include "scheduler/live/job_series.h"

#include <stdlib.h>

#include "lib/base/alloc.h"
#include "scheduler/live/live.h"

static bool
is_listed(const struct live *live, uint32_t series, bool only_with_bins)
{
	const struct live_series *s = live_series(live, series);

	return s->job < TELE_OTHER && (s->has_bins || !only_with_bins);
}

void
job_series_init(struct job_series *all, const struct live *live, bool only_with_bins)
{
	uint32_t n_jobs = live_n_jobs(live), n_series = live_n_series(live);
	uint32_t *first = xcalloc((size_t)n_jobs + 2, sizeof *first);

	/* first[j + 2] counts job j; then first[j + 1] is its place, which moves on. */
	for (uint32_t s = 0; s < n_series; s++)
		if (is_listed(live, s, only_with_bins))
			first[live_series(live, s)->job + 2]++;
	for (uint32_t j = 1; j < n_jobs + 2; j++)
		first[j] += first[j - 1];
	all->n_jobs = n_jobs;
	all->first = first;
	all->series = xcalloc((size_t)n_series + 1, sizeof *all->series);
	for (uint32_t s = 0; s < n_series; s++)
		if (is_listed(live, s, only_with_bins))
			all->series[first[live_series(live, s)->job + 1]++] = s;
}

void
job_series_fini(struct job_series *all)
{
	free(all->first);
	free(all->series);
	*all = (struct job_series){ 0 };
}

const uint32_t *
job_series_of(const struct job_series *all, uint32_t job, size_t *ret_n)
{
	*ret_n = 0;
	if (job >= all->n_jobs)
		return NULL;
	*ret_n = all->first[job + 1] - all->first[job];
	return all->series + all->first[job];
}
