/* SPDX-License-Identifier: Apache-2.0 */
/* test_bpf_programs.c - the tc programs, run by the kernel without an interface */
#include <errno.h>
#include <net/if.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/events.h"
#include "bpf/flow.skel.h"
#include "lib/base/clk.h"
#include "tests/unit/bpf_packets.h"
#include "tests/unit/test.h"

#define LINK      2
#define N_LINKS   4
#define N_CPUS    256
#define SHIFT     8
#define OTHER     1
#define OTHER_ROW (N_LINKS * FLOW_LINK_RINGS + OTHER * FLOW_SLOT_RINGS)

static int
be_silent(enum libbpf_print_level level, const char *fmt, va_list args)
{
	(void)level;
	(void)fmt;
	(void)args;
	return 0;
}

/* Uses the transmit program for old kernels, which loads on all. */
static bool is_old;

static int
load(void **state, bool with_jobs)
{
	struct flow_bpf *skel;
	uint32_t lo = if_nametoindex("lo"), at = FLOW_LINK_HASH(lo) % FLOW_LINK_CELLS;

	*state = NULL;
	libbpf_set_print(be_silent);
	skel = flow_bpf__open();
	assert_non_null(skel);
	bpf_program__set_autoload(skel->progs.antiphase_tx, !is_old);
	bpf_program__set_autoload(skel->progs.antiphase_tx_61, is_old);
	is_old = false;
	skel->rodata->n_cpus = N_CPUS;
	skel->rodata->n_links = N_LINKS;
	skel->rodata->bucket_shift = SHIFT;
	skel->rodata->with_jobs = with_jobs;
	bpf_map__set_max_entries(skel->maps.totals, (OTHER_ROW + 2) * N_CPUS);
	bpf_map__set_max_entries(skel->maps.buckets, (OTHER_ROW + 2) * N_CPUS << SHIFT);
	if (flow_bpf__load(skel) < 0) {
		print_message("SKIP: the kernel loads no BPF programs for us: %s\n",
			      strerror(errno));
		flow_bpf__destroy(skel);
		return 0;
	}
	skel->bss->link_cells[at].ifindex = lo;
	skel->bss->link_cells[at].link = LINK;
	skel->bss->slot_of[LINK][0] = OTHER;
	*state = skel;
	return 0;
}

static int
load_links(void **state)
{
	return load(state, false);
}

static int
load_jobs(void **state)
{
	return load(state, true);
}

static int
load_old(void **state)
{
	is_old = true;
	return load(state, true);
}

static int
unload(void **state)
{
	flow_bpf__destroy(*state);
	return 0;
}

/* Loads the programs, or skips the test. */
static struct flow_bpf *
loaded(void **state)
{
	if (!*state)
		skip();
	return *state;
}

struct run {
	unsigned ifindex, gso_segments, wire_bytes, vlan;
	int repeat;
};

static int
run(const struct bpf_program *program, struct packet *packet, const struct run *how)
{
	struct __sk_buff context = { .ifindex = how->ifindex,
				     .gso_segs = how->gso_segments,
				     .gso_size = how->gso_segments ? 1448 : 0,
				     .wire_len = how->wire_bytes };
	struct bpf_test_run_opts opts = {
		.sz = sizeof opts,
		.data_in = packet->bytes,
		.data_size_in = (uint32_t)packet->n,
		.ctx_in = &context,
		.ctx_size_in = sizeof context,
		.repeat = how->repeat ? how->repeat : 1,
	};

	assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(program), &opts), 0);
	return (int)opts.retval;
}

static struct flow_totals
total_of(const struct flow_bpf *skel, uint32_t row)
{
	struct flow_totals sum = { 0 }, one;

	for (uint32_t cpu = 0; cpu < N_CPUS; cpu++) {
		uint32_t key = row * N_CPUS + cpu;

		assert_int_equal(bpf_map__lookup_elem(skel->maps.totals, &key,
						      sizeof key, &one, sizeof one, 0),
				 0);
		sum.bytes += one.bytes;
		sum.packets += one.packets;
		sum.ce += one.ce;
	}
	return sum;
}

static struct flow_totals
link_total(const struct flow_bpf *skel, enum flow_ring ring)
{
	return total_of(skel, LINK * FLOW_LINK_RINGS + ring);
}

