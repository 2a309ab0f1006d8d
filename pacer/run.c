/* SPDX-License-Identifier: Apache-2.0 */
#include "pacer/run.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pacer/core.h"
#include "pacer/link.h"
#include "pacer/wait.h"

#define HOUR_US INT64_C(3600000000)

int run_state = RUN_NEW;
uint8_t run_source;

static int lock; /* 1: held by a thread. */
static struct core core;
static struct link link_up = { .fd = -1 };
static uint32_t epoch; /* Counts starts. */
static bool is_verbose;
static const char *why_off = "";

/* Never waits: a thread that does not get the lock continues without the pacer. */
static bool
try_lock(void)
{
	return !__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE);
}

static void
unlock(void)
{
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

/* ---- Environment ----------------------------------------------------------------- */

/* An integer from 0 to 'max'; 'otherwise' for other texts. */
static int64_t
number_of(const char *text, int64_t max, int64_t otherwise)
{
	char *end;
	long long value;

	if (!text || *text < '0' || *text > '9')
		return otherwise;
	errno = 0;
	value = strtoll(text, &end, 10);
	return errno || *end || value > max ? otherwise : value;
}

/*
 * The number of the first variable that has one; -1: none.  Launchers' variables
 * precede Slurm's, which mpirun and torchrun in a batch script pass on to all their
 * processes.
 */
static int64_t
first_number(const char *const *names)
{
	for (; *names; names++) {
		int64_t value = number_of(getenv(*names), UINT32_MAX, -1);

		if (value >= 0)
			return value;
	}
	return -1;
}

static const char *const rank_names[] = {
	"ANTIPHASE_RANK",      "OMPI_COMM_WORLD_RANK",
	"PMIX_RANK",           "PMI_RANK",
	"MV2_COMM_WORLD_RANK", "RANK",
	"SLURM_PROCID",        NULL,
};
static const char *const size_names[] = {
	"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",     "MV2_COMM_WORLD_SIZE",
	"WORLD_SIZE",           "SLURM_NTASKS", NULL,
};

/* The job in Slurm's notation: tasks of an array are "4711_2". */
static void
name_job(const char *given, char ret_name[PACE_MAX_NAME + 1])
{
	const char *name = getenv("ANTIPHASE_JOB");
	const char *array = getenv("SLURM_ARRAY_JOB_ID");
	const char *task = getenv("SLURM_ARRAY_TASK_ID");

	if (!name || !*name)
		name = given;
	if (name && *name)
		snprintf(ret_name, PACE_MAX_NAME + 1, "%s", name);
	else if (array && *array && task && *task)
		snprintf(ret_name, PACE_MAX_NAME + 1, "%s_%s", array, task);
	else
		snprintf(ret_name, PACE_MAX_NAME + 1, "%s",
			 getenv("SLURM_JOB_ID") ? getenv("SLURM_JOB_ID") : "");
	for (char *c = ret_name; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
}

/* The reason to stay off, or NULL; sets the mode. */
static const char *
find_mode(bool *ret_is_observing)
{
	const char *mode = getenv("ANTIPHASE_MODE");

	*ret_is_observing = mode && strcmp(mode, "profile") == 0;
	if (!mode || !*mode || *ret_is_observing || strcmp(mode, "on") == 0)
		return NULL;
	return strcmp(mode, "off") == 0
		       ? "ANTIPHASE_MODE is off"
		       : "ANTIPHASE_MODE is none of on, off and profile";
}

/* ---- Start and end --------------------------------------------------------------- */

/*
 * Turns the pacer off in a child of fork(), which is not rank 0.  A child forked before
 * the pacer started may start one, because launchers fork their ranks.
 */
static void
in_child(void)
{
	if (__atomic_load_n(&run_state, __ATOMIC_ACQUIRE) == RUN_NEW)
		return;
	__atomic_store_n(&run_state, RUN_OFF, __ATOMIC_RELEASE);
	link_close(&link_up);
	is_verbose = false;
	unlock(); /* A thread that held it does not exist in the child. */
}

/* Not every way to create a child calls the fork handler. */
static bool
is_child(void)
{
	if (link_up.hello.pid == (uint32_t)getpid())
		return false;
	in_child();
	return true;
}

static void
turn_on(enum pace_source source, const char *job, uint32_t rank, uint32_t n_ranks,
	bool is_observing)
{
	static bool is_registered;
	const char *path = getenv(PACE_PATH_ENV);
	struct pace_hello hello = {
		.source = (uint8_t)source,
		.is_observing = is_observing,
		.pid = (uint32_t)getpid(),
		.rank = rank,
		.n_ranks = rank < n_ranks ? n_ranks : 0,
	};
	const struct core_options options = {
		.gap_ns = number_of(getenv("ANTIPHASE_GAP_US"), HOUR_US, 0) * 1000,
		.shift_ns = number_of(getenv("ANTIPHASE_SHIFT_US"), HOUR_US, 0) * 1000,
		.is_observing = is_observing,
		.is_explicit = source == PACE_API,
	};

	name_job(job, hello.job);
	__atomic_fetch_add(&epoch, 1, __ATOMIC_RELAXED);
	core_init(&core, &options);
	link_init(&link_up, path && *path ? path : PACE_DEFAULT_PATH, &hello);
	link_open(&link_up, wait_now_ns());
	__atomic_store_n(&run_source, (uint8_t)source, __ATOMIC_RELAXED);
	if (!is_registered)
		pthread_atfork(NULL, NULL, in_child);
	is_registered = true;
}

/* 'rank' -1: from the environment. */
static bool
start(enum pace_source source, const char *job, int64_t rank, int64_t n_ranks)
{
	int saved_errno = errno;
	int64_t said_rank = first_number(rank_names);
	bool is_observing;

	is_verbose = number_of(getenv("ANTIPHASE_VERBOSE"), 1, 0);
	why_off = find_mode(&is_observing);
	if (rank < 0)
		rank = said_rank;
	if (n_ranks <= 0)
		n_ranks = first_number(size_names);
	if (!why_off && rank < 0)
		why_off = "the rank of this process is not known: set ANTIPHASE_RANK";
	/* Only rank 0 reports and logs. */
	if (rank > 0) {
		is_verbose = false;
		why_off = "another rank";
	}
	if (!why_off)
		turn_on(source, job, (uint32_t)rank,
			n_ranks > 0 ? (uint32_t)n_ranks : 0, is_observing);
	__atomic_store_n(&run_state, why_off ? RUN_OFF : RUN_ON, __ATOMIC_RELEASE);
	errno = saved_errno;
	return !why_off;
}

bool
run_start(enum pace_source source)
{
	int expected = RUN_NEW;

	/* Another thread has the lock: ignores this collective. */
	if (!__atomic_compare_exchange_n(&run_state, &expected, RUN_STARTING, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return false;
	return start(source, NULL, -1, -1);
}

bool
run_switch(void)
{
	bool is_on;

	if (__atomic_load_n(&run_source, __ATOMIC_RELAXED) != PACE_MPI || !try_lock())
		return false;
	/* Another thread may have started or closed the pacer. */
	is_on = __atomic_load_n(&run_state, __ATOMIC_ACQUIRE) == RUN_ON;
	if (is_on && run_source == PACE_MPI) {
		link_close(&link_up);
		is_on = start(PACE_NCCL, NULL, -1, -1);
	}
	unlock();
	return is_on;
}

bool
run_open(const char *job, uint32_t rank, uint32_t n_ranks)
{
	int state = __atomic_load_n(&run_state, __ATOMIC_ACQUIRE);
	bool is_on = false;

	/* Ends what the hooks began: the program's own reports take over. */
	if (!try_lock())
		return false;
	if (state != RUN_STARTING &&
	    __atomic_compare_exchange_n(&run_state, &state, RUN_STARTING, false,
					__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		link_close(&link_up);
		is_on = start(PACE_API, job, rank, n_ranks);
	}
	unlock();
	return is_on;
}

static void
say_what_was(void)
{
	const struct core_counts *c = &core.counts;

	fprintf(stderr,
		"antiphase: %llu iterations of %.3f ms, %llu orders (%llu not in time), "
		"%llu waits of %.3f ms in all, %u packets sent, %u lost\n",
		(unsigned long long)c->iterations, (double)core_period_ns(&core) * 1e-6,
		(unsigned long long)c->orders, (unsigned long long)c->expired,
		(unsigned long long)c->applied, (double)c->waited_ns * 1e-6,
		link_up.sent, link_up.lost);
}

void
run_close(void)
{
	if (__atomic_load_n(&run_state, __ATOMIC_ACQUIRE) != RUN_ON || !try_lock())
		return;
	__atomic_store_n(&run_state, RUN_OFF, __ATOMIC_RELEASE);
	link_close(&link_up);
	if (is_verbose)
		say_what_was();
	is_verbose = false;
	unlock();
}

static __attribute__((destructor)) void
at_exit(void)
{
	if (run_state == RUN_OFF && is_verbose && why_off)
		fprintf(stderr, "antiphase: nothing was done: %s\n", why_off);
	run_close();
}

/* ---- Collectives ----------------------------------------------------------------- */

static void
take_order(void *ctx, const struct pace_order *order)
{
	core_order(ctx, order);
}

/* Returns when the iteration begins to communicate. */
static int64_t
at_boundary(int64_t now_ns, run_later_fn *later, void *ctx)
{
	struct pace_iteration report;
	int64_t until_ns, begun_ns = now_ns, at_ns = now_ns;
	int saved_errno = errno;

	/* Detects a lost collector and reconnects at once. */
	link_receive(&link_up, take_order, &core);
	link_open(&link_up, now_ns);
	until_ns = core_wait_until_ns(&core);
	if (until_ns && later)
		begun_ns = later(ctx, until_ns, core.is_absolute) ? until_ns : now_ns;
	else if (until_ns)
		begun_ns = at_ns = wait_until(until_ns);
	core_begun(&core, begun_ns, &report);
	link_send(&link_up, &report);
	errno = saved_errno;
	return at_ns;
}

/* As run_is_on(), for a caller that holds the lock. */
static bool
is_mine(enum pace_source source)
{
	return __atomic_load_n(&run_state, __ATOMIC_ACQUIRE) == RUN_ON &&
	       run_source == source;
}

struct run_call
run_enter_later(enum pace_source source, uint64_t bytes, uint32_t what,
		run_later_fn *later, void *ctx)
{
	struct run_call call = { 0 };

	if (!try_lock())
		return call;
	if (is_mine(source)) {
		call.is_counted = true;
		call.epoch = epoch;
		call.begin_ns = wait_now_ns();
		if (core_enter(&core, call.begin_ns, bytes, what) && !is_child())
			call.begin_ns = at_boundary(call.begin_ns, later, ctx);
	}
	unlock();
	return call;
}

struct run_call
run_enter(enum pace_source source, uint64_t bytes, uint32_t what)
{
	return run_enter_later(source, bytes, what, NULL, NULL);
}

struct run_call
run_wait(void)
{
	return (struct run_call){ true, __atomic_load_n(&epoch, __ATOMIC_RELAXED),
				  wait_now_ns() };
}

void
run_exit(const struct run_call *call)
{
	if (!call->is_counted || !try_lock())
		return;
	if (call->epoch == epoch)
		core_exit(&core, call->begin_ns, wait_now_ns());
	unlock();
}

int64_t
run_iteration(void)
{
	int64_t now_ns, waited_ns = 0;

	if (!try_lock())
		return 0;
	if (is_mine(PACE_API) && !is_child()) {
		now_ns = wait_now_ns();
		core_iteration(&core, now_ns);
		waited_ns = at_boundary(now_ns, NULL, NULL) - now_ns;
	}
	unlock();
	return waited_ns;
}

/* ---- The real functions ---------------------------------------------------------- */

/* A library that depends on this one may find our function first. */
static bool
is_own(const void *function)
{
	Dl_info own, its;

	return dladdr(&run_state, &own) && dladdr(function, &its) &&
	       own.dli_fbase == its.dli_fbase;
}

void *
run_real(const char *name, const void *from)
{
	int saved_errno = errno;
	void *found = dlsym(RTLD_NEXT, name), *library;
	Dl_info info;

	errno = saved_errno;
	if (found || !dladdr(from, &info) || !info.dli_fname)
		return found;
	/*
	 * The caller's library was loaded with local scope, like Python modules.  Its
	 * dependencies are not in the global search order, but are found through it.
	 */
	library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	found = library ? dlsym(library, name) : NULL;
	errno = saved_errno;
	return found && !is_own(found) ? found : NULL;
}
