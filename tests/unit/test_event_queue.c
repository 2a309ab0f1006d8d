/* SPDX-License-Identifier: Apache-2.0 */
/* test_event_queue.c - the event queue against a naive twin, a linear array */
#include "engine/event_queue.h"
#include "lib/base/rng.h"
#include "tests/unit/test.h"

#define N 200

/* Checks the heap's order and each entry's index. */
static void
check_heap(const struct event_queue *q)
{
	for (uint32_t i = 0; i < q->n; i++) {
		assert_int_equal(q->place[q->heap[i].id], i);
		if (i > 0)
			assert_true(q->heap[(i - 1) / 4].key_ns <= q->heap[i].key_ns);
	}
}

static void
the_first_is_always_the_earliest(void **state)
{
	double twin_ns[N]; /* NaN: not queued. */
	uint32_t n_queued = 0;
	struct rng rng;
	struct event_queue q;

	(void)state;
	rng_init(&rng, 5);
	event_queue_init(&q);
	for (uint32_t i = 0; i < N; i++)
		twin_ns[i] = NAN;
	for (uint32_t step = 0; step < 20000; step++) {
		uint32_t id = (uint32_t)rng_below(&rng, 1 + step % N);
		double key_ns = (double)rng_below(&rng, 500), least_ns = INFINITY;
		bool is_queued = !isnan(twin_ns[id]);

		event_queue_reserve(&q, id + 1);
		switch (rng_below(&rng, 4)) {
		case 0:
			event_queue_remove(&q, id);
			twin_ns[id] = NAN;
			n_queued -= is_queued;
			break;
		case 1:
			if (!is_queued)
				break;
			event_queue_lower(&q, id, key_ns);
			twin_ns[id] = fmin(twin_ns[id], key_ns);
			break;
		default:
			event_queue_set(&q, id, key_ns);
			twin_ns[id] = key_ns;
			n_queued += !is_queued;
		}
		check_heap(&q);
		assert_int_equal(q.n, n_queued);
		for (uint32_t i = 0; i < N; i++)
			least_ns = fmin(least_ns, twin_ns[i]);
		if (q.n)
			assert_near(q.heap[0].key_ns, least_ns, 0);
	}
	event_queue_fini(&q);
}

static void
a_second_entry_that_is_due_is_noticed(void **state)
{
	struct event_queue q;

	(void)state;
	event_queue_init(&q);
	event_queue_reserve(&q, 10);
	for (uint32_t id = 0; id < 10; id++)
		event_queue_set(&q, id, 10 * id);
	assert_false(event_queue_has_second(&q, 9));
	assert_true(event_queue_has_second(&q, 10));
	event_queue_fini(&q);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_is_always_the_earliest),
		cmocka_unit_test(a_second_entry_that_is_due_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
