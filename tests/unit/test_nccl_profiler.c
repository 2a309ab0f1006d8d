/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_nccl_profiler.c - the NCCL profiler plugin, loaded and called through its tables
 *
 * The test takes the place of NCCL, in the order of calls that NCCL's documentation of
 * the interface describes.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "collector/nccl/abi.h"
#include "lib/base/clk.h"
#include "lib/wire/coll_event.h"
#include "lib/wire/tele.h"
#include "tests/unit/test.h"

struct bench {
	char directory[64], path[96];
	void *library;
	int fd;        /* The collector's socket, */
	int from;      /* and the newest connection to it; 0: none yet. */
	void *context; /* Of one communicator. */
	const struct nccl_profiler_v4 *v4;
};

/* The library is two folders above this test. */
static void *
open_library(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 64);

	assert_true(n > 0);
	path[n] = '\0';
	for (int i = 0; i < 3; i++)
		*strrchr(path, '/') = '\0';
	strcat(path, "/libantiphase-nccl-profiler.so");
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static int
open_bench(void **state)
{
	struct bench *bench = calloc(1, sizeof *bench);
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	strcpy(bench->directory, "/tmp/antiphase-nccl.XXXXXX");
	assert_non_null(mkdtemp(bench->directory));
	snprintf(bench->path, sizeof bench->path, "%s/events.sock", bench->directory);
	setenv(COLL_EVENT_PATH_ENV, bench->path, 1);
	strcpy(at.sun_path, bench->path);
	bench->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(bench->fd, (struct sockaddr *)&at, sizeof at), 0);
	assert_int_equal(listen(bench->fd, 16), 0);
	bench->library = open_library();
	if (!bench->library)
		fail_msg("%s", dlerror());
	bench->v4 = dlsym(bench->library, "ncclProfiler_v4");
	assert_non_null(bench->v4);
	*state = bench;
	return 0;
}

static int
close_bench(void **state)
{
	struct bench *bench = *state;

	if (bench->from)
		close(bench->from);
	close(bench->fd);
	unlink(bench->path);
	rmdir(bench->directory);
	dlclose(bench->library);
	free(bench);
	return 0;
}

/* Reads the next collective event; false if there is none. */
static bool
receive(struct bench *bench, struct coll_event *ret_sent)
{
	uint8_t bytes[COLL_EVENT_BYTES + 1];
	ssize_t n =
		bench->from ? recv(bench->from, bytes, sizeof bytes, MSG_DONTWAIT) : 0;

	if (n == 0) {
		int from = accept(bench->fd, NULL, NULL);

		if (from < 0)
			return false;
		if (bench->from)
			close(bench->from);
		bench->from = from;
		return receive(bench, ret_sent);
	}
	if (n < 0)
		return false;
	assert_int_equal(coll_event_decode(bytes, (size_t)n, ret_sent), 0);
	return true;
}

/* ---- Version 4, used by NCCL 2.27 ----------------------------------------------- */

static int
begin(struct bench *bench, int n_nodes)
{
	int mask = -1;

	assert_int_equal(bench->v4->init(&bench->context, &mask, "comm", 1, n_nodes,
					 2 * n_nodes, 0, NULL),
			 0);
	return mask;
}

static void *
start_coll(struct bench *bench, size_t count, uint8_t n_channels)
{
	struct nccl_event_v4 event = {
		.type = NCCL_EVENT_COLL,
		.coll = { .function = "AllReduce",
			  .count = count,
			  .datatype = "ncclFloat32",
			  .n_channels = n_channels },
	};
	void *handle = NULL;

	assert_int_equal(bench->v4->start_event(bench->context, &handle, &event), 0);
	return handle;
}

static void *
start_child(struct bench *bench, void *parent, int type, uint8_t channel)
{
	struct nccl_event_v4 event = { .type = (uint8_t)type, .parent = parent };
	void *handle = NULL;

	if (type == NCCL_EVENT_PROXY_OP)
		event.proxy_op = (struct nccl_proxy_op){ getpid(), channel };
	else
		event.kernel_ch.channel = channel;
	assert_int_equal(bench->v4->start_event(bench->context, &handle, &event), 0);
	return handle;
}

static void
stop(struct bench *bench, void *handle)
{
	assert_int_equal(bench->v4->stop_event(handle), 0);
}

/* Time long enough to tell collectives apart. */
static int64_t
pass_time(void)
{
	usleep(2000);
	return clk_monotonic_ns();
}

