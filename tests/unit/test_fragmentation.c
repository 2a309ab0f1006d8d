/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/jsonw.h"
#include "lib/base/rng.h"
#include "scheduler/core/advise/fragmentation.h"
#include "tests/unit/jobs_fixture.h"
#include "tests/unit/test.h"

/* The figure of the fixture's jobs, with these slowdowns. */
static void
make(struct fixture *f, const double *slowdown, struct fragmentation *ret_found)
{
	struct fragmentation_maker *maker = fragmentation_maker_new(f->topo, f->routes);

	for (size_t j = 0; j < f->workload.n; j++)
		assert_int_equal(
			fragmentation_add(maker, &f->workload.jobs[j], slowdown[j]), 0);
	fragmentation_take(maker, ret_found);
	fragmentation_maker_free(maker);
}

static const struct fragmentation_job *
find_job(const struct fragmentation *found, const char *name)
{
	for (size_t i = 0; i < found->n_jobs_listed; i++)
		if (strcmp(found->jobs[i].name, name) == 0)
			return &found->jobs[i];
	fail_msg("no job %s", name);
	return NULL;
}

/* ---- By hand ------------------------------------------------------------------- */

/* Both jobs fit into a rack: lost = 1 - (2 / 1.5 + 2 / 1.25) / 4 = 4/15. */
static void
two_scattered_jobs_cost_what_they_are_slowed_down(void **state)
{
	const double slowdown[] = { 1.25, 1.5 };
	struct fragmentation found;
	struct fixture f;

	(void)state;
	fixture_init(&f, 2, 2, 1, 50e9);
	ON(fixture_job(&f, "a", 2, 100000, 0.5, 50e9), 0, 2);
	ON(fixture_job(&f, "b", 2, 100000, 0.5, 50e9), 1, 3);
	make(&f, slowdown, &found);
	assert_near(found.lost_frac, 4.0 / 15, 1e-12);
	assert_near(found.goodput, 11.0 / 15, 1e-12);
	assert_near(found.goodput_packed, 1, 1e-12);
	assert_int_equal(found.n_jobs, 2);
	assert_int_equal(found.n_fragmented, 2);
	/* The most costly first. */
	assert_string_equal(found.jobs[0].name, "b");
	assert_near(found.jobs[0].lost_frac, 1.0 / 6, 1e-12);
	assert_near(found.jobs[1].lost_frac, 0.1, 1e-12);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(found.jobs[i].n_racks, 2);
		assert_int_equal(found.jobs[i].n_racks_needed, 1);
		assert_int_equal(found.jobs[i].n_extra_fragments, 2);
		assert_near(found.jobs[i].slowdown_packed, 1, 1e-12);
		assert_int_equal(found.racks[i].n_jobs, 2);
		assert_int_equal(found.racks[i].n_fragments, 2);
		assert_near(found.racks[i].lost_frac, 2.0 / 15, 1e-12);
	}
	assert_string_equal(found.racks[0].name, "leaf0");
	fragmentation_fini(&found);
	fixture_fini(&f);
}

static void
a_packed_job_has_no_fragments_and_costs_nothing(void **state)
{
	const double slowdown[] = { 1, 1.25 };
	struct fragmentation found;
	struct fixture f;

	(void)state;
	fixture_init(&f, 3, 4, 1, 50e9);
	ON(fixture_job(&f, "packed", 3, 100000, 0.5, 50e9), 0, 1, 2);
	ON(fixture_job(&f, "apart", 2, 100000, 0.5, 50e9), 3, 4);
	make(&f, slowdown, &found);
	assert_int_equal(found.n_fragmented, 1);
	assert_int_equal(find_job(&found, "packed")->n_racks, 1);
	assert_int_equal(find_job(&found, "packed")->n_extra_fragments, 0);
	assert_near(find_job(&found, "packed")->lost_frac, 0, 1e-12);
	/* 2 * (1 - 0.8) of 5. */
	assert_near(found.lost_frac, 0.08, 1e-12);
	/* Racks without jobs are not listed. */
	assert_int_equal(found.n_racks_listed, 2);
	assert_string_equal(found.racks[0].name, "leaf0");
	assert_int_equal(found.racks[0].n_jobs, 2);
	assert_int_equal(found.racks[0].n_fragments, 1);
	assert_near(found.racks[0].lost_frac, 0.04, 1e-12);
	fragmentation_fini(&found);
	fixture_fini(&f);
}

