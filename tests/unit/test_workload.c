/* SPDX-License-Identifier: Apache-2.0 */
/* test_workload.c - segments and profiles, jobs on links, the joint problem */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/rng.h"
#include "scheduler/core/workload/workload.h"
#include "tests/unit/test.h"
#include "topology/gen_table.h"
#include "topology/route.h"
#include "topology/topo.h"

#define LINE_BPS 50e9

/* ---- Segments and profiles ------------------------------------------------------- */

static void
compute_then_send_is_one_phase_at_line_rate(void **state)
{
	struct work_segment segments[] = {
		{ .compute_ns = 25000000 },
		{ .nic_bytes = 125e6 },
	};
	struct work_job job = {
		.name = (char *)"a",
		.segments = segments,
		.n_segments = 2,
		.jitter_frac = 0.02,
	};

	(void)state;
	assert_int_equal(work_job_profile_from_segments(&job, LINE_BPS, NULL), 0);
	assert_int_equal(job.profile.period_us, 45000);
	assert_int_equal(job.profile.n_phases, 1);
	assert_int_equal(job.profile.phases[0].start_us, 25000);
	assert_int_equal(job.profile.phases[0].duration_us, 20000);
	assert_near(job.profile.phases[0].rate_bps, LINE_BPS, 1);
	assert_near(job.profile.bytes_per_iteration, 125e6, 1e-3);
	assert_int_equal(job.profile.jitter_us, 500);
	assert_string_equal(job.profile.job, "a");
	profile_fini(&job.profile);
	/* Stalls of 10 ms in one of ten: sqrt(0.5^2 + 0.1 * 1.9 * 10^2) ms. */
	job.profile = (struct profile){ 0 };
	job.stall_frac = 0.1;
	job.stall_ns = 10e6;
	assert_int_equal(work_job_profile_from_segments(&job, LINE_BPS, NULL), 0);
	assert_int_equal(job.profile.jitter_us, 4387);
	profile_fini(&job.profile);
}

static void
overlapped_traffic_ends_a_segment_only_if_it_is_longer(void **state)
{
	struct work_segment segments[] = {
		{ .compute_ns = 20000000,
		  .send_offset_ns = 5000000,
		  .nic_bytes = 50e6,
		  .cap_bps = 40e9 }, /* 5 to 15 ms. */
		{ .compute_ns = 1000000,
		  .send_offset_ns = 500000,
		  .nic_bytes = 62.5e6 },
	};
	struct work_job job = { .segments = segments, .n_segments = 2 };

	(void)state;
	assert_int_equal(work_job_profile_from_segments(&job, LINE_BPS, NULL), 0);
	assert_int_equal(job.profile.n_phases, 2);
	assert_int_equal(job.profile.phases[0].start_us, 5000);
	assert_int_equal(job.profile.phases[0].duration_us, 10000);
	assert_near(job.profile.phases[0].rate_bps, 40e9, 1);
	assert_int_equal(job.profile.phases[1].start_us, 20500);
	assert_int_equal(job.profile.period_us, 30500);
	profile_fini(&job.profile);
}

static void
a_job_that_cannot_have_a_profile_says_why(void **state)
{
	struct work_segment hours = { .compute_ns = INT64_C(4000) * 1000000000 };
	struct work_segment instant = { .compute_ns = 100 };
	struct work_segment *many = xcalloc(65, sizeof *many);
	struct work_job job = { .segments = &hours, .n_segments = 1 };
	const char *why = "";

	(void)state;
	assert_int_equal(work_job_profile_from_segments(&job, LINE_BPS, &why), -EINVAL);
	assert_string_equal(why, "an iteration takes more than one hour");
	job.segments = &instant;
	assert_int_equal(work_job_profile_from_segments(&job, LINE_BPS, &why), -EINVAL);
	assert_string_equal(why, "an iteration takes less than a microsecond");
	for (size_t i = 0; i < 65; i++)
		many[i] = (struct work_segment){ .nic_bytes = 1e6 };
	job.segments = many;
	job.n_segments = 65;
	assert_int_equal(work_job_profile_from_segments(&job, LINE_BPS, &why), -EINVAL);
	assert_string_equal(why, "more than 64 segments send");
	assert_null(job.profile.phases);
	free(many);
}