/* Sum over all buckets of the ring, which must all be of milliseconds in [from, to]. */
static uint64_t
bucket_bytes(const struct flow_bpf *skel, uint32_t row, int64_t from_ms, int64_t to_ms)
{
	uint64_t sum = 0, word;
	struct flow_totals total;

	/* The current bucket is not in the ring yet. */
	for (uint32_t cpu = 0; cpu < N_CPUS; cpu++) {
		uint32_t key = row * N_CPUS + cpu;

		assert_int_equal(bpf_map__lookup_elem(skel->maps.totals, &key,
						      sizeof key, &total, sizeof total,
						      0),
				 0);
		sum += FLOW_BUCKET_BYTES(total.current);
		if (total.current) {
			assert_true(FLOW_BUCKET_MS(total.current) >= (uint32_t)from_ms);
			assert_true(FLOW_BUCKET_MS(total.current) <= (uint32_t)to_ms);
		}
	}
	for (uint32_t i = 0; i < N_CPUS << SHIFT; i++) {
		uint32_t key = (row * N_CPUS << SHIFT) + i;

		assert_int_equal(bpf_map__lookup_elem(skel->maps.buckets, &key,
						      sizeof key, &word, sizeof word,
						      0),
				 0);
		if (!word)
			continue;
		assert_true(FLOW_BUCKET_MS(word) >= (uint32_t)from_ms);
		assert_true(FLOW_BUCKET_MS(word) <= (uint32_t)to_ms);
		assert_int_equal(FLOW_BUCKET_MS(word) & ((1 << SHIFT) - 1),
				 i & ((1 << SHIFT) - 1));
		sum += FLOW_BUCKET_BYTES(word);
	}
	return sum;
}

static void
what_comes_in_is_counted(void **state)
{
	struct flow_bpf *skel = loaded(state);
	struct packet packet = packet_tcp4(0, 1000);
	struct run how = { .ifindex = if_nametoindex("lo"), .repeat = 50 };
	int64_t from_ms = clk_monotonic_ns() / 1000000;
	struct flow_totals total;

	/* Other programs on the interface must still run. */
	assert_int_equal(run(skel->progs.antiphase_rx, &packet, &how), -1);
	total = link_total(skel, FLOW_RX);
	assert_int_equal(total.bytes, 50 * packet.n);
	assert_int_equal(total.packets, 50);
	assert_int_equal(total.ce, 0);
	assert_int_equal(bucket_bytes(skel, LINK * FLOW_LINK_RINGS + FLOW_RX, from_ms,
				      clk_monotonic_ns() / 1000000),
			 50 * packet.n);
	assert_int_equal(link_total(skel, FLOW_OFFERED).bytes, 0);
}

static void
other_interfaces_are_not(void **state)
{
	struct flow_bpf *skel = loaded(state);
	struct packet packet = packet_tcp4(0, 1000);
	struct run how = { .ifindex = if_nametoindex("lo") };
	uint32_t at = FLOW_LINK_HASH(how.ifindex) % FLOW_LINK_CELLS;

	skel->bss->link_cells[at].ifindex = UINT32_MAX;
	assert_int_equal(run(skel->progs.antiphase_rx, &packet, &how), -1);
	assert_int_equal(link_total(skel, FLOW_RX).bytes, 0);
	/* The cell may be at one of the next positions. */
	skel->bss->link_cells[(at + 3) % FLOW_LINK_CELLS].ifindex = how.ifindex;
	skel->bss->link_cells[(at + 1) % FLOW_LINK_CELLS].ifindex = UINT32_MAX;
	skel->bss->link_cells[(at + 2) % FLOW_LINK_CELLS].ifindex = UINT32_MAX;
	skel->bss->link_cells[(at + 3) % FLOW_LINK_CELLS].link = LINK;
	assert_int_equal(run(skel->progs.antiphase_rx, &packet, &how), -1);
	assert_int_equal(link_total(skel, FLOW_RX).bytes, packet.n);
}

static void
large_segments_count_as_those_on_the_wire(void **state)
{
	struct flow_bpf *skel = loaded(state);
	struct packet four = packet_tcp4(8, 1500), six = packet_udp6(1, 1500);
	struct run how = { .ifindex = if_nametoindex("lo"), .gso_segments = 11 };
	struct flow_totals total;

	run(skel->progs.antiphase_rx, &four, &how);
	total = link_total(skel, FLOW_RX);
	assert_int_equal(total.bytes, four.n + 10 * (14 + 28 + 32));
	assert_int_equal(total.packets, 11);
	run(skel->progs.antiphase_rx, &six, &how);
	assert_int_equal(link_total(skel, FLOW_RX).bytes,
			 total.bytes + six.n + 10 * (14 + 48 + 8));
}

