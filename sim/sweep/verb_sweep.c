/*
 * verb_sweep.c - 'antiphase sim sweep': a grid of scenarios times seeds, here or as a job
 * array of Slurm's.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"
#include "sim/report/report.h"
#include "sim/sweep/cells.h"
#include "sim/sweep/grid.h"
#include "sim/sweep/local.h"
#include "sim/sweep/merge.h"
#include "sim/sweep/plots.h"
#include "sim/sweep/slurm.h"
#include "sim/verbs.h"

struct sweep_args {
	const char *output, *cells, *progress;
	struct cli_list sbatch;
	int64_t n_jobs, chunk;
	bool slurm, merge, list, dry_run, retry_failed, plot;
};

/* Numbers of cells, from 0. */
struct cells {
	size_t *items; /* Owned. */
	size_t n, capacity;
};

static int
load(const char *path, const struct sweep_args *args, struct sweep *sweep,
     struct study *study, struct err *err)
{
	char *text;
	size_t n;
	int r;

	if (!strcmp(path, "-"))
		return err_set(err, NULL, 0, 0,
			       "a sweep has to be a file: its paths begin where it is");
	r = file_read(path, SWEEP_MAX_BYTES, &text, &n, err);
	if (r < 0)
		return r;
	r = sweep_parse(path, text, n, sweep, err);
	free(text);
	for (size_t i = 0; i < args->sbatch.n && r == 0; i++)
		r = sweep_check_sbatch(args->sbatch.items[i], err);
	if (r < 0)
		return r;
	*study = (struct study){
		.sweep = sweep,
		.version = cli_version(),
		.out = args->output
			       ? xstrdup(args->output)
			       : xasprintf("%s%s",
					   *sweep->out == '/'          ? ""
					   : !strcmp(sweep->dir, "./") ? ""
								       : sweep->dir,
					   sweep->out),
		.digests = sweep_digests(sweep, cli_version(), err),
	};
	return study->digests ? 0 : -EINVAL;
}

/* Those of 'asked' (NULL: all) that have no result. */
static int
find_missing(const struct study *study, const char *asked, bool retry_failed,
	     struct cells *ret_missing, size_t *ret_n_asked, struct err *err)
{
	struct seeds numbers = { 0 };
	size_t n = study->sweep->n_cells;
	int r = asked ? seeds_read(asked, "cell", SWEEP_MAX_CELLS, &numbers, err) : 0;

	*ret_n_asked = asked ? numbers.n : n;
	for (size_t i = 0; i < *ret_n_asked && r == 0; i++) {
		uint64_t cell = asked ? numbers.items[i] - 1 : i;

		if (cell >= n) {
			r = err_set(err, NULL, 0, 0,
				    "there are cells 1 to %zu, and no cell %llu", n,
				    (unsigned long long)numbers.items[i]);
			break;
		}
		switch (cells_state(study, cell)) {
		case CELLS_DONE:
			break;
		case CELLS_FAILED:
			if (retry_failed)
				vec_push(ret_missing, cell);
			break;
		case CELLS_MISSING:
			vec_push(ret_missing, cell);
			break;
		}
	}
	vec_free(&numbers);
	return r;
}

static void
list_cells(const struct study *study)
{
	static const char *const states[] = { "missing", "done", "failed" };

	for (size_t i = 0; i < study->sweep->n_cells; i++) {
		char *command = cells_command(study, i);

		printf("%zu %016llx %s %s\n", i + 1,
		       (unsigned long long)study->digests[i],
		       states[cells_state(study, i)], command);
		free(command);
	}
}

/* How many of the cells that were asked for have which state; 1 if any is not done. */
static int
summarize(const struct study *study, const char *asked)
{
	struct cells missing = { 0 }, undone = { 0 };
	size_t n;

	if (find_missing(study, asked, false, &missing, &n, NULL) < 0 ||
	    find_missing(study, asked, true, &undone, &n, NULL) < 0)
		n = 0;
	printf("%zu of %zu cells are done, %zu failed, %zu are missing\n", n - undone.n,
	       n, undone.n - missing.n, missing.n);
	if (undone.n > missing.n)
		fprintf(stderr,
			"antiphase-sim: those that failed are left out; run them again "
			"with --retry-failed\n");
	/* A task of an array need not say so, too. */
	n = asked ? 0 : cells_strangers(study);
	if (n)
		fprintf(stderr,
			"antiphase-sim: %zu results in %s are of another version, grid "
			"or input, and are left out\n",
			n, study->out);
	n = undone.n;
	vec_free(&missing);
	vec_free(&undone);
	return n ? CLI_NO : CLI_OK;
}

