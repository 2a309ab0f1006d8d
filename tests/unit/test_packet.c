/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "collector/sources/packets/job_rules.h"
#include "collector/sources/packets/packet.h"
#include "lib/base/err.h"
#include "tests/unit/packets.h"
#include "tests/unit/test.h"

#define A 0x0a000001 /* 10.0.0.1 */
#define B 0x0a000002

static struct packet
parse(enum packet_link link, const struct frame *f)
{
	struct packet packet;

	assert_true(packet_parse(link, frame_bytes(f), frame_n(f), (uint32_t)frame_n(f),
				 &packet));
	return packet;
}

static void
assert_address(const struct packet_address *address, const char *want)
{
	char text[PACKET_ADDRESS_TEXT];

	packet_address_text(address, text, sizeof text);
	assert_string_equal(text, want);
}

static void
tcp_over_ethernet_is_understood(void **state)
{
	struct frame f;
	struct packet p;

	(void)state;
	frame_begin(&f, 100);
	frame_tcp(&f, 5001, 443, 77);
	frame_ipv4(&f, 6, A, B, 3);
	frame_ethernet(&f, 0x0800);
	p = parse(PACKET_ETHERNET, &f);
	assert_true(p.is_ip && p.is_tcp && p.has_ports && p.is_ce);
	assert_int_equal(p.wire_bytes, 154);
	assert_address(&p.source, "10.0.0.1");
	assert_address(&p.destination, "10.0.0.2");
	assert_int_equal(p.source_port, 5001);
	assert_int_equal(p.destination_port, 443);
	assert_int_equal(p.sequence, 77);
	assert_int_equal(p.payload_bytes, 100);
}

static void
the_length_on_the_wire_counts_not_what_was_kept(void **state)
{
	struct frame f;
	struct packet p;

	(void)state;
	frame_begin(&f, 0);
	frame_tcp(&f, 1, 2, 3);
	frame_ipv4(&f, 6, A, B, 0);
	put16(f.room + f.at + 2, 1500);
	frame_ethernet(&f, 0x0800);
	assert_true(
		packet_parse(PACKET_ETHERNET, frame_bytes(&f), frame_n(&f), 1514, &p));
	assert_int_equal(p.wire_bytes, 1514);
	assert_int_equal(p.payload_bytes, 1460);
	/* A large segment that was captured before segmentation may have length 0. */
	put16(f.room + f.at + 16, 0);
	assert_true(
		packet_parse(PACKET_ETHERNET, frame_bytes(&f), frame_n(&f), 42054, &p));
	assert_int_equal(p.payload_bytes, 42000);
}

static void
padding_of_short_frames_is_no_data(void **state)
{
	struct frame f;
	struct packet p;

	(void)state;
	frame_begin(&f, 0);
	frame_tcp(&f, 1, 2, 3);
	frame_ipv4(&f, 6, A, B, 0);
	frame_ethernet(&f, 0x0800);
	assert_true(
		packet_parse(PACKET_ETHERNET, frame_bytes(&f), frame_n(&f), 60, &p));
	assert_int_equal(p.payload_bytes, 0);
	assert_int_equal(p.wire_bytes, 60);
}

static void
vlan_tags_are_looked_through(void **state)
{
	struct frame f;
	struct packet p;

	(void)state;
	frame_begin(&f, 10);
	frame_udp(&f, 1, 2);
	frame_ipv4(&f, 17, A, B, 0);
	frame_vlan(&f, 0x0800);
	frame_vlan(&f, 0x8100);
	frame_ethernet(&f, 0x88a8);
	p = parse(PACKET_ETHERNET, &f);
	assert_true(p.has_ports);
	assert_int_equal(p.wire_bytes, 14 + 8 + 20 + 8 + 10);
	assert_address(&p.source, "10.0.0.1");
}

