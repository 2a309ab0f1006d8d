/* SPDX-License-Identifier: Apache-2.0 */
/* test_probe_text.c - orders to probe paths, and answers, as JSON */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "lib/wire/probe_text.h"
#include "tests/unit/test.h"

#define ENDS                                                                 \
	"\"number\":7,\"source\":\"10.0.0.1\",\"destination\":\"10.0.1.1\"," \
	"\"destination_port\":5001,\"hops\":[2,3],"
#define ORDER                                                        \
	"{\"schema\":\"antiphase.probe/1\",\"kind\":\"order\"," ENDS \
	"\"ports\":[61000,61001]}"
#define ANSWER                                                                \
	"{\"schema\":\"antiphase.probe/1\",\"kind\":\"answer\"," ENDS         \
	"\"ports\":[{\"port\":61000,\"state\":\"found\",\"addresses\":["      \
	"\"10.79.0.1\",\"10.79.0.2\"]},{\"port\":61001,\"state\":\"silent\"," \
	"\"addresses\":[\"10.79.1.1\"]}]}"

static int
parse(const char *text, struct probe_message *ret_message, struct err *err)
{
	*err = (struct err){ 0 };
	return probe_text_parse(text, strlen(text), ret_message, err);
}

static void
orders_and_answers_are_read(void **state)
{
	struct probe_message message;
	char topic[PROBE_TOPIC_BYTES];
	struct err err;

	(void)state;
	assert_int_equal(parse(ORDER, &message, &err), 0);
	assert_false(message.is_answer);
	assert_int_equal(message.number, 7);
	assert_int_equal(message.destination_port, htons(5001));
	assert_int_equal(message.n_hops, 2);
	assert_int_equal(message.hops[1], 3);
	assert_int_equal(message.n_ports, 2);
	assert_int_equal(message.ports[1].port, htons(61001));
	assert_int_equal(message.ports[1].state, PROBE_ASKED);
	probe_text_topic_of(message.source, topic);
	assert_string_equal(topic, "probe/10.0.0.1/");
	assert_int_equal(parse(ANSWER, &message, &err), 0);
	assert_true(message.is_answer);
	assert_int_equal(message.ports[0].state, PROBE_FOUND);
	assert_int_equal(message.ports[0].n_addresses, 2);
	assert_int_equal(message.ports[0].addresses[1][15], 2);
	assert_int_equal(message.ports[1].state, PROBE_SILENT);
	assert_int_equal(message.ports[1].n_addresses, 1);
}

/* From a later version, which may add keys. */
static void
unknown_keys_are_skipped(void **state)
{
	struct probe_message message;
	struct err err;
	char text[512];

	(void)state;
	snprintf(text, sizeof text, "{\"later\":{\"more\":[1,null]},%s", &ORDER[1]);
	assert_int_equal(parse(text, &message, &err), 0);
	assert_int_equal(message.number, 7);
}

/* Replaces the first 'from' of 'good' by 'to'. */
static void
check_refused(const char *good, const char *from, const char *to)
{
	struct probe_message message = { .number = 99 };
	const char *at = strstr(good, from);
	char text[1024];
	struct err err;

	assert_non_null(at);
	snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, to,
		 at + strlen(from));
	if (parse(text, &message, &err) != -EINVAL)
		fail_msg("accepted: %s", text);
	assert_true(*err.text);
	assert_int_equal(message.number, 99);
}

static void
other_texts_are_refused(void **state)
{
	(void)state;
	check_refused(ORDER, "probe/1", "probe/2");
	check_refused(ORDER, "order", "wish");
	check_refused(ORDER, "\"order\"", "3");
	check_refused(ORDER, "\"number\":7", "\"number\":-1");
	check_refused(ORDER, "\"number\":7", "\"number\":9007199254740992");
	check_refused(ORDER, "10.0.0.1", "10.0.0");
	check_refused(ORDER, "10.0.1.1", "fd00::1");
	check_refused(ORDER, "5001", "0");
	check_refused(ORDER, "5001", "65536");
	check_refused(ORDER, "[2,3]", "[]");
	check_refused(ORDER, "[2,3]", "[3,2]");
	check_refused(ORDER, "[2,3]", "[2,2]");
	check_refused(ORDER, "[2,3]", "[0]");
	check_refused(ORDER, "[2,3]", "[17]");
	check_refused(ORDER, "[2,3]", "[1,2,3,4,5,6,7,8,9]");
	check_refused(ORDER, "[2,3]", "[2.5]");
	check_refused(ORDER, "[2,3]", "[\"2\"]");
	check_refused(ORDER, "[2,3]", "2");
	check_refused(ORDER, "[61000,61001]", "[]");
	check_refused(ORDER, "[61000,61001]", "[61000,61000]");
	check_refused(ORDER, "[61000,61001]", "[0]");
	check_refused(ORDER, "[61000,61001]", "[65536]");
	check_refused(ORDER, "[61000,61001]", "[{}]");
	check_refused(ANSWER, "\"found\"", "\"\"");
	check_refused(ANSWER, "\"found\"", "\"silent\"");
	check_refused(ANSWER, "\"silent\"", "\"found\"");
	check_refused(ANSWER, "\"silent\"", "\"lost\"");
	check_refused(ANSWER, "10.79.0.2", "10.79.0");
	check_refused(ANSWER, "\"10.79.0.2\"", "\"10.79.0.2\",\"10.79.0.3\"");
	check_refused(ANSWER, "\"10.79.0.2\"", "7");
	check_refused(ANSWER, "61001", "61000");
	check_refused(ANSWER, "{\"port\":61000", "61000,{\"port\":61000");
	check_refused(ANSWER, "answer", "order");
	check_refused(ORDER, "order", "answer");
}

