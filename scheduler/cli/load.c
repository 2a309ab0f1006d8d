#include "scheduler/cli/load.h"

#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/file.h"
#include "scheduler/core/workload/workload_ini.h"
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

void
loaded_fini(struct loaded *loaded)
{
	routes_free(loaded->routes);
	topo_unref(loaded->topo);
	scenario_free(loaded->scenario);
	*loaded = (struct loaded){ 0 };
}