static void
ipv6_with_extension_headers_is_understood(void **state)
{
	struct frame f;
	struct packet p;
	uint8_t *hop;

	(void)state;
	frame_begin(&f, 10);
	frame_tcp(&f, 7, 8, 9);
	hop = frame_front(&f, 16);
	hop[0] = 6;
	hop[1] = 1;
	frame_ipv6(&f, 0, 1, 2);
	f.room[f.at + 1] = 3 << 4; /* CE. */
	frame_ethernet(&f, 0x86dd);
	p = parse(PACKET_ETHERNET, &f);
	assert_true(p.is_tcp && p.is_ce);
	assert_int_equal(p.payload_bytes, 10);
	assert_address(&p.source, "fd00::1");
	assert_address(&p.destination, "fd00::2");
}

static void
later_fragments_have_no_ports(void **state)
{
	struct frame f;
	struct packet p;

	(void)state;
	frame_begin(&f, 100);
	frame_ipv4(&f, 17, A, B, 0);
	put16(f.room + f.at + 6, 185);
	frame_ethernet(&f, 0x0800);
	p = parse(PACKET_ETHERNET, &f);
	assert_true(p.is_ip);
	assert_false(p.has_ports);
}

static void
cooked_captures_tell_the_way(void **state)
{
	struct frame f;
	struct packet p;
	uint8_t *header;

	(void)state;
	frame_begin(&f, 10);
	frame_udp(&f, 1, 2);
	frame_ipv4(&f, 17, A, B, 0);
	header = frame_front(&f, 16);
	put16(header, 4);
	put16(header + 14, 0x0800);
	p = parse(PACKET_SLL, &f);
	assert_int_equal(p.way, PACKET_WAY_OUT);
	assert_int_equal(p.wire_bytes, 14 + 20 + 8 + 10);
	f.at += 16;
	header = frame_front(&f, 20);
	memset(header, 0, 20);
	put16(header, 0x0800);
	p = parse(PACKET_SLL2, &f);
	assert_int_equal(p.way, PACKET_WAY_IN);
	assert_int_equal(p.wire_bytes, 14 + 20 + 8 + 10);
	assert_true(p.has_ports);
}

static void
bare_ip_is_told_by_its_version(void **state)
{
	struct frame f;
	struct packet p;

	(void)state;
	frame_begin(&f, 10);
	frame_udp(&f, 1, 2);
	frame_ipv4(&f, 17, A, B, 0);
	p = parse(PACKET_IP, &f);
	assert_true(p.is_ip);
	assert_int_equal(p.wire_bytes, 14 + 20 + 8 + 10);
	frame_begin(&f, 10);
	frame_udp(&f, 1, 2);
	frame_ipv6(&f, 17, 1, 2);
	p = parse(PACKET_IP, &f);
	assert_true(p.is_ip && p.has_ports);
}

static void
roce_is_told_with_its_queue_pair(void **state)
{
	struct frame f;
	struct packet p;

	(void)state;
	frame_begin(&f, 60);
	put32(f.room + f.at + 4, 0x00abcdef);
	frame_udp(&f, 50000, 4791);
	frame_ipv4(&f, 17, A, B, 2);
	frame_ethernet(&f, 0x0800);
	p = parse(PACKET_ETHERNET, &f);
	assert_true(p.is_roce);
	assert_int_equal(p.queue_pair, 0xabcdef);
	assert_false(p.is_ce);
}

/* Ethernet, IP, GRE and ERSPAN around a frame of 'inner' bytes. */
static void
wrap_erspan(struct frame *f, bool is_type_3)
{
	uint8_t *gre;

	frame_front(f, is_type_3 ? 12 : 8);
	gre = frame_front(f, 8);
	put16(gre, 0x1000); /* With a sequence number. */
	put16(gre + 2, is_type_3 ? 0x22eb : 0x88be);
	frame_ipv4(f, 47, 0xc0a80001, 0xc0a80002, 0);
	frame_ethernet(f, 0x0800);
}

