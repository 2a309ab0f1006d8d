/* SPDX-License-Identifier: Apache-2.0 */
/*
 * experiment_fixture.h - jobs on pairs of hosts that share one 50 Gb/s link from leaf a
 * to leaf b, as in the packet-level tables, for the tests of sim/
 */
#ifndef TESTS_UNIT_EXPERIMENT_FIXTURE_H
#define TESTS_UNIT_EXPERIMENT_FIXTURE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "sim/run/experiment.h"
#include "tests/unit/test.h"
#include "topology/route.h"
#include "topology/topo.h"

struct lab {
	struct scenario *scenario;
	struct topo *topo;
	struct routes *routes;
};

static inline int
lab_read_nothing(void *ctx, const char *path, size_t max_bytes, char **ret_text,
		 size_t *ret_length, struct err *err)
{
	(void)ctx;
	(void)max_bytes;
	(void)ret_text;
	(void)ret_length;
	return err_set_errno(err, path, ENOENT, "open");
}

/* Hosts a0, b0, a1, b1, ...: a0, a1, ... on one leaf, b0, b1, ... on the other. */
static inline struct topo *
lab_topo(void)
{
	struct topo_builder *b = topo_builder_new("lab");
	uint32_t leaf[2], host;
	char name[16];

	assert_int_equal(topo_builder_switch(b, "leafa", 1, &leaf[0]), 0);
	assert_int_equal(topo_builder_switch(b, "leafb", 1, &leaf[1]), 0);
	for (unsigned i = 0; i < 8; i++) {
		snprintf(name, sizeof name, "%c%u", i % 2 ? 'b' : 'a', i / 2);
		assert_int_equal(topo_builder_host(b, name, 1, &host), 0);
		assert_int_equal(topo_builder_cable(b, host, "p0", leaf[i % 2], name,
						    50e9, 50e9),
				 0);
	}
	assert_int_equal(
		topo_builder_cable(b, leaf[0], "up", leaf[1], "up", 50e9, 50e9), 0);
	return topo_builder_finish(b);
}

static inline struct lab
lab_make(const char *text)
{
	const struct scenario_io io = { NULL, lab_read_nothing };
	struct lab lab = { .topo = lab_topo() };
	struct err err = { 0 };

	if (scenario_parse("lab.ini", text, strlen(text), &io, &lab.scenario, &err) <
		    0 ||
	    scenario_bind(lab.scenario, lab.topo, &err) < 0) {
		err_print(&err, stderr);
		fail();
	}
	lab.routes = routes_new(lab.topo, 1);
	return lab;
}

static inline void
lab_fini(struct lab *lab)
{
	scenario_free(lab->scenario);
	routes_free(lab->routes);
	topo_unref(lab->topo);
}

static inline struct sim_plan
lab_plan(const struct lab *lab, const char *policy)
{
	struct sim_plan plan;
	struct err err = { 0 };
	int i = 0;

	while (strcmp(sim_policy_names[i], policy))
		i++;
	if (sim_plan_make(lab->scenario, lab->topo, lab->routes, i, 0,
			  SCENARIO_PACE_UNSET, &plan, &err) < 0) {
		err_print(&err, stderr);
		fail();
	}
	return plan;
}

static inline struct experiment
lab_run(const struct lab *lab)
{
	struct sim_plan plan = lab_plan(lab, "none");
	struct experiment_opts opts;
	struct experiment experiment;

	experiment_opts_init(&opts, lab->scenario, SIM_POLICY_NONE);
	assert_int_equal(
		experiment_run(lab->scenario, &plan, lab->topo, &opts, &experiment), 0);
	sim_plan_fini(&plan);
	return experiment;
}

/* A job "20/45": 20 ms of traffic alone in an iteration of 45 ms, and so on. */
#define LAB_JOB(name, hosts, compute_ms, megabytes, more)                  \
	"[job " name "]\nhosts = " hosts "\nsegment = compute " compute_ms \
	" ms\nsegment = send " megabytes " MB\n" more

#endif
