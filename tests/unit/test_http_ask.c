/* SPDX-License-Identifier: Apache-2.0 */
/* test_http_ask.c - one blocking HTTP request, to our server and to misbehaving ones */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/daemon/http_ask.h"
#include "lib/daemon/http_call.h"
#include "tests/unit/http_peer.h"

#define SECOND_NS INT64_C(1000000000)

/* Answers with the request, twice. */
static void
answer(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	(void)ctx;
	strbuf_add(&reply->body, request->body, request->n_body);
	strbuf_add(&reply->body, request->body, request->n_body);
	strbuf_printf(&reply->body, "%d", (int)http_peer_user(request));
}

static void
refuse(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	(void)ctx;
	(void)request;
	http_reply_error(reply, 413, "too_large", "ask for less", "that is too much");
}

static const struct http_route routes[] = {
	{ "POST", "/twice", false, HTTP_MAX_BODY, answer, NULL },
	{ "POST", "/small", false, 1000, answer, NULL },
	{ "GET", "/refused", false, 0, refuse, NULL },
};

static int
post(const char *address, const char *path, const char *body, struct strbuf *reply,
     struct err *err)
{
	const struct http_call_opts opts = { .address = address,
					     .method = "POST",
					     .path = path,
					     .type = "text/plain",
					     .body = body,
					     .timeout_ns = 10 * SECOND_NS,
					     .max_bytes = 32 << 20 };

	return http_ask(&opts, reply, err);
}

static void
assert_twice(const char *address, int uid)
{
	struct strbuf reply = STRBUF_EMPTY;
	struct err err = { 0 };
	char expected[32];

	snprintf(expected, sizeof expected, "abab%d", uid);
	for (int i = 0; i < 3; i++) {
		strbuf_clear(&reply);
		assert_int_equal(post(address, "/twice", "ab", &reply, &err), 200);
		assert_string_equal(reply.text, expected);
	}
	strbuf_free(&reply);
}

static void
a_question_gets_its_answer_by_port_or_path(void **state)
{
	char path[64];
	struct http_peer peer;

	(void)state;
	peer = http_peer_ours(NULL, 0, routes, 3);
	assert_twice(peer.address, (int)getuid());
	http_peer_stop(&peer);
	snprintf(path, sizeof path, "/tmp/antiphase-ask-%d.sock", (int)getpid());
	peer = http_peer_ours_at(path, NULL, 0, routes, 3);
	assert_twice(path, (int)getuid());
	http_peer_stop(&peer);
}

static void
a_large_body_arrives_and_one_too_large_is_refused(void **state)
{
	struct http_peer peer = http_peer_ours(NULL, 0, routes, 3);
	struct strbuf reply = STRBUF_EMPTY;
	struct err err = { 0 };
	char *body = malloc(HTTP_MAX_BODY + 1);

	(void)state;
	memset(body, 'x', HTTP_MAX_BODY);
	body[1001] = '\0';
	assert_int_equal(post(peer.address, "/small", body, &reply, &err), 413);
	http_ask_error("there", 413, reply.text, reply.length, &err);
	assert_non_null(strstr(err.text, "longer than 1000 bytes"));
	body[1001] = 'x';
	strbuf_clear(&reply);
	body[HTTP_MAX_BODY] = '\0';
	assert_int_equal(post(peer.address, "/twice", body, &reply, &err), 200);
	assert_int_equal(reply.length,
			 2 * HTTP_MAX_BODY + snprintf(NULL, 0, "%u", getuid()));
	strbuf_free(&reply);
	free(body);
	http_peer_stop(&peer);
}

static void
an_error_is_told_in_the_words_of_the_server(void **state)
{
	static const char *const others[] = { "",
					      "{",
					      "[]",
					      "null",
					      "{\"error\":1}",
					      "{\"error\":{\"message\":\"\"}}",
					      "<html>" };
	struct http_peer peer = http_peer_ours(NULL, 0, routes, 3);
	const struct http_call_opts opts = { .address = peer.address,
					     .method = "GET",
					     .path = "/refused",
					     .timeout_ns = 10 * SECOND_NS,
					     .max_bytes = 65536 };
	struct strbuf reply = STRBUF_EMPTY;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(http_ask(&opts, &reply, &err), 413);
	http_ask_error("there", 413, reply.text, reply.length, &err);
	assert_string_equal(err.file, "there");
	assert_string_equal(err.text, "that is too much (ask for less)");
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		http_ask_error("there", 502, others[i], strlen(others[i]), &err);
		assert_string_equal(err.text, "there answered with HTTP status 502");
	}
	strbuf_free(&reply);
	http_peer_stop(&peer);
}