/* Six hosts need two racks of four; in three racks there is one fragment too many. */
static void
a_large_job_is_measured_against_the_racks_that_it_needs(void **state)
{
	const double slowdown[] = { 1.1 };
	struct fragmentation found;
	struct fixture f;

	(void)state;
	fixture_init(&f, 4, 4, 1, 50e9);
	ON(fixture_job(&f, "large", 6, 100000, 0.5, 50e9), 0, 1, 4, 5, 8, 9);
	make(&f, slowdown, &found);
	assert_int_equal(found.jobs[0].n_racks, 3);
	assert_int_equal(found.jobs[0].n_racks_needed, 2);
	assert_int_equal(found.jobs[0].n_extra_fragments, 1);
	assert_near(found.lost_frac, 1 - 1 / 1.1, 1e-12);
	for (int i = 0; i < 3; i++)
		assert_near(found.racks[i].lost_frac, (1 - 1 / 1.1) / 3, 1e-12);
	fragmentation_fini(&found);
	fixture_fini(&f);
}

/*
 * All-to-all of 2 + 2 hosts: 2 * 2/3 of the line rate cross an uplink of that rate, so
 * bursts take 4/3 of their time.  No place is better, so nothing is lost.
 */
static void
collisions_of_a_jobs_own_flows_are_not_lost(void **state)
{
	const double slowdown[] = { 1.2 };
	struct fragmentation found;
	struct work_job *job;
	struct fixture f;

	(void)state;
	fixture_init(&f, 2, 2, 1, 50e9);
	job = fixture_job(&f, "a", 4, 100000, 0.6, 50e9);
	job->collective = COLLECTIVE_ALL_TO_ALL;
	ON(job, 0, 1, 2, 3);
	make(&f, slowdown, &found);
	assert_int_equal(found.n_fragmented, 0);
	assert_near(found.jobs[0].slowdown_packed, 1.2, 1e-3);
	assert_near(found.lost_frac, 0, 1e-3);
	fragmentation_fini(&found);
	fixture_fini(&f);
}

static void
weights_count(void **state)
{
	const double slowdown[] = { 2, 1 };
	struct fragmentation found;
	struct fixture f;

	(void)state;
	fixture_init(&f, 2, 2, 1, 50e9);
	ON(fixture_job(&f, "a", 2, 100000, 0.5, 50e9), 0, 2);
	ON(fixture_job(&f, "b", 2, 100000, 0.5, 50e9), 1, 3);
	f.workload.jobs[0].weight = 1;
	f.workload.jobs[1].weight = 9;
	make(&f, slowdown, &found);
	assert_near(found.lost_frac, 0.05, 1e-12);
	fragmentation_fini(&found);
	fixture_fini(&f);
}

/* ---- Bad input ----------------------------------------------------------------- */

static void
jobs_where_no_host_has_enough_slots_are_taken_as_they_are(void **state)
{
	const double slowdown[] = { 1.5 };
	struct fragmentation found;
	struct fixture f;

	(void)state;
	fixture_init(&f, 2, 2, 1, 50e9);
	ON(fixture_job(&f, "a", 2, 100000, 0.5, 50e9), 0, 2);
	f.workload.jobs[0].slots_per_host = 4;
	make(&f, slowdown, &found);
	assert_int_equal(found.jobs[0].n_racks_needed, 2);
	assert_int_equal(found.n_fragmented, 0);
	fragmentation_fini(&found);
	fixture_fini(&f);
}

static void
bad_hosts_count_as_unknown_and_the_maker_begins_again(void **state)
{
	struct fragmentation found;
	struct fragmentation_maker *maker;
	struct fixture f;

	(void)state;
	fixture_init(&f, 2, 2, 1, 50e9);
	ON(fixture_job(&f, "twice", 2, 100000, 0.5, 50e9), 0, 0);
	ON(fixture_job(&f, "good", 2, 100000, 0.5, 50e9), 1, 3);
	maker = fragmentation_maker_new(f.topo, f.routes);
	assert_int_equal(fragmentation_add(maker, &f.workload.jobs[0], 1), -EINVAL);
	assert_int_equal(fragmentation_add(maker, &f.workload.jobs[1], 2), 0);
	fragmentation_add_unknown(maker);
	fragmentation_take(maker, &found);
	assert_int_equal(found.n_unknown, 2);
	assert_int_equal(found.n_jobs, 1);
	assert_near(found.lost_frac, 0.5, 1e-12);
	assert_int_equal(found.racks[0].n_jobs, 1);
	fragmentation_fini(&found);

	fragmentation_take(maker, &found);
	assert_int_equal(found.n_unknown, 0);
	assert_int_equal(found.n_jobs, 0);
	assert_int_equal(found.n_racks_listed, 0);
	assert_true(isnan(found.lost_frac) && isnan(found.goodput));
	fragmentation_fini(&found);
	fragmentation_maker_free(maker);
	fragmentation_maker_free(NULL);
	fixture_fini(&f);
}

/* ---- Workloads ----------------------------------------------------------------- */

