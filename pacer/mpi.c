/*
 * mpi.c - collectives of MPI, seen and held back by LD_PRELOAD; the real ones are
 * PMPI_..., as MPI gives every function twice for this very purpose.
 *
 * It is compiled without MPI's header, as one library has to do for all of them: a
 * handle is a pointer in Open MPI and an int in MPICH, and either is passed on in the
 * register that it came in.  So this holds where arguments are passed in registers or
 * slots of 8 bytes: x86-64 and 64-bit ARM under Linux.
 *
 * The bytes of a collective are those of a rank's whole buffer: of what it reduces, or
 * of what it has when it has gathered.
 *
 * Nonblocking ones: the call is seen when it begins, and the time in MPI_Wait and
 * MPI_Waitall that follows it; MPI_Test is not.  Not watched: collectives of count
 * MPI_Count (..._c), of neighbours, persistent ones; and of Fortran all but MPI_ALLREDUCE
 * by mpif.h or 'use mpi'.
 */
#include <stdio.h>
#include <stdlib.h>

#include "pacer/run.h"

_Static_assert(sizeof(void *) == 8, "handles pass through registers of 8 bytes");

typedef uintptr_t handle;

/* Of collectives that call others, the outer one counts. */
static __thread int depth __attribute__((tls_model("initial-exec")));

/* Who called the first of them: by whom MPI's library is found. */
static const void *first_caller;

static void *
find(const char *name, const void *from)
{
	void *found;

	if (!first_caller)
		first_caller = from;
	found = run_real(name, from);
	if (found)
		return found;
	fprintf(stderr, "antiphase: %s is in no library of this program\n", name);
	abort();
}

/* ---- Sizes ------------------------------------------------------------------------ */

static uint64_t
size_of(handle type)
{
	static int (*real)(handle, int *);
	int size = 0;

	if (!real)
		real = find("PMPI_Type_size", first_caller);
	return real(type, &size) == 0 && size > 0 ? (uint64_t)size : 0;
}

static uint64_t
ranks_of(handle comm)
{
	static int (*real)(handle, int *);
	int n = 0;

	if (!real)
		real = find("PMPI_Comm_size", first_caller);
	return real(comm, &n) == 0 && n > 0 ? (uint64_t)n : 0;
}

/* Of an intercommunicator nothing is known: some counts are as many as its other side. */
static bool
is_inter(handle comm)
{
	static int (*real)(handle, int *);
	int result = 0;

	if (!real)
		real = find("PMPI_Comm_test_inter", first_caller);
	return real(comm, &result) != 0 || result;
}

static uint64_t
sum_of(const int *counts, handle comm)
{
	uint64_t sum = 0, n = is_inter(comm) ? 0 : ranks_of(comm);

	for (uint64_t i = 0; i < n; i++)
		sum += counts[i] > 0 ? (uint64_t)counts[i] : 0;
	return sum;
}

static uint64_t
count_of(int count)
{
	return count > 0 ? (uint64_t)count : 0;
}

/* ---- Collectives ------------------------------------------------------------------ */

#define WHAT(bytes) ((uint32_t)(bytes)*31u + (uint32_t)__COUNTER__)