static size_t
count_done(const struct study *study)
{
	size_t n = 0;

	for (size_t i = 0; i < study->sweep->n_cells; i++)
		n += cells_state(study, i) == CELLS_DONE;
	return n;
}

/* Sets the exit status if results are damaged, which are told as they are read. */
static int
merge(const struct study *study, const struct sweep_args *args, const char *command,
      int *status, struct err *err)
{
	size_t n, n_done = count_done(study);
	int r;

	/* What was merged before, of another version maybe, is not replaced by nothing. */
	if (!n_done) {
		fprintf(stderr,
			"antiphase-sim: no cell is done: nothing is merged, and %s is "
			"as it was\n",
			study->out);
		return 0;
	}
	r = merge_write(study, command, &n, err);
	if (r == 0)
		printf("%s/sweep.csv and sweep.json hold %zu cells\n", study->out, n);
	if (r == 0 && n < n_done)
		*status = CLI_NO;
	if (r == 0 && args->plot)
		r = plots_write(study, command, err);
	return r;
}

static char *
absolute(const char *path, struct err *err)
{
	char *full = realpath(path, NULL);

	if (!full)
		err_set_errno(err, path, errno, "cannot find");
	return full;
}

static int
submit(const struct study *study, const struct sweep_args *args,
       const struct cells *missing, const char *command, struct err *err)
{
	struct strbuf script = STRBUF_EMPTY;
	/* What is printed has the folder as it is given, which may not be there yet. */
	char *exe = absolute("/proc/self/exe", err);
	char *file = absolute(study->sweep->file, err), *cwd = absolute(".", err);
	char *out = args->dry_run ? xstrdup(study->out) : absolute(study->out, err);
	int r = -EINVAL;

	if (!missing->n) {
		r = 0;
	} else if (exe && file && cwd && out) {
		r = slurm_array_script(
			study,
			&(struct slurm_array){
				.cells = missing->items,
				.n_cells = missing->n,
				.chunk = args->chunk ? (size_t)args->chunk
						     : slurm_array_chunk(missing->n),
				.sbatch = args->sbatch.items,
				.n_sbatch = args->sbatch.n,
				.retries_failed = args->retry_failed,
				.exe = exe,
				.file = file,
				.out = out,
				.cwd = cwd,
				.command = command,
			},
			&script, err);
		if (r == 0 && args->dry_run)
			fputs(script.text, stdout);
		else if (r == 0)
			r = slurm_array_submit(study, script.text, err);
	}
	free(exe);
	free(file);
	free(cwd);
	free(out);
	strbuf_free(&script);
	return r;
}

/* Runs what is missing and merges when nothing is.  Sets the exit status. */
static int
run_here(const struct study *study, const struct sweep_args *args,
	 const struct cells *missing, const char *command, int *ret_status,
	 struct err *err)
{
	struct local_result result;
	int r = local_run(study, missing->items, missing->n,
			  args->n_jobs ? (size_t)args->n_jobs : local_n_cpus(),
			  progress_form_of(args->progress, stderr), &result, err);

	if (r < 0)
		return r;
	*ret_status = summarize(study, args->cells);
	if (result.was_interrupted) {
		fprintf(stderr, "antiphase-sim: interrupted; the same command goes on "
				"from here\n");
		*ret_status = CLI_INTERRUPTED;
	} else if (!args->cells) {
		r = merge(study, args, command, ret_status, err);
	}
	return r;
}

static int
sweep(const struct sweep_args *args, const char *path, const char *command)
{
	struct sweep grid = { 0 };
	struct study study = { 0 };
	struct cells missing = { 0 };
	struct err err = { 0 };
	int status = CLI_OK, r = load(path, args, &grid, &study, &err);
	size_t n;

	if (r == 0)
		r = find_missing(&study, args->cells, args->retry_failed, &missing, &n,
				 &err);
	if (r == 0 && !args->list && !args->dry_run)
		r = cells_open(&study, &err);
	if (r < 0) {
		/* Said below. */
	} else if (args->list) {
		list_cells(&study);
	} else if (args->dry_run && !missing.n) {
		status = summarize(&study, args->cells);
	} else if (args->merge) {
		status = summarize(&study, args->cells);
		r = merge(&study, args, command, &status, &err);
	} else if (args->slurm && missing.n) {
		r = submit(&study, args, &missing, command, &err);
		if (r == -EBUSY) {
			err_print(&err, stderr);
			status = CLI_NO;
			r = 0;
		}
	} else {
		r = run_here(&study, args, &missing, command, &status, &err);
	}
	vec_free(&missing);
	free(study.out);
	free(study.digests);
	sweep_fini(&grid);
	return r < 0 ? cli_fail(r, &err) : cli_finish(status);
}

