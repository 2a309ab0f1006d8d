/* SPDX-License-Identifier: Apache-2.0 */
/* test_pacer_pending.c - pending nonblocking collectives of many threads */
#include <pthread.h>

#include "pacer/pending.h"
#include "tests/unit/test.h"

#define N_THREADS 4
#define N_TIMES   200000

static void *
add_and_take(void *ctx)
{
	(void)ctx;
	for (int i = 0; i < N_TIMES; i++) {
		pending_add();
		pending_add();
		assert_true(pending_take(1));
		assert_true(pending_take(1));
	}
	return NULL;
}

static void
threads_take_as_many_as_they_add(void **state)
{
	pthread_t threads[N_THREADS];

	(void)state;
	for (int i = 0; i < N_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add_and_take, NULL),
				 0);
	for (int i = 0; i < N_THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_false(pending_any());
	assert_false(pending_take(1));
}

static void
no_more_are_taken_than_there_are(void **state)
{
	(void)state;
	pending_add();
	pending_add();
	assert_false(pending_take(0));
	assert_true(pending_take(1));
	assert_true(pending_take(5));
	assert_false(pending_take(5));
	assert_int_equal(pending_n, 0);
}

static void
what_is_never_taken_has_a_limit(void **state)
{
	(void)state;
	for (int i = 0; i < 2 * PENDING_MAX; i++)
		pending_add();
	assert_int_equal(pending_n, PENDING_MAX);
	assert_true(pending_take(PENDING_MAX));
	assert_false(pending_any());
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_take_as_many_as_they_add),
		cmocka_unit_test(no_more_are_taken_than_there_are),
		cmocka_unit_test(what_is_never_taken_has_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
