/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_jobtrace.c - bytes as job traces, packed or not; the first byte selects the
 * format, an archive, and a table of instances behind the first zero byte.  Jobs obey
 * jobtrace.h, and are the same after writing as CSV and reading.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "sim/trace/jobtrace.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/memory_file.h"

#define MAX_JOBS   1000 /* Jobs read from one input. */
#define IN_ARCHIVE 0x80
#define IS_JOINED  0x40

static void
check_job(const struct jobtrace_job *job)
{
	BUG_ON(!job->id[0] || !job->user || !job->vc || !job->model || !job->gpu_type ||
	       !job->mode);
	BUG_ON(!job->n_gpus || job->n_gpus > JOBTRACE_MAX_GPUS || !job->line);
	BUG_ON(!isfinite(job->submit_s) || job->duration_s < 0 ||
	       isinf(job->duration_s));
	BUG_ON(job->iterations < 0 || job->iteration_s < 0);
	BUG_ON(job->n_cpus < 0 || isinf(job->n_cpus) || isinf(job->memory_gib));
	BUG_ON(job->status > JOBTRACE_FAILED);
}

static bool
is_same(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

static void
check_same(const struct jobtrace_job *a, const struct jobtrace_job *b)
{
	BUG_ON(strcmp(a->id, b->id) != 0 || strcmp(a->user, b->user) != 0 ||
	       strcmp(a->vc, b->vc) != 0 || strcmp(a->model, b->model) != 0 ||
	       strcmp(a->gpu_type, b->gpu_type) != 0 || strcmp(a->mode, b->mode) != 0);
	BUG_ON(!is_same(a->submit_s, b->submit_s) || !is_same(a->start_s, b->start_s) ||
	       !is_same(a->end_s, b->end_s) || !is_same(a->duration_s, b->duration_s) ||
	       !is_same(a->expected_s, b->expected_s) ||
	       !is_same(a->iterations, b->iterations) ||
	       !is_same(a->iteration_s, b->iteration_s));
	for (int i = 0; i < JOBTRACE_N_STAGES; i++)
		BUG_ON(!is_same(a->stage_s[i], b->stage_s[i]));
	BUG_ON(a->n_gpus != b->n_gpus || a->n_nodes != b->n_nodes ||
	       a->batch != b->batch || a->priority != b->priority ||
	       a->status != b->status);
	BUG_ON(!is_same(a->n_cpus, b->n_cpus) ||
	       !is_same(a->memory_gib, b->memory_gib) ||
	       !is_same(a->gpu_memory_gib, b->gpu_memory_gib));
}

/* A job with nothing but a model reads back only with the model. */
static void
check_reads_back(const struct jobtrace_job *job)
{
	static struct memory_file file;
	struct jobtrace *trace;
	struct jobtrace_job again;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	BUG_ON(!out);
	jobtrace_write_header(out);
	jobtrace_write(out, job);
	fclose(out);
	BUG_ON(jobtrace_open(memory_file_set(&file, text, size), JOBTRACE_ANTIPHASE,
			     &trace, NULL) < 0);
	BUG_ON(jobtrace_next(trace, &again, NULL) != 1);
	check_same(job, &again);
	BUG_ON(jobtrace_next(trace, &again, NULL) != 0);
	jobtrace_close(trace);
	free(text);
}

/* Joins a table of instances; its rows are counted. */
static void
join(struct jobtrace *trace, const uint8_t *data, size_t size)
{
	static struct memory_file file;
	struct jobtrace_counts counts;
	struct err err = { 0 };
	int r = jobtrace_join(trace, memory_file_set(&file, data, size), &err);

	BUG_ON(r < 0 && !err.text[0]);
	BUG_ON(r == 0 && jobtrace_format(trace) != JOBTRACE_PAI_2020);
	if (!jobtrace_joined(trace))
		return;
	counts = jobtrace_counts(jobtrace_joined(trace));
	BUG_ON(counts.malformed + counts.jobs != counts.rows);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct memory_file file;
	enum jobtrace_format format;
	struct jobtrace_counts counts;
	struct jobtrace_job job;
	struct jobtrace *trace;
	struct err err = { 0 };
	const uint8_t *table = NULL;
	uint64_t n = 0;
	char path[64];
	int r;

	if (!size)
		return 0;
	format = (data[0] & ~(IN_ARCHIVE | IS_JOINED)) % JOBTRACE_N_FORMATS;
	if (data[0] & IS_JOINED)
		table = memchr(data + 1, 0, size - 1);
	snprintf(path, sizeof path, "%s%s",
		 memory_file_set(&file, data + 1,
				 (table ? (size_t)(table - data) : size) - 1),
		 data[0] & IN_ARCHIVE ? ":t.csv" : "");
	if (jobtrace_open(path, format, &trace, &err) < 0) {
		BUG_ON(!err.text[0]);
		return 0;
	}
	BUG_ON(jobtrace_format(trace) == JOBTRACE_AUTO);
	BUG_ON(format != JOBTRACE_AUTO && jobtrace_format(trace) != format);
	if (table)
		join(trace, table + 1, size - (size_t)(table - data) - 1);
	while ((r = jobtrace_next(trace, &job, &err)) > 0 && n++ < MAX_JOBS) {
		check_job(&job);
		if (n < 4)
			check_reads_back(&job);
	}
	BUG_ON(r < 0 && !err.text[0]);
	counts = jobtrace_counts(trace);
	BUG_ON(counts.malformed + counts.no_gpus + counts.not_run + counts.jobs !=
	       counts.rows);
	BUG_ON(counts.unjoined > counts.jobs);
	for (size_t i = 0; i < 12; i++)
		BUG_ON(!jobtrace_fault(trace, i) != (i >= counts.malformed || i >= 10));
	jobtrace_close(trace);
	return 0;
}
