/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sweep/slurm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/strbuf.h"
#include "lib/daemon/child.h"
#include "sim/sweep/cells.h"
#include "sim/sweep/grid.h"

#define MAX_TASKS  1000 /* MaxArraySize of slurm.conf(5) is 1001 by default. */
#define TIMEOUT_NS (INT64_C(60) * 1000000000)

size_t
slurm_array_chunk(size_t n_cells)
{
	return n_cells ? (n_cells + MAX_TASKS - 1) / MAX_TASKS : 1;
}

/* #SBATCH and the shell quote differently: refuses paths that need quotes. */
static int
check_path(const char *path, struct err *err)
{
	for (const char *s = path; *s; s++)
		if ((unsigned char)*s <= ' ' || *s == 0x7f ||
		    strchr("'\"\\%$`&|;<>()*?[]{}!#~", *s))
			return err_set(err, path, 0, 0,
				       "this path cannot be used in a Slurm script: it "
				       "has blanks, quotes or shell characters");
	return 0;
}

/* Writes the cells [from, to) of the list as "1..4,9". */
static void
put_cells(const struct slurm_array *array, size_t from, size_t to,
	  struct strbuf *script)
{
	for (size_t i = from, end; i < to; i = end) {
		for (end = i + 1;
		     end < to && array->cells[end] == array->cells[end - 1] + 1; end++)
			;
		strbuf_printf(script, "%s%zu", i > from ? "," : "",
			      array->cells[i] + 1);
		if (end > i + 1)
			strbuf_printf(script, "..%zu", array->cells[end - 1] + 1);
	}
}

int
slurm_array_script(const struct study *study, const struct slurm_array *array,
		   struct strbuf *ret_script, struct err *err)
{
	const struct sweep *sweep = study->sweep;
	size_t n_tasks = (array->n_cells + array->chunk - 1) / array->chunk;

	if (check_path(array->exe, err) < 0 || check_path(array->file, err) < 0 ||
	    check_path(array->out, err) < 0 || check_path(array->cwd, err) < 0)
		return -EINVAL;
	strbuf_printf(ret_script,
		      "#!/bin/sh\n"
		      "# version: %s\n# command: %s\n# cells: %zu of %zu are missing\n"
		      "#SBATCH --job-name=antiphase-sweep\n"
		      "#SBATCH --ntasks=1\n"
		      "#SBATCH --array=1-%zu\n"
		      "#SBATCH --chdir=%s\n"
		      "#SBATCH --output=%s/slurm-%%A_%%a.out\n",
		      study->version, array->command, array->n_cells, sweep->n_cells,
		      n_tasks, array->cwd, array->out);
	for (size_t i = 0; i < sweep->sbatch.n; i++)
		strbuf_printf(ret_script, "#SBATCH --%s\n", sweep->sbatch.items[i]);
	for (size_t i = 0; i < array->n_sbatch; i++)
		strbuf_printf(ret_script, "#SBATCH --%s\n", array->sbatch[i]);
	strbuf_puts(ret_script, "case $SLURM_ARRAY_TASK_ID in\n");
	for (size_t task = 0; task < n_tasks; task++) {
		size_t from = task * array->chunk, to = from + array->chunk;

		strbuf_printf(ret_script, "%zu) cells=", task + 1);
		put_cells(array, from, to < array->n_cells ? to : array->n_cells,
			  ret_script);
		strbuf_puts(ret_script, " ;;\n");
	}
	strbuf_printf(ret_script,
		      "*) echo 'not a task of this array' >&2; exit 2 ;;\n"
		      "esac\n"
		      "exec %s sweep --cells \"$cells\" --jobs "
		      "\"${SLURM_CPUS_PER_TASK:-1}\" %s--output %s %s\n",
		      array->exe, array->retries_failed ? "--retry-failed " : "",
		      array->out, array->file);
	return 0;
}

/* ---- Slurm's commands ------------------------------------------------------------ */

struct answer {
	char *text; /* Owned.  NULL: it failed. */
	struct err *err;
};

static void
on_answer(void *ctx, const struct child_result *result)
{
	struct answer *answer = ctx;

	if (result->why)
		*answer->err = *result->why;
	else
		answer->text = xstrdup(result->text);
}

/* Output of a command; NULL with 'err' filled.  Free with free(). */
static char *
ask(const char *const *argv, struct err *err)
{
	struct answer answer = { .err = err };
	const struct child_opts opts = { .argv = argv,
					 .timeout_ns = TIMEOUT_NS,
					 .max_bytes = 1 << 20,
					 .done = on_answer,
					 .ctx = &answer };

	return child_run(&opts, err) < 0 ? NULL : answer.text;
}

/* Returns -EBUSY if tasks of the last array wait or run. */
static int
check_last(const char *path, struct err *err)
{
	char *job, *tasks;
	struct err unread = { 0 };
	size_t n;
	int r = 0;

	if (file_read(path, 64, &job, &n, &unread) < 0)
		return 0;
	job[strspn(job, "0123456789")] = '\0';
	/* squeue fails for a job that ended long ago. */
	tasks = *job ? ask((const char *const[]){ "squeue", "-h", "-o", "%i", "-j", job,
						  NULL },
			   &unread)
		     : NULL;
	if (tasks && tasks[strspn(tasks, " \n")]) {
		err_set(err, NULL, 0, 0,
			"job %s is still there and runs missing cells; wait for "
			"it, or run 'scancel %s'",
			job, job);
		r = -EBUSY;
	}
	free(tasks);
	free(job);
	return r;
}

int
slurm_array_submit(const struct study *study, const char *script, struct err *err)
{
	char *path = xasprintf("%s/sweep.sbatch", study->out);
	char *job_path = xasprintf("%s/slurm.job", study->out);
	char *job = NULL;
	size_t n;
	int r = check_last(job_path, err);

	if (r == 0)
		r = file_write(path, script, strlen(script), err);
	if (r == 0) {
		job = ask((const char *const[]){ "sbatch", "--parsable", path, NULL },
			  err);
		r = job ? 0 : -EINVAL;
	}
	if (r == 0) {
		n = strspn(job, "0123456789");
		job[n] = '\0';
		r = n ? file_write(job_path, job, n, err)
		      : err_set(err, NULL, 0, 0, "sbatch printed no job number");
	}
	if (r == 0)
		printf("submitted job %s\n", job);
	free(job);
	free(path);
	free(job_path);
	return r;
}
