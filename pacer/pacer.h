/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pacer.h - interface of libantiphase-pacer.so for programs that report their
 * iterations themselves.
 *
 *	antiphase_open(NULL, rank, n_ranks);
 *	for (...) {
 *		compute();
 *		antiphase_iteration();            waits if ordered
 *		antiphase_enter(n_bytes);
 *		all_reduce();
 *		antiphase_exit();
 *	}
 *	antiphase_close();
 *
 * Programs with MPI or NCCL need no changes: LD_PRELOAD=libantiphase-pacer.so is
 * enough.  After antiphase_open() the pacer ignores the program's MPI and NCCL calls.
 *
 * There is one pacer per process.  It acts in rank 0; in all other ranks these
 * functions do nothing, so call them in each.  No function fails: without a collector,
 * or with one that does not respond, the calls have no effect.  Any thread may call;
 * calls of one thread during a call of another are ignored.
 *
 * The environment takes precedence: see antiphase-pacer(7).
 */
#ifndef PACER_PACER_H
#define PACER_PACER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * 'job': the scheduler's name of the job; NULL: from the environment.  'n_ranks' 0:
 * unknown.  Returns 1 if this process will be paced or observed; 0 if it has another
 * rank or ANTIPHASE_MODE is off.
 */
int antiphase_open(const char *job, uint32_t rank, uint32_t n_ranks);

/*
 * An iteration begins to communicate.  Waits if ordered, at most one period of the job;
 * returns the nanoseconds waited.
 */
int64_t antiphase_iteration(void);

/*
 * A collective begins, with a message of 'bytes' (0: unknown), or ends.  Another thread
 * may report the end.  Collectives may overlap.
 */
void antiphase_enter(uint64_t bytes);
void antiphase_exit(void);

/* Turns the pacer off. */
void antiphase_close(void);

#ifdef __cplusplus
}
#endif

#endif
