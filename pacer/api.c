/* SPDX-License-Identifier: Apache-2.0 */
/* api.c - the functions for programs; run.c implements them. */
#include "pacer/pacer.h"
#include "pacer/run.h"
#include "pacer/wait.h"

/*
 * Collectives may overlap, and may end in another thread: the time from the first start
 * to the last end counts.  They are counted also while the pacer is off, because it may
 * be opened or closed between a start and its end.
 */
static int64_t begin_ns; /* 0: the pacer was off. */
static uint32_t begin_epoch;
static int n_begun;

RUN_EXPORT int
antiphase_open(const char *job, uint32_t rank, uint32_t n_ranks)
{
	/* Stops waiting for missing ends. */
	__atomic_store_n(&n_begun, 0, __ATOMIC_RELEASE);
	return run_open(job, rank, n_ranks);
}

RUN_EXPORT int64_t
antiphase_iteration(void)
{
	return run_is_on(PACE_API) ? run_iteration() : 0;
}

RUN_EXPORT void
antiphase_enter(uint64_t bytes)
{
	struct run_call call = { 0 };

	if (run_is_on(PACE_API)) {
		(void)run_enter(PACE_API, bytes, 0);
		call = run_wait();
	}
	if (__atomic_fetch_add(&n_begun, 1, __ATOMIC_ACQ_REL))
		return;
	__atomic_store_n(&begin_epoch, call.epoch, __ATOMIC_RELAXED);
	__atomic_store_n(&begin_ns, call.begin_ns, __ATOMIC_RELEASE);
}

RUN_EXPORT void
antiphase_exit(void)
{
	int n = __atomic_load_n(&n_begun, __ATOMIC_ACQUIRE);
	struct run_call call = {
		.epoch = __atomic_load_n(&begin_epoch, __ATOMIC_RELAXED),
		.begin_ns = __atomic_load_n(&begin_ns, __ATOMIC_ACQUIRE),
	};

	/* Ignores an end without a start. */
	do {
		if (n <= 0)
			return;
	} while (!__atomic_compare_exchange_n(&n_begun, &n, n - 1, false,
					      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	call.is_counted = n == 1 && call.begin_ns;
	run_exit(&call);
}

RUN_EXPORT void
antiphase_close(void)
{
	run_close();
}