/* Random disjoint phases on whole microseconds. */
static void
make_profile(struct rng *rng, struct profile *ret_profile)
{
	struct profile p = { .job = xstrdup("p"), .period_us = 0 };
	size_t n = rng_below(rng, 8);

	p.phases = xcalloc(n + 1, sizeof *p.phases);
	for (size_t i = 0; i < n; i++) {
		p.phases[i].start_us =
			p.period_us +
			(int64_t)(rng_below(rng, 2) ? rng_below(rng, 9000) : 0);
		p.phases[i].duration_us = 1 + (int64_t)rng_below(rng, 9000);
		p.phases[i].rate_bps = 1e6 * (double)(1 + rng_below(rng, 50000));
		p.period_us = p.phases[i].start_us + p.phases[i].duration_us;
	}
	p.n_phases = n;
	p.period_us += (int64_t)rng_below(rng, 9000) + (n ? 0 : 1);
	assert_int_equal(profile_normalize(&p, NULL), 0);
	*ret_profile = p;
}

static void
a_profile_survives_the_way_through_segments(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 7);
	for (int round = 0; round < 2000; round++) {
		struct work_job job = { .name = xstrdup("p") };
		struct profile before;

		make_profile(&rng, &job.profile);
		profile_copy(&job.profile, &before);
		work_job_segments_from_profile(&job);
		assert_int_equal(work_job_profile_from_segments(&job, LINE_BPS, NULL),
				 0);
		assert_int_equal(job.profile.period_us, before.period_us);
		assert_int_equal(job.profile.n_phases, before.n_phases);
		assert_near(job.profile.bytes_per_iteration, before.bytes_per_iteration,
			    1e-9 * before.bytes_per_iteration);
		for (size_t i = 0; i < before.n_phases; i++) {
			const struct profile_phase *a = &before.phases[i];
			const struct profile_phase *b = &job.profile.phases[i];

			assert_int_equal(a->start_us, b->start_us);
			assert_int_equal(a->duration_us, b->duration_us);
			assert_near(a->rate_bps, b->rate_bps, 1e-9 * a->rate_bps);
		}
		profile_fini(&before);
		work_job_fini(&job);
	}
}

static void
jitter_of_a_profile_comes_back_out_of_its_segments(void **state)
{
	struct work_segment segments[] = {
		{ .compute_ns = 30000000 },
		{ .nic_bytes = 125e6 },
		{ .compute_ns = 40000000 },
	};
	struct work_job job = { .segments = segments, .n_segments = 3 };

	(void)state;
	job.profile.jitter_us = 1000; /* sqrt(30^2 + 40^2) = 50 ms of computing. */
	assert_near(work_job_jitter_of_profile(&job), 0.02, 1e-12);
	job.profile.jitter_us = 1000000;
	assert_near(work_job_jitter_of_profile(&job), WORK_MAX_JITTER, 1e-12);
	job.n_segments = 0;
	assert_near(work_job_jitter_of_profile(&job), 0, 0);
}

static void
a_copy_shares_nothing(void **state)
{
	struct workload one = { 0 }, two;

	(void)state;
	one.n = 1;
	one.jobs = xcalloc(1, sizeof *one.jobs);
	one.jobs[0].name = xstrdup("x");
	one.jobs[0].n_hosts_wanted = 2;
	one.jobs[0].hosts = xcalloc(2, sizeof(uint32_t));
	one.jobs[0].hosts[1] = 9;
	one.jobs[0].segments = xcalloc(1, sizeof *one.jobs[0].segments);
	one.jobs[0].n_segments = 1;
	one.jobs[0].segments[0].compute_ns = 5000;
	assert_int_equal(work_job_profile_from_segments(&one.jobs[0], LINE_BPS, NULL),
			 0);
	two = (struct workload){ .n = 1, .jobs = xcalloc(1, sizeof *two.jobs) };
	work_job_copy(&one.jobs[0], &two.jobs[0]);
	workload_fini(&one);
	assert_string_equal(two.jobs[0].name, "x");
	assert_int_equal(two.jobs[0].hosts[1], 9);
	assert_int_equal(two.jobs[0].segments[0].compute_ns, 5000);
	assert_int_equal(two.jobs[0].profile.period_us, 5);
	workload_fini(&two);
	workload_fini(&two);
}

/* ---- On a fabric ----------------------------------------------------------------- */

/* Two leaves of two hosts under one spine, all links 50 Gb/s. */
struct fabric {
	struct topo *topo;
	struct routes *routes;
	uint32_t hosts[4];
};

