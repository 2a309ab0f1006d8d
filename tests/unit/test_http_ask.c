/* test_http_ask.c - one question over HTTP: to a server of ours, and to worse ones. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/daemon/http_ask.h"
#include "tests/unit/http_peer.h"
#include "tests/unit/test.h"

#define SECOND_NS INT64_C(1000000000)

static void
write_much(void *ctx, struct strbuf *out)
{
	(void)ctx;
	http_peer_put_much(out);
}

static void
a_server_of_ours_answers(void **state)
{
	static const struct http_page page = { .path = "/much",
					       .content_type = "text/plain",
					       .write = write_much };
	struct http_peer peer = http_peer_ours(&page, 1, NULL, 0);
	struct strbuf body = STRBUF_EMPTY;

	(void)state;
	assert_int_equal(http_ask(peer.address, "/much", 10 * SECOND_NS, &body, NULL),
			 200);
	assert_int_equal(body.length, 4000000);
	assert_memory_equal(body.text, "0123456789", 10);
	strbuf_clear(&body);
	assert_int_equal(http_ask(peer.address, "/none", 10 * SECOND_NS, &body, NULL),
			 404);
	strbuf_free(&body);
	http_peer_stop(&peer);
}

static void
who_does_not_answer_is_given_up_in_time(void **state)
{
	struct strbuf body = STRBUF_EMPTY;
	int64_t start_ns = clk_monotonic_ns();
	struct err err = { .line = 0 };
	struct http_peer peer = http_peer_at_port("HTTP/1.1 200 OK\r\n\r\nhalf", true);

	(void)state;
	assert_int_equal(http_ask(peer.address, "/", SECOND_NS / 5, &body, &err),
			 -ETIMEDOUT);
	assert_true(clk_monotonic_ns() - start_ns < 5 * SECOND_NS);
	assert_int_equal(body.length, 0);
	assert_non_null(strstr(err.text, peer.address));
	strbuf_free(&body);
	http_peer_stop(&peer);
}

static void
what_is_no_http_is_refused(void **state)
{
	static const char *const replies[] = { "", "SSH-2.0-OpenSSH\r\n\r\n",
					       "HTTP/1.1 200 OK\r\n",
					       "HTTP/1.1 two\r\n\r\n" };
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
		struct strbuf body = STRBUF_EMPTY;
		struct http_peer peer = http_peer_at_port(replies[i], false);

		assert_int_equal(
			http_ask(peer.address, "/", 5 * SECOND_NS, &body, &err),
			-EPROTO);
		strbuf_free(&body);
		http_peer_stop(&peer);
	}
}

static void
addresses_that_are_none_are_refused(void **state)
{
	static const char *const addresses[] = {
		"",           "127.0.0.1",   ":80",
		"127.0.0.1:", "127.0.0.1:0", "127.0.0.1:99999",
		"x:1",        "[::1:1",      "127.0.0.1:1x",
	};
	struct strbuf body = STRBUF_EMPTY;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++)
		assert_int_equal(http_ask(addresses[i], "/", SECOND_NS, &body, &err),
				 -EINVAL);
	assert_int_equal(http_ask("127.0.0.1:1", "/", SECOND_NS, &body, &err),
			 -ECONNREFUSED);
	strbuf_free(&body);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_of_ours_answers),
		cmocka_unit_test(who_does_not_answer_is_given_up_in_time),
		cmocka_unit_test(what_is_no_http_is_refused),
		cmocka_unit_test(addresses_that_are_none_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
