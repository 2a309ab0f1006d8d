/* SPDX-License-Identifier: Apache-2.0 */
/* test_port_translate.c - the programs that translate ports, run by the kernel */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <net/if.h>
#include <stdbool.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/port_translate.h"
#include "bpf/port_translate.skel.h"
#include "lib/base/rng.h"
#include "tests/unit/bpf_packets.h"
#include "tests/unit/test.h"

#define WIRE_PORT 61234

static_assert(sizeof(struct port_flow) == 36, "a key of a map has no padding");

static int
be_silent(enum libbpf_print_level level, const char *fmt, va_list args)
{
	(void)level;
	(void)fmt;
	(void)args;
	return 0;
}

static int
load(void **state)
{
	struct port_translate_bpf *skel;

	libbpf_set_print(be_silent);
	skel = port_translate_bpf__open_and_load();
	if (!skel)
		print_message("SKIP: the kernel loads no BPF programs for us: %s\n",
			      strerror(errno));
	*state = skel;
	return 0;
}

static int
unload(void **state)
{
	port_translate_bpf__destroy(*state);
	return 0;
}

static struct port_translate_bpf *
loaded(void **state)
{
	if (!*state)
		skip();
	return *state;
}

/* ---- Packets --------------------------------------------------------------------- */

/* A TCP packet, with the offsets of its headers. */
struct tcp_packet {
	struct packet packet;
	size_t ip, tcp;
	bool is_ipv6;
};

/* The sum of TCP's pseudo header, header and data: 0xffff if the checksum is right. */
static unsigned
tcp_sum(const struct tcp_packet *p)
{
	const uint8_t *bytes = p->packet.bytes;
	size_t from = p->is_ipv6 ? p->ip + 8 : p->ip + 12;
	uint32_t sum = (uint32_t)(p->packet.n - p->tcp) + 6;

	for (size_t at = from; at < from + (p->is_ipv6 ? 32 : 8); at += 2)
		sum += (uint32_t)(bytes[at] << 8 | bytes[at + 1]);
	for (size_t at = p->tcp; at < p->packet.n; at += 2)
		sum += (uint32_t)(bytes[at] << 8 |
				  (at + 1 < p->packet.n ? bytes[at + 1] : 0));
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static void
set_checksum(struct tcp_packet *p)
{
	packet_put16(&p->packet, p->tcp + 16, 0);
	packet_put16(&p->packet, p->tcp + 16, ~tcp_sum(p) & 0xffff);
}

static struct tcp_packet
make_ipv4(unsigned options, size_t payload)
{
	struct tcp_packet p = { .packet = packet_tcp4(options, payload),
				.ip = 14,
				.tcp = 14 + 20 + options };

	packet_put16(&p.packet, p.ip + 6, 0x4000);
	for (size_t i = 0; i < payload; i++)
		p.packet.bytes[p.tcp + 32 + i] = (uint8_t)(i * 7 + 1);
	set_checksum(&p);
	return p;
}

/* The packet of UDP, with TCP's header and 'payload' bytes behind it. */
static struct tcp_packet
make_ipv6(int extensions, size_t payload)
{
	struct tcp_packet p = { .packet = packet_udp6(extensions, 12 + payload),
				.ip = 14,
				.tcp = 54 + 8 * (size_t)extensions,
				.is_ipv6 = true };
	uint8_t *tcp = p.packet.bytes + p.tcp;

	p.packet.bytes[extensions ? p.tcp - 8 : p.ip + 6] = 6;
	memset(tcp + 4, 5, 16 + payload);
	tcp[12] = 0x50;
	tcp[13] = 0x10;
	set_checksum(&p);
	return p;
}

static void
tag(struct tcp_packet *p, unsigned type)
{
	packet_tag(&p->packet, type);
	p->ip += 4;
	p->tcp += 4;
}

static struct port_flow
flow_of(const struct tcp_packet *p)
{
	const uint8_t *bytes = p->packet.bytes;
	struct port_flow flow = { .source_port = 0 };

	if (p->is_ipv6) {
		memcpy(flow.source, bytes + p->ip + 8, 16);
		memcpy(flow.destination, bytes + p->ip + 24, 16);
	} else {
		memset(flow.source + 10, 0xff, 2);
		memcpy(flow.source + 12, bytes + p->ip + 12, 4);
		memset(flow.destination + 10, 0xff, 2);
		memcpy(flow.destination + 12, bytes + p->ip + 16, 4);
	}
	memcpy(&flow.source_port, bytes + p->tcp, 2);
	memcpy(&flow.destination_port, bytes + p->tcp + 2, 2);
	return flow;
}

/* ---- Running --------------------------------------------------------------------- */

static void
put(struct bpf_map *map, const struct port_flow *flow, unsigned port)
{
	struct port_entry entry = { .port = htons((uint16_t)port) };

	assert_int_equal(bpf_map__update_elem(map, flow, sizeof *flow, &entry,
					      sizeof entry, BPF_ANY),
			 0);
}

/* Runs a program; the packet is then as the program left it. */
static void
run(const struct bpf_program *program, struct tcp_packet *p)
{
	struct __sk_buff context = { .ifindex = if_nametoindex("lo") };
	struct bpf_test_run_opts opts = {
		.sz = sizeof opts,
		.data_in = p->packet.bytes,
		.data_size_in = (uint32_t)p->packet.n,
		.data_out = p->packet.bytes,
		.data_size_out = sizeof p->packet.bytes,
		.ctx_in = &context,
		.ctx_size_in = sizeof context,
		.repeat = 1,
	};

	assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(program), &opts), 0);
	/* Other programs on the interface must still run. */
	assert_int_equal((int)opts.retval, -1);
	assert_int_equal(opts.data_size_out, p->packet.n);
}