static void
fabric_make(struct fabric *f)
{
	struct topo_builder *b = topo_builder_new("lab");
	uint32_t spine, leaf;
	char name[16], port[16];

	assert_int_equal(topo_builder_switch(b, "s0", 2, &spine), 0);
	for (unsigned l = 0; l < 2; l++) {
		snprintf(name, sizeof name, "l%u", l);
		snprintf(port, sizeof port, "p%u", l);
		assert_int_equal(topo_builder_switch(b, name, 1, &leaf), 0);
		assert_int_equal(topo_builder_cable(b, leaf, "up", spine, port,
						    LINE_BPS, LINE_BPS),
				 0);
		for (unsigned h = 2 * l; h < 2 * l + 2; h++) {
			snprintf(name, sizeof name, "h%u", h);
			snprintf(port, sizeof port, "d%u", h);
			assert_int_equal(topo_builder_host(b, name, 2, &f->hosts[h]),
					 0);
			assert_int_equal(topo_builder_cable(b, f->hosts[h], "p0", leaf,
							    port, LINE_BPS, LINE_BPS),
					 0);
		}
	}
	f->topo = topo_builder_finish(b);
	f->routes = routes_new(f->topo, 1);
}

static void
fabric_fini(struct fabric *f)
{
	routes_free(f->routes);
	topo_unref(f->topo);
}

static void
a_laid_ring_has_a_path_for_each_flow_and_one_byte_an_interface(void **state)
{
	struct work_job job = { .n_hosts_wanted = 3, .collective = COLLECTIVE_RING };
	struct routed_job routed;
	struct fabric f;

	(void)state;
	fabric_make(&f);
	assert_int_equal(
		routed_job_make(&job,
				(uint32_t[]){ f.hosts[2], f.hosts[0], f.hosts[1] },
				f.topo, f.routes, &routed),
		0);
	assert_int_equal(routed.flows.n, 3);
	for (size_t i = 0; i < 3; i++) {
		const uint32_t *path = routed.path_links + routed.path_first[i];
		size_t n = routed.path_first[i + 1] - routed.path_first[i];

		assert_near(routed.flows.flows[i].bytes, 1, 1e-12);
		assert_true(n == 2 || n == 4);
		assert_int_equal(topo_link(f.topo, path[0])->from,
				 routed.flows.flows[i].source);
		assert_int_equal(topo_link(f.topo, path[n - 1])->to,
				 routed.flows.flows[i].destination);
	}
	/* One flow into the other rack, one out of it. */
	for (size_t i = 0; i < routed.footprint.n; i++)
		assert_near(routed.footprint.entries[i].factor, 1, 1e-12);
	assert_int_equal(routed.footprint.n, 3 * 2 + 4);
	routed_job_fini(&routed);
	routed_job_fini(&routed);
	fabric_fini(&f);
}

static void
a_job_on_one_host_has_no_flows(void **state)
{
	struct work_segment segments[] = { { .nic_bytes = 1e6 },
					   { .compute_ns = 1000 } };
	struct work_job job = { .n_hosts_wanted = 1,
				.segments = segments,
				.n_segments = 1,
				.stop_ns = ENGINE_NEVER };
	struct routed_job routed;
	struct fabric f;
	uint32_t id;

	(void)state;
	fabric_make(&f);
	assert_int_equal(routed_job_make(&job, f.hosts, f.topo, f.routes, &routed), 0);
	assert_int_equal(routed.flows.n, 0);
	assert_int_equal(routed.footprint.n, 0);
	/* Only traffic that takes no time would loop endlessly, and is refused. */
	assert_int_equal(routed_job_add(&job, &routed, NULL, 0, ENGINE_PACE_FREE, &id),
			 -EINVAL);
	routed_job_fini(&routed);
	fabric_fini(&f);
}

