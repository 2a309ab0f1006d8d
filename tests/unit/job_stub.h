/* SPDX-License-Identifier: Apache-2.0 */
/* job_stub.h - what stands in for MPI, NCCL and CUDA (job_stub.c), and how it behaves. */
#ifndef TESTS_UNIT_JOB_STUB_H
#define TESTS_UNIT_JOB_STUB_H

#include <stddef.h>
#include <stdint.h>

struct job_stub {
	int64_t collective_ns; /* What one takes. */
	int result;            /* Of each. */
	int is_capturing;      /* Of any stream. */
	int is_launch_refused;
	int errno_of; /* Each collective leaves this; 0: what was. */
	uint64_t n_collectives, n_launched;
	uintptr_t last_args; /* The sum of them: did all of them come through? */
};

extern struct job_stub job_stub;

/* Communicators from this on are between groups. */
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

/* As from Fortran: by one name each, and there is no other function of Fortran at all. */
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
