/* SPDX-License-Identifier: Apache-2.0 */
/* test_jobs.c - what antiphase-scheduler knows of jobs, without its loop */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "scheduler/daemon/persist.h"
#include "scheduler/store/store.h"
#include "tests/unit/daemon_parts.h"
#include "tests/unit/test.h"
#include "topology/topo.h"

#define HOUR_US INT64_C(3600000000)

struct fixture {
	struct daemon_parts d;
	char folder[64], file[96];
	struct sched_job job;
};

static void
fixture_init(struct fixture *f)
{
	struct err err;

	*f = (struct fixture){ .d = { .store = NULL } };
	snprintf(f->folder, sizeof f->folder, "/tmp/ap-jobs-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	snprintf(f->file, sizeof f->file, "%s/db", f->folder);
	assert_int_equal(store_open(f->file, NULL, &f->d.store, &err), 0);
	parts_open(&f->d, "leaf-spine --leaves 2 --hosts-per-leaf 2 --spines 1 "
			  "--gbps 50");
	f->job = (struct sched_job){ .id = (char *)"4711",
				     .local_id = (char *)"4711",
				     .name = (char *)"train",
				     .user = (char *)"ann",
				     .partition = (char *)"p",
				     .n_nodes = 2,
				     .nodes = (char *)"",
				     .comment = (char *)"" };
}

static void
fixture_fini(struct fixture *f)
{
	char *more = xasprintf("rm -rf %s", f->folder);

	parts_close(&f->d);
	store_close(f->d.store);
	assert_int_equal(system(more), 0);
	free(more);
}

/* A snapshot of the scheduler with this one job. */
static void
look(struct fixture *f)
{
	static uint32_t first;

	f->d.snapshot = (struct sched_snapshot){ .at_us = clk_wall_us(),
						 .jobs = &f->job,
						 .by_local_id = &first,
						 .n_jobs = 1 };
}

/* The job has run: its profile is stored. */
static void
run(struct fixture *f)
{
	struct profile_phase phase = { 0, 20000, 50e9 };
	uint32_t hosts[2] = { topo_find_node(fabric_source_topo(f->d.fabric), "h0"),
			      topo_find_node(fabric_source_topo(f->d.fabric), "h2") };
	struct job job = { .name = (char *)"4711",
			   .profile = { .job = (char *)"4711",
					.period_us = 45000,
					.n_iterations = 300,
					.confidence = 0.9,
					.bytes_per_iteration = 125e6,
					.n_phases = 1,
					.phases = &phase },
			   .hosts = hosts,
			   .n_hosts = 2 };

	f->job.state = SCHED_RUNNING;
	f->job.nodes = (char *)"h[0,2]";
	look(f);
	persist_keep_profile(f->d.store, fabric_source_topo(f->d.fabric), &job,
			     &f->job);
	f->job.state = SCHED_WAITING;
	f->job.nodes = (char *)"";
	f->job.id = f->job.local_id = (char *)"4712";
	look(f);
}

static bool
take_text(void *ctx, const char *key, int64_t at_us, const char *json)
{
	(void)key;
	(void)at_us;
	*(char **)ctx = xstrdup(json);
	return true;
}

/* Makes the stored profile older. */
static void
grow_old(struct fixture *f, int64_t by_us)
{
	char *text = NULL;

	assert_true(store_read(f->d.store, STORE_PROFILE, "ann/train", 1, take_text,
			       &text, NULL) >= 0);
	assert_non_null(text);
	store_put(f->d.store, STORE_PROFILE, "ann/train", clk_wall_us() - by_us, text);
	store_delete(f->d.store, STORE_PROFILE, "4711");
	free(text);
}

struct said {
	bool is_advised;
	char source[32], reason[32];
	int64_t age_us, period_us, iterations;
};

static void
read_doc(const struct fixture *f, const char *name, struct said *said)
{
	const struct job *job = jobs_find(f->d.jobs, name);
	const struct json *evidence;
	const char *source = "", *reason = "";
	struct json_doc *doc;

	*said = (struct said){ .age_us = -1 };
	assert_non_null(job);
	assert_non_null(job->doc);
	assert_int_equal(json_parse("doc", job->doc, strlen(job->doc), &doc, NULL), 0);
	json_opt_bool(doc, json_root(doc), "is_advised", &said->is_advised, NULL);
	json_opt_str(doc, json_root(doc), "reason", &reason, NULL);
	evidence = json_find(json_root(doc), "evidence");
	assert_non_null(evidence);
	json_opt_str(doc, evidence, "source", &source, NULL);
	json_opt_int(doc, evidence, "age_us", 0, INT64_C(1) << 52, &said->age_us, NULL);
	json_opt_int(doc, evidence, "period_us", 0, INT64_C(1) << 52, &said->period_us,
		     NULL);
	json_opt_int(doc, evidence, "iterations", 0, INT64_C(1) << 52,
		     &said->iterations, NULL);
	snprintf(said->source, sizeof said->source, "%s", source);
	snprintf(said->reason, sizeof said->reason, "%s", reason);
	json_doc_free(doc);
}

/* What a waiting job inherits from a run; a user's declaration goes first. */
static const struct case_of_run {
	const char *what, *name, *user, *comment;
	uint32_t n_nodes;
	int64_t older_us;
	const char *source;
} cases[] = {
	{ "the same again", "train", "ann", "", 2, 0, "earlier" },
	{ "six days later", "train", "ann", "", 2, 144 * HOUR_US, "earlier" },
	{ "eight days later", "train", "ann", "", 2, 192 * HOUR_US, "none" },
	{ "another name", "test", "ann", "", 2, 0, "none" },
	{ "another user's", "train", "bob", "", 2, 0, "none" },
	{ "on more nodes", "train", "ann", "", 4, 0, "none" },
	{ "declared", "train", "ann", "antiphase: iter_us=255000 comm_us=102000", 2, 0,
	  "declared" },
	{ "without a name", "", "ann", "", 2, 0, "none" },
};

static void
a_waiting_job_is_taken_as_its_last_run_was(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct case_of_run *c = &cases[i];
		bool is_earlier = strcmp(c->source, "earlier") == 0;
		struct fixture f;
		struct said said;

		fixture_init(&f);
		run(&f);
		if (c->older_us)
			grow_old(&f, c->older_us);
		f.job.name = (char *)c->name;
		f.job.user = (char *)c->user;
		f.job.comment = (char *)c->comment;
		f.job.n_nodes = c->n_nodes;
		jobs_set_fabric(f.d.jobs);
		parts_update_jobs(&f.d);
		read_doc(&f, "4712", &said);
		if (strcmp(said.source, c->source) != 0 ||
		    said.is_advised != (strcmp(c->source, "none") != 0))
			fail_msg("%s: %s, %s", c->what, said.source, said.reason);
		if (is_earlier) {
			assert_in_range(said.age_us, c->older_us,
					c->older_us + 60000000);
			assert_int_equal(said.period_us, 45000);
			assert_int_equal(said.iterations, 300);
		}
		fixture_fini(&f);
	}
}