static void
only_links_with_two_jobs_enter_the_joint_problem(void **state)
{
	struct work_job jobs[3] = {
		{ .n_hosts_wanted = 2 },
		{ .n_hosts_wanted = 2 },
		{ .n_hosts_wanted = 2 },
	};
	const struct workload workload = { jobs, 3 };
	struct routed_job routed[2];
	const struct routed_job *of_job[3] = { &routed[0], NULL, &routed[1] };
	struct work_problem problem;
	struct fabric f;

	(void)state;
	fabric_make(&f);
	assert_int_equal(routed_job_make(&jobs[0],
					 (uint32_t[]){ f.hosts[0], f.hosts[2] }, f.topo,
					 f.routes, &routed[0]),
			 0);
	assert_int_equal(routed_job_make(&jobs[2],
					 (uint32_t[]){ f.hosts[1], f.hosts[3] }, f.topo,
					 f.routes, &routed[1]),
			 0);
	work_problem_make(&workload, of_job, f.topo, &problem);
	/* l0>s0, s0>l1, and the reverse. */
	assert_int_equal(problem.problem.n_links, 4);
	assert_int_equal(problem.problem.n_jobs, 3);
	for (size_t i = 0; i < 4; i++) {
		const struct joint_link *link = &problem.links[i];

		assert_int_equal(link->n_loads, 2);
		assert_near(link->capacity_bps, LINE_BPS, 0);
		assert_int_equal(problem.loads[link->first_load].job, 0);
		assert_int_equal(problem.loads[link->first_load + 1].job, 2);
		assert_near(problem.loads[link->first_load].factor, 1, 1e-12);
		if (i)
			assert_true(link->id > link[-1].id);
	}
	assert_true(problem.profiles[2] == &jobs[2].profile);
	work_problem_fini(&problem);
	routed_job_fini(&routed[0]);
	routed_job_fini(&routed[1]);
	fabric_fini(&f);
}

/* ---- Tiers that spray ------------------------------------------------------------ */

static struct topo *
make_fabric(const char *text)
{
	struct topo *topo;

	assert_int_equal(gen_text(text, &topo, NULL), 0);
	return topo;
}

static void
a_sprayed_flow_is_parts_of_equal_bytes_and_weight(void **state)
{
	struct topo *topo = make_fabric("leaf-spine --leaves 2 --hosts-per-leaf 4 "
					"--spines 4 --gbps 50 --balance spray");
	struct routes *routes = routes_new(topo, 1);
	struct work_job job = { .n_hosts_wanted = 3, .collective = COLLECTIVE_RING };
	struct routed_job routed;
	double *sums = xcalloc(topo_n_links(topo) + 1u, sizeof *sums);

	(void)state;
	assert_int_equal(
		routed_job_make(&job, (uint32_t[]){ 0, 1, 4 }, topo, routes, &routed),
		0);
	/* One flow within the rack, and two between racks in four parts each. */
	assert_int_equal(routed.flows.n, 1 + 2 * 4);
	for (size_t i = 0; i < routed.flows.n; i++) {
		size_t n = routed.path_first[i + 1] - routed.path_first[i];
		double parts = n == 2 ? 1 : 4;

		assert_true(n == 2 || n == 4);
		assert_near(routed.flows.flows[i].bytes, 1 / parts, 1e-12);
		assert_near(routed.weights[i], 1 / parts, 1e-12);
		for (size_t k = 0; k < n; k++)
			sums[routed.path_links[routed.path_first[i] + k]] +=
				routed.flows.flows[i].bytes;
	}
	/* Parts load the links as the footprint says. */
	for (size_t i = 0; i < routed.footprint.n; i++) {
		const struct footprint_entry *e = &routed.footprint.entries[i];

		assert_near(sums[e->link], e->factor, 1e-12);
		sums[e->link] = 0;
	}
	for (uint32_t i = 0; i < topo_n_links(topo); i++)
		assert_near(sums[i], 0, 0);
	free(sums);
	routed_job_fini(&routed);
	routes_free(routes);
	topo_unref(topo);
}

static void
parts_of_a_flow_are_limited(void **state)
{
	struct topo *topo = make_fabric("leaf-spine --leaves 2 --hosts-per-leaf 1 "
					"--spines 100 --balance adaptive");
	struct routes *routes = routes_new(topo, 1);
	struct work_job job = { .n_hosts_wanted = 2, .collective = COLLECTIVE_RING };
	struct routed_job routed;

	(void)state;
	assert_int_equal(
		routed_job_make(&job, (uint32_t[]){ 0, 1 }, topo, routes, &routed), 0);
	assert_int_equal(routed.flows.n, 2 * WORK_MAX_PARTS);
	assert_int_equal(routed.footprint.n, 2 * (1 + 100 + 100 + 1));
	routed_job_fini(&routed);
	routes_free(routes);
	topo_unref(topo);
}

