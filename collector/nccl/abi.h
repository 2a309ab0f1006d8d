/* SPDX-License-Identifier: Apache-2.0 */
/*
 * abi.h - NCCL's profiler plugin interface, versions 1 to 5, as far as it is needed.
 *
 * NCCL (2.23 and later) loads the library named in $NCCL_PROFILER_PLUGIN and looks in
 * it for a table of functions ncclProfiler_vN, the latest that it knows.  It calls
 * init() once a communicator, then startEvent() and stopEvent() for the kinds of events
 * in the mask that init() returned, from the application's threads and from its proxy
 * thread.
 *
 * These are declarations of our own of that public interface: of each description of an
 * event only the members up to the last one that is used, at their offsets in the C ABI
 * of 64-bit Linux, which are asserted below.  Names are NCCL's, without its typedefs.
 */
#ifndef COLLECTOR_NCCL_ABI_H
#define COLLECTOR_NCCL_ABI_H

#include <stddef.h>
#include <stdint.h>

/* Kinds of events: bits of the mask, and descriptions' types. */
#define NCCL_EVENT_COLL      (1 << 1) /* Stopped when it is enqueued. */
#define NCCL_EVENT_PROXY_OP  (1 << 3) /* Network transfers of one channel and peer. */
#define NCCL_EVENT_KERNEL_CH (1 << 6) /* One channel's kernel; from version 3. */

/* Parent: the handle of the collective (or NULL). */
struct nccl_proxy_op {
	int32_t pid; /* The initiator, perhaps another process (PXN). */
	uint8_t channel;
};

struct nccl_kernel_ch {
	uint8_t channel;
};

struct nccl_event_v1 {
	uint8_t type;
	void *parent;
	int rank;

	union {
		struct {
			const char *communicator;
			uint64_t communicator_hash, sequence;
			uint8_t function;
			const void *send;
			void *receive;
			size_t count;
			int root;
			uint8_t datatype; /* Number. */
			uint32_t operation;
			size_t traffic_bytes;
			uint8_t n_channels;
		} coll;
		struct nccl_proxy_op proxy_op;
	};
};

/* Names in place of numbers. */
struct nccl_event_v2 {
	uint8_t type;
	void *parent;
	int rank;

	union {
		struct {
			const char *communicator;
			uint64_t communicator_hash, sequence;
			const char *function;
			const void *send;
			void *receive;
			size_t count;
			int root;
			const char *datatype;
			size_t traffic_bytes;
			uint8_t n_channels;
		} coll;
		struct nccl_proxy_op proxy_op;
	};
};

/* Without the estimate of the traffic, with kernels. */
struct nccl_event_v3 {
	uint8_t type;
	void *parent;
	int rank;

	union {
		struct {
			const char *communicator;
			uint64_t communicator_hash, sequence;
			const char *function;
			const void *send;
			void *receive;
			size_t count;
			int root;
			const char *datatype;
			uint8_t n_channels;
		} coll;
		struct nccl_proxy_op proxy_op;
		struct nccl_kernel_ch kernel_ch;
	};
};

/* Without the communicator, which init() gets.  Version 5 has a wider type. */
struct nccl_coll_v4 {
	uint64_t sequence;
	const char *function;
	const void *send;
	void *receive;
	size_t count;
	int root;
	const char *datatype;
	uint8_t n_channels;
};

struct nccl_event_v4 {
	uint8_t type;
	void *parent;
	int rank;

	union {
		struct nccl_coll_v4 coll;
		struct nccl_proxy_op proxy_op;
		struct nccl_kernel_ch kernel_ch;
	};
};

struct nccl_event_v5 {
	uint64_t type;
	void *parent;
	int rank;

	union {
		struct nccl_coll_v4 coll;
		struct nccl_proxy_op proxy_op;
		struct nccl_kernel_ch kernel_ch;
	};
};

#if __SIZEOF_POINTER__ == 8
_Static_assert(offsetof(struct nccl_event_v1, coll.count) == 72 &&
		       offsetof(struct nccl_event_v1, coll.datatype) == 84 &&
		       offsetof(struct nccl_event_v1, coll.n_channels) == 104,
	       "version 1");
_Static_assert(offsetof(struct nccl_event_v2, coll.datatype) == 88 &&
		       offsetof(struct nccl_event_v2, coll.n_channels) == 104,
	       "version 2");
_Static_assert(offsetof(struct nccl_event_v3, coll.n_channels) == 96, "version 3");
_Static_assert(offsetof(struct nccl_event_v4, coll.count) == 56 &&
		       offsetof(struct nccl_event_v4, coll.datatype) == 72 &&
		       offsetof(struct nccl_event_v4, coll.n_channels) == 80 &&
		       offsetof(struct nccl_event_v5, coll) ==
			       offsetof(struct nccl_event_v4, coll),
	       "versions 4 and 5");
#endif

/* All functions return 0 (ncclSuccess): a profiler must not disturb the job. */
typedef int nccl_start_fn(void *context, void **ret_handle, void *event);
typedef int nccl_stop_fn(void *handle);
typedef int nccl_state_fn(void *handle, int state, void *args);
typedef int nccl_finalize_fn(void *context);
typedef void nccl_log_fn(int level, unsigned long flags, const char *file, int line,
			 const char *fmt, ...);

struct nccl_profiler_v1 {
	const char *name;
	int (*init)(void **ret_context, int *ret_mask);
	nccl_start_fn *start_event;
	nccl_stop_fn *stop_event;
	nccl_state_fn *record_event_state;
	nccl_finalize_fn *finalize;
};

struct nccl_profiler_v4 {
	const char *name;
	int (*init)(void **ret_context, int *ret_mask, const char *communicator,
		    uint64_t hash, int n_nodes, int n_ranks, int rank,
		    nccl_log_fn *log);
	nccl_start_fn *start_event;
	nccl_stop_fn *stop_event;
	nccl_state_fn *record_event_state;
	nccl_finalize_fn *finalize;
};

struct nccl_profiler_v5 {
	const char *name;
	int (*init)(void **ret_context, uint64_t id, int *ret_mask,
		    const char *communicator, int n_nodes, int n_ranks, int rank,
		    nccl_log_fn *log);
	nccl_start_fn *start_event;
	nccl_stop_fn *stop_event;
	nccl_state_fn *record_event_state;
	nccl_finalize_fn *finalize;
};

/* The tables that NCCL looks up; versions 1 to 3 have the same one. */
extern const struct nccl_profiler_v1 ncclProfiler_v1, ncclProfiler_v2, ncclProfiler_v3;
extern const struct nccl_profiler_v4 ncclProfiler_v4;
extern const struct nccl_profiler_v5 ncclProfiler_v5;

#endif