static void
a_collective_lasts_from_the_first_kernel_to_the_last_child(void **state)
{
	struct bench *bench = *state;
	int64_t before_ns, running_ns, ended_ns, last_ns;
	void *coll, *ops[2], *kernels[2];
	struct coll_event sent;

	assert_int_equal(begin(bench, 2),
			 NCCL_EVENT_COLL | NCCL_EVENT_PROXY_OP | NCCL_EVENT_KERNEL_CH);
	coll = start_coll(bench, 1000, 2);
	assert_non_null(coll);
	stop(bench, coll); /* Enqueued; the stream has not reached it yet. */
	for (uint8_t c = 0; c < 2; c++)
		ops[c] = start_child(bench, coll, NCCL_EVENT_PROXY_OP, c);
	before_ns = pass_time();
	for (uint8_t c = 0; c < 2; c++)
		kernels[c] = start_child(bench, coll, NCCL_EVENT_KERNEL_CH, c);
	running_ns = clk_monotonic_ns();
	pass_time();
	stop(bench, ops[0]);
	stop(bench, kernels[0]);
	stop(bench, kernels[1]);
	assert_false(receive(bench, &sent));
	ended_ns = pass_time();
	stop(bench, ops[1]);
	last_ns = clk_monotonic_ns();
	assert_true(receive(bench, &sent));
	assert_int_equal(sent.source, TELE_EVENT_NCCL);
	assert_false(sent.is_launch);
	assert_int_equal(sent.bytes, 4000);
	assert_int_equal(sent.pid, 0);
	assert_in_range(sent.begin_ns, before_ns, running_ns);
	assert_in_range(sent.end_ns, ended_ns, last_ns);
	bench->v4->finalize(bench->context);
	assert_false(receive(bench, &sent));
}

static void
collectives_that_overlap_are_told_apart_and_in_order(void **state)
{
	struct bench *bench = *state;
	struct coll_event sent;
	void *a, *b, *a_op, *b_op, *a_kernel, *b_kernel;

	begin(bench, 4);
	/* One of two channels has its kernel event: more children may come */
	a = start_coll(bench, 10, 2);
	stop(bench, a);
	b = start_coll(bench, 20, 1);
	stop(bench, b);
	a_op = start_child(bench, a, NCCL_EVENT_PROXY_OP, 0);
	b_op = start_child(bench, b, NCCL_EVENT_PROXY_OP, 0);
	a_kernel = start_child(bench, a, NCCL_EVENT_KERNEL_CH, 0);
	stop(bench, a_kernel);
	stop(bench, a_op);
	assert_false(receive(bench, &sent));
	/* until the next collective runs. */
	b_kernel = start_child(bench, b, NCCL_EVENT_KERNEL_CH, 0);
	assert_true(receive(bench, &sent));
	assert_int_equal(sent.bytes, 40);
	stop(bench, b_op);
	stop(bench, b_kernel);
	assert_true(receive(bench, &sent));
	assert_int_equal(sent.bytes, 80);
	bench->v4->finalize(bench->context);
	assert_false(receive(bench, &sent));
}

static void
without_children_it_is_a_launch_told_at_the_end(void **state)
{
	struct bench *bench = *state;
	struct coll_event sent;
	int64_t before_ns = clk_monotonic_ns();

	begin(bench, 2);
	stop(bench, start_coll(bench, 5, 1));
	assert_false(receive(bench, &sent));
	bench->v4->finalize(bench->context);
	assert_true(receive(bench, &sent));
	assert_true(sent.is_launch);
	assert_int_equal(sent.bytes, 20);
	assert_in_range(sent.begin_ns, before_ns, clk_monotonic_ns());
	assert_true(sent.end_ns >= sent.begin_ns);
}

static void
what_stays_in_a_node_is_not_asked_for(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(begin(bench, 1), 0);
	bench->v4->finalize(bench->context);
	setenv("ANTIPHASE_NCCL_KERNELS", "0", 1);
	assert_int_equal(begin(bench, 2), NCCL_EVENT_COLL | NCCL_EVENT_PROXY_OP);
	bench->v4->finalize(bench->context);
	unsetenv("ANTIPHASE_NCCL_KERNELS");
}

static void
strangers_orphans_and_other_events_are_let_be(void **state)
{
	struct bench *bench = *state;
	struct nccl_event_v4 event = { .type = NCCL_EVENT_PROXY_OP };
	void *handle = (void *)1;
	struct coll_event sent;

	begin(bench, 2);
	/* From another process (PXN): its parent is an address there. */
	event.parent = (void *)0x1234;
	event.proxy_op.pid = getpid() + 1;
	assert_int_equal(bench->v4->start_event(bench->context, &handle, &event), 0);
	assert_null(handle);
	/* Child of a point-to-point operation, which was not subscribed. */
	assert_null(start_child(bench, NULL, NCCL_EVENT_PROXY_OP, 0));
	assert_null(start_child(bench, NULL, NCCL_EVENT_KERNEL_CH, 0));
	event.type = 1 << 5;
	assert_int_equal(bench->v4->start_event(bench->context, &handle, &event), 0);
	assert_null(handle);
	stop(bench, NULL);
	assert_int_equal(bench->v4->record_event_state(NULL, 0, NULL), 0);
	bench->v4->finalize(bench->context);
	assert_false(receive(bench, &sent));
}

