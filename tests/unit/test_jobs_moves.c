/* SPDX-License-Identifier: Apache-2.0 */
/* test_jobs_moves.c - moves of running jobs: sought, advised, limited, forgotten */
#include <stdio.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "scheduler/core/advise/advice_doc.h"
#include "scheduler/daemon/move_log.h"
#include "tests/unit/daemon_parts.h"
#include "tests/unit/test.h"
#include "topology/topo.h"

#define HOUR_US INT64_C(3600000000)
#define N_NODES 12

/* Three leaves of four hosts; two jobs of two hosts cross the same uplinks. */
struct lab {
	struct daemon_parts d;
	struct sched_job jobs[3];
	struct sched_node nodes[N_NODES];
	char names[N_NODES][8], at[3][16];
	uint32_t by_local_id[3];
};

static void
add_running(struct lab *lab, uint32_t i, const char *id, uint32_t a, uint32_t b)
{
	const struct topo *topo = fabric_source_topo(lab->d.fabric);
	struct profile profile;
	struct work_job work;

	snprintf(lab->at[i], sizeof lab->at[i], "h[%u,%u]", a, b);
	lab->jobs[i] = (struct sched_job){
		.id = (char *)id,
		.local_id = (char *)id,
		.partition = (char *)"train",
		.state = SCHED_RUNNING,
		.n_nodes = 2,
		.nodes = lab->at[i],
		.required = (char *)"",
		.excluded = (char *)"",
		.features = (char *)"",
		.comment = (char *)"antiphase: movable",
		.start_us = clk_wall_us() - HOUR_US,
		.can_requeue = true,
		.is_movable = true,
	};
	lab->by_local_id[i] = i;
	lab->d.snapshot.n_jobs = i + 1;
	lab->nodes[a].state = lab->nodes[b].state = SCHED_NODE_TAKEN;
	profile_of_burst(100000 + 700 * i, 70000, 50e9, &profile);
	jobs_make_work(id, 2, &profile, &work);
	work.hosts = xcalloc(2, sizeof *work.hosts);
	work.hosts[0] = topo_find_node(topo, lab->names[a]);
	work.hosts[1] = topo_find_node(topo, lab->names[b]);
	jobs_put(lab->d.jobs, jobs_make(lab->d.jobs, id), &work, false);
	work_job_fini(&work);
	profile_fini(&profile);
}

static void
lab_open(struct lab *lab)
{
	*lab = (struct lab){ .d = { .store = NULL } };
	assert_int_equal(move_log_open(NULL, &lab->d.moves, NULL), 0);
	for (uint32_t i = 0; i < N_NODES; i++) {
		snprintf(lab->names[i], sizeof lab->names[i], "h%u", i);
		lab->nodes[i] =
			(struct sched_node){ .name = lab->names[i],
					     .state = SCHED_NODE_FREE,
					     .partitions = (char *)"debug,train" };
	}
	lab->d.snapshot = (struct sched_snapshot){
		.at_us = clk_wall_us(),
		.jobs = lab->jobs,
		.by_local_id = lab->by_local_id,
		.nodes = lab->nodes,
		.n_nodes = 0, /* Unsorted until all are there. */
	};
	parts_open(&lab->d,
		   "leaf-spine --leaves 3 --hosts-per-leaf 4 --spines 1 --gbps 50 "
		   "--oversubscription 4");
	jobs_set_fabric(lab->d.jobs);
	add_running(lab, 0, "11", 0, 4);
	add_running(lab, 1, "12", 1, 5);
	lab->d.snapshot.n_nodes = N_NODES;
}

static void
lab_close(struct lab *lab)
{
	parts_close(&lab->d);
	move_log_free(lab->d.moves);
}

/* What the daemon does, until a round of seeking is over. */
static void
run(struct lab *lab)
{
	struct jobs *jobs = lab->d.jobs;

	lab->d.snapshot.at_us++;
	jobs_mark_movable(jobs);
	jobs_take_nodes(jobs);
	for (int i = 0; i < 100 && (i < 5 || jobs->n_unsolved || jobs->next_view); i++)
		jobs_solve(jobs);
	jobs->moving.rest_until_ns = 0;
	for (int i = 0; i < 100 && jobs_seek_move(jobs); i++)
		;
	jobs_solve(jobs);
	jobs_solve(jobs);
}

static size_t
count_moves(const struct lab *lab)
{
	size_t n = 0;

	for (size_t i = 0; i < jobs_n_places(lab->d.jobs); i++)
		n += jobs_at(lab->d.jobs, i) && jobs_at(lab->d.jobs, i)->move;
	return n;
}

static const struct job *
moved_job(const struct lab *lab)
{
	for (size_t i = 0; i < jobs_n_places(lab->d.jobs); i++)
		if (jobs_at(lab->d.jobs, i)->move)
			return jobs_at(lab->d.jobs, i);
	fail();
	return NULL;
}

