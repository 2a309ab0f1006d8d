/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_joblist.c - a filter and bytes as a job trace for a cluster: jobs come in the
 * order of submission, without those that the filter drops or that have no known
 * duration
 */
#include <math.h>
#include <string.h>

#include "lib/base/err.h"
#include "sim/jobs/joblist.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/memory_file.h"

#define N_BYTES 4 /* Length of the filter. */

static void
make_filter(const uint8_t *data, struct joblist_filter *filter)
{
	joblist_filter_init(filter);
	if (data[0] & 1)
		filter->min_gpus = data[1];
	if (data[0] & 2)
		filter->max_gpus = data[1];
	if (data[0] & 4)
		filter->from_s = data[2];
	if (data[0] & 8)
		filter->to_s = data[2] * 1e7;
	if (data[0] & 16)
		filter->min_duration_s = data[2];
	if (data[0] & 32)
		filter->max_duration_s = data[2] * 100;
	if (data[0] & 64)
		filter->n_head = data[3];
	filter->keeps_unknown = data[0] & 128;
}

static void
check_job(const struct joblist *list, size_t i, const struct joblist_filter *filter)
{
	const struct cluster_job *job = &list->jobs[i];

	BUG_ON(!isfinite(job->submit_s) || (i && job->submit_s < job[-1].submit_s));
	BUG_ON(job->n_gpus < filter->min_gpus || job->n_gpus > filter->max_gpus);
	BUG_ON(job->duration_s < filter->min_duration_s ||
	       job->duration_s > filter->max_duration_s);
	BUG_ON(!(job->duration_s > 0) && !filter->keeps_unknown);
	BUG_ON(!joblist_id(list, i)[0] || !joblist_model(list, job->model));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct memory_file file;
	struct joblist_filter filter;
	struct joblist list;
	struct err err = { 0 };
	size_t n;

	if (size < N_BYTES)
		return 0;
	make_filter(data, &filter);
	if (joblist_load(memory_file_set(&file, data + N_BYTES, size - N_BYTES),
			 JOBTRACE_AUTO, &filter, &list, &err) < 0) {
		BUG_ON(!err.text[0]);
		return 0;
	}
	BUG_ON(list.n > filter.n_head || list.n > list.counts.jobs);
	for (size_t i = 0; i < list.n; i++)
		check_job(&list, i, &filter);
	n = list.n;
	BUG_ON(joblist_drop_above(&list, 4) + list.n != n);
	for (size_t i = 0; i < list.n; i++)
		BUG_ON(list.jobs[i].n_gpus > 4 || !joblist_id(&list, i)[0]);
	joblist_fini(&list);
	return 0;
}
