#include "sim/setup.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "topology/read.h"
#include "topology/route.h"
#include "topology/topo.h"

static volatile sig_atomic_t is_interrupted;

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

int
setup_load(const char *path, const char *fabric, struct setup *ret_setup,
	   struct err *err)
{
	struct setup setup = { 0 };
	char *text;
	size_t length;
	int error;

	error = file_read(path, SCENARIO_MAX_BYTES, &text, &length, err);
	if (error < 0)
		return error;
	error = scenario_parse(path, text, length, &io, &setup.scenario, err);
	free(text);
	if (error < 0)
		return error;
	error = load_fabric(setup.scenario, fabric, &setup.topo, err);
	if (error < 0)
		goto fail;
	error = scenario_bind(setup.scenario, setup.topo, err);
	if (error < 0)
		goto fail;
	setup.routes = routes_new(setup.topo, setup.scenario->fabric.ecmp_seed);
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

static void
on_interrupt(int signal_number)
{
	(void)signal_number;
	is_interrupted = 1;
}

void
setup_catch_interrupts(void)
{
	struct sigaction action = { .sa_handler = on_interrupt,
				    .sa_flags = (int)SA_RESETHAND };

	sigaction(SIGINT, &action, NULL);
}

bool
setup_is_interrupted(void)
{
	return is_interrupted;
}

void
setup_progress_init(struct setup_progress *p, size_t n)
{
	*p = (struct setup_progress){ .n = n };
	progress_init(&p->progress, stderr, isatty(STDERR_FILENO), "simulating",
		      clk_monotonic_ns());
}

bool
setup_go_on(void *ctx, double frac)
{
	struct setup_progress *p = ctx;

	progress_update(&p->progress, ((double)p->i + frac) / (double)p->n,
			clk_monotonic_ns());
	return !is_interrupted;
}