static bool
is_same(const struct tcp_packet *a, const struct tcp_packet *b)
{
	return a->packet.n == b->packet.n &&
	       !memcmp(a->packet.bytes, b->packet.bytes, a->packet.n);
}

/* 'after' is 'before' with another source port, and a right checksum. */
static void
check_moved(const struct tcp_packet *before, const struct tcp_packet *after,
	    unsigned port)
{
	struct tcp_packet expected = *before;

	packet_put16(&expected.packet, before->tcp, port);
	memcpy(expected.packet.bytes + before->tcp + 16,
	       after->packet.bytes + after->tcp + 16, 2);
	assert_true(is_same(&expected, after));
	assert_int_equal(tcp_sum(after), 0xffff);
}

/* Out, as on the wire, and in. */
static void
check_both_ways(struct port_translate_bpf *skel, const struct tcp_packet *packet)
{
	struct tcp_packet p = *packet;
	struct port_flow flow = flow_of(packet), wire = flow;

	wire.source_port = htons(WIRE_PORT);
	put(skel->maps.ports_out, &flow, WIRE_PORT);
	put(skel->maps.ports_in, &wire, ntohs(flow.source_port));
	run(skel->progs.antiphase_out, &p);
	check_moved(packet, &p, WIRE_PORT);
	run(skel->progs.antiphase_in, &p);
	assert_true(is_same(packet, &p));
	/* The true port is right on the wire, too. */
	run(skel->progs.antiphase_in, &p);
	assert_true(is_same(packet, &p));
}

static void
check_untouched(const struct bpf_program *program, const struct tcp_packet *packet)
{
	struct tcp_packet p = *packet;

	run(program, &p);
	assert_true(is_same(packet, &p));
}

/* ---- Tests ----------------------------------------------------------------------- */

static void
ports_are_replaced_and_restored(void **state)
{
	struct port_translate_bpf *skel = loaded(state);
	struct tcp_packet packets[] = { make_ipv4(0, 0),    make_ipv4(0, 1),
					make_ipv4(40, 999), make_ipv4(8, 1448),
					make_ipv6(0, 0),    make_ipv6(0, 1001) };

	for (size_t i = 0; i < sizeof packets / sizeof *packets; i++)
		check_both_ways(skel, &packets[i]);
}

static void
tags_do_not_matter(void **state)
{
	struct port_translate_bpf *skel = loaded(state);
	struct tcp_packet four = make_ipv4(0, 100), six = make_ipv6(0, 100);

	tag(&four, 0x8100);
	tag(&six, 0x8100);
	check_both_ways(skel, &four);
	check_both_ways(skel, &six);
	tag(&four, 0x88a8);
	tag(&six, 0x88a8);
	check_both_ways(skel, &four);
	check_both_ways(skel, &six);
}

static void
checksums_are_right_for_random_packets(void **state)
{
	struct port_translate_bpf *skel = loaded(state);
	struct rng rng;

	rng_init(&rng, 5);
	for (int i = 0; i < 1000; i++) {
		size_t payload = rng_below(&rng, 600);
		struct tcp_packet p = rng_below(&rng, 2) ? make_ipv4(0, payload)
							 : make_ipv6(0, payload),
				  before;
		struct port_flow flow;
		unsigned port = 1 + (unsigned)rng_below(&rng, 65535);

		for (size_t at = p.tcp + 20; at < p.packet.n; at++)
			p.packet.bytes[at] = (uint8_t)rng_next(&rng);
		packet_put16(&p.packet, p.tcp, (unsigned)rng_next(&rng) & 0xffff);
		set_checksum(&p);
		flow = flow_of(&p);
		before = p;
		put(skel->maps.ports_out, &flow, port);
		run(skel->progs.antiphase_out, &p);
		check_moved(&before, &p, port);
		assert_int_equal(bpf_map__delete_elem(skel->maps.ports_out, &flow,
						      sizeof flow, 0),
				 0);
	}
}

