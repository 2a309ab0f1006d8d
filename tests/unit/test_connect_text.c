/* SPDX-License-Identifier: Apache-2.0 */
/* test_connect_text.c - offers of ports to new connections as JSON */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/rng.h"
#include "lib/wire/connect_text.h"
#include "tests/unit/test.h"

#define FOUR                                                                           \
	"{\"schema\":\"antiphase.connect/1\",\"job\":\"4711\",\"source\":\"10.0.0.1\"" \
	",\"destination\":\"10.0.1.1\",\"destination_port\":5001,"                     \
	"\"ports\":[61750,61753]}"

static int
parse(const char *text, struct connect_message *ret_message, struct err *err)
{
	*err = (struct err){ 0 };
	return connect_text_parse(text, strlen(text), ret_message, err);
}

static void
a_message_has_a_destination_and_ports(void **state)
{
	struct connect_message message;
	char topic[CONNECT_TOPIC_BYTES], *text;
	struct err err;

	(void)state;
	assert_int_equal(parse(FOUR, &message, &err), 0);
	assert_string_equal(message.job, "4711");
	assert_int_equal(message.destination_port, htons(5001));
	assert_int_equal(message.n_ports, 2);
	assert_int_equal(message.ports[1], htons(61753));
	connect_text_topic_of(message.source, topic);
	assert_string_equal(topic, "connect/10.0.0.1/");
	/* Without ports it withdraws. */
	message.n_ports = 0;
	text = connect_text_write(&message);
	assert_non_null(strstr(text, "[]"));
	assert_int_equal(parse(text, &message, &err), 0);
	assert_int_equal(message.n_ports, 0);
	free(text);
}

/* From a later version, which may add keys. */
static void
unknown_keys_are_skipped(void **state)
{
	struct connect_message message;
	struct err err;
	char text[512];

	(void)state;
	snprintf(text, sizeof text, "{\"later\":{\"more\":[1,null]},%s", &FOUR[1]);
	assert_int_equal(parse(text, &message, &err), 0);
	assert_string_equal(message.job, "4711");
}

static void
random_messages_come_back(void **state)
{
	struct rng rng;

	(void)state;
	rng_init(&rng, 4);
	for (int i = 0; i < 1000; i++) {
		struct connect_message message = { .n_ports = rng_below(&rng, 17) },
				       back;
		struct err err;
		char *text;

		snprintf(message.job, sizeof message.job, "j%d", i);
		for (size_t k = 0; k < 16; k++) {
			message.source[k] = (uint8_t)(rng_next(&rng) | 1);
			message.destination[k] = (uint8_t)(rng_next(&rng) | 1);
		}
		message.destination_port =
			htons((uint16_t)(1 + rng_below(&rng, 65535)));
		for (size_t k = 0; k < message.n_ports; k++)
			message.ports[k] =
				htons((uint16_t)(4000 * k + 1 + rng_below(&rng, 4000)));
		text = connect_text_write(&message);
		assert_int_equal(parse(text, &back, &err), 0);
		assert_memory_equal(&message, &back, sizeof message);
		free(text);
	}
}

static void
other_texts_are_refused(void **state)
{
	static const struct {
		const char *from, *to;
	} changes[] = {
		{ "antiphase.connect/1", "antiphase.connect/2" },
		{ "\"4711\"", "\"\"" },
		{ "\"4711\"", "\"a\\u0007b\"" },
		{ "10.0.0.1", "10.0.0" },
		{ "10.0.1.1", "fd00::1" },
		{ "5001", "0" },
		{ "5001", "65536" },
		{ "61750", "61753" },
		{ "61750", "0" },
		{ "61750", "1.5" },
		{ "61750", "65536" },
		{ "61750", "\"61750\"" },
		{ "[61750,61753]", "61750" },
		{ "61750", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16" },
		{ "\"job\"", "\"Job\"" },
		{ "}", "" },
	};
	struct connect_message message;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
		const char *at = strstr(FOUR, changes[i].from);
		char text[512];

		assert_non_null(at);
		snprintf(text, sizeof text, "%.*s%s%s", (int)(at - FOUR), FOUR,
			 changes[i].to, at + strlen(changes[i].from));
		assert_int_equal(parse(text, &message, &err), -EINVAL);
		assert_true(*err.text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_has_a_destination_and_ports),
		cmocka_unit_test(random_messages_come_back),
		cmocka_unit_test(other_texts_are_refused),
		cmocka_unit_test(unknown_keys_are_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