/* The ends of the iterations of all jobs, in the order in which they came. */
struct ends {
	double ns[4096];
	uint32_t jobs[4096];
	size_t n;
};

static void
note_end(void *ctx, uint32_t job, uint64_t iteration, double start_ns, double end_ns)
{
	struct ends *ends = ctx;

	(void)iteration;
	(void)start_ns;
	assert_true(ends->n < 4096);
	ends->jobs[ends->n] = job;
	ends->ns[ends->n++] = end_ns;
}

/* Runs three jobs between both racks, of which two share a host, for a second. */
static void
run_jobs(const char *fabric, struct ends *ret_ends)
{
	static const uint32_t hosts[3][4] = { { 0, 1, 8, 9 },
					      { 1, 2, 10, 11 },
					      { 3, 4, 12, 5 } };
	struct topo *topo = make_fabric(fabric);
	struct routes *routes = routes_new(topo, 1);
	double *capacity_bps = xcalloc(topo_n_links(topo), sizeof *capacity_bps);
	struct engine_config config = { .capacity_bps = capacity_bps,
					.n_links = topo_n_links(topo),
					.observer = { .ctx = ret_ends,
						      .on_iteration = note_end } };
	struct engine *engine;

	for (uint32_t i = 0; i < topo_n_links(topo); i++)
		capacity_bps[i] = topo_link(topo, i)->capacity_bps;
	engine = engine_new(&config);
	for (unsigned j = 0; j < 3; j++) {
		struct work_segment segments[] = {
			{ .compute_ns = 3000000 + 1100000 * j },
			{ .nic_bytes = 40e6 + 7e6 * j, .cap_bps = j ? 0 : 30e9 },
		};
		struct work_job job = { .n_hosts_wanted = 4,
					.collective = COLLECTIVE_RING,
					.segments = segments,
					.n_segments = 2,
					.stop_ns = ENGINE_NEVER };
		struct routed_job routed;
		uint32_t id;

		assert_int_equal(routed_job_make(&job, hosts[j], topo, routes, &routed),
				 0);
		assert_int_equal(
			routed_job_add(&job, &routed, engine, 0, ENGINE_PACE_FREE, &id),
			0);
		routed_job_fini(&routed);
	}
	engine_run(engine, 1000000000);
	engine_free(engine);
	free(capacity_bps);
	routes_free(routes);
	topo_unref(topo);
}

/* The definition of spraying: links of a tier act as one of summed capacity. */
static void
sprayed_jobs_run_as_over_one_link_of_summed_capacity(void **state)
{
	struct ends *sprayed = xcalloc(1, sizeof *sprayed);
	struct ends *summed = xcalloc(1, sizeof *summed);

	(void)state;
	run_jobs("leaf-spine --leaves 2 --hosts-per-leaf 8 --spines 4 --gbps 50 "
		 "--uplink-gbps 20 --balance spray",
		 sprayed);
	run_jobs("leaf-spine --leaves 2 --hosts-per-leaf 8 --spines 1 --gbps 50 "
		 "--uplink-gbps 80",
		 summed);
	assert_true(summed->n > 50);
	assert_int_equal(sprayed->n, summed->n);
	for (size_t i = 0; i < summed->n; i++) {
		assert_int_equal(sprayed->jobs[i], summed->jobs[i]);
		assert_near(sprayed->ns[i], summed->ns[i], 10);
	}
	free(sprayed);
	free(summed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compute_then_send_is_one_phase_at_line_rate),
		cmocka_unit_test(
			overlapped_traffic_ends_a_segment_only_if_it_is_longer),
		cmocka_unit_test(a_job_that_cannot_have_a_profile_says_why),
		cmocka_unit_test(a_profile_survives_the_way_through_segments),
		cmocka_unit_test(jitter_of_a_profile_comes_back_out_of_its_segments),
		cmocka_unit_test(a_copy_shares_nothing),
		cmocka_unit_test(
			a_laid_ring_has_a_path_for_each_flow_and_one_byte_an_interface),
		cmocka_unit_test(a_job_on_one_host_has_no_flows),
		cmocka_unit_test(only_links_with_two_jobs_enter_the_joint_problem),
		cmocka_unit_test(a_sprayed_flow_is_parts_of_equal_bytes_and_weight),
		cmocka_unit_test(parts_of_a_flow_are_limited),
		cmocka_unit_test(sprayed_jobs_run_as_over_one_link_of_summed_capacity),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
