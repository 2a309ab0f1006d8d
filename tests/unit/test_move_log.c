/* SPDX-License-Identifier: Apache-2.0 */
/* test_move_log.c - past moves: limits, refusals, restarts, rows that cannot be read */
#include <stdio.h>
#include <string.h>

#include "lib/base/err.h"
#include "scheduler/daemon/decide.h"
#include "scheduler/daemon/move_log.h"
#include "scheduler/daemon/persist.h"
#include "scheduler/store/store.h"
#include "tests/unit/store_fixture.h"
#include "tests/unit/test.h"

#define NOW  (T0 + 1)
#define HOUR (3600 * S)

static void
a_share_of_the_jobs_may_move_in_an_hour(void **state)
{
	struct move_log *log;

	(void)state;
	assert_int_equal(move_log_open(NULL, &log, NULL), 0);
	assert_int_equal(move_log_allowed(log, NOW, 20, 0.1), 2);
	move_log_add(log, "1", NOW, 60);
	assert_int_equal(move_log_allowed(log, NOW + S, 20, 0.1), 1);
	move_log_add(log, "2", NOW + S, 60);
	assert_int_equal(move_log_allowed(log, NOW + 2 * S, 20, 0.1), 0);
	assert_int_equal(move_log_count(log), 2);
	/* The second one was refused. */
	move_log_drop(log, "2");
	assert_int_equal(move_log_allowed(log, NOW + 3 * S, 20, 0.1), 1);
	assert_int_equal(move_log_count(log), 1);
	assert_int_equal(move_log_allowed(log, NOW + HOUR + S, 20, 0.1), 2);
	/* One of four jobs: in two hours and a half. */
	assert_int_equal(move_log_allowed(log, NOW + 2 * HOUR, 4, 0.1), 0);
	assert_int_equal(move_log_allowed(log, NOW + 3 * HOUR, 4, 0.1), 1);
	move_log_free(log);
	move_log_free(NULL);
}

static void
a_job_rests_until_its_move_has_paid_back(void **state)
{
	struct move_log *log;

	(void)state;
	assert_int_equal(move_log_open(NULL, &log, NULL), 0);
	move_log_add(log, "1", NOW, 10);
	move_log_add(log, "2", NOW, 60);
	move_log_add(log, "1", NOW + 20 * S, 30);
	assert_true(move_log_is_resting(log, "1", NOW + 5 * S));
	assert_true(move_log_is_resting(log, "1", NOW + 49 * S));
	assert_false(move_log_is_resting(log, "1", NOW + 50 * S));
	assert_true(move_log_is_resting(log, "2", NOW + 50 * S));
	assert_false(move_log_is_resting(log, "3", NOW));
	/* Only the last one of the job was refused. */
	move_log_drop(log, "1");
	assert_false(move_log_is_resting(log, "1", NOW + 25 * S));
	assert_true(move_log_is_resting(log, "1", NOW + 5 * S));
	move_log_free(log);
}

static void
limits_hold_after_a_restart(void **state)
{
	struct move_log *log;
	struct store *store = opened();

	(void)state;
	assert_int_equal(move_log_open(store, &log, NULL), 0);
	move_log_add(log, "1", NOW, 600);
	move_log_add(log, "2", NOW + S, 60);
	move_log_add(log, "3", NOW + 2 * S, 60);
	move_log_drop(log, "3");
	store_put(store, STORE_MOVE, "4@1", NOW, "{\"job\":\"4\"}");
	store_put(store, STORE_MOVE, "5@1", NOW, "no JSON");
	store_put(store, STORE_MOVE, "6@1", NOW, "{\"job\":6,\"payback_s\":-1}");
	move_log_free(log);
	store_close(store);
	store = opened();
	assert_int_equal(move_log_open(store, &log, NULL), 0);
	assert_int_equal(move_log_allowed(log, NOW + 3 * S, 30, 0.1), 1);
	assert_true(move_log_is_resting(log, "1", NOW + 599 * S));
	assert_false(move_log_is_resting(log, "2", NOW + 62 * S));
	assert_false(move_log_is_resting(log, "3", NOW + 3 * S));
	assert_false(move_log_is_resting(log, "4", NOW));
	/* Of this run. */
	assert_int_equal(move_log_count(log), 0);
	/* Old ones are forgotten in the store, too. */
	assert_int_equal(move_log_allowed(log, NOW + 800 * HOUR, 30, 0.1), 3);
	move_log_free(log);
	store_close(store);
	store = opened();
	assert_int_equal(move_log_open(store, &log, NULL), 0);
	assert_int_equal(move_log_allowed(log, NOW + 3 * S, 30, 0.1), 3);
	move_log_free(log);
	store_close(store);
}

/* The next run of the daemon knows that the job was stopped by us, and not twice. */
static void
a_move_under_way_is_found_after_a_restart(void **state)
{
	const struct decide_action action = { .kind = SCHED_REQUEUE,
					      .why = DECIDE_PAYS,
					      .job = (char *)"17",
					      .nodes = (char *)"n[1-2]",
					      .n_restarts = 3 };
	struct decide_changes changes = { .items = VEC_EMPTY };
	struct decide_change *change;
	struct store *store = opened();
	struct err err;

	(void)state;
	decide_note(&changes, &action, "antiphase:v1;x", NOW);
	persist_keep_change(store, "17", decide_find(&changes, "17"));
	decide_changes_fini(&changes);
	store_close(store);
	changes = (struct decide_changes){ .items = VEC_EMPTY };
	store = opened();
	assert_int_equal(persist_read_changes(store, &changes, &err), 0);
	change = decide_find(&changes, "17");
	assert_non_null(change);
	assert_int_equal(change->kind, DECIDE_MOVE);
	assert_string_equal(change->nodes, "n[1-2]");
	assert_int_equal(change->n_restarts, 3);
	assert_int_equal(change->at_us, NOW);
	decide_changes_fini(&changes);
	store_close(store);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_share_of_the_jobs_may_move_in_an_hour),
		cmocka_unit_test(a_job_rests_until_its_move_has_paid_back),
		STORE_TEST(limits_hold_after_a_restart),
		STORE_TEST(a_move_under_way_is_found_after_a_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
