/* SPDX-License-Identifier: Apache-2.0 */
/* test_jobs_paths.c - paths of jobs by mode: advice, documents and counts */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "scheduler/core/advise/advice_doc.h"
#include "scheduler/daemon/flow_table.h"
#include "scheduler/daemon/persist.h"
#include "tests/unit/daemon_parts.h"
#include "tests/unit/test.h"
#include "topology/topo.h"

#define N_JOBS 8

static void
put_job(struct daemon_parts *d, uint32_t i)
{
	const struct topo *topo = fabric_source_topo(d->fabric);
	char name[16], host[2][16];
	struct profile profile;
	struct work_job work;
	struct job *job;

	snprintf(name, sizeof name, "job%u", i);
	snprintf(host[0], sizeof host[0], "h%u", i);
	snprintf(host[1], sizeof host[1], "h%u", N_JOBS + i);
	profile_of_burst(100000 + 700 * i, 50000, 50e9, &profile);
	jobs_make_work(name, 2, &profile, &work);
	work.hosts = xcalloc(2, sizeof *work.hosts);
	for (int k = 0; k < 2; k++)
		work.hosts[k] = topo_find_node(topo, host[k]);
	job = jobs_make(d->jobs, name);
	jobs_put(d->jobs, job, &work, false);
	assert_true(job->number != UINT32_MAX);
	work_job_fini(&work);
	profile_fini(&profile);
}

/* Eight jobs over two leaves and eight spines: by hash, some of them collide. */
static void
put_jobs(struct daemon_parts *d)
{
	for (uint32_t i = 0; i < N_JOBS; i++)
		put_job(d, i);
}

static void
solve(struct daemon_parts *d)
{
	for (int i = 0; i < 1000; i++) {
		jobs_follow_modes(d->jobs);
		jobs_solve(d->jobs);
		if (i > 5 && !d->jobs->n_unsolved && !d->jobs->next_view &&
		    !d->jobs->has_restless)
			return;
	}
	fail();
}

/* The flows with a path in all documents, as their readers see them. */
static size_t
count_paths(const struct daemon_parts *d)
{
	size_t n = 0;

	for (size_t i = 0; i < jobs_n_places(d->jobs); i++) {
		const struct job *job = jobs_at(d->jobs, i);
		struct advice_doc doc;

		assert_non_null(job->doc);
		assert_int_equal(advice_json_parse_live("doc", job->doc,
							strlen(job->doc), &doc, NULL),
				 0);
		for (size_t k = 0; k < doc.jobs[0].n_paths; k++) {
			assert_memory_equal(doc.jobs[0].paths[k].via, "spine", 5);
			assert_true(doc.jobs[0].paths[k].port > 0);
		}
		n += doc.jobs[0].n_paths;
		advice_doc_fini(&doc);
	}
	return n;
}

static void
paths_follow_the_mode(void **state)
{
	struct daemon_parts d = { .store = NULL };
	uint64_t n_changed;

	(void)state;
	parts_open(&d, "leaf-spine --leaves 2 --hosts-per-leaf 8 --spines 8 --gbps 50");
	jobs_set_fabric(d.jobs);
	put_jobs(&d);
	solve(&d);
	assert_int_equal(count_paths(&d), 0);
	assert_int_equal(jobs_path_counts(d.jobs).n_flows, 0);

	d.modes.usual = MODE_ADVISE;
	solve(&d);
	assert_true(jobs_path_counts(d.jobs).n_flows > 0);
	assert_int_equal(count_paths(&d), jobs_path_counts(d.jobs).n_flows);
	n_changed = jobs_path_counts(d.jobs).n_changed;
	assert_true(n_changed >= jobs_path_counts(d.jobs).n_flows);

	/* The kill switch. */
	d.modes.is_stopped = true;
	solve(&d);
	assert_int_equal(count_paths(&d), 0);
	assert_int_equal(jobs_path_counts(d.jobs).n_jobs, 0);
	/* Another fabric: totals stay. */
	jobs_set_fabric(d.jobs);
	assert_int_equal(jobs_path_counts(d.jobs).n_changed, n_changed);
	parts_close(&d);
}

/* Hosts report flows, except this one. */
static const char *silent_host;

static bool
is_movable(void *ctx, const char *host)
{
	(void)ctx;
	return strcmp(host, silent_host) != 0;
}

static void
in_enforce_all_paths_of_movable_jobs_are_chosen(void **state)
{
	struct daemon_parts d = { .store = NULL };

	(void)state;
	silent_host = "h9";
	parts_open(&d, "leaf-spine --leaves 2 --hosts-per-leaf 8 --spines 8 --gbps 50");
	d.jobs->opts.is_movable = is_movable;
	d.modes.usual = MODE_ENFORCE;
	jobs_set_fabric(d.jobs);
	put_jobs(&d);
	solve(&d);
	/* Two flows each; those of the job on h9 where it pays. */
	assert_in_range(jobs_path_counts(d.jobs).n_flows, 2 * (N_JOBS - 1), 2 * N_JOBS);
	assert_false(advisor_has_assigned(d.jobs->advisor,
					  jobs_find(d.jobs, "job1")->number));
	silent_host = "";
	solve(&d);
	assert_int_equal(jobs_path_counts(d.jobs).n_flows, 2 * N_JOBS);
	d.modes.is_stopped = true;
	solve(&d);
	assert_int_equal(jobs_path_counts(d.jobs).n_flows, 0);
	parts_close(&d);
}

