/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/run/setup.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/log.h"
#include "topology/read.h"
#include "topology/route.h"
#include "topology/topo.h"

static int
read_file(void *ctx, const char *path, size_t max_bytes, char **ret_text,
	  size_t *ret_length, struct err *err)
{
	(void)ctx;
	return file_read(path, max_bytes, ret_text, ret_length, err);
}

static const struct scenario_io io = { NULL, read_file };

static int
load_fabric(const struct scenario *scenario, const char *fabric, struct topo **ret_topo,
	    struct err *err)
{
	char *text;
	size_t length;
	int error;

	if (!fabric)
		return scenario_fabric(scenario, &io, ret_topo, err);
	error = file_read(fabric, TOPO_MAX_FILE_BYTES, &text, &length, err);
	if (error < 0)
		return error;
	error = topo_read(fabric, text, length, NULL, ret_topo, err);
	free(text);
	return error;
}

static void
apply_args(const struct setup_args *args, struct scenario *scenario)
{
	if (args->has_duration) {
		scenario->sim.duration_ns = llround(args->duration_s * 1e9);
		scenario->sim.iterations = 0;
	}
	if (args->iterations)
		scenario->sim.iterations = (uint64_t)args->iterations;
}

int
setup_load(const char *path, const struct setup_args *args, struct setup *ret_setup,
	   struct err *err)
{
	struct setup setup = { 0 };
	char *text;
	size_t length;
	int error;

	error = file_read(path, SCENARIO_MAX_BYTES, &text, &length, err);
	if (error < 0)
		return error;
	error = scenario_parse_set(path, text, length, &io, args->sets.items,
				   args->sets.n, &setup.scenario, err);
	free(text);
	if (error < 0)
		return error;
	error = load_fabric(setup.scenario, args->fabric, &setup.topo, err);
	if (error < 0)
		goto fail;
	error = scenario_bind(setup.scenario, setup.topo, err);
	if (error < 0)
		goto fail;
	setup.routes = routes_new(setup.topo, setup.scenario->fabric.ecmp_seed);
	apply_args(args, setup.scenario);
	*ret_setup = setup;
	return 0;
fail:
	setup_fini(&setup);
	return error;
}

void
setup_fini(struct setup *setup)
{
	scenario_free(setup->scenario);
	routes_free(setup->routes);
	topo_unref(setup->topo);
	*setup = (struct setup){ 0 };
}

int
setup_run(const struct setup *setup, const struct sim_plan *plan,
	  const struct experiment_opts *opts, struct experiment *ret_experiment,
	  struct err *err)
{
	int error = experiment_run(setup->scenario, plan, setup->topo, opts,
				   ret_experiment);

	if (error < 0)
		err_set(err, setup->scenario->file, 0, 0,
			"the simulator refuses a job: a quantity is out of range");
	return error;
}

bool
setup_report_starved(const struct setup *setup, const char *policy,
		     const struct experiment *experiment)
{
	for (size_t j = 0; j < experiment->n_jobs; j++) {
		if (!experiment->jobs[j].is_starved)
			continue;
		fprintf(stderr,
			"%s: %s: job '%s' starves: its slowdown is a lower "
			"bound\n",
			log_program(), policy, setup->scenario->workload.jobs[j].name);
		return true;
	}
	return false;
}