static void
a_movable_job_that_loses_is_advised_to_move_with_its_bill(void **state)
{
	const struct topo *topo;
	const struct job *job;
	struct advice_doc doc;
	struct lab lab;

	(void)state;
	lab_open(&lab);
	run(&lab);
	/* One of the two: then the other one has the uplinks for itself. */
	assert_int_equal(count_moves(&lab), 1);
	job = moved_job(&lab);
	topo = fabric_source_topo(lab.d.fabric);
	assert_int_equal(topo_leaf_of(topo, job->move->hosts[0]),
			 topo_leaf_of(topo, job->move->hosts[1]));
	assert_int_equal(job->move->n_workers, 1);
	assert_near(job->move->lost_s, 40, 1e-9);
	assert_near(job->move->cost, 2 * 40, 1e-9);
	assert_true(job->move->gain > 2 * job->move->cost);
	assert_true(job->move->payback_s > 0 && job->move->payback_s < 3600);
	/* The document, as its readers see it. */
	assert_int_equal(
		advice_json_parse_live("doc", job->doc, strlen(job->doc), &doc, NULL),
		0);
	assert_true(doc.jobs[0].is_moved);
	assert_int_equal(doc.jobs[0].move.n_workers, 1);
	assert_int_equal(doc.jobs[0].move.n_from, 2);
	assert_string_equal(doc.jobs[0].hosts[0],
			    topo_node(topo, job->move->hosts[0])->name);
	advice_doc_fini(&doc);
	assert_int_equal(jobs_totals(lab.d.jobs)->n_moves_advised, 1);
	/* The same again is no other advice. */
	run(&lab);
	assert_int_equal(count_moves(&lab), 1);
	assert_int_equal(jobs_totals(lab.d.jobs)->n_moves_advised, 1);
	lab_close(&lab);
}

static void
decisions_get_the_move_of_the_job(void **state)
{
	struct decide_advice advice;
	const struct job *job;
	struct lab lab;

	(void)state;
	lab_open(&lab);
	run(&lab);
	job = moved_job(&lab);
	jobs_advice(lab.d.jobs, sched_find_local(&lab.d.snapshot, job->name), &advice);
	assert_string_equal(advice.move_nodes, job->move->nodes);
	assert_near(advice.move_payback_s, job->move->payback_s, 0);
	jobs_drop_move(lab.d.jobs, job->name);
	jobs_advice(lab.d.jobs, sched_find_local(&lab.d.snapshot, job->name), &advice);
	assert_null(advice.move_nodes);
	lab_close(&lab);
}

static void
no_move_without_the_mark_or_on_nodes_of_the_user(void **state)
{
	struct lab lab;

	(void)state;
	lab_open(&lab);
	lab.jobs[0].is_movable = lab.jobs[1].is_movable = false;
	run(&lab);
	assert_int_equal(count_moves(&lab), 0);
	lab.jobs[0].is_movable = lab.jobs[1].is_movable = true;
	lab.jobs[0].required = (char *)"h[0,4]";
	lab.jobs[1].features = (char *)"fast";
	run(&lab);
	assert_int_equal(count_moves(&lab), 0);
	/* Our own pin does not bind us. */
	lab.jobs[0].is_pinned = true;
	run(&lab);
	assert_int_equal(count_moves(&lab), 1);
	assert_string_equal(moved_job(&lab)->name, "11");
	/* The mark is gone, and the advice with it. */
	lab.jobs[0].is_movable = false;
	jobs_mark_movable(lab.d.jobs);
	assert_int_equal(count_moves(&lab), 0);
	lab_close(&lab);
}

static void
a_move_stays_in_the_partition_and_off_excluded_nodes(void **state)
{
	const struct topo *topo;
	struct lab lab;

	(void)state;
	lab_open(&lab);
	/* Only h2 and h8 to h11 are left. */
	for (uint32_t i = 0; i < 8; i++)
		lab.nodes[i].partitions = (char *)(i == 2 ? "train" : "debug,training");
	lab.jobs[0].excluded = lab.jobs[1].excluded = (char *)"h[2,9-10]";
	run(&lab);
	topo = fabric_source_topo(lab.d.fabric);
	assert_int_equal(count_moves(&lab), 1);
	for (int i = 0; i < 2; i++) {
		const char *name =
			topo_node(topo, moved_job(&lab)->move->hosts[i])->name;

		assert_true(strcmp(name, "h8") == 0 || strcmp(name, "h11") == 0);
	}
	lab_close(&lab);
}

static void
a_short_run_does_not_pay_for_a_move(void **state)
{
	struct lab lab;

	(void)state;
	lab_open(&lab);
	for (int i = 0; i < 2; i++)
		lab.jobs[i].start_us = clk_wall_us() - 60000000;
	run(&lab);
	assert_int_equal(count_moves(&lab), 0);
	/* Unless its user says that it costs next to nothing. */
	lab.jobs[0].comment = lab.jobs[1].comment =
		(char *)"antiphase: movable move_s=1";
	run(&lab);
	assert_int_equal(count_moves(&lab), 1);
	assert_near(moved_job(&lab)->move->lost_s, 1, 0);
	lab_close(&lab);
}

