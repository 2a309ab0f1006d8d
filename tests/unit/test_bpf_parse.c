/* SPDX-License-Identifier: Apache-2.0 */
/* test_bpf_parse.c - the packet parser of the BPF programs, compiled as plain C */
#include <stdlib.h>
#include <string.h>

#include "bpf/parse.h"
#include "lib/base/alloc.h"
#include "tests/unit/bpf_packets.h"
#include "tests/unit/test.h"

/* Parses from memory that ends with the packet. */
static enum parse_result
parse(const struct packet *packet, size_t n, struct parse_packet *p)
{
	uint8_t *exact = xmemdup(packet->bytes, n ? n : 1, 1);
	enum parse_result result = parse_packet(exact, exact + n, p);

	free(exact);
	return result;
}

static void
tcp_over_ipv4(void **state)
{
	struct packet packet = packet_tcp4(0, 100);
	struct parse_packet p;

	(void)state;
	assert_int_equal(parse(&packet, packet.n, &p), PARSE_OK);
	assert_int_equal(p.ip, PARSE_IPV4);
	assert_int_equal(p.l4, PARSE_TCP);
	assert_int_equal(p.header_bytes, 14 + 20 + 32);
	assert_int_equal(p.seq, PACKET_SEQ);
	assert_int_equal(p.ecn, 0);
	assert_int_equal(p.ports[0], htons(PACKET_SPORT));
	assert_int_equal(p.ports[1], htons(PACKET_DPORT));
}

static void
options_of_ipv4_are_passed_over(void **state)
{
	struct packet packet = packet_tcp4(24, 100);
	struct parse_packet p;

	(void)state;
	assert_int_equal(parse(&packet, packet.n, &p), PARSE_OK);
	assert_int_equal(p.header_bytes, 14 + 20 + 24 + 32);
	assert_int_equal(p.seq, PACKET_SEQ);
}

static void
one_tag_or_two_are_passed_over(void **state)
{
	struct packet packet = packet_tcp4(0, 100);
	struct parse_packet p;

	(void)state;
	packet_tag(&packet, 0x8100);
	assert_int_equal(parse(&packet, packet.n, &p), PARSE_OK);
	assert_int_equal(p.header_bytes, 14 + 4 + 20 + 32);
	assert_int_equal(p.l4, PARSE_TCP);
	packet_tag(&packet, 0x88a8);
	assert_int_equal(parse(&packet, packet.n, &p), PARSE_OK);
	assert_int_equal(p.header_bytes, 14 + 8 + 20 + 32);
	assert_int_equal(p.l4, PARSE_TCP);
	packet_tag(&packet, 0x88a8);
	assert_int_equal(parse(&packet, packet.n, &p), PARSE_OK);
	assert_int_equal(p.ip, PARSE_NO_IP);
}

static void
extension_headers_of_ipv6_are_passed_over(void **state)
{
	struct parse_packet p;

	(void)state;
	for (int n = 0; n <= PARSE_MAX_EXTENSIONS; n++) {
		struct packet packet = packet_udp6(n, 40);

		assert_int_equal(parse(&packet, packet.n, &p), PARSE_OK);
		assert_int_equal(p.ip, PARSE_IPV6);
		assert_int_equal(p.l4, PARSE_UDP);
		assert_int_equal(p.header_bytes, 14 + 40 + 8 * n + 8);
		assert_int_equal(p.ports[1], htons(PACKET_DPORT));
	}
}

static void
only_the_first_fragment_has_ports(void **state)
{
	struct packet packet = packet_tcp4(0, 100);
	struct parse_packet p;

	(void)state;
	packet.bytes[14 + 6] = 0x20; /* More fragments, offset 0. */
	assert_int_equal(parse(&packet, packet.n, &p), PARSE_OK);
	assert_int_equal(p.l4, PARSE_TCP);
	packet.bytes[14 + 7] = 0x10;
	assert_int_equal(parse(&packet, packet.n, &p), PARSE_OK);
	assert_int_equal(p.l4, PARSE_OTHER_L4);
	assert_int_equal(p.ip, PARSE_IPV4);
}

