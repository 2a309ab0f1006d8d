/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi.c - hooks of MPI's collectives for C, by LD_PRELOAD.
 *
 * The real functions are PMPI_..., the second names that MPI gives all functions for
 * this purpose.  The bytes of a collective are those of a rank's whole buffer: the one
 * that it reduces, or the one that it has gathered.
 *
 * Nonblocking collectives count from the call to the end of the MPI_Wait or MPI_Waitall
 * that follows; MPI_Test is not hooked.  Not hooked either: collectives with MPI_Count
 * (..._c), neighborhood collectives, and persistent ones.
 */
#include "pacer/mpi.h"

#include "pacer/pending.h"
#include "pacer/run.h"

typedef mpi_handle handle;

/* ---- Collectives ----------------------------------------------------------------- */

#define WHAT(bytes) ((uint32_t)(bytes)*31u + (uint32_t)__COUNTER__)

/* 'params' and 'args' in parentheses; 'bytes' in terms of them; whether nonblocking. */
#define HOOK(name, is_begun, bytes, params, args)                                   \
	RUN_EXPORT int MPI_##name params;                                           \
	RUN_EXPORT int MPI_##name params                                            \
	{                                                                           \
		static int(*found) params;                                          \
		int(*real) params =                                                 \
			MPI_REAL(found, "MPI_" #name, __builtin_return_address(0)); \
		struct run_call call;                                               \
		uint64_t n;                                                         \
		int result;                                                         \
                                                                                    \
		if (mpi_depth || !run_is_on(PACE_MPI))                              \
			return real args;                                           \
		mpi_depth++;                                                        \
		n = (bytes);                                                        \
		call = run_enter(PACE_MPI, n, WHAT(n));                             \
		result = real args;                                                 \
		run_exit(&call);                                                    \
		if (is_begun)                                                       \
			pending_add();                                              \
		mpi_depth--;                                                        \
		return result;                                                      \
	}

/* clang-format off: a line of parameters, and one of arguments. */
HOOK(Allreduce, 0, mpi_count_of(count) * mpi_size_of(type),
     (const void *in, void *out, int count, handle type, handle op, handle comm),
     (in, out, count, type, op, comm))
HOOK(Iallreduce, 1, mpi_count_of(count) * mpi_size_of(type),
     (const void *in, void *out, int count, handle type, handle op, handle comm,
      handle *request),
     (in, out, count, type, op, comm, request))

HOOK(Reduce_scatter, 0, mpi_sum_of(counts, comm) * mpi_size_of(type),
     (const void *in, void *out, const int *counts, handle type, handle op,
      handle comm),
     (in, out, counts, type, op, comm))
HOOK(Ireduce_scatter, 1, mpi_sum_of(counts, comm) * mpi_size_of(type),
     (const void *in, void *out, const int *counts, handle type, handle op, handle comm,
      handle *request),
     (in, out, counts, type, op, comm, request))

HOOK(Reduce_scatter_block, 0,
     mpi_count_of(count) * mpi_size_of(type) * mpi_ranks_of(comm),
     (const void *in, void *out, int count, handle type, handle op, handle comm),
     (in, out, count, type, op, comm))
HOOK(Ireduce_scatter_block, 1,
     mpi_count_of(count) * mpi_size_of(type) * mpi_ranks_of(comm),
     (const void *in, void *out, int count, handle type, handle op, handle comm,
      handle *request),
     (in, out, count, type, op, comm, request))

/* In place, send counts are undefined; receive counts always exist. */
HOOK(Allgather, 0, mpi_count_of(n_out) * mpi_size_of(t_out) * mpi_ranks_of(comm),
     (const void *in, int n_in, handle t_in, void *out, int n_out, handle t_out,
      handle comm),
     (in, n_in, t_in, out, n_out, t_out, comm))
HOOK(Iallgather, 1, mpi_count_of(n_out) * mpi_size_of(t_out) * mpi_ranks_of(comm),
     (const void *in, int n_in, handle t_in, void *out, int n_out, handle t_out,
      handle comm, handle *request),
     (in, n_in, t_in, out, n_out, t_out, comm, request))

HOOK(Allgatherv, 0, mpi_sum_of(counts, comm) * mpi_size_of(t_out),
     (const void *in, int n_in, handle t_in, void *out, const int *counts,
      const int *at, handle t_out, handle comm),
     (in, n_in, t_in, out, counts, at, t_out, comm))
HOOK(Iallgatherv, 1, mpi_sum_of(counts, comm) * mpi_size_of(t_out),
     (const void *in, int n_in, handle t_in, void *out, const int *counts,
      const int *at, handle t_out, handle comm, handle *request),
     (in, n_in, t_in, out, counts, at, t_out, comm, request))

HOOK(Alltoall, 0, mpi_count_of(n_out) * mpi_size_of(t_out) * mpi_ranks_of(comm),
     (const void *in, int n_in, handle t_in, void *out, int n_out, handle t_out,
      handle comm),
     (in, n_in, t_in, out, n_out, t_out, comm))
HOOK(Ialltoall, 1, mpi_count_of(n_out) * mpi_size_of(t_out) * mpi_ranks_of(comm),
     (const void *in, int n_in, handle t_in, void *out, int n_out, handle t_out,
      handle comm, handle *request),
     (in, n_in, t_in, out, n_out, t_out, comm, request))

HOOK(Alltoallv, 0, mpi_sum_of(n_out, comm) * mpi_size_of(t_out),
     (const void *in, const int *n_in, const int *at_in, handle t_in, void *out,
      const int *n_out, const int *at_out, handle t_out, handle comm),
     (in, n_in, at_in, t_in, out, n_out, at_out, t_out, comm))
HOOK(Ialltoallv, 1, mpi_sum_of(n_out, comm) * mpi_size_of(t_out),
     (const void *in, const int *n_in, const int *at_in, handle t_in, void *out,
      const int *n_out, const int *at_out, handle t_out, handle comm, handle *request),
     (in, n_in, at_in, t_in, out, n_out, at_out, t_out, comm, request))

/* clang-format on */

/* ---- Waiting for them ------------------------------------------------------------ */

RUN_EXPORT int MPI_Wait(handle *request, void *status);

RUN_EXPORT int
MPI_Wait(handle *request, void *status)
{
	static int (*found)(handle *, void *);
	int (*real)(handle *, void *) =
		MPI_REAL(found, "MPI_Wait", __builtin_return_address(0));
	struct run_call call = mpi_begin_wait(1);
	int result = real(request, status);

	run_exit(&call);
	return result;
}

RUN_EXPORT int MPI_Waitall(int n, handle *requests, void *statuses);

RUN_EXPORT int
MPI_Waitall(int n, handle *requests, void *statuses)
{
	static int (*found)(int, handle *, void *);
	int (*real)(int, handle *, void *) =
		MPI_REAL(found, "MPI_Waitall", __builtin_return_address(0));
	struct run_call call = mpi_begin_wait(n);
	int result = real(n, requests, statuses);

	run_exit(&call);
	return result;
}
