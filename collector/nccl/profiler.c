/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profiler.c - libantiphase-nccl-profiler.so: a NCCL profiler plugin that reports the
 * begin and end of collectives to the collector of its host.
 *
 * NCCL stops the event of a collective when it is enqueued; only its children show when
 * it runs: the kernels of its channels, which begin when the stream reaches them, and
 * the network transfers of its channels.  So an event begins with the first kernel (or
 * the first transfer, without kernels) and ends with the last child; without children
 * it is a launch.
 *
 * The number of children is not known in advance.  A collective is complete when it is
 * enqueued, all children so far have ended, and each of its channels has had a kernel
 * or a later collective has begun to run.
 *
 * The plugin runs in the user's job: it never waits, allocates once per communicator,
 * prints nothing, and only counts failures.  It holds one lock per communicator, for a
 * few instructions or a sendto().
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/nccl/abi.h"
#include "lib/base/clk.h"
#include "lib/wire/coll_event.h"
#include "lib/wire/tele.h"

/* Collectives in flight per communicator; more are dropped and counted. */
#define N_COLLS 256
/* A collective without children this long after it was enqueued is a launch. */
#define CHILDLESS_NS INT64_C(10000000000)
/* "0": no kernel events, which cost NCCL a little; begins are then less exact. */
#define KERNELS_ENV "ANTIPHASE_NCCL_KERNELS"

#define EXPORT __attribute__((visibility("default")))

enum kind {
	KIND_COLL,
	KIND_PROXY_OP,
	KIND_KERNEL,
	N_KINDS,
};

/* NCCL's handle: points into its collective. */
struct handle {
	uint8_t kind;
};

struct coll {
	/* Set once, because NCCL's threads read these without the lock. */
	struct handle handles[N_KINDS];
	struct profiler *profiler;
	/* Reset for each collective. */
	uint64_t number; /* In order of their beginning. */
	int64_t start_ns, enqueued_ns;
	int64_t first_op_ns, first_kernel_ns, last_ns; /* Of children; 0: none. */
	uint64_t bytes;
	uint64_t kernels_seen; /* Channels with a kernel, as bits. */
	uint32_t n_channels, n_open, n_children;
	bool is_used, is_enqueued, is_overtaken;
};

/* State of one communicator. */
struct profiler {
	pthread_mutex_t lock;
	struct coll_event_sender sender;
	struct coll colls[N_COLLS];
	uint64_t n_colls; /* So far. */
	uint64_t n_lost;  /* Collectives dropped for lack of room. */
	bool has_kernels; /* Kernel events are requested. */
};

/* ---- Reporting ------------------------------------------------------------------ */

static void
tell(struct coll *c)
{
	struct profiler *p = c->profiler;
	struct coll_event event = {
		.source = TELE_EVENT_NCCL,
		.is_launch = !c->n_children,
		.begin_ns = c->start_ns,
		.end_ns = c->enqueued_ns,
		.bytes = c->bytes,
		.lost = p->n_lost,
	};

	if (c->n_children) {
		event.begin_ns =
			c->first_kernel_ns ? c->first_kernel_ns : c->first_op_ns;
		event.end_ns = c->last_ns;
	}
	(void)coll_event_send(&p->sender, &event);
	c->is_used = false;
}

static bool
has_all_kernels(const struct coll *c)
{
	return c->n_channels &&
	       (uint32_t)__builtin_popcountll(c->kernels_seen) >= c->n_channels;
}

static void
tell_if_done(struct coll *c)
{
	if (c->is_used && c->is_enqueued && !c->n_open &&
	    (c->is_overtaken || (c->n_children && has_all_kernels(c))))
		tell(c);
}

/* 'c' has begun to run, so earlier collectives have all of their children. */
static void
overtake(const struct coll *c)
{
	for (size_t i = 0; i < N_COLLS; i++) {
		struct coll *other = &c->profiler->colls[i];

		if (!other->is_used || other->number >= c->number)
			continue;
		other->is_overtaken = true;
		tell_if_done(other);
	}
}

/* ---- Events --------------------------------------------------------------------- */

static struct coll *
coll_of(struct handle *handle)
{
	return (struct coll *)(void *)((char *)(handle - handle->kind) -
				       offsetof(struct coll, handles));
}

/*
 * Whether a collective's place may be reused: NCCL may still name it as a parent if it
 * is only enqueued, but hardly after this time.
 */
static bool
is_over(const struct coll *c, int64_t now_ns)
{
	return c->is_enqueued && !c->n_open &&
	       (c->n_children || now_ns - c->enqueued_ns > CHILDLESS_NS);
}