static void
more_at_once_than_there_is_room_for_are_counted(void **state)
{
	struct bench *bench = *state;
	void *colls[300], *kernel;
	struct coll_event sent;
	size_t n = 0;

	begin(bench, 2);
	for (size_t i = 0; i < 300; i++)
		colls[i] = start_coll(bench, i + 1, 1);
	for (size_t i = 0; i < 300; i++) {
		assert_int_equal(colls[i] != NULL, i < 256);
		if (!colls[i])
			continue;
		stop(bench, colls[i]);
		kernel = start_child(bench, colls[i], NCCL_EVENT_KERNEL_CH, 0);
		stop(bench, kernel);
		assert_true(receive(bench, &sent));
		assert_int_equal(sent.bytes, 4 * (i + 1));
		assert_int_equal(sent.lost, 44);
		n++;
	}
	assert_int_equal(n, 256);
	assert_non_null(start_coll(bench, 1, 1));
	bench->v4->finalize(bench->context);
}

static void
no_collector_makes_no_difference_to_the_job(void **state)
{
	struct bench *bench = *state;

	unlink(bench->path);
	begin(bench, 2);
	for (int i = 0; i < 1000; i++) {
		void *coll = start_coll(bench, 1, 1), *kernel;

		assert_non_null(coll);
		stop(bench, coll);
		kernel = start_child(bench, coll, NCCL_EVENT_KERNEL_CH, 0);
		assert_non_null(kernel);
		stop(bench, kernel);
	}
	bench->v4->finalize(bench->context);
}

/* ---- The other versions --------------------------------------------------------- */

static void
assert_bytes(struct bench *bench, uint64_t bytes)
{
	struct coll_event sent;

	assert_true(receive(bench, &sent));
	assert_int_equal(sent.bytes, bytes);
	assert_true(sent.is_launch);
}

/* One collective through each of the tables of versions 1 to 3. */
static void
old_versions_have_their_own_layouts(void **state)
{
	struct bench *bench = *state;
	static const char *const names[] = { "ncclProfiler_v1", "ncclProfiler_v2",
					     "ncclProfiler_v3" };
	struct nccl_event_v1 one = {
		.type = NCCL_EVENT_COLL,
		.coll = { .count = 100, .datatype = 8, .n_channels = 1 },
	};
	struct nccl_event_v2 two = {
		.type = NCCL_EVENT_COLL,
		.coll = { .count = 100, .datatype = "ncclBfloat16", .n_channels = 1 },
	};
	struct nccl_event_v3 three = {
		.type = NCCL_EVENT_COLL,
		.coll = { .count = 100, .datatype = "ncclInt8", .n_channels = 1 },
	};
	void *events[] = { &one, &two, &three };
	uint64_t bytes[] = { 800, 200, 100 };

	for (int v = 0; v < 3; v++) {
		const struct nccl_profiler_v1 *table = dlsym(bench->library, names[v]);
		void *context, *handle = NULL;
		int mask = 0;

		assert_non_null(table);
		assert_string_equal(table->name, "antiphase");
		assert_int_equal(table->init(&context, &mask), 0);
		assert_int_equal(mask, NCCL_EVENT_COLL | NCCL_EVENT_PROXY_OP |
					       (v == 2 ? NCCL_EVENT_KERNEL_CH : 0));
		assert_int_equal(table->start_event(context, &handle, events[v]), 0);
		assert_non_null(handle);
		assert_int_equal(table->stop_event(handle), 0);
		assert_int_equal(table->finalize(context), 0);
		assert_bytes(bench, bytes[v]);
	}
}

static void
version_5_has_a_wider_type_and_another_init(void **state)
{
	struct bench *bench = *state;
	const struct nccl_profiler_v5 *table = dlsym(bench->library, "ncclProfiler_v5");
	struct nccl_event_v5 event = {
		.type = NCCL_EVENT_COLL,
		.coll = { .count = 100, .datatype = "ncclFloat16", .n_channels = 1 },
	};
	struct nccl_event_v5 api = { .type = 1 << 9 }; /* Unknown in version 4. */
	void *context, *handle = NULL;
	int mask = 0;

	assert_non_null(table);
	assert_int_equal(table->init(&context, 7, &mask, NULL, 2, 2, 0, NULL), 0);
	assert_true(mask & NCCL_EVENT_COLL);
	assert_int_equal(table->start_event(context, &handle, &api), 0);
	assert_null(handle);
	assert_int_equal(table->start_event(context, &handle, &event), 0);
	assert_int_equal(table->stop_event(handle), 0);
	assert_int_equal(table->finalize(context), 0);
	assert_bytes(bench, 200);
}

#define WITH_BENCH(test) cmocka_unit_test_setup_teardown(test, open_bench, close_bench)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_BENCH(a_collective_lasts_from_the_first_kernel_to_the_last_child),
		WITH_BENCH(collectives_that_overlap_are_told_apart_and_in_order),
		WITH_BENCH(without_children_it_is_a_launch_told_at_the_end),
		WITH_BENCH(what_stays_in_a_node_is_not_asked_for),
		WITH_BENCH(strangers_orphans_and_other_events_are_let_be),
		WITH_BENCH(more_at_once_than_there_is_room_for_are_counted),
		WITH_BENCH(no_collector_makes_no_difference_to_the_job),
		WITH_BENCH(old_versions_have_their_own_layouts),
		WITH_BENCH(version_5_has_a_wider_type_and_another_init),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
