#include "cli/load.h"

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

/* Makes the scenario name another fabric. */
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
loaded_init(struct loaded *loaded, const char *fabric_path, const char *jobs_path,
	    struct err *err)
{
	const struct scenario_io io = { NULL, read_it };
	char *text = NULL;
	size_t length;
	int error;

	*loaded = (struct loaded){ 0 };
	error = file_read(jobs_path, SCENARIO_MAX_BYTES, &text, &length, err);
	if (error < 0)
		return error;
	error = scenario_parse(jobs_path, text, length, &io, &loaded->scenario, err);
	free(text);
	if (error < 0)
		return error;
	if (fabric_path)
		set_fabric(loaded->scenario, fabric_path);
	error = scenario_fabric(loaded->scenario, &io, &loaded->topo, err);
	if (error == 0)
		error = scenario_bind(loaded->scenario, loaded->topo, err);
	if (error < 0) {
		loaded_fini(loaded);
		return error;
	}
	loaded->routes = routes_new(loaded->topo, loaded->scenario->fabric.ecmp_seed);
	return 0;
}

/* Moves the running jobs out of the screen's state. */
static int
take_running(struct loaded *loaded, struct screen *screen, struct err *err)
{
	struct strbuf notes = STRBUF_EMPTY;
	struct workload *workload;

	loaded->scenario = xcalloc(1, sizeof *loaded->scenario);
	workload = &loaded->scenario->workload;
	live_workload_make(screen->live, screen->online, screen->topo, screen->routes,
			   workload, &notes);
	loaded->scenario->details =
		xcalloc(workload->n + 1, sizeof *loaded->scenario->details);
	loaded->topo = topo_ref(screen->topo);
	loaded->routes = routes_new(loaded->topo, SCREEN_ECMP_SEED);
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
loaded_init_live(struct loaded *loaded, const struct cli_verb *verb,
		 const char *fabric_path, const struct cli_list *from, const char *keys,
		 int *ret_status, struct err *err)
{
	const struct screen_opts opts = { .from = *from,
					  .fabric = fabric_path,
					  .keys = keys };
	struct screen screen;
	int error = -ECANCELED;

	*loaded = (struct loaded){ 0 };
	*ret_status = screen_open(&screen, verb, &opts, false);
	if (*ret_status == CLI_OK && !screen.topo)
		*ret_status = cli_usage_error(verb, "--from needs --fabric FILE, or a "
						    "running antiphase-topology");
	if (*ret_status == CLI_OK)
		*ret_status = screen_gather(&screen, JOB_PROFILER_MIN_WINDOW_MS);
	if (*ret_status == CLI_OK)
		error = take_running(loaded, &screen, err);
	screen_close(&screen);
	return error;
}

void
loaded_fini(struct loaded *loaded)
{
	routes_free(loaded->routes);
	topo_unref(loaded->topo);
	scenario_free(loaded->scenario);
	*loaded = (struct loaded){ 0 };
}