static void
earlier_runs_are_no_jobs_after_a_restart(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f);
	run(&f);
	f.d.snapshot.n_jobs = 0;
	jobs_set_fabric(f.d.jobs);
	/* The job itself is continued; the stored run is not usable. */
	assert_non_null(jobs_find(f.d.jobs, "4711"));
	assert_null(jobs_find(f.d.jobs, "ann/train"));
	fixture_fini(&f);
}

/* The list grows with the number of concurrent jobs, not with all jobs. */
static void
places_of_jobs_that_are_gone_are_used_again(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f);
	f.job.comment = (char *)"antiphase: iter_us=255000 comm_us=102000";
	jobs_set_fabric(f.d.jobs);
	for (int i = 0; i < 200; i++) {
		char name[16];
		const struct job *job;

		snprintf(name, sizeof name, "%d", 5000 + i);
		f.job.id = f.job.local_id = name;
		look(&f);
		parts_update_jobs(&f.d);
		job = jobs_find(f.d.jobs, name);
		assert_non_null(job);
		assert_true(job->number < 2);
		assert_ptr_equal(jobs_of_number(f.d.jobs, job->number), job);
		assert_true(f.d.jobs->items.n <= 2);
		assert_true(f.d.jobs->by_number.n <= 2);
		snprintf(name, sizeof name, "%d", 5000 + i - 1);
		assert_null(jobs_find(f.d.jobs, name));
	}
	f.d.snapshot.n_jobs = 0;
	parts_update_jobs(&f.d);
	assert_int_equal(jobs_counts(f.d.jobs).n_jobs, 0);
	assert_null(jobs_of_number(f.d.jobs, 0));
	assert_null(jobs_of_number(f.d.jobs, UINT32_MAX));
	fixture_fini(&f);
}