static void
nobody_there_is_said_at_once(void **state)
{
	static const char *const addresses[] = { "127.0.0.1:1", "/tmp/no/such.sock" };
	int64_t begin_ns = clk_monotonic_ns();
	struct strbuf reply = STRBUF_EMPTY;
	struct err err = { 0 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(post(addresses[i], "/twice", "x", &reply, &err),
				 -ECONNREFUSED);
		assert_true(*err.text);
	}
	assert_true(clk_monotonic_ns() - begin_ns < 5 * SECOND_NS);
}

static void
who_does_not_answer_is_waited_for_only_so_long(void **state)
{
	struct http_peer peer = http_peer_at_path("HTTP/1.1 2", true);
	const struct http_call_opts opts = { .address = peer.address,
					     .method = "GET",
					     .path = "/",
					     .timeout_ns = SECOND_NS / 20,
					     .max_bytes = 65536 };
	struct strbuf reply = STRBUF_EMPTY;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(http_ask(&opts, &reply, &err), -ETIMEDOUT);
	assert_true(*err.text);
	http_peer_stop(&peer);
}

static void
an_address_is_told_from_a_file(void **state)
{
	struct strbuf reply = STRBUF_EMPTY;
	struct err err = { 0 };

	(void)state;
	assert_string_equal(http_ask_address("http://127.0.0.1:7462"),
			    "127.0.0.1:7462");
	assert_string_equal(http_ask_address("unix:/run/x.sock"), "/run/x.sock");
	assert_string_equal(http_ask_address("https://head:7443"), "https://head:7443");
	assert_null(http_ask_address("lab.json"));
	assert_null(http_ask_address("/run/x.sock"));
	assert_null(http_ask_address("unix:x.sock"));
	assert_null(http_ask_address("tcp://127.0.0.1:7462"));
	/* Requests to other hosts are never sent unencrypted. */
	assert_int_equal(post("192.0.2.1:7462", "/twice", "x", &reply, &err), -EACCES);
}

/* ---- GET ------------------------------------------------------------------------- */

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
	assert_int_equal(
		http_ask_get(peer.address, "/much", 10 * SECOND_NS, &body, NULL), 200);
	assert_int_equal(body.length, 4000000);
	assert_memory_equal(body.text, "0123456789", 10);
	strbuf_clear(&body);
	assert_int_equal(
		http_ask_get(peer.address, "/none", 10 * SECOND_NS, &body, NULL), 404);
	strbuf_free(&body);
	http_peer_stop(&peer);
}

static void
half_an_answer_is_given_up_in_time(void **state)
{
	struct strbuf body = STRBUF_EMPTY;
	int64_t start_ns = clk_monotonic_ns();
	struct err err = { .line = 0 };
	struct http_peer peer = http_peer_at_port("HTTP/1.1 200 OK\r\n\r\nhalf", true);

	(void)state;
	assert_int_equal(http_ask_get(peer.address, "/", SECOND_NS / 5, &body, &err),
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
			http_ask_get(peer.address, "/", 5 * SECOND_NS, &body, &err),
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
		assert_int_equal(
			http_ask_get(addresses[i], "/", SECOND_NS, &body, &err),
			-EINVAL);
	assert_int_equal(http_ask_get("127.0.0.1:1", "/", SECOND_NS, &body, &err),
			 -ECONNREFUSED);
	strbuf_free(&body);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_question_gets_its_answer_by_port_or_path),
		cmocka_unit_test(a_large_body_arrives_and_one_too_large_is_refused),
		cmocka_unit_test(an_error_is_told_in_the_words_of_the_server),
		cmocka_unit_test(nobody_there_is_said_at_once),
		cmocka_unit_test(who_does_not_answer_is_waited_for_only_so_long),
		cmocka_unit_test(an_address_is_told_from_a_file),
		cmocka_unit_test(a_server_of_ours_answers),
		cmocka_unit_test(half_an_answer_is_given_up_in_time),
		cmocka_unit_test(what_is_no_http_is_refused),
		cmocka_unit_test(addresses_that_are_none_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
