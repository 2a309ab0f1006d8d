/* SPDX-License-Identifier: Apache-2.0 */
/* test_port_relay.c - the scheduler between the two ends of a flow */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/wire/port_text.h"
#include "scheduler/daemon/port_relay.h"
#include "tests/unit/test.h"

#define SECOND INT64_C(1000000000)

struct fixture {
	struct port_relay *relay;
	const char *enforced; /* The job whose mode it is; "": none. */
	size_t n;
	char topic[PORT_TOPIC_BYTES]; /* Of the last announcement, as the message. */
	struct port_message last;
	size_t n_listed;
	uint16_t listed_port;
};

static bool
is_enforced(void *ctx, const char *job)
{
	const struct fixture *f = ctx;

	return *job && !strcmp(job, f->enforced);
}

static void
announce(void *ctx, const char *topic, const char *text)
{
	struct fixture *f = ctx;

	strcpy(f->topic, topic);
	assert_int_equal(port_text_parse(text, strlen(text), &f->last, NULL), 0);
	f->n++;
}

static void
fixture_init(struct fixture *f)
{
	const struct port_relay_opts opts = { is_enforced, announce, f };

	*f = (struct fixture){ .enforced = "7" };
	f->relay = port_relay_new(&opts);
}

static struct port_message
make(enum port_verb verb, unsigned port)
{
	struct port_message message = {
		.verb = verb, .port = htons((uint16_t)port), .number = 5, .job = "7"
	};

	assert_int_equal(port_text_end("10.0.0.1:41000", message.flow.source,
				       &message.flow.source_port),
			 0);
	assert_int_equal(port_text_end("10.0.1.1:5001", message.flow.destination,
				       &message.flow.destination_port),
			 0);
	return message;
}

static int
take(struct fixture *f, int64_t now_ns, const struct port_message *message)
{
	char *text = port_text_write(message);
	struct err err = { 0 };
	int rc = port_relay_take(f->relay, now_ns, text, strlen(text), &err);

	assert_true(rc == 0 || *err.text);
	free(text);
	return rc;
}

static void
count(void *ctx, const char *job, const struct port_flow *flow, uint16_t port)
{
	struct fixture *f = ctx;

	assert_string_equal(job, "7");
	assert_int_equal(flow->destination_port, htons(5001));
	f->n_listed++;
	f->listed_port = port;
}

static void
list(struct fixture *f)
{
	f->n_listed = 0;
	port_relay_each(f->relay, count, f);
}

static void
messages_reach_the_other_end(void **state)
{
	static const struct {
		enum port_verb verb;
		const char *topic;
	} all[] = { { PORT_PREPARE, "port/10.0.1.1/" },
		    { PORT_READY, "port/10.0.0.1/" },
		    { PORT_USING, "port/10.0.1.1/" },
		    { PORT_SETTLED, "port/10.0.0.1/" },
		    { PORT_REFUSED, "port/10.0.0.1/" } };
	struct fixture f;

	(void)state;
	fixture_init(&f);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct port_message message = make(all[i].verb, 61001);

		assert_int_equal(take(&f, 0, &message), 0);
		assert_int_equal(f.n, i + 1);
		assert_string_equal(f.topic, all[i].topic);
		assert_int_equal(f.last.verb, all[i].verb);
		assert_true(f.last.number == 5);
	}
	assert_int_equal(port_relay_counts(f.relay).n_passed, 5);
	port_relay_free(f.relay);
}

static void
only_the_scheduler_orders(void **state)
{
	struct port_message message = make(PORT_MOVE, 61001);
	struct err err = { 0 };
	struct fixture f;

	(void)state;
	fixture_init(&f);
	assert_int_equal(take(&f, 0, &message), -EPERM);
	assert_int_equal(port_relay_take(f.relay, 0, "{}", 2, &err), -EINVAL);
	assert_int_equal(f.n, 0);
	assert_int_equal(port_relay_counts(f.relay).n_refused, 2);
	assert_int_equal(port_relay_move(f.relay, 0, "7", &message.flow, htons(61001)),
			 0);
	assert_int_equal(f.n, 1);
	assert_int_equal(f.last.verb, PORT_MOVE);
	assert_string_equal(f.topic, "port/10.0.0.1/");
	port_relay_free(f.relay);
}

static void
only_in_enforce(void **state)
{
	struct port_message message = make(PORT_PREPARE, 61001);
	struct fixture f;

	(void)state;
	fixture_init(&f);
	f.enforced = "";
	assert_int_equal(port_relay_move(f.relay, 0, "7", &message.flow, htons(61001)),
			 -EPERM);
	assert_int_equal(f.n, 0);
	/* The sender need not wait for an answer. */
	assert_int_equal(take(&f, 0, &message), 0);
	assert_int_equal(f.n, 1);
	assert_int_equal(f.last.verb, PORT_REFUSED);
	assert_string_equal(f.topic, "port/10.0.0.1/");
	/* What is in use already is not held up. */
	message.verb = PORT_USING;
	assert_int_equal(take(&f, 0, &message), 0);
	assert_int_equal(f.last.verb, PORT_USING);
	port_relay_free(f.relay);
}