static void
what_is_offered_is_what_the_kernel_says(void **state)
{
	struct flow_bpf *skel = loaded(state);
	struct packet packet = packet_tcp4(0, 1500);
	struct run how = { .ifindex = if_nametoindex("lo"),
			   .gso_segments = 4,
			   .wire_bytes = 6000 };
	struct flow_totals total;

	assert_int_equal(run(skel->progs.antiphase_offer, &packet, &how), -1);
	total = link_total(skel, FLOW_OFFERED);
	assert_int_equal(total.bytes, 6000);
	assert_int_equal(total.packets, 4);
	assert_int_equal(link_total(skel, FLOW_TX).bytes, 0);
}

static void
congestion_marks_are_counted(void **state)
{
	struct flow_bpf *skel = loaded(state);
	struct packet four = packet_tcp4(0, 100), six = packet_udp6(2, 100);
	struct run how = { .ifindex = if_nametoindex("lo"), .repeat = 3 };

	/* Two bits, neither of them a direction alone. */
	four.bytes[15] = 2;
	six.bytes[15] = 0x10;
	run(skel->progs.antiphase_rx, &four, &how);
	run(skel->progs.antiphase_rx, &six, &how);
	assert_int_equal(link_total(skel, FLOW_RX).ce, 0);
	four.bytes[15] = 3;
	six.bytes[15] = 0x30;
	run(skel->progs.antiphase_rx, &four, &how);
	assert_int_equal(link_total(skel, FLOW_RX).ce, 3);
	run(skel->progs.antiphase_rx, &six, &how);
	assert_int_equal(link_total(skel, FLOW_RX).ce, 6);
	packet_tag(&four, 0x8100);
	run(skel->progs.antiphase_rx, &four, &how);
	assert_int_equal(link_total(skel, FLOW_RX).ce, 9);
}

static void
what_is_too_short_still_counts_its_bytes(void **state)
{
	struct flow_bpf *skel = loaded(state);
	struct packet packet = packet_tcp4(0, 0);
	struct run how = { .ifindex = if_nametoindex("lo") };
	uint64_t sum = 0;

	/* The kernel refuses packets without room for an IP header. */
	for (packet.n = 34; packet.n < 60; packet.n++) {
		assert_int_equal(run(skel->progs.antiphase_rx, &packet, &how), -1);
		sum += packet.n;
	}
	assert_int_equal(link_total(skel, FLOW_RX).bytes, sum);
}

static void
what_belongs_to_nobody_is_other(void **state)
{
	struct flow_bpf *skel = loaded(state);
	struct packet four = packet_tcp4(0, 100), six = packet_udp6(0, 100);
	struct run how = { .ifindex = if_nametoindex("lo"), .repeat = 5 };

	run(skel->progs.antiphase_rx, &four, &how);
	run(skel->progs.antiphase_rx, &six, &how);
	assert_int_equal(link_total(skel, FLOW_RX).bytes, 5 * (four.n + six.n));
	assert_int_equal(total_of(skel, OTHER_ROW + FLOW_RX).bytes,
			 5 * (four.n + six.n));
	assert_int_equal(total_of(skel, OTHER_ROW + FLOW_TX).bytes, 0);
}

static void
what_is_sent_is_watched_on_old_kernels_too(void **state)
{
	struct flow_bpf *skel = loaded(state);

	assert_true(bpf_program__fd(skel->progs.antiphase_tx_61) >= 0);
	assert_true(bpf_program__fd(skel->progs.antiphase_tx) < 0);
}

#define test(name, setup) cmocka_unit_test_setup_teardown(name, setup, unload)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		test(what_comes_in_is_counted, load_links),
		test(other_interfaces_are_not, load_links),
		test(large_segments_count_as_those_on_the_wire, load_links),
		test(what_is_offered_is_what_the_kernel_says, load_links),
		test(congestion_marks_are_counted, load_jobs),
		test(congestion_marks_are_counted, load_links),
		test(what_is_too_short_still_counts_its_bytes, load_jobs),
		test(what_belongs_to_nobody_is_other, load_jobs),
		test(what_is_sent_is_watched_on_old_kernels_too, load_old),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