static void
waiting_jobs_are_ignored_and_slowdowns_predicted(void **state)
{
	struct fragmentation found;
	struct fixture f;

	(void)state;
	fixture_init(&f, 2, 3, 1, 50e9);
	ON(fixture_job(&f, "a", 2, 45000, 20.0 / 45, 50e9), 0, 3);
	fixture_job(&f, "waits", 2, 100000, 0.5, 50e9);
	ON(fixture_job(&f, "b", 2, 45000, 20.0 / 45, 50e9), 1, 4);
	assert_int_equal(
		fragmentation_of_workload(&f.workload, f.topo, f.routes, 1, &found), 0);
	assert_int_equal(found.n_jobs, 2);
	assert_int_equal(found.n_fragmented, 2);
	assert_true(found.lost_frac > 0.05 && found.lost_frac < 0.35);
	fragmentation_fini(&found);
	fixture_fini(&f);
}

/* Counts leaves of generated fabrics, whose host h is on leaf h / per_leaf. */
static uint32_t
naive_racks(const struct work_job *job, uint32_t per_leaf)
{
	uint32_t set = 0;

	for (uint32_t i = 0; i < job->n_hosts_wanted; i++)
		set |= 1u << job->hosts[i] / per_leaf;
	return (uint32_t)__builtin_popcount(set);
}

/* Compares with sums over the jobs, and over the racks. */
static void
check_sums(const struct fixture *f, const double *slowdown, uint32_t per_leaf,
	   const struct fragmentation *found)
{
	double now = 0, packed = 0, of_jobs = 0, of_racks = 0;
	uint32_t n_fragmented = 0;

	for (size_t j = 0; j < f->workload.n; j++) {
		const struct work_job *job = &f->workload.jobs[j];
		const struct fragmentation_job *own = find_job(found, job->name);
		uint32_t needed = (job->n_hosts_wanted + per_leaf - 1) / per_leaf;

		assert_int_equal(own->n_racks, naive_racks(job, per_leaf));
		assert_int_equal(own->n_racks_needed, needed);
		n_fragmented += own->n_racks > needed;
		now += job->weight / slowdown[j];
		packed += job->weight / own->slowdown_packed;
		of_jobs += own->lost_frac;
	}
	for (size_t i = 0; i < found->n_racks_listed; i++)
		of_racks += found->racks[i].lost_frac;
	assert_int_equal(found->n_fragmented, n_fragmented);
	assert_near(found->lost_frac, 1 - now / packed, 1e-12);
	assert_near(of_jobs, found->lost_frac, 1e-12);
	assert_near(of_racks, found->lost_frac, 1e-12);
	for (size_t i = 1; i < found->n_jobs_listed; i++)
		assert_true(found->jobs[i - 1].lost_frac >= found->jobs[i].lost_frac);
	for (size_t i = 1; i < found->n_racks_listed; i++)
		assert_true(found->racks[i - 1].lost_frac >= found->racks[i].lost_frac);
}

static void
shares_add_up_in_random_clusters(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 3);
	for (int round = 0; round < 30; round++) {
		uint32_t per_leaf = 1 + (uint32_t)rng_below(&rng, 4);
		uint32_t hosts[20], n_hosts = 5 * per_leaf, next = 0;
		double slowdown[20];
		struct fragmentation found;
		struct fixture f;

		fixture_init(&f, 5, per_leaf, 2, 50e9);
		for (uint32_t h = 0; h < n_hosts; h++)
			hosts[h] = h;
		rng_shuffle(&rng, hosts, n_hosts);
		while (next < n_hosts) {
			uint32_t n = 1 + (uint32_t)rng_below(&rng, n_hosts - next);
			char name[16];

			snprintf(name, sizeof name, "j%zu", f.workload.n);
			slowdown[f.workload.n] = 1 + (double)rng_below(&rng, 100) / 100;
			fixture_on(fixture_job(&f, name, n, 100000, 0.3, 50e9),
				   hosts + next);
			next += n;
		}
		make(&f, slowdown, &found);
		check_sums(&f, slowdown, per_leaf, &found);
		fragmentation_fini(&found);
		fixture_fini(&f);
	}
}

/* ---- JSON ---------------------------------------------------------------------- */

static char *
text_of(const struct fragmentation *found, size_t n_max)
{
	struct jsonw w;
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	assert_non_null(out);
	jsonw_document(&w, out, FRAGMENTATION_SCHEMA);
	fragmentation_json_put(found, n_max, &w);
	jsonw_end(&w);
	jsonw_finish(&w);
	fclose(out);
	return text;
}

