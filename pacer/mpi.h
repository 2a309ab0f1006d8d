/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi.h - shared by the MPI hooks for C (mpi.c) and Fortran (mpi_fortran.c): the real
 * functions, sizes, and which collective is the outer one
 *
 * One library serves all MPI implementations, so nothing here includes an MPI header: a
 * handle is a pointer in Open MPI and an int in MPICH, and either is passed on in the
 * register, or the slot of 8 bytes, that it came in.  This holds for x86-64 and 64-bit ARM
 * under Linux.
 */
#ifndef PACER_MPI_H
#define PACER_MPI_H

#include <stdbool.h>
#include <stdint.h>

typedef uintptr_t mpi_handle;

/* Of collectives that call others, as Fortran's do those of C, the outer one counts. */
extern __thread int mpi_depth __attribute__((tls_model("initial-exec")));

/*
 * The function that is "P" and 'name', or if there is none the one of 'name' behind ours;
 * the program could not have been started without either.  'from': the caller.
 */
void *mpi_find(const char *name, const void *from);

/* 'real', a static function pointer, found at its first use; threads may come at once. */
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

/* Without the MPI function, the size is unknown: 0. */
uint64_t mpi_size_of(mpi_handle type);
uint64_t mpi_ranks_of(mpi_handle comm);
/* Of an intercommunicator some counts are as many as its other side: 0, too. */
uint64_t mpi_sum_of(const int *counts, mpi_handle comm);

static inline uint64_t
mpi_count_of(int count)
{
	return count > 0 ? (uint64_t)count : 0;
}

/* Handles of Fortran, which are integers in every MPI. */
mpi_handle mpi_type_of(int type);
mpi_handle mpi_comm_of(int comm);

/* 'n' requests are waited for: the time is that of collectives, if there are any. */
struct run_call mpi_begin_wait(int n);

#endif
