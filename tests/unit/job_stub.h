/* SPDX-License-Identifier: Apache-2.0 */
/* job_stub.h - a stub for MPI, NCCL and CUDA, and the settings of its behavior */
#ifndef TESTS_UNIT_JOB_STUB_H
#define TESTS_UNIT_JOB_STUB_H

#include <stddef.h>
#include <stdint.h>

struct job_stub {
	int64_t collective_ns; /* Duration of a collective. */
	int result;            /* Return value of each call. */
	int is_capturing;      /* Whether streams are capturing. */
	int is_launch_refused;
	int errno_of; /* errno after each collective; 0: unchanged. */
	uint64_t n_collectives, n_launched;
	uintptr_t last_args; /* Sum of all arguments: were all passed on? */
};

extern struct job_stub job_stub;

/* Communicators with this number or more are inter-communicators. */
#define JOB_STUB_INTER 100000000

int MPI_Allreduce(const void *in, void *out, int count, uintptr_t type, uintptr_t op,
		  uintptr_t comm);
int MPI_Iallreduce(const void *in, void *out, int count, uintptr_t type, uintptr_t op,
		   uintptr_t comm, uintptr_t *request);
int MPI_Wait(uintptr_t *request, void *status);
int MPI_Alltoallv(const void *in, const int *n_in, const int *at_in, uintptr_t t_in,
		  void *out, const int *n_out, const int *at_out, uintptr_t t_out,
		  uintptr_t comm);
int PMPI_Type_size(uintptr_t type, int *ret_size);
int PMPI_Comm_size(uintptr_t comm, int *ret_n);
int PMPI_Comm_test_inter(uintptr_t comm, int *ret_is_inter);
int PMPI_Allreduce(const void *in, void *out, int count, uintptr_t type, uintptr_t op,
		   uintptr_t comm);
int PMPI_Iallreduce(const void *in, void *out, int count, uintptr_t type, uintptr_t op,
		    uintptr_t comm, uintptr_t *request);
int PMPI_Wait(uintptr_t *request, void *status);
int PMPI_Alltoallv(const void *in, const int *n_in, const int *at_in, uintptr_t t_in,
		   void *out, const int *n_out, const int *at_out, uintptr_t t_out,
		   uintptr_t comm);

/* The Fortran functions, each with one mangled name; the stub has no others. */
void mpi_allreduce_(void *in, void *out, const int *count, const int *type,
		    const int *op, const int *comm, int *error);
void pmpi_allreduce_(void *in, void *out, const int *count, const int *type,
		     const int *op, const int *comm, int *error);
void mpi_reduce_scatter_f08_(void *in, void *out, const int *counts, const int *type,
			     const int *op, const int *comm, int *error);

int ncclAllReduce(const void *in, void *out, size_t count, int type, int op, void *comm,
		  void *stream);
int pncclAllReduce(const void *in, void *out, size_t count, int type, int op,
		   void *comm, void *stream);
int cudaStreamIsCapturing(void *stream, int *ret_status);
int cudaLaunchHostFunc(void *stream, void (*call)(void *), void *ctx);

#endif
