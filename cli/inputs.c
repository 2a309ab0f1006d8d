/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/inputs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/screen.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/strbuf.h"
#include "scheduler/core/workload/workload_ini.h"
#include "scheduler/live/job_profiler.h"
#include "scheduler/live/live_workload.h"
#include "topology/route.h"
#include "topology/topo.h"

static int
read_it(void *ctx, const char *path, size_t max_bytes, char **ret_text,
	size_t *ret_length, struct err *err)
{
	(void)ctx;
	return file_read(path, max_bytes, ret_text, ret_length, err);
}

/* Replaces the fabric that the scenario names. */
static void
set_fabric(struct scenario *scenario, const char *path)
{
	free(scenario->fabric.file);
	free(scenario->fabric.generate);
	scenario->fabric.file = xstrdup(path);
	scenario->fabric.generate = NULL;
	scenario->fabric.line = 0;
}

int
inputs_load(struct inputs *inputs, const char *fabric_path, const char *jobs_path,
	    struct err *err)
{
	const struct scenario_io io = { NULL, read_it };
	char *text = NULL;
	size_t length;
	int error;

	*inputs = (struct inputs){ 0 };
	error = file_read(jobs_path, SCENARIO_MAX_BYTES, &text, &length, err);
	if (error < 0)
		return error;
	error = scenario_parse(jobs_path, text, length, &io, &inputs->scenario, err);
	free(text);
	if (error < 0)
		return error;
	if (fabric_path)
		set_fabric(inputs->scenario, fabric_path);
	error = scenario_fabric(inputs->scenario, &io, &inputs->topo, err);
	if (error == 0)
		error = scenario_bind(inputs->scenario, inputs->topo, err);
	if (error < 0) {
		inputs_fini(inputs);
		return error;
	}
	inputs->routes = routes_new(inputs->topo, inputs->scenario->fabric.ecmp_seed);
	return 0;
}

/* Moves the running jobs out of the screen's state. */
static int
take_running(struct inputs *inputs, struct screen *screen, struct err *err)
{
	struct strbuf notes = STRBUF_EMPTY;
	struct workload *workload;

	inputs->scenario = xcalloc(1, sizeof *inputs->scenario);
	workload = &inputs->scenario->workload;
	live_workload_make(screen->live, screen->profiler, screen->topo, screen->routes,
			   workload, &notes);
	inputs->scenario->details =
		xcalloc(workload->n + 1, sizeof *inputs->scenario->details);
	inputs->topo = topo_ref(screen->topo);
	inputs->routes = routes_new(inputs->topo, SCREEN_ECMP_SEED);
	fputs(notes.text, stderr);
	strbuf_free(&notes);
	if (workload->n)
		return 0;
	err_set(err, NULL, 0, 0,
		"no running job has both a known period and known hosts "
		"(see 'antiphase jobs')");
	return -ENODATA;
}

int
inputs_load_live(struct inputs *inputs, const struct cli_verb *verb,
		 const char *fabric_path, const struct cli_list *from, const char *keys,
		 int *ret_status, struct err *err)
{
	const struct screen_opts opts = { .from = *from,
					  .fabric = fabric_path,
					  .keys = keys };
	struct screen screen;
	int error = -ECANCELED;

	*inputs = (struct inputs){ 0 };
	*ret_status = screen_open(&screen, verb, &opts, false);
	if (*ret_status == CLI_OK && !screen.topo)
		*ret_status = cli_usage_error(verb, "--from needs --fabric FILE, or a "
						    "running antiphase-topology");
	if (*ret_status == CLI_OK)
		*ret_status = screen_gather(&screen, JOB_PROFILER_MIN_WINDOW_MS);
	if (*ret_status == CLI_OK)
		error = take_running(inputs, &screen, err);
	screen_close(&screen);
	return error;
}

void
inputs_fini(struct inputs *inputs)
{
	routes_free(inputs->routes);
	topo_unref(inputs->topo);
	scenario_free(inputs->scenario);
	*inputs = (struct inputs){ 0 };
}
