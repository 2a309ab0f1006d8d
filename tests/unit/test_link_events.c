/* SPDX-License-Identifier: Apache-2.0 */
/* test_link_events.c - links and switches that fail during a run of a scenario */
#include "lib/base/rng.h"
#include "tests/unit/experiment_fixture.h"
#include "tests/unit/made_fabric.h"

#define JOBS                                                               \
	"[job a]\nhosts = h[0-1],h[4-5],h[9]\nsegment = compute 7 ms\n"    \
	"segment = send 40 MB\nsegment = compute 2 ms + send 10 MB\n"      \
	"[job b]\nhosts = h[2-3],h[6-7]\nsegment = compute 5 ms\n"         \
	"segment = send 60 MB\ncollective = all-to-all\nconnections = 3\n" \
	"[job c]\nhosts = h8,h10,h11\nsegment = compute 9 ms\n"            \
	"segment = allreduce 30 MB tree\njitter = 2 %\n"                   \
	"segment = send 10 MB 0->2 needs start\nsegment = allgather 6 MB\n"

static struct scenario *
read_scenario(const char *text, const struct topo *topo)
{
	const struct scenario_io io = { NULL, lab_read_nothing };
	struct scenario *scenario;
	struct err err = { 0 };

	if (scenario_parse("s.ini", text, strlen(text), &io, &scenario, &err) < 0 ||
	    scenario_bind(scenario, topo, &err) < 0) {
		err_print(&err, stderr);
		fail();
	}
	return scenario;
}

/* Runs the scenario without a policy. */
static struct experiment
run(const char *text, struct topo *topo, const char *policy)
{
	struct scenario *scenario = read_scenario(text, topo);
	struct lab lab = { scenario, topo, routes_new(topo, 1) };
	struct sim_plan plan = lab_plan(&lab, policy);
	struct experiment_opts opts;
	struct experiment x;

	experiment_opts_init(&opts, scenario, SIM_POLICY_NONE);
	assert_int_equal(experiment_run(scenario, &plan, topo, &opts, &x), 0);
	/* What the results borrow is gone. */
	for (size_t i = 0; i < x.n_events; i++)
		x.events[i].event = NULL;
	sim_plan_fini(&plan);
	scenario_free(scenario);
	routes_free(lab.routes);
	return x;
}

static void
assert_same(const struct experiment *a, const struct experiment *b)
{
	assert_int_equal(a->n_jobs, b->n_jobs);
	for (size_t j = 0; j < a->n_jobs; j++) {
		assert_int_equal(a->jobs[j].n, b->jobs[j].n);
		assert_true(a->jobs[j].n > 10);
		for (size_t i = 0; i < a->jobs[j].n; i++)
			assert_near(a->jobs[j].iteration_ns[i],
				    b->jobs[j].iteration_ns[i], 1);
	}
	/* The links without those that never carry anything. */
	for (size_t i = 0, k = 0; i < a->n_links; i++) {
		if (!(a->links[i].stats.bytes > 1))
			continue;
		while (!(b->links[k].stats.bytes > 1))
			k++;
		assert_near(a->links[i].stats.bytes / b->links[k].stats.bytes, 1, 1e-6);
		assert_near(a->links[i].stats.busy_ns, b->links[k].stats.busy_ns, 1e3);
		k++;
	}
}

/* A link between switches, drawn. */
static uint32_t
draw_link(const struct topo *topo, struct rng *rng)
{
	for (;;) {
		uint32_t l = (uint32_t)rng_below(rng, topo_n_links(topo));

		if (topo_node(topo, topo_link(topo, l)->from)->kind == TOPO_SWITCH &&
		    topo_node(topo, topo_link(topo, l)->to)->kind == TOPO_SWITCH)
			return l;
	}
}

static void
an_event_at_time_0_is_a_fabric_without_the_link(void **state)
{
	static const char *const fabrics[] = {
		"leaf-spine --leaves 3 --hosts-per-leaf 4 --spines 3 --gbps 40",
		"fat-tree --k 4 --gbps 40",
		"torus --dims 3x4 --gbps 100 --link-gbps 40",
		"ring --switches 12 --gbps 100 --link-gbps 40 --parallel 2",
		"rail-optimized --groups 3 --hosts-per-group 4 --rails 2 --gbps 40",
	};

	(void)state;
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct rng rng = { { seed, 1, 2, 3 } };
		struct topo *topo = made_fabric(fabrics[seed % 5]), *less;
		bool *is_left_out = xcalloc(topo_n_links(topo), sizeof *is_left_out);
		uint32_t link = draw_link(topo, &rng), *ids;
		const struct topo_link *l = topo_link(topo, link);
		struct experiment with_event, without_link;
		char text[2000];

		is_left_out[link] = true;
		snprintf(text, sizeof text,
			 "[sim]\niterations = 30\n%s[event e]\ntime = 0 s\n"
			 "link = %s:%s%s%s%s%s\nstate = down\n",
			 JOBS, topo_node(topo, l->from)->name, l->from_port,
			 seed % 2 ? ">" : "",
			 seed % 2 ? topo_node(topo, l->to)->name : "",
			 seed % 2 ? ":" : "", seed % 2 ? l->to_port : "");
		/* A port names the cable, and a link one direction. */
		if (seed % 2 == 0)
			is_left_out[l->reverse] = true;
		with_event = run(text, topo, "none");
		less = topo_without(topo, is_left_out, &ids);
		snprintf(text, sizeof text, "[sim]\niterations = 30\n%s", JOBS);
		without_link = run(text, less, "none");
		assert_int_equal(with_event.n_events, 1);
		assert_same(&with_event, &without_link);
		experiment_fini(&with_event);
		experiment_fini(&without_link);
		topo_unref(less);
		topo_unref(topo);
		free(is_left_out);
		free(ids);
	}
}