static const struct json *
outcome_of(const struct fixture *f, const char *name, const char *part,
	   struct json_doc **ret_doc)
{
	const struct job *job = jobs_find(f->d.jobs, name);
	const struct json *outcome;

	assert_non_null(job);
	assert_non_null(job->doc);
	assert_int_equal(json_parse("doc", job->doc, strlen(job->doc), ret_doc, NULL),
			 0);
	outcome = json_find(json_root(*ret_doc), "outcome");
	assert_non_null(outcome);
	return json_find(outcome, part);
}

/* A placed job runs on its nodes or elsewhere; it has no traffic yet. */
static void
where_a_placed_job_runs_is_kept(void **state)
{
	(void)state;
	for (int is_elsewhere = 0; is_elsewhere < 2; is_elsewhere++) {
		struct fixture f;
		struct json_doc *doc;
		const struct json *place;
		const char *nodes = "";
		char *kept = NULL;

		fixture_init(&f);
		run(&f);
		jobs_set_fabric(f.d.jobs);
		parts_update_jobs(&f.d);
		outcomes_tick(f.d.outcomes);
		place = outcome_of(&f, "4712", "place", &doc);
		assert_non_null(place);
		assert_int_equal(json_opt_str(doc, place, "nodes", &nodes, NULL), 0);
		assert_string_equal(nodes, jobs_find(f.d.jobs, "4712")->nodes);
		assert_int_equal(jobs_totals(f.d.jobs)
					 ->n_given[JOBS_PLACE]
						  [jobs_find(f.d.jobs, "4712")->reason],
				 1);
		json_doc_free(doc);
		nodes = jobs_find(f.d.jobs, "4712")->nodes;
		f.job.nodes = xstrdup(is_elsewhere ? "h9,h[7-8]" : nodes);
		f.job.state = SCHED_RUNNING;
		look(&f);
		outcomes_tick(f.d.outcomes);
		assert_int_equal(outcomes_n_followed(f.d.outcomes), !is_elsewhere);
		assert_true(store_read(f.d.store, STORE_OUTCOME, "4712", 1, take_text,
				       &kept, NULL) >= 0);
		assert_non_null(kept);
		assert_non_null(strstr(kept, is_elsewhere ? "\"followed\": false"
							  : "\"followed\": true"));
		/* Reported once. */
		outcomes_tick(f.d.outcomes);
		assert_int_equal(outcomes_n_followed(f.d.outcomes), !is_elsewhere);
		free(kept);
		free(f.job.nodes);
		fixture_fini(&f);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_waiting_job_is_taken_as_its_last_run_was),
		cmocka_unit_test(earlier_runs_are_no_jobs_after_a_restart),
		cmocka_unit_test(where_a_placed_job_runs_is_kept),
		cmocka_unit_test(places_of_jobs_that_are_gone_are_used_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
