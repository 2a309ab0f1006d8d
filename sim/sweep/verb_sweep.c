/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_sweep.c - 'antiphase sim sweep': a grid of runs times seeds, run on this machine
 * or as a Slurm job array.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"
#include "lib/base/words.h"
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
		return err_set(
			err, NULL, 0, 0,
			"a sweep cannot be read from standard input: its paths are relative "
			"to its file");
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

/* The cells of the list 'asked' (NULL: all) that have no result. */
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
				    "there is no cell %llu; cells are 1 to %zu",
				    (unsigned long long)numbers.items[i], n);
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

/*
 * Prints how many of the selected cells are in each state; CLI_NO if any is not done.
 */
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
			"%s: failed cells are left out; run them again "
			"with --retry-failed\n",
			log_program());
	/* Not in each task of an array. */
	n = asked ? 0 : cells_n_unknown(study);
	if (n)
		fprintf(stderr,
			"%s: %zu results in %s are of another version, grid "
			"or input, and are left out\n",
			log_program(), n, study->out);
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

/* Merges finished cells.  Sets the exit status if results are damaged. */
static int
merge(const struct study *study, const struct sweep_args *args, const char *command,
      int *status, struct err *err)
{
	size_t n, n_done = count_done(study);
	int r;

	/*
	 * Files merged before, perhaps of another version, are not replaced by empty
	 * ones.
	 */
	if (!n_done) {
		fprintf(stderr,
			"%s: no cell is done: nothing is merged, and %s is "
			"unchanged\n",
			log_program(), study->out);
		return 0;
	}
	r = merge_write(study, command, &n, err);
	if (r == 0)
		printf("%s/sweep.csv and sweep.json hold %zu cell%s\n", study->out, n,
		       words_plural(n));
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
	/* A script that is only printed may name a folder that does not exist yet. */
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

/* Runs missing cells, then merges all.  Sets the exit status. */
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
		fprintf(stderr,
			"%s: interrupted; run the same command to "
			"continue\n",
			log_program());
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
	if (r == 0 && missing.n && !args->list && !args->merge)
		r = local_check_options(&study, &err);
	if (r == 0 && !args->list && !args->dry_run)
		r = cells_open(&study, &err);
	if (r < 0) {
		/* Reported below. */
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

/* The fault of a combination of options; NULL: none. */
static const char *
why_not(const struct sweep_args *args)
{
	if (args->list + args->merge + args->slurm > 1)
		return "--list, --merge and --slurm exclude each other";
	if (args->dry_run && !args->slurm)
		return "--dry-run needs --slurm";
	if ((args->chunk || args->sbatch.n) && !args->slurm)
		return "--chunk and --sbatch need --slurm";
	if ((args->n_jobs || args->retry_failed) && (args->list || args->merge))
		return "--jobs and --retry-failed have no effect with --list and --merge";
	if (args->cells && (args->list || args->merge))
		return "--cells has no effect with --list and --merge, which take all cells";
	if (args->plot && (args->list || args->dry_run || args->cells))
		return "--plot draws merged results: not with --list, --dry-run or "
		       "--cells";
	return NULL;
}

static int
run_sweep(int argc, char **argv)
{
	struct sweep_args args = { 0 };
	const struct cli_opt opts[] = {
		CLI_OPT("output", 'o', CLI_STR, &args.output, "DIR",
			"folder of the results, instead of the one in FILE"),
		CLI_OPT("jobs", 'J', CLI_INT, &args.n_jobs, "N",
			"cells to run at once (default: the number of CPUs)", .min = 1,
			.max = 4096),
		CLI_OPT("cells", 0, CLI_STR, &args.cells, "LIST",
			"run only these, such as 1..4,9, and do not merge"),
		CLI_OPT("retry-failed", 0, CLI_FLAG, &args.retry_failed, NULL,
			"also run failed cells again"),
		CLI_OPT("merge", 0, CLI_FLAG, &args.merge, NULL,
			"run nothing; write sweep.csv and sweep.json of finished cells"),
		CLI_OPT("plot", 0, CLI_FLAG, &args.plot, NULL,
			"after merging, draw a figure of each metric (needs gnuplot)"),
		CLI_OPT("list", 0, CLI_FLAG, &args.list, NULL,
			"run nothing; print the cells: number, digest, state, command"),
		CLI_OPT("slurm", 0, CLI_FLAG, &args.slurm, NULL,
			"submit missing cells as a Slurm job array"),
		CLI_OPT("dry-run", 0, CLI_FLAG, &args.dry_run, NULL,
			"with --slurm: print the script, submit nothing"),
		CLI_OPT("chunk", 0, CLI_INT, &args.chunk, "N",
			"cells per task (default: at most 1,000 tasks)", .min = 1,
			.max = SWEEP_MAX_CELLS),
		CLI_OPT("sbatch", 0, CLI_LIST, &args.sbatch, "OPTION",
			"option for sbatch, such as time=2:00:00; repeatable"),
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
	.summary = "a grid of runs times seeds, here or as a Slurm job array",
	.usage = "[options] FILE",
	.examples = "  antiphase sim sweep sweep.ini\n"
		    "  antiphase sim sweep sweep.ini --slurm --sbatch time=1:00:00\n"
		    "  antiphase sim sweep sweep.ini --merge --plot\n",
	.run = run_sweep,
};
