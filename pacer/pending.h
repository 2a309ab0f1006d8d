/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pending.h - count of nonblocking collectives in flight, of all threads.
 *
 * While there are any, the time in MPI_Wait counts as theirs.  A collective that
 * completes by MPI_Test is never removed, so the count has a limit: PENDING_MAX.
 */
#ifndef PACER_PENDING_H
#define PACER_PENDING_H

#include <stdbool.h>

#define PENDING_MAX 65536

extern int pending_n; /* Read by pending_any(). */

void pending_add(void);
/* Subtracts up to 'n'; false if there are none. */
bool pending_take(int n);

static inline bool
pending_any(void)
{
	return __atomic_load_n(&pending_n, __ATOMIC_RELAXED) > 0;
}

#endif