static void
flows_are_known_while_they_are_heard_of(void **state)
{
	struct port_message message = make(PORT_USING, 61001);
	struct fixture f;

	(void)state;
	fixture_init(&f);
	list(&f);
	assert_int_equal(f.n_listed, 0);
	take(&f, 0, &message);
	message.port = htons(61002);
	*message.job = '\0';
	take(&f, 90 * SECOND, &message);
	port_relay_tick(f.relay, 189 * SECOND);
	list(&f);
	assert_int_equal(f.n_listed, 1);
	assert_int_equal(f.listed_port, htons(61002));
	port_relay_tick(f.relay, 190 * SECOND);
	list(&f);
	assert_int_equal(f.n_listed, 0);
	/* Its own port is no wire port. */
	message = make(PORT_USING, 61001);
	take(&f, 200 * SECOND, &message);
	message.port = message.flow.source_port;
	take(&f, 201 * SECOND, &message);
	list(&f);
	assert_int_equal(f.n_listed, 0);
	assert_int_equal(port_relay_counts(f.relay).n_flows, 0);
	port_relay_free(f.relay);
}

static void
flows_go_back_when_enforce_ends(void **state)
{
	struct port_message message = make(PORT_USING, 61001);
	struct fixture f;

	(void)state;
	fixture_init(&f);
	take(&f, 0, &message);
	port_relay_tick(f.relay, SECOND);
	assert_int_equal(f.n, 1);
	f.enforced = "8";
	port_relay_tick(f.relay, 2 * SECOND);
	assert_int_equal(f.n, 2);
	assert_int_equal(f.last.verb, PORT_MOVE);
	assert_int_equal(f.last.port, f.last.flow.source_port);
	/* Not at each tick, but until it has happened. */
	port_relay_tick(f.relay, 3 * SECOND);
	assert_int_equal(f.n, 2);
	port_relay_tick(f.relay, 7 * SECOND);
	assert_int_equal(f.n, 3);
	message.port = message.flow.source_port;
	take(&f, 8 * SECOND, &message);
	port_relay_tick(f.relay, 20 * SECOND);
	assert_int_equal(f.n, 4);
	port_relay_free(f.relay);
}

static void
orders_are_repeated_until_an_answer(void **state)
{
	struct port_message message = make(PORT_USING, 61001);
	struct port_relay_counts counts;
	struct fixture f;

	(void)state;
	fixture_init(&f);
	port_relay_move(f.relay, 0, "7", &message.flow, htons(61001));
	port_relay_tick(f.relay, SECOND - 1);
	assert_int_equal(f.n, 1);
	port_relay_tick(f.relay, SECOND);
	assert_int_equal(f.n, 2);
	assert_int_equal(f.last.verb, PORT_MOVE);
	/* The port that it had before is no answer. */
	message.port = htons(61000);
	take(&f, SECOND, &message);
	assert_int_equal(port_relay_counts(f.relay).n_pending, 1);
	message.port = htons(61001);
	take(&f, SECOND, &message);
	counts = port_relay_counts(f.relay);
	assert_int_equal(counts.n_pending, 0);
	assert_int_equal(counts.n_orders, 1);
	assert_int_equal(counts.n_failed, 0);
	/* The second order replaces the first, and is refused. */
	port_relay_move(f.relay, 2 * SECOND, "7", &message.flow, htons(61002));
	port_relay_move(f.relay, 2 * SECOND, "7", &message.flow, htons(61003));
	message.verb = PORT_REFUSED;
	message.port = htons(61002);
	take(&f, 2 * SECOND, &message);
	assert_int_equal(port_relay_counts(f.relay).n_failed, 0);
	message.port = htons(61003);
	take(&f, 2 * SECOND, &message);
	counts = port_relay_counts(f.relay);
	assert_int_equal(counts.n_failed, 1);
	assert_int_equal(counts.n_pending, 0);
	/* Silence; and a mode that is no longer enforce. */
	port_relay_move(f.relay, 0, "7", &message.flow, htons(61004));
	port_relay_tick(f.relay, 10 * SECOND);
	assert_int_equal(port_relay_counts(f.relay).n_pending, 0);
	port_relay_move(f.relay, 20 * SECOND, "7", &message.flow, htons(61004));
	f.enforced = "";
	port_relay_tick(f.relay, 20 * SECOND);
	counts = port_relay_counts(f.relay);
	assert_int_equal(counts.n_pending, 0);
	assert_int_equal(counts.n_failed, 3);
	port_relay_free(f.relay);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_reach_the_other_end),
		cmocka_unit_test(only_the_scheduler_orders),
		cmocka_unit_test(only_in_enforce),
		cmocka_unit_test(flows_are_known_while_they_are_heard_of),
		cmocka_unit_test(flows_go_back_when_enforce_ends),
		cmocka_unit_test(orders_are_repeated_until_an_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
