/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_ports.c - ns a packet of the programs that translate ports, run by the kernel on
 * packets of its own (BPF_PROG_TEST_RUN)
 *
 * Compared with a program that does nothing.  Variants take turns in rounds; each row is
 * the least of them, as other work on the machine can only add.  The map has either one
 * entry or as many as fit; the cost of a hash table that is not in the cache is not
 * measured, because the same entry is looked up again and again.  The same for the
 * counting programs in real traffic: 'make bench-net'.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/port_translate.h"
#include "bpf/port_translate.skel.h"
#include "tests/unit/bpf_packets.h"

#define ROUNDS 15
#define REPEAT 1000000
#define PORT_A 41000
#define PORT_B 61000

/* What is measured: a program, its packet, and how the packet's flow is entered. */
enum entry {
	ENTRY_NONE,
	ENTRY_THERE,
	ENTRY_AMONG_ALL
};

static const struct variant {
	const char *name;
	int program; /* 0: does nothing, 1: out, 2: in. */
	bool is_udp;
	enum entry entry;
} variants[] = {
	{ "nothing", 0, false, ENTRY_NONE },
	{ "out, UDP", 1, true, ENTRY_NONE },
	{ "out, TCP without an entry", 1, false, ENTRY_NONE },
	{ "out, translated", 1, false, ENTRY_THERE },
	{ "out, translated, 4096 entries", 1, false, ENTRY_AMONG_ALL },
	{ "in, TCP without an entry", 2, false, ENTRY_NONE },
	{ "in, translated", 2, false, ENTRY_THERE },
};

#define N_VARIANTS (sizeof variants / sizeof *variants)

static int
load_nothing(void)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K,
		  .dst_reg = BPF_REG_0,
		  .imm = -1 },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "ap_nothing", "GPL", insns, 2,
			     NULL);
}

static struct port_flow
flow_of(const struct packet *packet)
{
	struct port_flow flow = { .source_port = 0 };

	memset(flow.source + 10, 0xff, 2);
	memset(flow.destination + 10, 0xff, 2);
	memcpy(flow.source + 12, packet->bytes + 26, 4);
	memcpy(flow.destination + 12, packet->bytes + 30, 4);
	memcpy(&flow.destination_port, packet->bytes + 36, 2);
	return flow;
}

static int
put(struct bpf_map *map, const struct port_flow *flow, unsigned from, unsigned to)
{
	struct port_entry entry = { .port = htons((uint16_t)to) };
	struct port_flow key = *flow;

	key.source_port = htons((uint16_t)from);
	return bpf_map__update_elem(map, &key, sizeof key, &entry, sizeof entry,
				    BPF_ANY);
}

/* Each run finds an entry, as the two ports are exchanged for one another. */
static int
fill(struct bpf_map *map, const struct packet *packet, enum entry entry)
{
	struct port_flow flow = flow_of(packet);
	int rc = 0;

	for (unsigned i = 0;
	     rc == 0 && entry == ENTRY_AMONG_ALL && i < PORT_MAX_FLOWS - 2; i++)
		rc = put(map, &flow, 1000 + i, 2000);
	if (rc == 0 && entry != ENTRY_NONE)
		rc = put(map, &flow, PORT_A, PORT_B);
	if (rc == 0 && entry != ENTRY_NONE)
		rc = put(map, &flow, PORT_B, PORT_A);
	return rc;
}

/* ns a run, or -errno. */
static int
run(int fd, const struct packet *packet)
{
	struct __sk_buff context = { .ifindex = if_nametoindex("lo") };
	struct bpf_test_run_opts opts = {
		.sz = sizeof opts,
		.data_in = packet->bytes,
		.data_size_in = (uint32_t)packet->n,
		.ctx_in = &context,
		.ctx_size_in = sizeof context,
		.repeat = REPEAT,
	};
	int rc = bpf_prog_test_run_opts(fd, &opts);

	return rc < 0 ? rc : (int)opts.duration;
}

static int
measure(const struct variant *variant, int nothing_fd)
{
	struct packet packet =
		variant->is_udp ? packet_udp6(0, 1000) : packet_tcp4(0, 1000);
	struct port_translate_bpf *skel = port_translate_bpf__open_and_load();
	int fd = nothing_fd, rc;

	if (!skel)
		return -errno;
	if (!variant->is_udp) {
		/* DF, and the port of the entries. */
		packet_put16(&packet, 20, 0x4000);
		packet_put16(&packet, 34, PORT_A);
	}
	rc = fill(variant->program == 2 ? skel->maps.ports_in : skel->maps.ports_out,
		  &packet, variant->entry);
	if (variant->program == 1)
		fd = bpf_program__fd(skel->progs.antiphase_out);
	else if (variant->program == 2)
		fd = bpf_program__fd(skel->progs.antiphase_in);
	if (rc == 0)
		rc = run(fd, &packet);
	port_translate_bpf__destroy(skel);
	return rc;
}

static int
be_silent(enum libbpf_print_level level, const char *fmt, va_list args)
{
	(void)level;
	(void)fmt;
	(void)args;
	return 0;
}

int
main(void)
{
	int least[N_VARIANTS], nothing_fd;

	libbpf_set_print(be_silent);
	nothing_fd = load_nothing();
	for (size_t i = 0; i < N_VARIANTS; i++)
		least[i] = INT32_MAX;
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < N_VARIANTS; i++) {
			int ns = nothing_fd < 0 ? nothing_fd
						: measure(&variants[i], nothing_fd);

			if (ns < 0) {
				printf("bench_ports: skipped: the kernel loads no BPF "
				       "programs for us: %s\n",
				       strerror(-ns));
				return 0;
			}
			if (ns < least[i])
				least[i] = ns;
		}
	}
	printf("bench_ports: ns a packet; least of %d rounds of %d\n", ROUNDS, REPEAT);
	for (size_t i = 0; i < N_VARIANTS; i++)
		printf("  %-32s %4d, more than nothing: %d\n", variants[i].name,
		       least[i], least[i] - least[0]);
	return 0;
}