static void
a_job_without_a_path_waits_until_repair(void **state)
{
	struct topo *topo = lab_topo();
	struct experiment x = run(
		"[sim]\niterations = 20\n" LAB_JOB("a", "a0,b0", "25", "125", "") LAB_JOB(
			"b", "a1,a2", "25", "125",
			"") "[event cut]\ntime = 130 ms\nlink = leafa:up\nstate = down\n"
			    "[event mended]\ntime = 300 ms\nlink = leafb:up\nstate = up\n",
		topo, "none");

	(void)state;
	/* The third iteration has sent 15 of 20 ms when the cable fails. */
	assert_near(x.jobs[0].iteration_ns[1], 45e6, 1);
	assert_near(x.jobs[0].iteration_ns[2], 215e6, 10);
	assert_near(x.jobs[0].iteration_ns[3], 45e6, 1);
	assert_near(x.jobs[0].path_wait_ns, 170e6, 1);
	assert_near(x.jobs[1].mean_ns, 45e6, 1);
	assert_near(x.jobs[1].path_wait_ns, 0, 0);
	assert_int_equal(x.n_events, 2);
	assert_int_equal(x.events[0].n_moved, 2);
	assert_true(x.events[0].spans[0].is_waiting);
	assert_false(x.events[0].spans[1].is_waiting);
	assert_false(x.events[1].spans[0].is_waiting);
	assert_near(x.events[0].spans[0].before_ns, 45e6, 1);
	assert_near(x.events[0].spans[0].after_ns, 0, 0);
	assert_near(x.events[1].spans[0].after_ns, 45e6, 1);
	experiment_fini(&x);
	topo_unref(topo);
}

static void
a_job_that_waits_for_good_starves(void **state)
{
	struct topo *topo = lab_topo();
	struct experiment x = run(
		"[sim]\niterations = 5\n" LAB_JOB(
			"a", "a0,b0", "25", "125",
			"") "[event cut]\ntime = 100 ms\nswitch = leafb\nstate = down\n"
			    "[event late]\ntime = 1 h\nswitch = leafb\nstate = up\n",
		topo, "none");

	(void)state;
	assert_true(x.jobs[0].is_starved);
	assert_true(x.events[0].has_happened);
	assert_false(x.events[1].has_happened);
	experiment_fini(&x);
	topo_unref(topo);
}

static void
a_degraded_cable_is_as_slow_as_it_says(void **state)
{
	struct topo *topo = lab_topo();
	struct experiment x = run(
		"[sim]\niterations = 20\n" LAB_JOB(
			"a", "a0,b0", "25", "125",
			"") "[event slow]\ntime = 90 ms\nlink = leafa:up>leafb:up\n"
			    "state = degraded 50 %\n"
			    "[event leaf]\ntime = 90 ms\nswitch = leafb\nstate = degraded 25%\n"
			    "[event leaf2]\ntime = 300 ms\nswitch = leafb\nstate = up\n",
		topo, "none");

	(void)state;
	assert_near(x.jobs[0].iteration_ns[1], 45e6, 1);
	/* From 90 ms on 80 instead of 20 ms, and at 300 ms 40. */
	assert_near(x.jobs[0].iteration_ns[2], 105e6, 1);
	assert_near(x.jobs[0].iteration_ns[3], 105e6, 1);
	assert_near(x.jobs[0].iteration_ns[4], 65e6, 1);
	assert_near(x.jobs[0].iteration_ns[10], 65e6, 1);
	experiment_fini(&x);
	topo_unref(topo);
}

/* Fail and repair at once: nothing happens, for each policy and way to spread flows. */
static void
a_repair_at_the_same_time_undoes_a_failure(void **state)
{
	static const char *const fabrics[] = {
		"leaf-spine --leaves 3 --hosts-per-leaf 4 --spines 3 --gbps 40",
		"leaf-spine --leaves 3 --hosts-per-leaf 4 --spines 3 --gbps 40 "
		"--balance spray",
	};
	static const char *const policies[] = { "none", "antiphase", "spray", "crux" };

	(void)state;
	for (size_t i = 0; i < 8; i++) {
		struct topo *topo = made_fabric(fabrics[i % 2]);
		struct experiment a =
			run("[sim]\niterations = 30\n" JOBS
			    "[event e]\ntime = 40 ms\nswitch = spine1\nstate = down\n"
			    "[event f]\ntime = 40 ms\nswitch = spine1\nstate = up\n",
			    topo, policies[i / 2]);
		struct experiment b =
			run("[sim]\niterations = 30\n" JOBS, topo, policies[i / 2]);

		assert_same(&a, &b);
		if (i == 0)
			assert_true(a.events[0].n_moved > 0);
		assert_int_equal(a.events[0].n_moved, a.events[1].n_moved);
		experiment_fini(&a);
		experiment_fini(&b);
		topo_unref(topo);
	}
}

