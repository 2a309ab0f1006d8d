/* SPDX-License-Identifier: Apache-2.0 */
/* test_jobs_paths.c - paths of jobs by mode: advice, documents and counts */
#include <stdio.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "scheduler/core/advise/advice_doc.h"
#include "tests/unit/daemon_parts.h"
#include "tests/unit/test.h"
#include "topology/topo.h"

#define N_JOBS 8

/* Eight jobs over two leaves and eight spines: by hash, some of them collide. */
static void
put_jobs(struct daemon_parts *d)
{
	const struct topo *topo = fabric_source_topo(d->fabric);

	for (uint32_t i = 0; i < N_JOBS; i++) {
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_follow_the_mode),
		cmocka_unit_test(in_enforce_all_paths_of_movable_jobs_are_chosen),
	};

	return cmocka_run_group_tests_name("paths of jobs", tests, NULL, NULL);
}