/* parse_ecn() agrees with parse_packet(), or finds nothing. */
static void
marks_alone_are_those_of_the_whole(void **state)
{
	struct packet packets[] = { packet_tcp4(0, 10), packet_tcp4(8, 10),
				    packet_udp6(0, 10), packet_udp6(2, 10) };
	struct parse_packet p;
	uint8_t ecn;

	(void)state;
	for (size_t i = 0; i < sizeof packets / sizeof *packets; i++)
		for (unsigned tos = 0; tos < 256; tos++) {
			struct packet *packet = &packets[i];

			packet->bytes[15] = (uint8_t)tos;
			assert_int_equal(parse(packet, packet->n, &p), PARSE_OK);
			assert_int_equal(parse_ecn(packet->bytes,
						   packet->bytes + packet->n, &ecn),
					 PARSE_OK);
			assert_int_equal(ecn, p.ecn);
		}
	/* Not at the usual offset, or truncated. */
	assert_int_equal(parse_ecn(packets[0].bytes, packets[0].bytes + 53, &ecn),
			 PARSE_SHORT);
	packet_tag(&packets[0], 0x8100);
	assert_int_equal(
		parse_ecn(packets[0].bytes, packets[0].bytes + packets[0].n, &ecn),
		PARSE_SHORT);
}

static void
congestion_marks_are_seen(void **state)
{
	struct packet four = packet_tcp4(0, 10), six = packet_udp6(0, 10);
	struct parse_packet p;

	(void)state;
	four.bytes[14 + 1] = 0x53;
	assert_int_equal(parse(&four, four.n, &p), PARSE_OK);
	assert_int_equal(p.ecn, 3);
	six.bytes[14 + 1] = 0x30;
	assert_int_equal(parse(&six, six.n, &p), PARSE_OK);
	assert_int_equal(p.ecn, 3);
	six.bytes[14 + 1] = 0x10;
	assert_int_equal(parse(&six, six.n, &p), PARSE_OK);
	assert_int_equal(p.ecn, 1);
}

static void
a_packet_cut_anywhere_is_short_and_not_overread(void **state)
{
	struct packet packets[] = { packet_tcp4(0, 0), packet_tcp4(40, 0),
				    packet_udp6(0, 0), packet_udp6(3, 0) };
	struct parse_packet p;

	(void)state;
	packet_tag(&packets[1], 0x8100);
	for (size_t i = 0; i < 4; i++)
		for (size_t n = 0; n < packets[i].n; n++) {
			/* Without its options the TCP header is complete enough. */
			bool is_whole = i < 2 && n + 12 >= packets[i].n;

			assert_int_equal(parse(&packets[i], n, &p),
					 is_whole ? PARSE_OK : PARSE_SHORT);
		}
}

static void
what_is_no_ip_is_no_ip(void **state)
{
	struct packet packet = packet_tcp4(0, 10);
	struct parse_packet p;

	(void)state;
	packet.bytes[14] = 0x65; /* The version contradicts the type. */
	assert_int_equal(parse(&packet, packet.n, &p), PARSE_OK);
	assert_int_equal(p.ip, PARSE_NO_IP);
	packet.bytes[12] = 0x08;
	packet.bytes[13] = 0x06;
	assert_int_equal(parse(&packet, packet.n, &p), PARSE_OK);
	assert_int_equal(p.ip, PARSE_NO_IP);
	assert_int_equal(p.l4, PARSE_OTHER_L4);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tcp_over_ipv4),
		cmocka_unit_test(options_of_ipv4_are_passed_over),
		cmocka_unit_test(one_tag_or_two_are_passed_over),
		cmocka_unit_test(extension_headers_of_ipv6_are_passed_over),
		cmocka_unit_test(only_the_first_fragment_has_ports),
		cmocka_unit_test(congestion_marks_are_seen),
		cmocka_unit_test(marks_alone_are_those_of_the_whole),
		cmocka_unit_test(a_packet_cut_anywhere_is_short_and_not_overread),
		cmocka_unit_test(what_is_no_ip_is_no_ip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
