/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_flows.c - 'antiphase sim flows': runs a scenario of flows and prints the end of
 * each iteration.
 */
#include <math.h>
#include <stdlib.h>

#include "engine/engine.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/log.h"
#include "lib/base/vec.h"
#include "sim/report/watch.h"
#include "sim/run/flow_scenario.h"
#include "sim/verbs.h"

#define MAX_FILE_BYTES ((size_t)1 << 30)
/* End times kept, at 8 bytes each. */
#define MAX_LINES ((uint64_t)1 << 28)
/* Later end times, after 292 years, are no 64-bit number of ns. */
#define MAX_FAST_NS 9.2e18
/* Iterations between checks of the clock. */
#define CLOCK_EVERY 4096

struct recorder {
	struct engine *engine;
	VEC(double) * ends_ns; /* By job. */
	uint64_t max_lines;    /* Kept of each job. */
	uint64_t n_done, n_total;
	struct watch watch;
};

static void
on_iteration(void *ctx, uint32_t job, uint64_t iteration, double start_ns,
	     double end_ns)
{
	struct recorder *rec = ctx;

	(void)start_ns;
	if (iteration < rec->max_lines)
		vec_push(&rec->ends_ns[job], end_ns);
	if (++rec->n_done % CLOCK_EVERY == 0)
		watch_go_on(&rec->watch, (double)rec->n_done / (double)rec->n_total);
	if (watch_is_interrupted())
		engine_stop(rec->engine);
}

/* Writes a number, with at least 'width' digits, to the left of 'end'. */
static char *
put_number(char *end, uint64_t number, int width)
{
	do {
		*--end = (char)('0' + number % 10);
		number /= 10;
	} while (--width > 0 || number);
	return end;
}

/* As printf(), which would take up to half of the time of a whole run. */
static void
print_end(uint32_t job, uint64_t iteration, double end_ns)
{
	uint64_t ns;
	char line[64], *end = line + sizeof line, *at = end;

	if (end_ns >= MAX_FAST_NS) {
		printf("%u,%llu,%.9f\n", job, (unsigned long long)iteration,
		       end_ns / 1e9);
		return;
	}
	ns = (uint64_t)llrint(end_ns);
	*--at = '\n';
	at = put_number(at, ns % 1000000000, 9);
	*--at = '.';
	at = put_number(at, ns / 1000000000, 1);
	*--at = ',';
	at = put_number(at, iteration, 1);
	*--at = ',';
	at = put_number(at, job, 1);
	fwrite(at, 1, (size_t)(end - at), stdout);
}

/* Runs 'scn' and prints the results, even after an interrupt. */
static int
simulate(const struct flow_scenario *scn, uint64_t max_iterations, uint64_t max_lines,
	 const char *progress)
{
	struct recorder rec = { .max_lines = max_lines };
	struct engine_observer observer = { .ctx = &rec, .on_iteration = on_iteration };

	for (uint32_t j = 0; j < scn->n_jobs; j++) {
		uint64_t n = scn->jobs[j].n_iterations;

		rec.n_total +=
			max_iterations && max_iterations < n ? max_iterations : n;
	}
	rec.ends_ns = xcalloc(scn->n_jobs + 1, sizeof *rec.ends_ns);
	rec.engine = flow_scenario_new_engine(scn, max_iterations, &observer);
	watch_init(&rec.watch, 1, progress);
	watch_catch_interrupts();
	engine_run(rec.engine, ENGINE_NEVER);
	watch_end(&rec.watch, true);

	for (uint32_t j = 0; j < scn->n_jobs; j++) {
		for (size_t i = 0; i < rec.ends_ns[j].n; i++)
			print_end(j, i, rec.ends_ns[j].items[i]);
		vec_free(&rec.ends_ns[j]);
	}
	free(rec.ends_ns);
	engine_free(rec.engine);
	if (!watch_is_interrupted())
		return CLI_OK;
	fprintf(stderr, "%s: interrupted after %llu of %llu iterations\n",
		log_program(), (unsigned long long)rec.n_done,
		(unsigned long long)rec.n_total);
	return CLI_INTERRUPTED;
}

/* True if the end times of that many iterations fit in memory. */
static bool
fits(const struct flow_scenario *scn, uint64_t max_iterations, uint64_t max_lines)
{
	uint64_t sum = 0;

	for (uint32_t j = 0; j < scn->n_jobs; j++) {
		uint64_t n = scn->jobs[j].n_iterations;

		n = max_iterations && max_iterations < n ? max_iterations : n;
		sum += n < max_lines ? n : max_lines;
	}
	return sum <= MAX_LINES;
}

static int
run_flows(int argc, char **argv)
{
	int64_t max_iterations = 0, max_lines = INT64_MAX;
	const char *progress = NULL;
	const struct cli_opt opts[] = {
		CLI_OPT("iterations", 'n', CLI_INT, &max_iterations, "N",
			"stop each job after N iterations", .min = 1, .max = 1e15),
		CLI_OPT("limit-output", 'l', CLI_INT, &max_lines, "N",
			"print the first N iterations of each job", .min = 0,
			.max = 1e15),
		PROGRESS_OPT(&progress),
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_flows, opts, argc, argv);
	struct err err;
	struct flow_scenario *scn;
	char *text;
	size_t length;
	int status;

	if (first < 0)
		return cli_status(first);
	if (argc - first != 1)
		return cli_usage_error(&verb_flows, "expected one scenario file");
	status = file_read(argv[first], MAX_FILE_BYTES, &text, &length, &err);
	if (status)
		return cli_fail(status, &err);
	status = flow_scenario_parse(argv[first], text, length, &scn, &err);
	free(text);
	if (status)
		return cli_fail(status, &err);
	if (fits(scn, (uint64_t)max_iterations, (uint64_t)max_lines))
		status = simulate(scn, (uint64_t)max_iterations, (uint64_t)max_lines,
				  progress);
	else
		status = cli_usage_error(&verb_flows,
					 "more than %llu end times to print: give a "
					 "smaller --iterations or --limit-output",
					 (unsigned long long)MAX_LINES);
	flow_scenario_free(scn);
	return status;
}

const struct cli_verb verb_flows = {
	.name = "flows",
	.summary = "run a scenario of flows; print job,iter,end_time_s",
	.usage = "[options] FILE.scn",
	.examples =
		"  antiphase sim flows cluster.scn\n"
		"  antiphase sim flows --iterations 200 --limit-output 20 cluster.scn\n",
	.run = run_flows,
};
