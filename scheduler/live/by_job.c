/* by_job.c - a counting sort. */
#include "scheduler/live/by_job.h"

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
by_job_init(struct by_job *by_job, const struct live *live, bool only_with_bins)
{
	uint32_t n_jobs = live_n_jobs(live), n_series = live_n_series(live);
	uint32_t *first = xcalloc((size_t)n_jobs + 2, sizeof *first);

	/* first[j + 2] counts job j; then first[j + 1] is its place, which moves on. */
	for (uint32_t s = 0; s < n_series; s++)
		if (is_listed(live, s, only_with_bins))
			first[live_series(live, s)->job + 2]++;
	for (uint32_t j = 1; j < n_jobs + 2; j++)
		first[j] += first[j - 1];
	by_job->n_jobs = n_jobs;
	by_job->first = first;
	by_job->series = xcalloc((size_t)n_series + 1, sizeof *by_job->series);
	for (uint32_t s = 0; s < n_series; s++)
		if (is_listed(live, s, only_with_bins))
			by_job->series[first[live_series(live, s)->job + 1]++] = s;
}

void
by_job_fini(struct by_job *by_job)
{
	free(by_job->first);
	free(by_job->series);
	*by_job = (struct by_job){ 0 };
}

const uint32_t *
by_job_series(const struct by_job *by_job, uint32_t job, size_t *ret_n)
{
	*ret_n = 0;
	if (job >= by_job->n_jobs)
		return NULL;
	*ret_n = by_job->first[job + 1] - by_job->first[job];
	return by_job->series + by_job->first[job];
}
