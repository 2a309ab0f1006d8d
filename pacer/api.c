/* api.c - the functions for programs: all of it is in run.c. */
#include "pacer/pacer.h"
#include "pacer/run.h"
#include "pacer/wait.h"

/*
 * Collectives may overlap, and end in another thread than they began in: the time from
 * the first one's begin to the last one's end is what counts.
 */
static int64_t begin_ns;
static int n_begun;

RUN_EXPORT int
antiphase_open(const char *job, uint32_t rank, uint32_t n_ranks)
{
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
	if (!run_is_on(PACE_API))
		return;
	(void)run_enter(PACE_API, bytes, 0);
	if (__atomic_fetch_add(&n_begun, 1, __ATOMIC_ACQ_REL) == 0)
		__atomic_store_n(&begin_ns, wait_now_ns(), __ATOMIC_RELEASE);
}

RUN_EXPORT void
antiphase_exit(void)
{
	struct run_call call = { true, __atomic_load_n(&begin_ns, __ATOMIC_ACQUIRE) };

	if (!run_is_on(PACE_API))
		return;
	if (__atomic_fetch_sub(&n_begun, 1, __ATOMIC_ACQ_REL) == 1)
		run_exit(&call);
}

RUN_EXPORT void
antiphase_close(void)
{
	run_close();
}