/* A free place, or the oldest complete one, which is then reported; or NULL. */
static struct coll *
find_place(struct profiler *p, int64_t now_ns)
{
	struct coll *oldest = NULL;

	for (uint64_t i = 0; i < N_COLLS; i++) {
		struct coll *c = &p->colls[(p->n_colls + i) % N_COLLS];

		if (!c->is_used)
			return c;
		if (is_over(c, now_ns) && (!oldest || c->number < oldest->number))
			oldest = c;
	}
	if (oldest)
		tell(oldest);
	return oldest;
}

static void
start_coll(struct profiler *p, void **ret_handle, uint64_t bytes, uint32_t n_channels)
{
	int64_t now_ns = clk_monotonic_ns();
	struct coll *c;

	pthread_mutex_lock(&p->lock);
	c = find_place(p, now_ns);
	if (c) {
		memset((char *)c + offsetof(struct coll, number), 0,
		       sizeof *c - offsetof(struct coll, number));
		c->number = p->n_colls++;
		c->start_ns = now_ns;
		c->bytes = bytes;
		c->n_channels = n_channels;
		c->is_used = true;
		*ret_handle = &c->handles[KIND_COLL];
	} else {
		p->n_lost++;
	}
	pthread_mutex_unlock(&p->lock);
}

static void
start_child(void *parent, void **ret_handle, enum kind kind, uint8_t channel)
{
	struct coll *c = coll_of(parent);

	pthread_mutex_lock(&c->profiler->lock);
	/* A late child of a reported collective makes no second event. */
	if (c->is_used) {
		bool is_kernel = kind == KIND_KERNEL;
		int64_t *first_ns = is_kernel ? &c->first_kernel_ns : &c->first_op_ns;

		if (is_kernel)
			c->kernels_seen |= UINT64_C(1) << channel % 64;
		c->n_open++;
		c->n_children++;
		if (!*first_ns) {
			*first_ns = clk_monotonic_ns();
			/*
			 * With kernel events, transfers are ignored: NCCL prepares them
			 * early.
			 */
			if (is_kernel || !c->profiler->has_kernels)
				overtake(c);
		}
		*ret_handle = &c->handles[kind];
	}
	pthread_mutex_unlock(&c->profiler->lock);
}

static int
stop_event(void *handle)
{
	struct coll *c;

	if (!handle)
		return 0;
	c = coll_of(handle);
	pthread_mutex_lock(&c->profiler->lock);
	if (((struct handle *)handle)->kind == KIND_COLL) {
		c->is_enqueued = true;
		c->enqueued_ns = clk_monotonic_ns();
	} else if (c->n_open) {
		c->n_open--;
		c->last_ns = clk_monotonic_ns();
	}
	tell_if_done(c);
	pthread_mutex_unlock(&c->profiler->lock);
	return 0;
}

static int
record_event_state(void *handle, int state, void *args)
{
	(void)handle;
	(void)state;
	(void)args;
	return 0;
}

/* ---- Types in the versions of the interface ------------------------------------- */

/* By ncclDataType_t. */
static size_t
number_bytes(unsigned datatype)
{
	static const uint8_t sizes[] = { 1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1 };

	return datatype < sizeof sizes ? sizes[datatype] : 0;
}

/* "ncclFloat32" and so on. */
static size_t
name_bytes(const char *datatype)
{
	static const char *const names[] = {
		"ncclInt8",    "ncclUint8",    "ncclInt32",      "ncclUint32",
		"ncclInt64",   "ncclUint64",   "ncclFloat16",    "ncclFloat32",
		"ncclFloat64", "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2",
	};

	for (unsigned i = 0; datatype && i < sizeof names / sizeof names[0]; i++)
		if (!strcmp(datatype, names[i]))
			return number_bytes(i);
	return 0;
}

static void
start_proxy_op(void *parent, void **ret_handle, const struct nccl_proxy_op *op)
{
	/* A parent from another process is an address in that process. */
	if (parent && op->pid == getpid())
		start_child(parent, ret_handle, KIND_PROXY_OP, op->channel);
}

/* The members have the same names in all versions, but other offsets. */
#define START(context, ret_handle, event, coll_bytes)                     \
	do {                                                              \
		*(ret_handle) = NULL;                                     \
		if ((event)->type == NCCL_EVENT_COLL)                     \
			start_coll((context), (ret_handle), (coll_bytes), \
				   (event)->coll.n_channels);             \
		else if ((event)->type == NCCL_EVENT_PROXY_OP)            \
			start_proxy_op((event)->parent, (ret_handle),     \
				       &(event)->proxy_op);               \
	} while (0)

#define START_KERNEL(ret_handle, event)                                         \
	do {                                                                    \
		if ((event)->type == NCCL_EVENT_KERNEL_CH && (event)->parent)   \
			start_child((event)->parent, (ret_handle), KIND_KERNEL, \
				    (event)->kernel_ch.channel);                \
	} while (0)

static int
start_event_v1(void *context, void **ret_handle, void *event)
{
	const struct nccl_event_v1 *e = event;

	START(context, ret_handle, e, e->coll.count * number_bytes(e->coll.datatype));
	return 0;
}

