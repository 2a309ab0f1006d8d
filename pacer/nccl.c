/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl.c - hooks of NCCL's collectives, by LD_PRELOAD.
 *
 * The real functions are pncclX, or ncclX if the library lacks those names.  ncclX only
 * enqueues: it returns at once, and the collective runs when the CUDA stream reaches
 * it.  So the hook enqueues a wait before it, as a host function (cudaLaunchHostFunc),
 * and the program continues.  While the stream is captured into a graph there is no
 * wait, because each replay would repeat it.  Without host functions the call itself
 * waits.  Reported times are those of enqueueing; the start is the end of the wait, if
 * the stream reaches it by then.
 *
 * The build needs neither NCCL nor CUDA: functions are looked up at the call.  A
 * program with NCCL linked statically is not seen, nor are collectives that a CUDA
 * graph replays.  Tested with a library that stands in for NCCL and CUDA
 * (tests/unit/pacer_bench.h), not on a GPU.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "pacer/run.h"
#include "pacer/wait.h"

/* Types are enumerations, passed as int, and pointers. */
#define SUCCESS         0
#define CAPTURE_NONE    0
#define UNHANDLED_ERROR 1 /* ncclUnhandledCudaError: the library is missing. */

/* Limit of waits in streams; each stays for an iteration or two. */
#define N_SLOTS 16

struct slot {
	bool is_used, is_absolute;
	int64_t wait_ns, until_ns;
};

static struct slot slots[N_SLOTS];

/* ---- In the stream --------------------------------------------------------------- */

/* Runs in CUDA's own thread when the stream reaches it. */
static void
wait_in_stream(void *ctx)
{
	struct slot *slot = ctx;
	int64_t until_ns = wait_now_ns() + slot->wait_ns;

	/* No wait if the time has passed. */
	if (slot->is_absolute && slot->until_ns < until_ns)
		until_ns = slot->until_ns;
	wait_until(until_ns);
	__atomic_store_n(&slot->is_used, false, __ATOMIC_RELEASE);
}

static struct slot *
take_slot(void)
{
	for (int i = 0; i < N_SLOTS; i++)
		if (!__atomic_exchange_n(&slots[i].is_used, true, __ATOMIC_ACQUIRE))
			return &slots[i];
	return NULL;
}

struct stream {
	void *stream;
	const void *from; /* The caller. */
};

/* Callback of run_enter_later(): false if there is no wait. */
static bool
wait_later(void *ctx, int64_t until_ns, bool is_absolute)
{
	static int (*is_capturing)(void *, int *);
	static int (*launch)(void *, void (*)(void *), void *);
	const struct stream *at = ctx;
	int status = CAPTURE_NONE;
	struct slot *slot;

	if (!launch) {
		is_capturing = run_real("cudaStreamIsCapturing", at->from);
		launch = run_real("cudaLaunchHostFunc", at->from);
	}
	/* A stream whose state is unknown may be captured. */
	if (launch && (!is_capturing || is_capturing(at->stream, &status) != SUCCESS ||
		       status != CAPTURE_NONE))
		return false;
	slot = launch ? take_slot() : NULL;
	if (slot) {
		slot->until_ns = until_ns;
		slot->is_absolute = is_absolute;
		slot->wait_ns = until_ns - wait_now_ns();
		if (launch(at->stream, wait_in_stream, slot) == SUCCESS)
			return true;
		__atomic_store_n(&slot->is_used, false, __ATOMIC_RELEASE);
	}
	wait_until(until_ns);
	return true;
}

/* ---- Collectives ----------------------------------------------------------------- */

static void *
find(const char *const names[2], const void *from)
{
	void *found = run_real(names[0], from);

	return found ? found : run_real(names[1], from);
}

/* For ncclDataType_t 0 to 11; later types are unknown. */
static uint64_t
size_of(int type)
{
	static const uint8_t sizes[] = { 1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1 };

	return type >= 0 && type < (int)sizeof sizes ? sizes[type] : 0;
}

static uint64_t
ranks_of(void *comm, const void *from)
{
	static int (*real)(void *, int *);
	static bool was_looked_for;
	static const char *const names[2] = { "pncclCommCount", "ncclCommCount" };
	int n = 1;

	if (!was_looked_for)
		real = find(names, from);
	was_looked_for = true;
	return real && real(comm, &n) == SUCCESS && n > 0 ? (uint64_t)n : 1;
}

#define WHAT(bytes) ((uint32_t)(bytes)*31u + (uint32_t)__COUNTER__)

/* 'params' and 'args' in parentheses; 'bytes' in terms of them. */
#define HOOK(name, bytes, params, args)                                              \
	RUN_EXPORT int nccl##name params;                                            \
	RUN_EXPORT int nccl##name params                                             \
	{                                                                            \
		static const char *const names[2] = { "pnccl" #name, "nccl" #name }; \
		static int(*real) params;                                            \
		const void *from = __builtin_return_address(0);                      \
		struct stream at = { stream, from };                                 \
		struct run_call call;                                                \
		uint64_t n;                                                          \
		int result;                                                          \
                                                                                     \
		if (!real)                                                           \
			real = find(names, from);                                    \
		if (!real)                                                           \
			return UNHANDLED_ERROR;                                      \
		if (!run_is_on(PACE_NCCL))                                           \
			return real args;                                            \
		n = (bytes);                                                         \
		call = run_enter_later(PACE_NCCL, n, WHAT(n), wait_later, &at);      \
		result = real args;                                                  \
		run_exit(&call);                                                     \
		return result;                                                       \
	}

/* clang-format off: a line of parameters, and one of arguments. */
HOOK(AllReduce, count *size_of(type),
     (const void *in, void *out, size_t count, int type, int op, void *comm,
      void *stream),
     (in, out, count, type, op, comm, stream))
HOOK(ReduceScatter, count *size_of(type) * ranks_of(comm, from),
     (const void *in, void *out, size_t count, int type, int op, void *comm,
      void *stream),
     (in, out, count, type, op, comm, stream))
HOOK(AllGather, count *size_of(type) * ranks_of(comm, from),
     (const void *in, void *out, size_t count, int type, void *comm, void *stream),
     (in, out, count, type, comm, stream))
HOOK(Broadcast, count *size_of(type),
     (const void *in, void *out, size_t count, int type, int root, void *comm,
      void *stream),
     (in, out, count, type, root, comm, stream))
HOOK(Reduce, count *size_of(type),
     (const void *in, void *out, size_t count, int type, int op, int root, void *comm,
      void *stream),
     (in, out, count, type, op, root, comm, stream))
/* clang-format on */