static void
too_many_ports_are_refused(void **state)
{
	struct probe_message message = { .n_hops = 1, .hops = { 2 } }, back;
	char *text, more[4096];

	(void)state;
	message.source[15] = message.destination[15] = 1;
	message.destination_port = htons(1);
	for (unsigned i = 0; i < PROBE_MAX_PORTS; i++)
		message.ports[message.n_ports++].port = htons((uint16_t)(1000 + i));
	text = probe_text_write(&message);
	assert_int_equal(probe_text_parse(text, strlen(text), &back, NULL), 0);
	assert_int_equal(back.n_ports, PROBE_MAX_PORTS);
	snprintf(more, sizeof more, "%.*s,999]}", (int)(strrchr(text, ']') - text),
		 text);
	assert_int_equal(probe_text_parse(more, strlen(more), &back, NULL), -EINVAL);
	free(text);
}

static void
fill_address(struct rng *rng, bool is_four, uint8_t address[16])
{
	for (size_t i = 0; i < 16; i++)
		address[i] = (uint8_t)rng_next(rng);
	address[0] = 0xfd;
	if (is_four) {
		memset(address, 0, 10);
		memset(address + 10, 0xff, 2);
	}
}

static void
random_messages_come_back(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 3);
	for (int round = 0; round < 500; round++) {
		struct probe_message message = { .n_hops = 1 + rng_below(&rng, 8) };
		struct probe_message back;
		bool is_four = rng_below(&rng, 2);
		char *text;

		message.is_answer = rng_below(&rng, 2);
		message.number = rng_next(&rng) >> 11;
		fill_address(&rng, is_four, message.source);
		fill_address(&rng, is_four, message.destination);
		message.destination_port =
			htons((uint16_t)(1 + rng_below(&rng, 65535)));
		for (size_t i = 0; i < message.n_hops; i++)
			message.hops[i] = (uint8_t)(1 + 2 * i + rng_below(&rng, 2));
		message.n_ports = 1 + rng_below(&rng, PROBE_MAX_PORTS);
		for (size_t i = 0; i < message.n_ports; i++) {
			struct probe_port *port = &message.ports[i];

			port->port = htons((uint16_t)(61000 + i));
			if (!message.is_answer)
				continue;
			port->state = (enum probe_state)(1 + rng_below(&rng, 4));
			port->n_addresses =
				(uint8_t)(port->state == PROBE_FOUND
						  ? message.n_hops
						  : rng_below(&rng, message.n_hops));
			for (size_t k = 0; k < port->n_addresses; k++)
				fill_address(&rng, is_four, port->addresses[k]);
		}
		text = probe_text_write(&message);
		assert_int_equal(probe_text_parse(text, strlen(text), &back, NULL), 0);
		free(text);
		assert_int_equal(back.is_answer, message.is_answer);
		assert_true(back.number == message.number);
		assert_memory_equal(back.source, message.source, 16);
		assert_memory_equal(back.destination, message.destination, 16);
		assert_memory_equal(back.hops, message.hops, sizeof back.hops);
		assert_int_equal(back.n_ports, message.n_ports);
		for (size_t i = 0; i < message.n_ports; i++) {
			assert_int_equal(back.ports[i].port, message.ports[i].port);
			assert_int_equal(back.ports[i].state, message.ports[i].state);
			assert_int_equal(back.ports[i].n_addresses,
					 message.ports[i].n_addresses);
			assert_memory_equal(back.ports[i].addresses,
					    message.ports[i].addresses,
					    sizeof back.ports[i].addresses);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(orders_and_answers_are_read),
		cmocka_unit_test(other_texts_are_refused),
		cmocka_unit_test(too_many_ports_are_refused),
		cmocka_unit_test(random_messages_come_back),
		cmocka_unit_test(unknown_keys_are_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