/* A wrong checksum stays wrong, so that the receiver drops the packet. */
static void
damaged_packets_stay_damaged(void **state)
{
	struct port_translate_bpf *skel = loaded(state);
	struct tcp_packet p = make_ipv4(0, 100);
	struct port_flow flow = flow_of(&p);

	put(skel->maps.ports_in, &flow, WIRE_PORT);
	p.packet.bytes[p.tcp + 40] ^= 1;
	run(skel->progs.antiphase_in, &p);
	assert_int_not_equal(tcp_sum(&p), 0xffff);
}

static void
others_are_untouched(void **state)
{
	struct port_translate_bpf *skel = loaded(state);
	struct tcp_packet p = make_ipv4(0, 100), other;
	struct port_flow flow = flow_of(&p);

	check_untouched(skel->progs.antiphase_out, &p);
	put(skel->maps.ports_out, &flow, WIRE_PORT);
	put(skel->maps.ports_in, &flow, WIRE_PORT);
	/* Another port or address, the opposite direction, and UDP. */
	for (size_t at = p.ip + 12; at < p.ip + 24; at++) {
		other = p;
		other.packet.bytes[at] ^= 1;
		check_untouched(skel->progs.antiphase_out, &other);
		check_untouched(skel->progs.antiphase_in, &other);
	}
	other = p;
	memcpy(other.packet.bytes + p.ip + 12, p.packet.bytes + p.ip + 16, 4);
	memcpy(other.packet.bytes + p.ip + 16, p.packet.bytes + p.ip + 12, 4);
	memcpy(other.packet.bytes + p.tcp, p.packet.bytes + p.tcp + 2, 2);
	memcpy(other.packet.bytes + p.tcp + 2, p.packet.bytes + p.tcp, 2);
	check_untouched(skel->progs.antiphase_out, &other);
	check_untouched(skel->progs.antiphase_in, &other);
	other = p;
	other.packet.bytes[p.ip + 9] = 17;
	check_untouched(skel->progs.antiphase_out, &other);
	check_untouched(skel->progs.antiphase_in, &other);
	/* IPv6 with the mapped form of the same addresses is another flow on no wire. */
	put(skel->maps.ports_out, &flow, PACKET_SPORT);
	check_untouched(skel->progs.antiphase_out, &p);
}

static void
fragments_are_untouched(void **state)
{
	struct port_translate_bpf *skel = loaded(state);
	/* More fragments; a later one; the last one; with DF, which is nonsense. */
	static const unsigned fragments[] = { 0x2000, 0x20b9, 0x00b9, 0x6000 };
	struct tcp_packet p = make_ipv4(0, 100), six = make_ipv6(1, 100);
	struct port_flow flow = flow_of(&p);

	put(skel->maps.ports_out, &flow, WIRE_PORT);
	put(skel->maps.ports_in, &flow, WIRE_PORT);
	for (size_t i = 0; i < sizeof fragments / sizeof *fragments; i++) {
		packet_put16(&p.packet, p.ip + 6, fragments[i]);
		check_untouched(skel->progs.antiphase_out, &p);
		check_untouched(skel->progs.antiphase_in, &p);
	}
	/* What a router may fragment keeps its port, but is restored. */
	packet_put16(&p.packet, p.ip + 6, 0);
	check_untouched(skel->progs.antiphase_out, &p);
	run(skel->progs.antiphase_in, &p);
	assert_int_equal(flow_of(&p).source_port, htons(WIRE_PORT));
	/* Extension headers, of which a fragment's is one. */
	flow = flow_of(&six);
	put(skel->maps.ports_out, &flow, WIRE_PORT);
	put(skel->maps.ports_in, &flow, WIRE_PORT);
	check_untouched(skel->progs.antiphase_out, &six);
	check_untouched(skel->progs.antiphase_in, &six);
	six.packet.bytes[six.ip + 6] = 44;
	memset(six.packet.bytes + 54 + 1, 0, 7);
	check_untouched(skel->progs.antiphase_out, &six);
	check_untouched(skel->progs.antiphase_in, &six);
}

static void
short_packets_are_untouched(void **state)
{
	struct port_translate_bpf *skel = loaded(state);
	struct tcp_packet p = make_ipv4(0, 0);
	struct port_flow flow = flow_of(&p);

	put(skel->maps.ports_out, &flow, WIRE_PORT);
	put(skel->maps.ports_in, &flow, WIRE_PORT);
	/* The kernel refuses packets without room for an IP header. */
	for (p.packet.n = 34; p.packet.n < 54; p.packet.n++) {
		check_untouched(skel->progs.antiphase_out, &p);
		check_untouched(skel->progs.antiphase_in, &p);
	}
}

#define test(name) cmocka_unit_test_setup_teardown(name, load, unload)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		test(ports_are_replaced_and_restored),
		test(tags_do_not_matter),
		test(checksums_are_right_for_random_packets),
		test(damaged_packets_stay_damaged),
		test(others_are_untouched),
		test(fragments_are_untouched),
		test(short_packets_are_untouched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
