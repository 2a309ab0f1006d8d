/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_workload.c - texts as scenarios on a small fabric: an accepted one is valid, a
 * refused one has a message with a position
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "scheduler/core/workload/workload_ini.h"
#include "tests/fuzz/fuzz.h"
#include "topology/route.h"
#include "topology/topo.h"

static const char profiles[] =
	"{\"schema\":\"antiphase.profiles/1\",\"profiles\":["
	"{\"job\":\"1\",\"period_us\":475000,\"jitter_us\":4000,\"phases\":["
	"{\"start_us\":0,\"duration_us\":75000,\"gbps\":0.8}]},"
	"{\"job\":\"two\",\"period_us\":1000,\"phases\":[]}]}";

static int
read_profiles(void *ctx, const char *path, size_t max_bytes, char **ret_text,
	      size_t *ret_length, struct err *err)
{
	(void)ctx;
	(void)path;
	(void)max_bytes;
	(void)err;
	*ret_text = xstrdup(profiles);
	*ret_length = strlen(profiles);
	return 0;
}

/* Two leaves of four hosts with eight slots each. */
static struct topo *
make_topo(void)
{
	struct topo_builder *b = topo_builder_new("lab");
	uint32_t leaf[2], host;

	topo_builder_switch(b, "l0", 1, &leaf[0]);
	topo_builder_switch(b, "l1", 1, &leaf[1]);
	topo_builder_cable(b, leaf[0], "up", leaf[1], "up", 50e9, 50e9);
	for (unsigned i = 0; i < 8; i++) {
		char name[] = { 'h', (char)('0' + i), '\0' };

		topo_builder_host(b, name, 8, &host);
		topo_builder_cable(b, host, "p0", leaf[i / 4], name, 50e9, 50e9);
	}
	return topo_builder_finish(b);
}

static void
check_job(const struct work_job *job, const struct topo *topo, struct routes *routes)
{
	struct routed_job routed;

	BUG_ON(!job->name || !*job->name || !job->n_segments || !job->segments);
	BUG_ON(!job->n_hosts_wanted || !job->slots_per_host || !(job->weight > 0));
	BUG_ON(!(job->jitter_frac >= 0 && job->jitter_frac <= WORK_MAX_JITTER));
	BUG_ON(job->stop_ns <= job->arrival_ns || job->profile.period_us < 1);
	BUG_ON(strcmp(job->profile.job, job->name) != 0);
	if (!job->hosts)
		return;
	BUG_ON(routed_job_make(job, job->hosts, topo, routes, &routed) < 0);
	BUG_ON(routed.flows.n == 0 && job->n_hosts_wanted > 1);
	routed_job_fini(&routed);
}

/* With options that override the file: refused with a reason, or in effect. */
static void
check_settings(const char *text, const struct scenario_io *io)
{
	static const char *const sets[] = { "jobs.jitter=2%", "sim.seed=9",
					    "fabric.oversubscription=2",
					    "jobs.jitter=3%" };
	struct scenario *scenario;
	struct err err = { 0 };

	if (scenario_parse_set("fuzz", text, strlen(text), io, sets, 4, &scenario,
			       &err) < 0) {
		BUG_ON(!*err.text);
		return;
	}
	BUG_ON(scenario->sim.seed != 9 || !scenario->fabric.generate ||
	       !strstr(scenario->fabric.generate, " --oversubscription 2"));
	for (size_t i = 0; i < scenario->workload.n; i++)
		BUG_ON(scenario->workload.jobs[i].jitter_frac != 0.03);
	scenario_free(scenario);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct scenario_io io = { NULL, read_profiles };
	char *text = fuzz_text(data, size);
	struct scenario *scenario;
	struct topo *topo;
	struct routes *routes;
	struct err err = { 0 };

	if (scenario_parse("fuzz", text, strlen(text), &io, &scenario, &err) < 0) {
		BUG_ON(!*err.text || err.line > size + 1);
		free(text);
		return 0;
	}
	check_settings(text, &io);
	topo = make_topo();
	routes = routes_new(topo, scenario->fabric.ecmp_seed);
	if (scenario_bind(scenario, topo, &err) < 0)
		BUG_ON(!*err.text || !err.line);
	else
		for (size_t i = 0; i < scenario->workload.n && i < 64; i++)
			check_job(&scenario->workload.jobs[i], topo, routes);
	routes_free(routes);
	topo_unref(topo);
	scenario_free(scenario);
	free(text);
	return 0;
}
