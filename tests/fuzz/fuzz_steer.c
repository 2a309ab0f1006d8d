/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_steer.c - jobs, edges and reports for the control loop: orders are for existing
 * jobs, are feasible, and never longer than a period
 */
#include <math.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "scheduler/core/control/steer.h"
#include "tests/fuzz/fuzz.h"

#define N_JOBS     6
#define MAX_ORDERS 8

/* The next 'n' bytes as a number; zeros at the end. */
static uint64_t
take(const uint8_t **data, size_t *size, size_t n)
{
	uint64_t x = 0;

	for (size_t i = 0; i < n && *size; i++, ++*data, --*size)
		x = x << 8 | **data;
	return x;
}

static void
set_up(struct steer *steer, const uint8_t **data, size_t *size)
{
	struct steer_constraint edges[N_JOBS];
	uint32_t jobs[N_JOBS];

	for (uint32_t j = 0; j < N_JOBS; j++) {
		const struct steer_job what = {
			.mode = (enum steer_mode)(take(data, size, 1) % 3),
			.locked_us = (int64_t)take(data, size, 3),
			.weight = (double)take(data, size, 1),
		};

		jobs[j] = j;
		steer_set_job(steer, j, &what);
		edges[j] = (struct steer_constraint){
			.a = (uint32_t)take(data, size, 1) % (N_JOBS + 1),
			.b = (uint32_t)take(data, size, 1) % N_JOBS,
			.modulus_us = (int64_t)take(data, size, 3),
			.lo_us = (int64_t)take(data, size, 3),
			.hi_us = (int64_t)take(data, size, 3),
			.cost = (double)take(data, size, 1) / 128,
		};
	}
	steer_set_constraints(steer, jobs, N_JOBS, edges, N_JOBS);
}

static void
check(const struct steer *steer, const struct steer_order *order)
{
	struct steer_state state;

	BUG_ON(order->job >= N_JOBS || !order->number || order->delay_ns < 0 ||
	       order->not_before_ns < 0 || order->max_ns < 0 ||
	       order->expires_ns < order->not_before_ns);
	steer_state(steer, order->job, &state);
	BUG_ON(!state.is_tracked);
	BUG_ON((double)order->max_ns > 1e3 * (double)state.period_us + 1e4);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct steer *steer = steer_new(NULL);
	uint64_t numbers[N_JOBS] = { 0 };
	int64_t now_ns = 0;

	set_up(steer, &data, &size);
	while (size) {
		uint8_t kind = (uint8_t)take(&data, &size, 1);
		uint32_t job = kind % N_JOBS;
		struct steer_order orders[MAX_ORDERS];
		struct steer_report r;
		size_t n;

		/* Mostly plausible, so that the loop tracks the job. */
		now_ns += (int64_t)take(&data, &size, 2) << 10;
		r = (struct steer_report){ .number = numbers[job]++,
					   .enter_ns = now_ns,
					   .begin_ns = now_ns,
					   .comm_ns = (int64_t)take(&data, &size, 1)
						      << 18 };
		if (kind >= 240) {
			r.number = take(&data, &size, 8);
			r.enter_ns = (int64_t)take(&data, &size, 8);
			r.begin_ns = (int64_t)take(&data, &size, 8);
			r.comm_ns = (int64_t)take(&data, &size, 8);
		} else if (kind >= 230) {
			steer_remove_job(steer, job);
			continue;
		}
		n = steer_report(steer, job, &r, orders, MAX_ORDERS);
		BUG_ON(n > MAX_ORDERS);
		for (size_t i = 0; i < n; i++)
			check(steer, &orders[i]);
	}
	steer_free(steer);
	return 0;
}
