/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi.h - shared by the MPI hooks for C (mpi.c) and Fortran (mpi_fortran.c): the real
 * functions, sizes, and the depth of nested collectives.
 *
 * One library serves all MPI implementations, so nothing here includes an MPI header: a
 * handle is a pointer in Open MPI and an int in MPICH, and both are passed on in the
 * same register or 8-byte stack slot.  This holds for Linux on x86-64 and 64-bit ARM.
 */
#ifndef PACER_MPI_H
#define PACER_MPI_H

#include <stdbool.h>
#include <stdint.h>

typedef uintptr_t mpi_handle;

/* Of nested collectives, such as C's within Fortran's, only the outer one counts. */
extern __thread int mpi_depth __attribute__((tls_model("initial-exec")));

/*
 * The function "P" + 'name', or else the next function 'name' after ours in load order;
 * without one of them the program could not have started.  'from': the caller.
 */
void *mpi_find(const char *name, const void *from);

/* 'real': a static function pointer, looked up at its first use; thread-safe. */
#define MPI_REAL(real, name, from)                                                    \
	({                                                                            \
		__typeof__(real) found_ = __atomic_load_n(&(real), __ATOMIC_RELAXED); \
                                                                                      \
		if (!found_) {                                                        \
			found_ = (__typeof__(real))mpi_find(name, from);              \
			__atomic_store_n(&(real), found_, __ATOMIC_RELAXED);          \
		}                                                                     \
		found_;                                                               \
	})

/* 0: unknown, because MPI lacks the function. */
uint64_t mpi_size_of(mpi_handle type);
uint64_t mpi_ranks_of(mpi_handle comm);
/* 0 also for an intercommunicator, where counts may be those of the other side. */
uint64_t mpi_sum_of(const int *counts, mpi_handle comm);

static inline uint64_t
mpi_count_of(int count)
{
	return count > 0 ? (uint64_t)count : 0;
}

/* From Fortran's handles, which are integers in every MPI. */
mpi_handle mpi_type_of(int type);
mpi_handle mpi_comm_of(int comm);

/* A wait for 'n' requests begins; its time counts if collectives are pending. */
struct run_call mpi_begin_wait(int n);

#endif
