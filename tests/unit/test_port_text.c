/* SPDX-License-Identifier: Apache-2.0 */
/* test_port_text.c - messages about wire ports as JSON */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "lib/wire/port_text.h"
#include "tests/unit/test.h"

#define FOUR                                                                          \
	"{\"schema\":\"antiphase.port/1\",\"verb\":\"prepare\",\"job\":\"4711\","     \
	"\"source\":\"10.0.0.1\",\"source_port\":41000,\"destination\":\"10.0.1.1\"," \
	"\"destination_port\":5001,\"port\":61007,\"number\":1763650000000000}"

static int
parse(const char *text, struct port_message *ret_message, struct err *err)
{
	*err = (struct err){ 0 };
	return port_text_parse(text, strlen(text), ret_message, err);
}

static void
a_message_has_a_flow_and_a_port(void **state)
{
	struct port_message message;
	char text[PORT_TEXT_FLOW_BYTES], topic[PORT_TOPIC_BYTES];
	struct err err;

	(void)state;
	assert_int_equal(parse(FOUR, &message, &err), 0);
	assert_int_equal(message.verb, PORT_PREPARE);
	assert_string_equal(message.job, "4711");
	assert_int_equal(message.port, htons(61007));
	assert_true(message.number == 1763650000000000);
	assert_string_equal(port_text_flow(&message.flow, text),
			    "10.0.0.1:41000 > 10.0.1.1:5001");
	assert_memory_equal(message.flow.source,
			    "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\1", 16);
	/* To the receiver; its answers, and orders, to the sender. */
	port_text_topic(&message, topic);
	assert_string_equal(topic, "port/10.0.1.1/");
	message.verb = PORT_READY;
	port_text_topic(&message, topic);
	assert_string_equal(topic, "port/10.0.0.1/");
	message.verb = PORT_MOVE;
	port_text_topic(&message, topic);
	assert_string_equal(topic, "port/10.0.0.1/");
}

static void
random_messages_come_back(void **state)
{
	static const char *const jobs[] = { "", "7", "pod-6e1a", "a \"quoted\" \\ name",
					    "J\xc3\xbcrgen" };
	struct rng rng;

	(void)state;
	rng_init(&rng, 3);
	for (int i = 0; i < 1000; i++) {
		struct port_message message = { .verb = (enum port_verb)rng_below(&rng,
										  6) },
				    read;
		bool is_four = rng_below(&rng, 2);
		struct err err;
		char *text;

		for (size_t k = 0; k < 16; k++) {
			message.flow.source[k] = (uint8_t)rng_next(&rng);
			message.flow.destination[k] = (uint8_t)rng_next(&rng);
		}
		if (is_four) {
			memcpy(message.flow.source, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
			memcpy(message.flow.destination, "\0\0\0\0\0\0\0\0\0\0\xff\xff",
			       12);
		}
		message.flow.source_port =
			htons((uint16_t)(1 + rng_below(&rng, 65535)));
		message.flow.destination_port =
			htons((uint16_t)(1 + rng_below(&rng, 65535)));
		message.port = htons((uint16_t)(1 + rng_below(&rng, 65535)));
		message.number = rng_next(&rng) >> 11;
		strcpy(message.job, jobs[rng_below(&rng, 5)]);
		text = port_text_write(&message);
		assert_int_equal(parse(text, &read, &err), 0);
		assert_memory_equal(&read.flow, &message.flow, sizeof read.flow);
		assert_int_equal(read.verb, message.verb);
		assert_int_equal(read.port, message.port);
		assert_true(read.number == message.number);
		assert_string_equal(read.job, message.job);
		free(text);
	}
}

/* From a later version, which may add keys. */
static void
unknown_keys_are_skipped(void **state)
{
	struct port_message message;
	struct err err;
	char text[512];

	(void)state;
	snprintf(text, sizeof text, "{\"later\":{\"more\":[1,null]},%s", &FOUR[1]);
	assert_int_equal(parse(text, &message, &err), 0);
	assert_string_equal(message.job, "4711");
}

/* Replaces the first 'from' by 'to' in a good message. */
static void
check_refused(const char *from, const char *to)
{
	struct port_message message = { .number = 77 };
	char text[512];
	const char *at = strstr(FOUR, from);
	struct err err;

	assert_non_null(at);
	snprintf(text, sizeof text, "%.*s%s%s", (int)(at - FOUR), FOUR, to,
		 at + strlen(from));
	assert_int_equal(parse(text, &message, &err), -EINVAL);
	assert_true(*err.text);
	assert_int_equal(message.number, 77);
}

static void
other_texts_are_refused(void **state)
{
	(void)state;
	check_refused("antiphase.port/1", "antiphase.port/2");
	check_refused("antiphase.port/1", "antiphase.orders/1");
	check_refused("prepare", "steal");
	check_refused("\"4711\"", "4711");
	check_refused("4711", "47\\n11");
	check_refused("10.0.0.1", "10.0.0");
	check_refused("10.0.0.1", "fd00::1");
	check_refused("10.0.1.1", "fd00::1");
	/* An IPv4 address has one form. */
	check_refused("10.0.0.1", "::ffff:10.0.0.1");
	check_refused("41000", "0");
	check_refused("41000", "65536");
	check_refused("61007", "61007.5");
	check_refused("5001", "-1");
	check_refused("1763650000000000", "9007199254740992");
	check_refused("1763650000000000", "-1");
	check_refused("\"port\":61007,", "");
	check_refused("{", "");
	check_refused("}", "");
}

static void
ends_are_addresses_with_ports(void **state)
{
	static const char *const bad[] = { "",
					   "10.0.0.1",
					   "10.0.0.1:",
					   "10.0.0.1:0",
					   "10.0.0.1:65536",
					   "10.0.0.1:1x",
					   "10.0.0.1: 1",
					   "10.0.0.1:-1",
					   "fd00::1:80",
					   "[10.0.0.1]:80",
					   "[fd00::1]",
					   "[fd00::1:80",
					   "[::ffff:10.0.0.1]:80",
					   "]:1",
					   ":1",
					   "[]:1" };
	struct port_flow flow = { .source_port = 7 };
	char text[PORT_TEXT_FLOW_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(port_text_end(bad[i], flow.source, &flow.source_port),
				 -EINVAL);
	assert_int_equal(flow.source_port, 7);
	assert_int_equal(
		port_text_end("[fd00::1]:41000", flow.source, &flow.source_port), 0);
	assert_int_equal(port_text_end("[fd00::2]:65535", flow.destination,
				       &flow.destination_port),
			 0);
	assert_string_equal(port_text_flow(&flow, text),
			    "[fd00::1]:41000 > [fd00::2]:65535");
	assert_int_equal(port_text_end("10.0.0.1:1", flow.source, &flow.source_port),
			 0);
	assert_int_equal(
		port_text_end("10.0.0.2:80", flow.destination, &flow.destination_port),
		0);
	assert_string_equal(port_text_flow(&flow, text), "10.0.0.1:1 > 10.0.0.2:80");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_has_a_flow_and_a_port),
		cmocka_unit_test(random_messages_come_back),
		cmocka_unit_test(other_texts_are_refused),
		cmocka_unit_test(ends_are_addresses_with_ports),
		cmocka_unit_test(unknown_keys_are_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