static void
sprayed_flows_leave_a_spine_that_fails(void **state)
{
	struct topo *topo = made_fabric(
		"leaf-spine --leaves 3 --hosts-per-leaf 4 --spines 2 --gbps 40 "
		"--balance spray");
	struct experiment x =
		run("[sim]\niterations = 30\n" JOBS
		    "[event e]\ntime = 0 s\nswitch = spine1\nstate = down\n",
		    topo, "none");

	(void)state;
	assert_true(x.events[0].n_moved > 0);
	for (size_t i = 0; i < x.n_links; i++) {
		const struct topo_link *l = topo_link(topo, x.links[i].link);

		if (!strcmp(topo_node(topo, l->from)->name, "spine1") ||
		    !strcmp(topo_node(topo, l->to)->name, "spine1"))
			assert_near(x.links[i].stats.bytes, 0, 1e-3);
	}
	experiment_fini(&x);
	topo_unref(topo);
}

static void
wrong_events_are_refused_with_their_line(void **state)
{
	static const struct {
		const char *event, *want;
	} cases[] = {
		{ "[event e]\nlink = leafa:up\nstate = down\n",
		  "s.ini:4: event 'e' needs 'time = 10 s'" },
		{ "[event e]\ntime = 1 s\nstate = down\n",
		  "s.ini:4: event 'e' needs either 'link = leaf0:p4' or 'switch = spine1'" },
		{ "[event e]\ntime = 1 s\nlink = leafa:up\nswitch = leafa\nstate = up\n",
		  "s.ini:4: event 'e' needs either" },
		{ "[event e]\ntime = 1 s\nlink = leafa:up\n",
		  "s.ini:4: event 'e' needs 'state = down'" },
		{ "[event e]\ntime = 1 s\nlink = leafa:up\nstate = degraded\n",
		  "s.ini:7: expected down, up, or 'degraded 50 %'" },
		{ "[event e]\ntime = 1 s\nlink = leafa:up\nstate = degraded 150 %\n",
		  "s.ini:7: expected down, up, or" },
		{ "[event e]\ntime = 1 s\nlink = leafa:up\nstate = degraded 0 %\n",
		  "s.ini:7: expected down, up, or" },
		{ "[event e]\ntime = 1\n", "s.ini:5: expected a time" },
		{ "[event e]\ntime = 1 s\nlink = leafa:pu\nstate = up\n",
		  "s.ini:6: fabric 'lab' has no cable at the port 'leafa:pu'" },
		{ "[event e]\ntime = 1 s\nlink = leafa:up>leafb:p\nstate = up\n",
		  "s.ini:6: fabric 'lab' has no link" },
		{ "[event e]\ntime = 1 s\nswitch = a0\nstate = up\n",
		  "s.ini:6: fabric 'lab' has no switch 'a0'" },
		{ "[event]\n", "s.ini:4: [event] has no name" },
		{ "[event a b]\n", "s.ini:4: an event's name has" },
		{ "[event e]\ntime = 1 s\nswitch = leafa\nstate = up\n[event e]\n",
		  "s.ini:8: there is an event 'e' already, on line 4" },
		{ "[event e]\ntim = 1 s\n", "did you mean 'time'" },
	};
	const struct scenario_io io = { NULL, lab_read_nothing };
	struct topo *topo = lab_topo();

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct scenario *scenario = NULL;
		struct err err = { 0 };
		char text[500], got[1000];
		int r;

		snprintf(text, sizeof text,
			 "[job a]\nhosts = a0\nsegment = compute 1 ms\n%s",
			 cases[i].event);
		r = scenario_parse("s.ini", text, strlen(text), &io, &scenario, &err);
		if (r == 0)
			r = scenario_bind(scenario, topo, &err);
		assert_int_equal(r, -EINVAL);
		snprintf(got, sizeof got, "%s:%u: %s", err.file, err.line, err.text);
		if (!strstr(got, cases[i].want))
			fail_msg("'%s' is not in '%s'", cases[i].want, got);
		scenario_free(scenario);
	}
	topo_unref(topo);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_at_time_0_is_a_fabric_without_the_link),
		cmocka_unit_test(a_job_without_a_path_waits_until_repair),
		cmocka_unit_test(a_job_that_waits_for_good_starves),
		cmocka_unit_test(a_degraded_cable_is_as_slow_as_it_says),
		cmocka_unit_test(a_repair_at_the_same_time_undoes_a_failure),
		cmocka_unit_test(sprayed_flows_leave_a_spine_that_fails),
		cmocka_unit_test(wrong_events_are_refused_with_their_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