/* ---- Several connections --------------------------------------------------------- */

static double n_equal;

static void
add_split(void *ctx, const char *host, const char *job, struct flow_split *split)
{
	(void)ctx;
	if (!(n_equal > 0) || strcmp(job, "job0") != 0 || strcmp(host, "h0") != 0)
		return;
	split->bytes += 1e6 * n_equal;
	split->busiest += 1e6;
}

static void
several_connections_get_several_paths(void **state)
{
	struct daemon_parts d = { .store = NULL };
	const struct work_job *work;
	struct job *job;

	(void)state;
	silent_host = "";
	n_equal = 0;
	parts_open(&d, "leaf-spine --leaves 2 --hosts-per-leaf 8 --spines 8 --gbps 50");
	d.jobs->opts.is_movable = is_movable;
	d.jobs->opts.add_split = add_split;
	d.modes.usual = MODE_ENFORCE;
	jobs_set_fabric(d.jobs);
	put_jobs(&d);
	solve(&d);
	assert_int_equal(jobs_path_counts(d.jobs).n_flows, 2 * N_JOBS);
	/* The hosts report four connections, which are not quite equal. */
	n_equal = 3.8;
	solve(&d);
	job = jobs_find(d.jobs, "job0");
	work = advisor_job(d.jobs->advisor, job->number);
	assert_int_equal(work->n_connections, 4);
	assert_int_equal(work->n_paths, 8);
	assert_true(advisor_has_assigned(d.jobs->advisor, job->number));
	assert_int_equal(jobs_path_counts(d.jobs).n_flows, 2 * N_JOBS + 6);
	/* Little changes do not count, others do, when the job is looked at again. */
	n_equal = 3.4;
	put_job(&d, 0);
	assert_int_equal(advisor_job(d.jobs->advisor, job->number)->n_connections, 4);
	n_equal = 1000;
	put_job(&d, 0);
	assert_int_equal(advisor_job(d.jobs->advisor, job->number)->n_connections,
			 WORK_MAX_CONNECTIONS);
	n_equal = 1;
	put_job(&d, 0);
	solve(&d);
	assert_int_equal(advisor_job(d.jobs->advisor, job->number)->n_connections, 1);
	assert_int_equal(jobs_path_counts(d.jobs).n_flows, 2 * N_JOBS);
	parts_close(&d);
}

/* ---- Paths in the store ---------------------------------------------------------- */

struct stored {
	char folder[64], file[96];
	struct store *store;
};

static void
stored_init(struct stored *s)
{
	struct err err;

	*s = (struct stored){ .store = NULL };
	snprintf(s->folder, sizeof s->folder, "/tmp/ap-paths-XXXXXX");
	assert_non_null(mkdtemp(s->folder));
	snprintf(s->file, sizeof s->file, "%s/db", s->folder);
	assert_int_equal(store_open(s->file, NULL, &s->store, &err), 0);
}

static void
stored_fini(struct stored *s)
{
	char *command = xasprintf("rm -rf %s", s->folder);

	store_close(s->store);
	assert_int_equal(system(command), 0);
	free(command);
}

static void
start(struct daemon_parts *d, struct store *store, const char *fabric)
{
	*d = (struct daemon_parts){ .store = store };
	parts_open(d, fabric);
	d->jobs->opts.is_movable = is_movable;
	d->jobs->opts.add_split = add_split;
	d->modes.usual = MODE_ENFORCE;
	/* Jobs with a stored profile are restored. */
	jobs_set_fabric(d->jobs);
}

static const struct work_job *
work_of(const struct daemon_parts *d, uint32_t i)
{
	char name[16];

	snprintf(name, sizeof name, "job%u", i);
	return advisor_job(d->jobs->advisor, jobs_find(d->jobs, name)->number);
}

static bool
on_document(void *ctx, const char *key, int64_t at_us, const char *json)
{
	bool *is_there = ctx;

	(void)key;
	(void)at_us;
	*is_there = *json == '{';
	return false;
}

static bool
has_document(struct store *store, const char *job)
{
	bool is_there = false;
	struct err err;

	assert_int_equal(
		store_read(store, STORE_PATHS, job, 1, on_document, &is_there, &err),
		0);
	return is_there;
}

/* The paths of all jobs, as text. */
static char *
plan_of(const struct daemon_parts *d)
{
	char *text = xstrdup("");

	for (uint32_t i = 0; i < N_JOBS; i++) {
		const struct work_job *work = work_of(d, i);

		for (size_t k = 0; k < work->n_paths; k++) {
			char *more = xasprintf("%s %u:%u", text, i, work->paths[k]);

			free(text);
			text = more;
		}
	}
	return text;
}