static void
reads_back_what_it_writes(void **state)
{
	const double slowdown[] = { 1.25, 1.5 };
	struct fragmentation found, again;
	struct fixture f;
	struct err err;
	char *text, *text_again;

	(void)state;
	fixture_init(&f, 2, 2, 1, 50e9);
	ON(fixture_job(&f, "a", 2, 100000, 0.5, 50e9), 0, 2);
	ON(fixture_job(&f, "b", 2, 100000, 0.5, 50e9), 1, 3);
	make(&f, slowdown, &found);
	found.at_us = 1700000000000000;
	found.n_unknown = 3;
	for (size_t n_max = 0; n_max < 4; n_max++) {
		text = text_of(&found, n_max);
		assert_int_equal(
			fragmentation_json_parse("t", text, strlen(text), &again, &err),
			0);
		assert_int_equal(again.n_jobs, 2);
		assert_int_equal(again.n_jobs_listed + again.n_jobs_left_out, 2);
		assert_int_equal(again.n_jobs_listed, n_max < 2 ? n_max : 2);
		assert_int_equal(again.at_us, found.at_us);
		text_again = text_of(&again, SIZE_MAX);
		assert_string_equal(text, text_again);
		fragmentation_fini(&again);
		free(text);
		free(text_again);
	}
	fragmentation_fini(&found);
	fixture_fini(&f);
}

/* As the scheduler answers before it knows a job: null for every share. */
static void
reads_an_answer_without_jobs(void **state)
{
	const double slowdown[] = { 1 }; /* Of no job. */
	struct fragmentation found, again;
	struct fixture f;
	struct err err;
	char *text;

	(void)state;
	fixture_init(&f, 2, 2, 1, 50e9);
	make(&f, slowdown, &found);
	text = text_of(&found, SIZE_MAX);
	assert_non_null(strstr(text, "\"at_us\": null"));
	assert_non_null(strstr(text, "\"goodput\": null"));
	assert_int_equal(
		fragmentation_json_parse("t", text, strlen(text), &again, &err), 0);
	assert_int_equal(again.at_us, 0);
	assert_true(isnan(again.lost_frac));
	assert_true(isnan(again.goodput));
	assert_true(isnan(again.goodput_packed));
	fragmentation_fini(&again);
	fragmentation_fini(&found);
	fixture_fini(&f);
	free(text);
}

static void
refuses_what_is_no_answer(void **state)
{
	static const char *const texts[] = {
		"",
		"[]",
		"{}",
		"{\"schema\":\"antiphase.advice/1\"}",
		"{\"schema\":\"antiphase.fragmentation/2\"}",
		"{\"schema\":\"antiphase.fragmentation/1\",\"n_jobs\":-1}",
		"{\"schema\":\"antiphase.fragmentation/1\",\"lost\":true}",
		"{\"schema\":\"antiphase.fragmentation/1\",\"at_us\":\"\"}",
		"{\"schema\":\"antiphase.fragmentation/1\",\"n_jobs\":0,"
		"\"n_fragmented\":0,\"n_unknown\":0,\"jobs\":{},\"racks\":[]}",
		"{\"schema\":\"antiphase.fragmentation/1\",\"n_jobs\":0,"
		"\"n_fragmented\":0,\"n_unknown\":0,\"jobs\":[1],\"racks\":[]}",
		"{\"schema\":\"antiphase.fragmentation/1\",\"n_jobs\":0,"
		"\"n_fragmented\":0,\"n_unknown\":0,\"jobs\":[],"
		"\"racks\":[{\"rack\":\"a\",\"n_jobs\":1,\"n_fragments\":1}]}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct fragmentation found = { .n_jobs = 77 };
		struct err err = { .line = 0 };

		assert_int_equal(fragmentation_json_parse(
					 "t", texts[i], strlen(texts[i]), &found, &err),
				 -EINVAL);
		assert_true(err.text[0]);
		assert_int_equal(found.n_jobs, 77);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_scattered_jobs_cost_what_they_are_slowed_down),
		cmocka_unit_test(a_packed_job_has_no_fragments_and_costs_nothing),
		cmocka_unit_test(
			a_large_job_is_measured_against_the_racks_that_it_needs),
		cmocka_unit_test(collisions_of_a_jobs_own_flows_are_not_lost),
		cmocka_unit_test(weights_count),
		cmocka_unit_test(
			jobs_where_no_host_has_enough_slots_are_taken_as_they_are),
		cmocka_unit_test(bad_hosts_count_as_unknown_and_the_maker_begins_again),
		cmocka_unit_test(waiting_jobs_are_ignored_and_slowdowns_predicted),
		cmocka_unit_test(shares_add_up_in_random_clusters),
		cmocka_unit_test(reads_back_what_it_writes),
		cmocka_unit_test(reads_an_answer_without_jobs),
		cmocka_unit_test(refuses_what_is_no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