/* 'params' and 'args' in brackets; 'bytes' and 'pending' of what is in them. */
#define HOOK(name, pending, bytes, params, args)                                 \
	RUN_EXPORT int MPI_##name params;                                        \
	RUN_EXPORT int MPI_##name params                                         \
	{                                                                        \
		static int(*real) params;                                        \
		struct run_call call;                                            \
		uint64_t n;                                                      \
		int result;                                                      \
                                                                                 \
		if (!real)                                                       \
			real = find("PMPI_" #name, __builtin_return_address(0)); \
		if (depth || !run_is_on(PACE_MPI))                               \
			return real args;                                        \
		depth++;                                                         \
		n = (bytes);                                                     \
		call = run_enter(PACE_MPI, n, WHAT(n));                          \
		result = real args;                                              \
		run_exit(&call);                                                 \
		run_n_pending += (pending);                                      \
		depth--;                                                         \
		return result;                                                   \
	}

/* clang-format off: a line of parameters, and one of arguments. */
HOOK(Allreduce, 0, count_of(count) * size_of(type),
     (const void *in, void *out, int count, handle type, handle op, handle comm),
     (in, out, count, type, op, comm))
HOOK(Iallreduce, 1, count_of(count) * size_of(type),
     (const void *in, void *out, int count, handle type, handle op, handle comm,
      handle *request),
     (in, out, count, type, op, comm, request))

HOOK(Reduce_scatter, 0, sum_of(counts, comm) * size_of(type),
     (const void *in, void *out, const int *counts, handle type, handle op,
      handle comm),
     (in, out, counts, type, op, comm))
HOOK(Ireduce_scatter, 1, sum_of(counts, comm) * size_of(type),
     (const void *in, void *out, const int *counts, handle type, handle op, handle comm,
      handle *request),
     (in, out, counts, type, op, comm, request))

HOOK(Reduce_scatter_block, 0, count_of(count) * size_of(type) * ranks_of(comm),
     (const void *in, void *out, int count, handle type, handle op, handle comm),
     (in, out, count, type, op, comm))
HOOK(Ireduce_scatter_block, 1, count_of(count) * size_of(type) * ranks_of(comm),
     (const void *in, void *out, int count, handle type, handle op, handle comm,
      handle *request),
     (in, out, count, type, op, comm, request))

/* In place, what is sent is not told; what is received always is. */
HOOK(Allgather, 0, count_of(n_out) * size_of(t_out) * ranks_of(comm),
     (const void *in, int n_in, handle t_in, void *out, int n_out, handle t_out,
      handle comm),
     (in, n_in, t_in, out, n_out, t_out, comm))
HOOK(Iallgather, 1, count_of(n_out) * size_of(t_out) * ranks_of(comm),
     (const void *in, int n_in, handle t_in, void *out, int n_out, handle t_out,
      handle comm, handle *request),
     (in, n_in, t_in, out, n_out, t_out, comm, request))

HOOK(Allgatherv, 0, sum_of(counts, comm) * size_of(t_out),
     (const void *in, int n_in, handle t_in, void *out, const int *counts,
      const int *at, handle t_out, handle comm),
     (in, n_in, t_in, out, counts, at, t_out, comm))
HOOK(Iallgatherv, 1, sum_of(counts, comm) * size_of(t_out),
     (const void *in, int n_in, handle t_in, void *out, const int *counts,
      const int *at, handle t_out, handle comm, handle *request),
     (in, n_in, t_in, out, counts, at, t_out, comm, request))

HOOK(Alltoall, 0, count_of(n_out) * size_of(t_out) * ranks_of(comm),
     (const void *in, int n_in, handle t_in, void *out, int n_out, handle t_out,
      handle comm),
     (in, n_in, t_in, out, n_out, t_out, comm))
HOOK(Ialltoall, 1, count_of(n_out) * size_of(t_out) * ranks_of(comm),
     (const void *in, int n_in, handle t_in, void *out, int n_out, handle t_out,
      handle comm, handle *request),
     (in, n_in, t_in, out, n_out, t_out, comm, request))

HOOK(Alltoallv, 0, sum_of(n_out, comm) * size_of(t_out),
     (const void *in, const int *n_in, const int *at_in, handle t_in, void *out,
      const int *n_out, const int *at_out, handle t_out, handle comm),
     (in, n_in, at_in, t_in, out, n_out, at_out, t_out, comm))
HOOK(Ialltoallv, 1, sum_of(n_out, comm) * size_of(t_out),
     (const void *in, const int *n_in, const int *at_in, handle t_in, void *out,
      const int *n_out, const int *at_out, handle t_out, handle comm, handle *request),
     (in, n_in, at_in, t_in, out, n_out, at_out, t_out, comm, request))

/* clang-format on */

/* ---- Waiting for them ------------------------------------------------------------- */

/* 'n' requests are waited for: the time is that of collectives, if there are any. */
static struct run_call
begin_wait(int n)
{
	struct run_call call = { false, 0 };

	if (run_n_pending <= 0 || depth || !run_is_on(PACE_MPI))
		return call;
	run_n_pending = run_n_pending > n ? run_n_pending - n : 0;
	return run_wait();
}

RUN_EXPORT int MPI_Wait(handle *request, void *status);

RUN_EXPORT int
MPI_Wait(handle *request, void *status)
{
	static int (*real)(handle *, void *);
	struct run_call call;
	int result;

	if (!real)
		real = find("PMPI_Wait", __builtin_return_address(0));
	call = begin_wait(1);
	result = real(request, status);
	run_exit(&call);
	return result;
}

RUN_EXPORT int MPI_Waitall(int n, handle *requests, void *statuses);

RUN_EXPORT int
MPI_Waitall(int n, handle *requests, void *statuses)
{
	static int (*real)(int, handle *, void *);
	struct run_call call;
	int result;

	if (!real)
		real = find("PMPI_Waitall", __builtin_return_address(0));
	call = begin_wait(n);
	result = real(n, requests, statuses);
	run_exit(&call);
	return result;
}

/* ---- Fortran ---------------------------------------------------------------------- */

/* All by reference; handles are integers there, in every MPI. */
static uint64_t
fortran_size(const int *type, const void *from)
{
	static void (*real)(const int *, int *, int *);
	int size = 0, error = 0;

	if (!real)
		real = find("pmpi_type_size_", from);
	real(type, &size, &error);
	return error == 0 && size > 0 ? (uint64_t)size : 0;
}

RUN_EXPORT void mpi_allreduce_(void *in, void *out, int *count, int *type, int *op,
			       int *comm, int *error);

RUN_EXPORT void
mpi_allreduce_(void *in, void *out, int *count, int *type, int *op, int *comm,
	       int *error)
{
	static void (*real)(void *, void *, int *, int *, int *, int *, int *);
	const void *from = __builtin_return_address(0);
	struct run_call call;
	uint64_t n;

	if (!real)
		real = find("pmpi_allreduce_", from);
	if (depth || !run_is_on(PACE_MPI)) {
		real(in, out, count, type, op, comm, error);
		return;
	}
	depth++;
	n = count_of(*count) * fortran_size(type, from);
	call = run_enter(PACE_MPI, n, WHAT(n));
	real(in, out, count, type, op, comm, error);
	run_exit(&call);
	depth--;
}