#define FABRIC "leaf-spine --leaves 2 --hosts-per-leaf 8 --spines 8 --gbps 50"

static void
a_start_goes_on_with_the_same_paths(void **state)
{
	struct daemon_parts d;
	struct stored s;
	char *plan, *again;

	(void)state;
	silent_host = "";
	n_equal = 2;
	stored_init(&s);
	start(&d, s.store, FABRIC);
	put_jobs(&d);
	solve(&d);
	plan = plan_of(&d);
	parts_close(&d);

	/* Another process; modes are known, and hosts report, only later. */
	silent_host = "h0";
	n_equal = 0;
	start(&d, s.store, FABRIC);
	d.modes.usual = MODE_OBSERVE;
	for (uint32_t i = N_JOBS; i > 0; i--)
		put_job(&d, i - 1);
	solve(&d);
	again = plan_of(&d);
	assert_string_equal(again, plan);
	free(again);
	d.modes.usual = MODE_ENFORCE;
	d.snapshot.at_us = 1;
	silent_host = "";
	n_equal = 2;
	solve(&d);
	again = plan_of(&d);
	assert_string_equal(again, plan);
	assert_int_equal(work_of(&d, 0)->n_connections, 2);
	assert_int_equal(jobs_path_counts(d.jobs).n_changed, 0);
	free(again);
	/* All paths of a job whose paths are withdrawn are forgotten. */
	d.modes.is_stopped = true;
	solve(&d);
	assert_false(has_document(s.store, "job0"));
	d.modes.is_stopped = false;
	solve(&d);
	assert_true(has_document(s.store, "job0"));
	/* And those of one that is gone, but not of one that is yet to be seen. */
	for (int i = 0; i < 2; i++) {
		struct job *job = jobs_find(d.jobs, i ? "job1" : "job0");

		job->is_here = false;
		job->is_restored = i;
	}
	jobs_drop_gone(d.jobs);
	assert_false(has_document(s.store, "job0"));
	assert_true(has_document(s.store, "job1"));
	assert_null(jobs_find(d.jobs, "job1"));
	parts_close(&d);
	free(plan);
	stored_fini(&s);
}

static void
paths_of_another_fabric_are_ignored(void **state)
{
	struct daemon_parts d;
	struct stored s;

	(void)state;
	silent_host = "";
	n_equal = 0;
	stored_init(&s);
	start(&d, s.store, FABRIC);
	put_jobs(&d);
	solve(&d);
	parts_close(&d);
	start(&d, s.store,
	      "leaf-spine --leaves 2 --hosts-per-leaf 8 --spines 4 --gbps 50");
	d.snapshot.at_us = 1;
	assert_int_equal(jobs_path_counts(d.jobs).n_flows, 0);
	solve(&d);
	for (size_t k = 0; k < 2; k++)
		assert_true(work_of(&d, 0)->paths[k] < 4);
	parts_close(&d);
	stored_fini(&s);
}

/* A document of job 0 that is valid but for the paths. */
static void
put_document(struct stored *s, uint64_t fabric, const char *paths)
{
	char *json = xasprintf("{\"fabric\":\"%016llx\",\"hosts\":\"h[0,8]\","
			       "\"connections\":1,\"paths\":%s}",
			       (unsigned long long)fabric, paths);

	store_put(s->store, STORE_PATHS, "job0", clk_wall_us(), json);
	free(json);
}

static void
damaged_paths_are_ignored(void **state)
{
	static const char *const bad[] = {
		"[7,65536]", "[7]",       "[7,7,7]", "[7,1e9]", "[7,-2]",
		"[0.5,1]",   "[7,\"1\"]", "7",       "{}",      "[7,7",
	};
	struct daemon_parts d;
	struct stored s;
	uint64_t fabric;

	(void)state;
	silent_host = "h0";
	n_equal = 0;
	stored_init(&s);
	start(&d, s.store, FABRIC);
	fabric = d.jobs->fabric_digest;
	put_document(&s, fabric, "[7,6]");
	put_job(&d, 0);
	assert_int_equal(work_of(&d, 0)->paths[0], 7);
	assert_int_equal(work_of(&d, 0)->paths[1], 6);
	parts_close(&d);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		put_document(&s, fabric, bad[i]);
		start(&d, s.store, FABRIC);
		/* As without a store: left to hashing until its hosts report. */
		assert_non_null(jobs_find(d.jobs, "job0"));
		assert_int_equal(jobs_path_counts(d.jobs).n_flows, 0);
		parts_close(&d);
	}
	stored_fini(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_follow_the_mode),
		cmocka_unit_test(in_enforce_all_paths_of_movable_jobs_are_chosen),
		cmocka_unit_test(several_connections_get_several_paths),
		cmocka_unit_test(a_start_goes_on_with_the_same_paths),
		cmocka_unit_test(paths_of_another_fabric_are_ignored),
		cmocka_unit_test(damaged_paths_are_ignored),
	};

	return cmocka_run_group_tests_name("paths of jobs", tests, NULL, NULL);
}