static void
a_switch_s_remote_mirror_counts_as_what_it_mirrors(void **state)
{
	(void)state;
	for (int type = 2; type <= 3; type++) {
		struct frame f;
		struct packet p;

		frame_begin(&f, 100);
		frame_tcp(&f, 5001, 443, 77);
		frame_ipv4(&f, 6, A, B, 0);
		frame_ethernet(&f, 0x0800);
		wrap_erspan(&f, type == 3);
		p = parse(PACKET_ETHERNET, &f);
		assert_int_equal(p.wire_bytes, 154);
		assert_address(&p.source, "10.0.0.1");
		assert_true(p.is_tcp);
		/* A second encapsulation is not parsed. */
		wrap_erspan(&f, type == 3);
		p = parse(PACKET_ETHERNET, &f);
		assert_address(&p.source, "192.168.0.1");
		assert_false(p.has_ports);
	}
}

static void
vxlan_belongs_to_the_load_but_its_ends_are_inside(void **state)
{
	struct frame f;
	struct packet p;

	(void)state;
	frame_begin(&f, 100);
	frame_tcp(&f, 5001, 443, 77);
	frame_ipv4(&f, 6, A, B, 0);
	frame_ethernet(&f, 0x0800);
	frame_front(&f, 8)[0] = 8;
	frame_udp(&f, 40000, 4789);
	frame_ipv4(&f, 17, 0xc0a80001, 0xc0a80002, 0);
	frame_ethernet(&f, 0x0800);
	p = parse(PACKET_ETHERNET, &f);
	assert_int_equal(p.wire_bytes, 154 + 50);
	assert_address(&p.destination, "10.0.0.2");
	assert_int_equal(p.destination_port, 443);
}

static void
a_packet_cut_anywhere_is_harmless(void **state)
{
	struct frame f;

	(void)state;
	frame_begin(&f, 20);
	frame_tcp(&f, 5001, 443, 77);
	frame_ipv4(&f, 6, A, B, 0);
	frame_ethernet(&f, 0x0800);
	wrap_erspan(&f, true);
	for (size_t n = 0; n < frame_n(&f); n++)
		for (int link = PACKET_ETHERNET; link <= PACKET_IP; link++) {
			struct packet p;

			packet_parse((enum packet_link)link, frame_bytes(&f), n, 1500,
				     &p);
			assert_true(p.wire_bytes <= 1514);
			assert_true(p.payload_bytes <= 1500);
		}
}

static void
networks_hold_the_addresses_in_them(void **state)
{
	struct packet_address address, network;
	unsigned bits;

	(void)state;
	assert_int_equal(packet_parse_address("10.1.2.3", &address, NULL), 0);
	assert_int_equal(packet_parse_address("10.1.0.0/16", &network, &bits), 0);
	assert_int_equal(bits, 112);
	assert_true(packet_address_in(&address, &network, bits));
	assert_int_equal(packet_parse_address("10.1.2.2/31", &network, &bits), 0);
	assert_true(packet_address_in(&address, &network, bits));
	assert_int_equal(packet_parse_address("10.1.2.4/31", &network, &bits), 0);
	assert_false(packet_address_in(&address, &network, bits));
	assert_int_equal(packet_parse_address("0.0.0.0/0", &network, &bits), 0);
	assert_true(packet_address_in(&address, &network, bits));
	assert_int_equal(packet_parse_address("fd00::/8", &network, &bits), 0);
	assert_int_equal(bits, 8);
	assert_false(packet_address_in(&address, &network, bits));
	assert_int_equal(packet_parse_address("10.0.0.0/33", &network, &bits), -EINVAL);
	assert_int_equal(packet_parse_address("10.0.0", &network, &bits), -EINVAL);
	assert_int_equal(packet_parse_address("10.0.0.1/24", &network, NULL), -EINVAL);
	assert_int_equal(packet_parse_address("", &network, &bits), -EINVAL);
}

/* Whether a rule matches a TCP packet from port 5001 of 'from' to port 443 of 'to'. */
static bool
takes(const char *rule, uint32_t from, uint32_t to)
{
	struct job_rules *rules;
	struct packet packet;
	const char *job;
	struct frame f;

	assert_int_equal(job_rules_new(&rule, 1, &rules, NULL), 0);
	frame_begin(&f, 100);
	frame_tcp(&f, 5001, 443, 77);
	frame_ipv4(&f, 6, from, to, 0);
	frame_ethernet(&f, 0x0800);
	packet = parse(PACKET_ETHERNET, &f);
	job = job_rules_match(rules, &packet);
	if (job)
		assert_string_equal(job, "41");
	job_rules_free(rules);
	return job != NULL;
}

