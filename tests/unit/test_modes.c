/* SPDX-License-Identifier: Apache-2.0 */
/* test_modes.c - the modes of partitions */
#include <errno.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "scheduler/daemon/modes.h"
#include "scheduler/scheduler_driver.h"
#include "tests/unit/test.h"

/* ---- Modes ----------------------------------------------------------------------- */

static void
modes_are_read_and_their_faults_told(void **state)
{
	struct modes modes;
	struct err err;

	(void)state;
	assert_int_equal(
		modes_parse("advise", "train=enforce, debug=observe", &modes, &err), 0);
	assert_int_equal(modes_now(&modes, "train"), MODE_ENFORCE);
	assert_int_equal(modes_now(&modes, "debug"), MODE_OBSERVE);
	assert_int_equal(modes_now(&modes, "other"), MODE_ADVISE);
	assert_true(modes_any(&modes, MODE_ENFORCE));
	modes.is_stopped = true;
	assert_int_equal(modes_now(&modes, "train"), MODE_OBSERVE);
	assert_int_equal(modes_set_for(&modes, "train"), MODE_ENFORCE);
	assert_false(modes_any(&modes, MODE_ENFORCE));
	assert_int_equal(modes_change(&modes, "a b", MODE_ADVISE), -EINVAL);
	modes_fini(&modes);
	assert_int_equal(modes_parse("observe", "train:enforce", &modes, &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "no PARTITION=MODE"));
	assert_int_equal(modes_parse("observe", "train=enforced", &modes, &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "did you mean 'enforce'?"));
	assert_int_equal(modes_parse("observe", "=enforce", &modes, &err), -EINVAL);
}

static void
running_jobs_move_only_in_enforce_and_where_the_partition_says_so(void **state)
{
	struct modes modes;
	struct err err;

	(void)state;
	assert_int_equal(modes_parse("enforce", "debug=advise", &modes, &err), 0);
	assert_false(modes_may_move(&modes, "train"));
	assert_int_equal(modes_read_movers(&modes, "", &err), 0);
	assert_int_equal(modes_read_movers(&modes, "train,debug,", &err), 0);
	assert_true(modes_may_move(&modes, "train"));
	assert_false(modes_may_move(&modes, "debug"));
	assert_false(modes_may_move(&modes, "trai"));
	assert_false(modes_may_move(&modes, ""));
	modes.is_stopped = true;
	assert_false(modes_may_move(&modes, "train"));
	assert_int_equal(modes_read_movers(&modes, "a=b", &err), -EINVAL);
	assert_non_null(strstr(err.text, "'a=b' is not a valid name"));
	modes_fini(&modes);
}

static void
partitions_that_slurm_does_not_have_are_found(void **state)
{
	struct sched_node nodes[] = {
		{ .name = (char *)"n0", .partitions = (char *)"debug" },
		{ .name = (char *)"n1", .partitions = (char *)"debug,train" }
	};
	const struct sched_snapshot snapshot = { .nodes = nodes, .n_nodes = 2 };
	struct strbuf out = STRBUF_EMPTY;
	struct modes modes;
	struct err err;

	(void)state;
	assert_int_equal(
		modes_parse("observe", "train=enforce,debug=advise", &modes, &err), 0);
	assert_int_equal(modes_add_unknown(&modes, &snapshot, &out), 0);
	modes_change(&modes, "trian", MODE_ENFORCE);
	modes_change(&modes, "x", MODE_ENFORCE);
	assert_int_equal(modes_add_unknown(&modes, &snapshot, &out), 2);
	assert_string_equal(out.text, "trian (did you mean 'train'?), x");
	/* Once each. */
	assert_int_equal(modes_read_movers(&modes, "train,x,debgu", &err), 0);
	strbuf_clear(&out);
	assert_int_equal(modes_add_unknown(&modes, &snapshot, &out), 3);
	assert_string_equal(out.text, "trian (did you mean 'train'?), x, "
				      "debgu (did you mean 'debug'?)");
	strbuf_free(&out);
	modes_fini(&modes);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modes_are_read_and_their_faults_told),
		cmocka_unit_test(
			running_jobs_move_only_in_enforce_and_where_the_partition_says_so),
		cmocka_unit_test(partitions_that_slurm_does_not_have_are_found),
	};

	return cmocka_run_group_tests_name("modes", tests, NULL, NULL);
}
