/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_find.c - see mpi.h. */
#include <stdio.h>
#include <stdlib.h>

#include "pacer/mpi.h"
#include "pacer/pending.h"
#include "pacer/run.h"

_Static_assert(sizeof(void *) == 8, "handles pass through registers of 8 bytes");

__thread int mpi_depth __attribute__((tls_model("initial-exec")));

/* The first caller of a hook, through which MPI's library is found. */
static const void *first_caller;

/* NULL: neither name exists. */
static void *
find_any(const char *name, const void *from)
{
	char profiled[64];
	bool is_fortran = *name >= 'a' && *name <= 'z';
	void *found;

	snprintf(profiled, sizeof profiled, "%c%s", is_fortran ? 'p' : 'P', name);
	found = run_real(profiled, from);
	return found ? found : run_real(name, from);
}

void *
mpi_find(const char *name, const void *from)
{
	void *found = find_any(name, from);

	if (!__atomic_load_n(&first_caller, __ATOMIC_RELAXED))
		__atomic_store_n(&first_caller, from, __ATOMIC_RELAXED);
	if (found)
		return found;
	/* The loader's message for a missing symbol. */
	fprintf(stderr, "antiphase: %s is in no library of this program\n", name);
	abort();
}

/* ---- Queries of MPI -------------------------------------------------------------- */

/* Optional functions: looked up once. */
struct asked {
	const char *name;
	void *found;
	bool was_looked_for;
};

static void *
ask(struct asked *asked)
{
	if (!__atomic_load_n(&asked->was_looked_for, __ATOMIC_ACQUIRE)) {
		const void *from = __atomic_load_n(&first_caller, __ATOMIC_RELAXED);

		__atomic_store_n(&asked->found, find_any(asked->name, from),
				 __ATOMIC_RELAXED);
		__atomic_store_n(&asked->was_looked_for, true, __ATOMIC_RELEASE);
	}
	return __atomic_load_n(&asked->found, __ATOMIC_RELAXED);
}

typedef int number_fn(mpi_handle, int *);
typedef mpi_handle convert_fn(int);

static uint64_t
number_of(struct asked *asked, mpi_handle of)
{
	number_fn *real = (number_fn *)ask(asked);
	int n = 0;

	return real && real(of, &n) == 0 && n > 0 ? (uint64_t)n : 0;
}

uint64_t
mpi_size_of(mpi_handle type)
{
	static struct asked asked = { "MPI_Type_size", NULL, false };

	return number_of(&asked, type);
}

uint64_t
mpi_ranks_of(mpi_handle comm)
{
	static struct asked asked = { "MPI_Comm_size", NULL, false };

	return number_of(&asked, comm);
}

/* True also if MPI cannot tell. */
static bool
is_inter(mpi_handle comm)
{
	static struct asked asked = { "MPI_Comm_test_inter", NULL, false };
	number_fn *real = (number_fn *)ask(&asked);
	int result = 0;

	return !real || real(comm, &result) != 0 || result;
}

uint64_t
mpi_sum_of(const int *counts, mpi_handle comm)
{
	uint64_t sum = 0, n = is_inter(comm) ? 0 : mpi_ranks_of(comm);

	for (uint64_t i = 0; i < n; i++)
		sum += mpi_count_of(counts[i]);
	return sum;
}

/* MPICH lacks such functions: its handles are the same number in C and Fortran. */
static mpi_handle
convert(struct asked *asked, int number)
{
	convert_fn *real = (convert_fn *)ask(asked);

	return real ? real(number) : (mpi_handle)(uint32_t)number;
}

mpi_handle
mpi_type_of(int type)
{
	static struct asked asked = { "MPI_Type_f2c", NULL, false };

	return convert(&asked, type);
}

mpi_handle
mpi_comm_of(int comm)
{
	static struct asked asked = { "MPI_Comm_f2c", NULL, false };

	return convert(&asked, comm);
}

/* ---- Waiting --------------------------------------------------------------------- */

struct run_call
mpi_begin_wait(int n)
{
	struct run_call call = { 0 };

	if (mpi_depth || !pending_any() || !run_is_on(PACE_MPI) || !pending_take(n))
		return call;
	return run_wait();
}