/* What is wrong with options together, one of which would do nothing; NULL: nothing. */
static const char *
why_not(const struct sweep_args *args)
{
	if (args->list + args->merge + args->slurm > 1)
		return "--list, --merge and --slurm exclude each other";
	if (args->dry_run && !args->slurm)
		return "--dry-run is of --slurm";
	if ((args->chunk || args->sbatch.n) && !args->slurm)
		return "--chunk and --sbatch are of --slurm";
	if ((args->n_jobs || args->retry_failed) && (args->list || args->merge))
		return "--jobs and --retry-failed are for cells that are run";
	if (args->cells && (args->list || args->merge))
		return "--cells are those that are run; --list and --merge are of all";
	if (args->plot && (args->list || args->dry_run || args->cells))
		return "--plot is of what is merged: not with --list, --dry-run or "
		       "--cells";
	return NULL;
}

static int
run_sweep(int argc, char **argv)
{
	struct sweep_args args = { 0 };
	const struct cli_opt opts[] = {
		{ .name = "output",
		  .letter = 'o',
		  .type = CLI_STR,
		  .ret_value = &args.output,
		  .argument = "DIR",
		  .help = "folder of the results, instead of the file's" },
		{ .name = "jobs",
		  .letter = 'J',
		  .type = CLI_INT,
		  .ret_value = &args.n_jobs,
		  .argument = "N",
		  .help = "cells at once; default: as many as there are CPUs",
		  .min = 1,
		  .max = 4096 },
		{ .name = "cells",
		  .type = CLI_STR,
		  .ret_value = &args.cells,
		  .argument = "LIST",
		  .help = "only these, such as 1..4,9, and do not merge" },
		{ .name = "retry-failed",
		  .type = CLI_FLAG,
		  .ret_value = &args.retry_failed,
		  .help = "run those again that failed" },
		{ .name = "merge",
		  .type = CLI_FLAG,
		  .ret_value = &args.merge,
		  .help = "run nothing; write sweep.csv and sweep.json of what is done" },
		{ .name = "plot",
		  .type = CLI_FLAG,
		  .ret_value = &args.plot,
		  .help = "after that, draw a figure of each number (needs gnuplot)" },
		{ .name = "list",
		  .type = CLI_FLAG,
		  .ret_value = &args.list,
		  .help = "run nothing; print the cells: number, digest, state, command" },
		{ .name = "slurm",
		  .type = CLI_FLAG,
		  .ret_value = &args.slurm,
		  .help = "submit what is missing as a job array" },
		{ .name = "dry-run",
		  .type = CLI_FLAG,
		  .ret_value = &args.dry_run,
		  .help = "with --slurm: print its script instead" },
		{ .name = "chunk",
		  .type = CLI_INT,
		  .ret_value = &args.chunk,
		  .argument = "N",
		  .help = "cells of a task; default: so many that 1,000 tasks do",
		  .min = 1,
		  .max = SWEEP_MAX_CELLS },
		{ .name = "sbatch",
		  .type = CLI_LIST,
		  .ret_value = &args.sbatch,
		  .argument = "OPTION",
		  .help = "of sbatch, as partition=long or time=2:00:00; several times" },
		PROGRESS_OPT(&args.progress),
		CLI_OPTS_END,
	};
	char *command = report_command(argc, argv); /* Parsing moves arguments. */
	int first = cli_parse(&verb_sim_sweep, opts, argc, argv), status;

	if (first < 0)
		status = cli_status(first);
	else if (argc - first != 1)
		status = cli_usage_error(&verb_sim_sweep, "expected one file");
	else if (why_not(&args))
		status = cli_usage_error(&verb_sim_sweep, "%s", why_not(&args));
	else
		status = sweep(&args, argv[first], command);
	free(command);
	return status;
}

const struct cli_verb verb_sim_sweep = {
	.name = "sweep",
	.summary = "a grid of runs times seeds, here or as a job array of Slurm's",
	.usage = "[options] FILE",
	.examples = "  antiphase sim sweep sweep.ini\n"
		    "  antiphase sim sweep sweep.ini --slurm --sbatch time=1:00:00\n"
		    "  antiphase sim sweep sweep.ini --merge --plot\n",
	.run = run_sweep,
};
