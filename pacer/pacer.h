/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pacer.h - for programs that report their iterations themselves: five functions of
 * libantiphase-pacer.so
 *
 *	antiphase_open(NULL, rank, n_ranks);
 *	for (...) {
 *		compute();
 *		antiphase_iteration();            waits, if an order says so
 *		antiphase_enter(n_bytes);
 *		all_reduce();
 *		antiphase_exit();
 *	}
 *	antiphase_close();
 *
 * Programs that use MPI or NCCL need none of it: LD_PRELOAD=libantiphase-pacer.so is enough.
 * After antiphase_open() the pacer no longer watches the MPI and NCCL calls of the program.
 *
 * There is one pacer per process.  It acts in rank 0; in all other ranks these functions do
 * nothing, so call them in each.  No function fails: without a collector, or with one that
 * does not answer, the program runs as if these calls were not there.  Any thread may call;
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
 * 'job': what the scheduler calls the job; NULL: as the environment has it.  'n_ranks'
 * 0: not known.  Returns 1 if this process will be paced or watched, 0 if not: it is
 * another rank, or ANTIPHASE_MODE is off.
 */
int antiphase_open(const char *job, uint32_t rank, uint32_t n_ranks);

/*
 * An iteration begins to communicate.  Waits if the order is so, at most one period of
 * the job; returns for how many nanoseconds.
 */
int64_t antiphase_iteration(void);

/*
 * A collective begins, with a message of so many bytes (0: unknown); and it ends, which
 * another thread may say.  Several may be under way.
 */
void antiphase_enter(uint64_t bytes);
void antiphase_exit(void);

/* The program does without from now on. */
void antiphase_close(void);

#ifdef __cplusplus
}
#endif

#endif
