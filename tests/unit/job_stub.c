/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_stub.c - a stub library for MPI, NCCL and CUDA in tests and benches of the pacer
 *
 * Collectives take the time set in job_stub.h; streams run their work at once.  Handles
 * that are pointers in the real libraries are numbers here.
 */
#include "tests/unit/job_stub.h"

#include <errno.h>
#include <time.h>

#define WEAK __attribute__((weak))

struct job_stub job_stub;

static void
collective(void)
{
	const struct timespec take = {
		.tv_sec = job_stub.collective_ns / 1000000000,
		.tv_nsec = job_stub.collective_ns % 1000000000,
	};

	__atomic_fetch_add(&job_stub.n_collectives, 1, __ATOMIC_RELAXED);
	if (job_stub.collective_ns)
		nanosleep(&take, NULL);
	if (job_stub.errno_of)
		errno = job_stub.errno_of;
}

/* ---- MPI: MPI_ functions are weak, PMPI_ functions strong ------------------------ */

int
PMPI_Type_size(uintptr_t type, int *ret_size)
{
	*ret_size = (int)type; /* A type's number is its size. */
	return 0;
}

int
PMPI_Comm_size(uintptr_t comm, int *ret_n)
{
	*ret_n = (int)comm; /* So is a communicator's. */
	return 0;
}

int
PMPI_Comm_test_inter(uintptr_t comm, int *ret_is_inter)
{
	*ret_is_inter = comm >= JOB_STUB_INTER;
	return 0;
}

int
PMPI_Allreduce(const void *in, void *out, int count, uintptr_t type, uintptr_t op,
	       uintptr_t comm)
{
	__atomic_store_n(&job_stub.last_args,
			 (uintptr_t)in + (uintptr_t)out + (uintptr_t)count + type + op +
				 comm,
			 __ATOMIC_RELAXED);
	collective();
	return job_stub.result;
}

WEAK int
MPI_Allreduce(const void *in, void *out, int count, uintptr_t type, uintptr_t op,
	      uintptr_t comm)
{
	return PMPI_Allreduce(in, out, count, type, op, comm);
}

int
PMPI_Iallreduce(const void *in, void *out, int count, uintptr_t type, uintptr_t op,
		uintptr_t comm, uintptr_t *request)
{
	__atomic_store_n(&job_stub.last_args,
			 (uintptr_t)in + (uintptr_t)out + (uintptr_t)count + type + op +
				 comm,
			 __ATOMIC_RELAXED);
	__atomic_fetch_add(&job_stub.n_collectives, 1, __ATOMIC_RELAXED);
	*request = 1;
	return job_stub.result;
}

WEAK int
MPI_Iallreduce(const void *in, void *out, int count, uintptr_t type, uintptr_t op,
	       uintptr_t comm, uintptr_t *request)
{
	return PMPI_Iallreduce(in, out, count, type, op, comm, request);
}

int
PMPI_Wait(uintptr_t *request, void *status)
{
	(void)status;
	*request = 0;
	collective();
	return job_stub.result;
}

WEAK int
MPI_Wait(uintptr_t *request, void *status)
{
	return PMPI_Wait(request, status);
}

int
PMPI_Alltoallv(const void *in, const int *n_in, const int *at_in, uintptr_t t_in,
	       void *out, const int *n_out, const int *at_out, uintptr_t t_out,
	       uintptr_t comm)
{
	__atomic_store_n(&job_stub.last_args,
			 (uintptr_t)in + (uintptr_t)n_in + (uintptr_t)at_in + t_in +
				 (uintptr_t)out + (uintptr_t)n_out + (uintptr_t)at_out +
				 t_out + comm,
			 __ATOMIC_RELAXED);
	collective();
	return job_stub.result;
}

WEAK int
MPI_Alltoallv(const void *in, const int *n_in, const int *at_in, uintptr_t t_in,
	      void *out, const int *n_out, const int *at_out, uintptr_t t_out,
	      uintptr_t comm)
{
	return PMPI_Alltoallv(in, n_in, at_in, t_in, out, n_out, at_out, t_out, comm);
}

/* The least that some MPI has in Fortran; it calls C as MPICH does. */
void
pmpi_allreduce_(void *in, void *out, const int *count, const int *type, const int *op,
		const int *comm, int *error)
{
	*error = MPI_Allreduce(in, out, *count, (uintptr_t)*type, (uintptr_t)*op,
			       (uintptr_t)*comm);
}

WEAK void
mpi_allreduce_(void *in, void *out, const int *count, const int *type, const int *op,
	       const int *comm, int *error)
{
	pmpi_allreduce_(in, out, count, type, op, comm, error);
}

/* The error argument may be missing; this function has no PMPI name. */
void
mpi_reduce_scatter_f08_(void *in, void *out, const int *counts, const int *type,
			const int *op, const int *comm, int *error)
{
	__atomic_store_n(&job_stub.last_args,
			 (uintptr_t)in + (uintptr_t)out + (uintptr_t)counts[0] +
				 (uintptr_t)*type + (uintptr_t)*op + (uintptr_t)*comm,
			 __ATOMIC_RELAXED);
	collective();
	if (error)
		*error = job_stub.result;
}

/* ---- NCCL and CUDA --------------------------------------------------------------- */

int
pncclAllReduce(const void *in, void *out, size_t count, int type, int op, void *comm,
	       void *stream)
{
	(void)in;
	(void)out;
	(void)count;
	(void)type;
	(void)op;
	(void)comm;
	(void)stream;
	collective();
	return job_stub.result;
}

WEAK int
ncclAllReduce(const void *in, void *out, size_t count, int type, int op, void *comm,
	      void *stream)
{
	return pncclAllReduce(in, out, count, type, op, comm, stream);
}

int
cudaStreamIsCapturing(void *stream, int *ret_status)
{
	(void)stream;
	*ret_status = job_stub.is_capturing;
	return 0;
}

int
cudaLaunchHostFunc(void *stream, void (*call)(void *), void *ctx)
{
	(void)stream;
	job_stub.n_launched++;
	if (job_stub.is_launch_refused)
		return 1;
	call(ctx);
	return 0;
}
