/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.h - the pacer of a process, for its hooks (mpi.c, nccl.c, api.c).
 *
 * It starts with the first collective, so programs without collectives are not
 * affected.  It is on only in rank 0.  A hook checks run_is_on(), and if true
 *
 *	struct run_call call = run_enter(PACE_MPI, bytes, what);   may wait
 *	result = real function
 *	run_exit(&call);
 *
 * Collectives of other threads at the same time are ignored.  In a child of fork() the
 * pacer is off, and the connection stays the parent's.  The program's errno is
 * preserved.
 */
#ifndef PACER_RUN_H
#define PACER_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/wire/pace.h"

/* Exports a function to programs; all others are hidden. */
#define RUN_EXPORT __attribute__((visibility("default")))

enum run_state {
	RUN_NEW,      /* Not started yet. */
	RUN_STARTING, /* A thread is starting it. */
	RUN_OFF,
	RUN_ON,
};

struct run_call {
	bool is_counted;
	uint32_t epoch; /* Of the start; calls of earlier starts are ignored. */
	int64_t begin_ns;
};

extern int run_state; /* enum run_state; read it by run_is_on(). */
extern uint8_t run_source;

/* The first call reads the environment. */
bool run_start(enum pace_source source);

/*
 * Lets NCCL take over from MPI, because a program with both reduces by NCCL and uses
 * MPI only for setup.  True if it did.
 */
bool run_switch(void);

static inline bool
run_is_on(enum pace_source source)
{
	int state = __atomic_load_n(&run_state, __ATOMIC_ACQUIRE);

	if (state == RUN_ON)
		return __atomic_load_n(&run_source, __ATOMIC_RELAXED) == source ||
		       (source == PACE_NCCL && run_switch());
	return state == RUN_NEW && run_start(source);
}

struct run_call run_enter(enum pace_source source, uint64_t bytes, uint32_t what);
void run_exit(const struct run_call *call);
/* A wait for a nonblocking collective begins; run_exit() ends it. */
struct run_call run_wait(void);

/*
 * As run_enter(), but leaves the wait to 'later'.  If 'is_absolute', 'later' must wait
 * until 'until_ns'; otherwise for the time from now to 'until_ns', whenever it begins.
 * 'later' returns false if it cannot; then there is no wait.
 */
typedef bool run_later_fn(void *ctx, int64_t until_ns, bool is_absolute);
struct run_call run_enter_later(enum pace_source source, uint64_t bytes, uint32_t what,
				run_later_fn *later, void *ctx);

/*
 * For api.c: the program's values instead of the environment's.  False if the pacer is
 * off.
 */
bool run_open(const char *job, uint32_t rank, uint32_t n_ranks);
int64_t run_iteration(void);
void run_close(void);

/*
 * The real function 'name': from a library loaded after ours, or from one that the
 * caller at 'from' is linked to.  NULL: there is none but our own.
 */
void *run_real(const char *name, const void *from);

#endif