static int
start_event_v2(void *context, void **ret_handle, void *event)
{
	const struct nccl_event_v2 *e = event;

	START(context, ret_handle, e, e->coll.count * name_bytes(e->coll.datatype));
	return 0;
}

static int
start_event_v3(void *context, void **ret_handle, void *event)
{
	const struct nccl_event_v3 *e = event;

	START(context, ret_handle, e, e->coll.count * name_bytes(e->coll.datatype));
	START_KERNEL(ret_handle, e);
	return 0;
}

static int
start_event_v4(void *context, void **ret_handle, void *event)
{
	const struct nccl_event_v4 *e = event;

	START(context, ret_handle, e, e->coll.count * name_bytes(e->coll.datatype));
	START_KERNEL(ret_handle, e);
	return 0;
}

static int
start_event_v5(void *context, void **ret_handle, void *event)
{
	const struct nccl_event_v5 *e = event;

	START(context, ret_handle, e, e->coll.count * name_bytes(e->coll.datatype));
	START_KERNEL(ret_handle, e);
	return 0;
}

/* ---- Communicators -------------------------------------------------------------- */

static int
init(void **ret_context, int *ret_mask, bool has_kernels)
{
	const char *kernels = getenv(KERNELS_ENV);
	struct profiler *p = calloc(1, sizeof *p);

	*ret_context = p;
	*ret_mask = 0;
	if (!p)
		return 0;
	pthread_mutex_init(&p->lock, NULL);
	for (size_t i = 0; i < N_COLLS; i++) {
		p->colls[i].profiler = p;
		for (uint8_t kind = 0; kind < N_KINDS; kind++)
			p->colls[i].handles[kind].kind = kind;
	}
	if (coll_event_sender_init(&p->sender, NULL) < 0)
		return 0;
	*ret_mask = NCCL_EVENT_COLL | NCCL_EVENT_PROXY_OP;
	p->has_kernels = has_kernels && (!kernels || strcmp(kernels, "0"));
	if (p->has_kernels)
		*ret_mask |= NCCL_EVENT_KERNEL_CH;
	return 0;
}

static int
init_v1(void **ret_context, int *ret_mask)
{
	return init(ret_context, ret_mask, false);
}

static int
init_v3(void **ret_context, int *ret_mask)
{
	return init(ret_context, ret_mask, true);
}

/* Traffic within a node reaches no switch: no events are requested. */
static int
init_nodes(void **ret_context, int *ret_mask, int n_nodes)
{
	int result = init(ret_context, ret_mask, true);

	if (n_nodes <= 1)
		*ret_mask = 0;
	return result;
}

static int
init_v4(void **ret_context, int *ret_mask, const char *communicator, uint64_t hash,
	int n_nodes, int n_ranks, int rank, nccl_log_fn *log)
{
	(void)communicator;
	(void)hash;
	(void)n_ranks;
	(void)rank;
	(void)log;
	return init_nodes(ret_context, ret_mask, n_nodes);
}

static int
init_v5(void **ret_context, uint64_t id, int *ret_mask, const char *communicator,
	int n_nodes, int n_ranks, int rank, nccl_log_fn *log)
{
	return init_v4(ret_context, ret_mask, communicator, id, n_nodes, n_ranks, rank,
		       log);
}

static int
finalize(void *context)
{
	struct profiler *p = context;

	if (!p)
		return 0;
	pthread_mutex_lock(&p->lock);
	for (uint64_t i = 0; i < N_COLLS; i++) {
		struct coll *c = &p->colls[(p->n_colls + i) % N_COLLS];

		if (c->is_used && c->is_enqueued && !c->n_open)
			tell(c);
	}
	pthread_mutex_unlock(&p->lock);
	coll_event_sender_fini(&p->sender);
	pthread_mutex_destroy(&p->lock);
	free(p);
	return 0;
}

#define NAME "antiphase"

EXPORT const struct nccl_profiler_v1 ncclProfiler_v1 = {
	NAME, init_v1, start_event_v1, stop_event, record_event_state, finalize,
};

EXPORT const struct nccl_profiler_v1 ncclProfiler_v2 = {
	NAME, init_v1, start_event_v2, stop_event, record_event_state, finalize,
};

EXPORT const struct nccl_profiler_v1 ncclProfiler_v3 = {
	NAME, init_v3, start_event_v3, stop_event, record_event_state, finalize,
};

EXPORT const struct nccl_profiler_v4 ncclProfiler_v4 = {
	NAME, init_v4, start_event_v4, stop_event, record_event_state, finalize,
};

EXPORT const struct nccl_profiler_v5 ncclProfiler_v5 = {
	NAME, init_v5, start_event_v5, stop_event, record_event_state, finalize,
};
