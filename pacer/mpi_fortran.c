/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_fortran.c - hooks of MPI's collectives for Fortran.
 *
 * They cover mpif.h and "use mpi" (mpi_allreduce_), and "use mpi_f08" where it has its
 * own functions (mpi_allreduce_f08_ of Open MPI).  In MPICH all of these call the C
 * functions, which are hooked too; only the outer hook counts.
 *
 * All arguments are references, handles are integers, and the last argument, the error,
 * may be missing (NULL) in mpi_f08.  Only counts and handles are read.
 */
#include "pacer/mpi.h"
#include "pacer/pending.h"
#include "pacer/run.h"

/* Offset, so that numbers differ from those of mpi.c. */
#define WHAT(bytes) ((uint32_t)(bytes)*31u + 1000u + (uint32_t)__COUNTER__)

#define HOOK_AS(symbol, is_begun, bytes, params, args)                         \
	RUN_EXPORT void symbol params;                                         \
	RUN_EXPORT void symbol params                                          \
	{                                                                      \
		static void(*found) params;                                    \
		void(*real) params =                                           \
			MPI_REAL(found, #symbol, __builtin_return_address(0)); \
		struct run_call call;                                          \
		uint64_t n;                                                    \
                                                                               \
		if (mpi_depth || !run_is_on(PACE_MPI)) {                       \
			real args;                                             \
			return;                                                \
		}                                                              \
		mpi_depth++;                                                   \
		n = (bytes);                                                   \
		call = run_enter(PACE_MPI, n, WHAT(n));                        \
		real args;                                                     \
		run_exit(&call);                                               \
		if (is_begun)                                                  \
			pending_add();                                         \
		mpi_depth--;                                                   \
	}

#define HOOK(name, is_begun, bytes, params, args)             \
	HOOK_AS(mpi_##name##_, is_begun, bytes, params, args) \
	HOOK_AS(mpi_##name##_f08_, is_begun, bytes, params, args)

#define COUNT(count)      mpi_count_of(*(count))
#define SIZE(type)        mpi_size_of(mpi_type_of(*(type)))
#define RANKS(comm)       mpi_ranks_of(mpi_comm_of(*(comm)))
#define SUM(counts, comm) mpi_sum_of(counts, mpi_comm_of(*(comm)))

/* clang-format off: a line of parameters, and one of arguments. */
HOOK(allreduce, 0, COUNT(count) * SIZE(type),
     (void *in, void *out, const int *count, const int *type, void *op, const int *comm,
      void *error),
     (in, out, count, type, op, comm, error))
HOOK(iallreduce, 1, COUNT(count) * SIZE(type),
     (void *in, void *out, const int *count, const int *type, void *op, const int *comm,
      void *request, void *error),
     (in, out, count, type, op, comm, request, error))

HOOK(reduce_scatter, 0, SUM(counts, comm) * SIZE(type),
     (void *in, void *out, const int *counts, const int *type, void *op,
      const int *comm, void *error),
     (in, out, counts, type, op, comm, error))
HOOK(ireduce_scatter, 1, SUM(counts, comm) * SIZE(type),
     (void *in, void *out, const int *counts, const int *type, void *op,
      const int *comm, void *request, void *error),
     (in, out, counts, type, op, comm, request, error))

HOOK(reduce_scatter_block, 0, COUNT(count) * SIZE(type) * RANKS(comm),
     (void *in, void *out, const int *count, const int *type, void *op, const int *comm,
      void *error),
     (in, out, count, type, op, comm, error))
HOOK(ireduce_scatter_block, 1, COUNT(count) * SIZE(type) * RANKS(comm),
     (void *in, void *out, const int *count, const int *type, void *op, const int *comm,
      void *request, void *error),
     (in, out, count, type, op, comm, request, error))

HOOK(allgather, 0, COUNT(n_out) * SIZE(t_out) * RANKS(comm),
     (void *in, void *n_in, void *t_in, void *out, const int *n_out, const int *t_out,
      const int *comm, void *error),
     (in, n_in, t_in, out, n_out, t_out, comm, error))
HOOK(iallgather, 1, COUNT(n_out) * SIZE(t_out) * RANKS(comm),
     (void *in, void *n_in, void *t_in, void *out, const int *n_out, const int *t_out,
      const int *comm, void *request, void *error),
     (in, n_in, t_in, out, n_out, t_out, comm, request, error))

HOOK(allgatherv, 0, SUM(counts, comm) * SIZE(t_out),
     (void *in, void *n_in, void *t_in, void *out, const int *counts, void *at,
      const int *t_out, const int *comm, void *error),
     (in, n_in, t_in, out, counts, at, t_out, comm, error))
HOOK(iallgatherv, 1, SUM(counts, comm) * SIZE(t_out),
     (void *in, void *n_in, void *t_in, void *out, const int *counts, void *at,
      const int *t_out, const int *comm, void *request, void *error),
     (in, n_in, t_in, out, counts, at, t_out, comm, request, error))

HOOK(alltoall, 0, COUNT(n_out) * SIZE(t_out) * RANKS(comm),
     (void *in, void *n_in, void *t_in, void *out, const int *n_out, const int *t_out,
      const int *comm, void *error),
     (in, n_in, t_in, out, n_out, t_out, comm, error))
HOOK(ialltoall, 1, COUNT(n_out) * SIZE(t_out) * RANKS(comm),
     (void *in, void *n_in, void *t_in, void *out, const int *n_out, const int *t_out,
      const int *comm, void *request, void *error),
     (in, n_in, t_in, out, n_out, t_out, comm, request, error))

HOOK(alltoallv, 0, SUM(n_out, comm) * SIZE(t_out),
     (void *in, void *n_in, void *at_in, void *t_in, void *out, const int *n_out,
      void *at_out, const int *t_out, const int *comm, void *error),
     (in, n_in, at_in, t_in, out, n_out, at_out, t_out, comm, error))
HOOK(ialltoallv, 1, SUM(n_out, comm) * SIZE(t_out),
     (void *in, void *n_in, void *at_in, void *t_in, void *out, const int *n_out,
      void *at_out, const int *t_out, const int *comm, void *request, void *error),
     (in, n_in, at_in, t_in, out, n_out, at_out, t_out, comm, request, error))

/* clang-format on */

/* ---- Waiting for them ------------------------------------------------------------ */

/* Prevents that the C hook, which MPICH calls from here, counts the wait again. */
#define WAIT_AS(symbol, n, params, args)                                       \
	RUN_EXPORT void symbol params;                                         \
	RUN_EXPORT void symbol params                                          \
	{                                                                      \
		static void(*found) params;                                    \
		void(*real) params =                                           \
			MPI_REAL(found, #symbol, __builtin_return_address(0)); \
		struct run_call call = mpi_begin_wait(n);                      \
                                                                               \
		mpi_depth++;                                                   \
		real args;                                                     \
		mpi_depth--;                                                   \
		run_exit(&call);                                               \
	}

/* clang-format off */
WAIT_AS(mpi_wait_, 1, (void *request, void *status, void *error),
	(request, status, error))
WAIT_AS(mpi_wait_f08_, 1, (void *request, void *status, void *error),
	(request, status, error))
WAIT_AS(mpi_waitall_, *n, (const int *n, void *requests, void *statuses, void *error),
	(n, requests, statuses, error))
WAIT_AS(mpi_waitall_f08_, *n,
	(const int *n, void *requests, void *statuses, void *error),
	(n, requests, statuses, error))
/* clang-format on */