static void
rules_match_in_both_directions(void **state)
{
	(void)state;
	assert_true(takes("41=10.0.0.1,10.0.0.2", A, B));
	assert_true(takes("41=10.0.0.1,10.0.0.2", B, A));
	assert_false(takes("41=10.0.0.1,10.0.0.3", A, B));
	assert_false(takes("41=10.0.0.1,10.0.0.1", A, B));
	assert_true(takes("41=10.0.0.2", A, B));
	assert_true(takes("41=10.0.0.0/30", A, B));
	assert_false(takes("41=10.0.1.0/30", A, B));
	assert_true(takes("41=:443", A, B));
	assert_true(takes("41=:5000-5002", A, B));
	assert_false(takes("41=:5002-5003", A, B));
	assert_true(takes("41=10.0.0.1,10.0.0.2:443", A, B));
	assert_false(takes("41=10.0.0.1,10.0.0.2:444", A, B));
	assert_true(takes("41=[10.0.0.1]:443", A, B));
	assert_false(takes("41=[fd00::/16]:443", A, B));
}

static void
the_first_rule_that_matches_counts(void **state)
{
	const char *texts[] = { "a=10.0.0.9", "b=:443", "c=10.0.0.1" };
	struct job_rules *rules;
	struct packet packet;
	struct frame f;

	(void)state;
	assert_int_equal(job_rules_new(texts, 3, &rules, NULL), 0);
	frame_begin(&f, 0);
	frame_tcp(&f, 5001, 443, 77);
	frame_ipv4(&f, 6, A, B, 0);
	frame_ethernet(&f, 0x0800);
	packet = parse(PACKET_ETHERNET, &f);
	assert_string_equal(job_rules_match(rules, &packet), "b");
	job_rules_free(rules);
}

static void
rules_that_are_not_clear_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"41",
		"=10.0.0.1",
		"41=",
		"41=x",
		"41=10.0.0.1,",
		"41=10.0.0.1,:80",
		"41=1.1.1.1,2.2.2.2,3.3.3.3",
		"41=:",
		"41=:x",
		"41=:70000",
		"41=:9-8",
		"41=:1-",
		"41=[fd00::1",
		"41=fd00::1",
		"41=10.0.0.1 ",
		"41=[10.0.0.1]x",
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct job_rules *rules;
		struct err err = { 0 };

		if (job_rules_new(&bad[i], 1, &rules, &err) != -EINVAL)
			fail_msg("'%s' was taken", bad[i]);
		assert_non_null(strstr(err.text, "expected"));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tcp_over_ethernet_is_understood),
		cmocka_unit_test(the_length_on_the_wire_counts_not_what_was_kept),
		cmocka_unit_test(padding_of_short_frames_is_no_data),
		cmocka_unit_test(vlan_tags_are_looked_through),
		cmocka_unit_test(ipv6_with_extension_headers_is_understood),
		cmocka_unit_test(later_fragments_have_no_ports),
		cmocka_unit_test(cooked_captures_tell_the_way),
		cmocka_unit_test(bare_ip_is_told_by_its_version),
		cmocka_unit_test(roce_is_told_with_its_queue_pair),
		cmocka_unit_test(a_switch_s_remote_mirror_counts_as_what_it_mirrors),
		cmocka_unit_test(vxlan_belongs_to_the_load_but_its_ends_are_inside),
		cmocka_unit_test(a_packet_cut_anywhere_is_harmless),
		cmocka_unit_test(networks_hold_the_addresses_in_them),
		cmocka_unit_test(rules_match_in_both_directions),
		cmocka_unit_test(the_first_rule_that_matches_counts),
		cmocka_unit_test(rules_that_are_not_clear_are_refused),
	};

	return cmocka_run_group_tests_name("packet", tests, NULL, NULL);
}
