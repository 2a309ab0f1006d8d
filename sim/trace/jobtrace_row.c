/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobtrace_row.c - a job without any known field, and our own CSV.
 */
#include <math.h>
#include <stdlib.h>

#include "lib/base/table.h"
#include "sim/trace/jobtrace.h"

void
jobtrace_clear(struct jobtrace_job *ret_job)
{
	*ret_job = (struct jobtrace_job){
		.id = "",
		.user = "",
		.vc = "",
		.model = "",
		.gpu_type = "",
		.mode = "",
		.submit_s = NAN,
		.start_s = NAN,
		.end_s = NAN,
		.duration_s = NAN,
		.expected_s = NAN,
		.iterations = NAN,
		.iteration_s = NAN,
		.stage_s = { NAN, NAN, NAN },
		.gpu_memory_gib = NAN,
		.memory_gib = NAN,
		.n_cpus = NAN,
	};
}

void
jobtrace_write_header(FILE *out)
{
	fputs("job_id,submit_s,num_gpus,duration_s,user,vc,model,gpu_type,mode,start_s,"
	      "end_s,expected_s,iterations,iteration_s,load_s,gpu_s,network_s,num_nodes,"
	      "batch,priority,status,gpu_memory_gib,memory_gib,num_cpus\n",
	      out);
}

/* Writes digits that read back as the same number. */
static void
put_number(FILE *out, double value)
{
	char text[32];

	putc(',', out);
	if (isnan(value))
		return;
	snprintf(text, sizeof text, "%.15g", value);
	if (strtod(text, NULL) != value)
		snprintf(text, sizeof text, "%.17g", value);
	fputs(text, out);
}

static void
put_text(FILE *out, const char *text)
{
	putc(',', out);
	table_put_csv(text, out);
}

void
jobtrace_write(FILE *out, const struct jobtrace_job *job)
{
	static const char *const statuses[] = {
		[JOBTRACE_UNKNOWN] = "",
		[JOBTRACE_COMPLETED] = "completed",
		[JOBTRACE_CANCELLED] = "cancelled",
		[JOBTRACE_FAILED] = "failed",
	};

	table_put_csv(job->id, out);
	put_number(out, job->submit_s);
	fprintf(out, ",%u", job->n_gpus);
	put_number(out, job->duration_s);
	put_text(out, job->user);
	put_text(out, job->vc);
	put_text(out, job->model);
	put_text(out, job->gpu_type);
	put_text(out, job->mode);
	put_number(out, job->start_s);
	put_number(out, job->end_s);
	put_number(out, job->expected_s);
	put_number(out, job->iterations);
	put_number(out, job->iteration_s);
	for (int i = 0; i < JOBTRACE_N_STAGES; i++)
		put_number(out, job->stage_s[i]);
	fprintf(out, ",%u,%u,%d,%s", job->n_nodes, job->batch, job->priority,
		statuses[job->status]);
	put_number(out, job->gpu_memory_gib);
	put_number(out, job->memory_gib);
	put_number(out, job->n_cpus);
	putc('\n', out);
}