static void
the_limit_an_hour_and_pay_back_hold(void **state)
{
	struct lab lab;

	(void)state;
	lab_open(&lab);
	/* 10 % of two jobs: one in five hours. */
	move_log_add(lab.d.moves, "99", clk_wall_us() - HOUR_US, 10);
	run(&lab);
	assert_int_equal(count_moves(&lab), 0);
	move_log_drop(lab.d.moves, "99");
	move_log_add(lab.d.moves, "11", clk_wall_us() - 6 * HOUR_US, 8 * 3600);
	run(&lab);
	assert_int_equal(count_moves(&lab), 1);
	assert_string_equal(moved_job(&lab)->name, "12");
	move_log_add(lab.d.moves, "12", clk_wall_us() - 6 * HOUR_US, 8 * 3600);
	run(&lab);
	assert_int_equal(count_moves(&lab), 0);
	lab_close(&lab);
}

/* No node is free, so each of the two has what the other one needs. */
static void
two_jobs_that_make_room_for_each_other_are_advised_but_not_moved(void **state)
{
	struct decide_advice advice;
	struct advice_doc doc;
	const struct job *job;
	struct lab lab;

	(void)state;
	lab_open(&lab);
	lab.d.config.moves_per_hour = 1;
	for (uint32_t i = 0; i < N_NODES; i++)
		lab.nodes[i].state = SCHED_NODE_TAKEN;
	run(&lab);
	assert_int_equal(count_moves(&lab), 2);
	job = moved_job(&lab);
	assert_string_equal(job->move->with,
			    strcmp(job->name, "11") == 0 ? "12" : "11");
	assert_int_equal(
		advice_json_parse_live("doc", job->doc, strlen(job->doc), &doc, NULL),
		0);
	assert_string_equal(doc.jobs[0].move.with, job->move->with);
	advice_doc_fini(&doc);
	jobs_advice(lab.d.jobs, &lab.jobs[0], &advice);
	assert_null(advice.move_nodes);
	/* Each would be in the partition of the other one. */
	lab.jobs[1].partition = (char *)"debug";
	run(&lab);
	assert_int_equal(count_moves(&lab), 0);
	lab.jobs[1].partition = (char *)"train";
	lab.jobs[1].is_movable = false;
	run(&lab);
	assert_int_equal(count_moves(&lab), 0);
	lab_close(&lab);
}

/* Slurm has started it elsewhere; its telemetry is late. */
static void
a_job_that_is_not_where_its_traffic_was_does_not_move(void **state)
{
	static const char *const elsewhere[] = { "h[0,6]", "h[0,4,6]", "h0", "x1", "" };
	struct lab lab;

	(void)state;
	lab_open(&lab);
	for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++) {
		lab.jobs[0].nodes = lab.jobs[1].nodes = (char *)elsewhere[i];
		run(&lab);
		assert_int_equal(count_moves(&lab), 0);
	}
	lab_close(&lab);
}

/* The next placement heals first. */
static void
no_move_while_a_waiting_job_has_a_place(void **state)
{
	struct sched_job *waiting;
	struct lab lab;

	(void)state;
	lab_open(&lab);
	waiting = &lab.jobs[2];
	*waiting = (struct sched_job){
		.id = (char *)"13",
		.local_id = (char *)"13",
		.name = (char *)"",
		.user = (char *)"",
		.partition = (char *)"train",
		.n_nodes = 2,
		.comment = (char *)"antiphase: iter_us=100000 comm_us=50000",
	};
	lab.by_local_id[2] = 2;
	lab.d.snapshot.n_jobs = 3;
	jobs_take_nodes(lab.d.jobs);
	jobs_take_waiting(lab.d.jobs);
	assert_int_equal(jobs_find(lab.d.jobs, "13")->refusal, JOBS_ADVISED);
	run(&lab);
	assert_int_equal(count_moves(&lab), 0);
	lab.d.snapshot.n_jobs = 2;
	jobs_find(lab.d.jobs, "13")->is_here = false;
	run(&lab);
	assert_int_equal(count_moves(&lab), 1);
	lab_close(&lab);
}

static void
another_fabric_forgets_moves(void **state)
{
	struct lab lab;

	(void)state;
	lab_open(&lab);
	run(&lab);
	assert_int_equal(count_moves(&lab), 1);
	jobs_set_fabric(lab.d.jobs);
	assert_int_equal(count_moves(&lab), 0);
	lab_close(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_movable_job_that_loses_is_advised_to_move_with_its_bill),
		cmocka_unit_test(decisions_get_the_move_of_the_job),
		cmocka_unit_test(no_move_without_the_mark_or_on_nodes_of_the_user),
		cmocka_unit_test(a_move_stays_in_the_partition_and_off_excluded_nodes),
		cmocka_unit_test(a_short_run_does_not_pay_for_a_move),
		cmocka_unit_test(the_limit_an_hour_and_pay_back_hold),
		cmocka_unit_test(
			two_jobs_that_make_room_for_each_other_are_advised_but_not_moved),
		cmocka_unit_test(a_job_that_is_not_where_its_traffic_was_does_not_move),
		cmocka_unit_test(no_move_while_a_waiting_job_has_a_place),
		cmocka_unit_test(another_fabric_forgets_moves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
