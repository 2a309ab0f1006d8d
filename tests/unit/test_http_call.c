/* SPDX-License-Identifier: Apache-2.0 */
/* test_http_call.c - HTTP requests from a loop, to good and misbehaving servers */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/daemon/http_call.h"
#include "lib/daemon/loop.h"
#include "tests/unit/http_peer.h"
#include "tests/unit/test.h"

#define SECOND_NS INT64_C(1000000000)

static void
much(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	(void)ctx;
	(void)request;
	http_peer_put_much(&reply->body);
}

static void
echo(void *ctx, const struct http_request *request, struct http_reply *reply)
{
	(void)ctx;
	reply->status = 201;
	strbuf_add(&reply->body, request->body, request->n_body);
}

/* ---- A single call --------------------------------------------------------------- */

struct answer {
	struct loop *loop;
	int n, status;
	char *body;
	size_t length;
};

static void
on_done(void *ctx, int status, const char *body, size_t n)
{
	struct answer *answer = ctx;

	answer->n++;
	answer->status = status;
	assert_int_equal(body[n], '\0');
	answer->body = xmemdup(body, n + 1, 1);
	answer->length = n;
	loop_stop(answer->loop, 0);
}

static struct answer
ask(const struct http_call_opts *opts)
{
	struct answer answer = { .loop = loop_new() };
	struct http_call *call;
	struct err err = { .line = 0 };

	if (http_call(answer.loop, opts, on_done, &answer, &call, &err) < 0)
		fail_msg("%s", err.text);
	loop_run(answer.loop);
	assert_int_equal(answer.n, 1);
	loop_free(answer.loop);
	return answer;
}

static void
a_server_of_ours_answers(void **state)
{
	static const struct http_route routes[] = {
		{ "GET", "/much", false, 0, much, NULL },
		{ "PUT", "/echo", false, HTTP_MAX_BODY, echo, NULL },
	};
	struct http_peer peer = http_peer_ours(NULL, 0, routes, 2);
	struct http_call_opts opts = { .address = peer.address,
				       .method = "GET",
				       .path = "/much",
				       .timeout_ns = 10 * SECOND_NS,
				       .max_bytes = 5000000 };
	struct answer answer = ask(&opts);

	(void)state;
	assert_int_equal(answer.status, 200);
	assert_int_equal(answer.length, 4000000);
	assert_memory_equal(answer.body, "0123456789", 10);
	free(answer.body);
	opts.max_bytes = 100000;
	answer = ask(&opts);
	assert_int_equal(answer.status, -EFBIG);
	free(answer.body);
	opts.method = "PUT";
	opts.path = "/echo";
	opts.type = "application/json";
	opts.body = "{\"a\":1}";
	answer = ask(&opts);
	assert_int_equal(answer.status, 201);
	assert_string_equal(answer.body, "{\"a\":1}");
	free(answer.body);
	http_peer_stop(&peer);
}

static void
who_does_not_answer_is_given_up_in_time(void **state)
{
	struct http_peer peer = http_peer_at_path("HTTP/1.0 200 OK\r\n\r\nhalf", true);
	int64_t start_ns = clk_monotonic_ns();
	struct answer answer =
		ask(&(struct http_call_opts){ .address = peer.address,
					      .method = "GET",
					      .path = "/",
					      .timeout_ns = SECOND_NS / 5,
					      .max_bytes = 1000 });

	(void)state;
	assert_int_equal(answer.status, -ETIMEDOUT);
	assert_non_null(strstr(answer.body, peer.address));
	assert_true(clk_monotonic_ns() - start_ns < 10 * SECOND_NS);
	free(answer.body);
	http_peer_stop(&peer);
}

static void
replies_are_checked(void **state)
{
	static const struct {
		const char *reply;
		int status;
		const char *body;
	} cases[] = {
		{ "HTTP/1.0 403 Forbidden\r\nA: b\r\n\r\nno", 403, "no" },
		{ "HTTP/1.1 200 OK\r\n\r\n", 200, "" },
		{ "", -EPROTO, NULL },
		{ "SSH-2.0-OpenSSH\r\n\r\n", -EPROTO, NULL },
		{ "HTTP/1.1 200 OK\r\n", -EPROTO, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct http_peer peer = http_peer_at_path(cases[i].reply, false);
		struct answer answer =
			ask(&(struct http_call_opts){ .address = peer.address,
						      .method = "GET",
						      .path = "/",
						      .timeout_ns = 10 * SECOND_NS,
						      .max_bytes = 1000 });

		assert_int_equal(answer.status, cases[i].status);
		if (cases[i].body)
			assert_string_equal(answer.body, cases[i].body);
		free(answer.body);
		http_peer_stop(&peer);
	}
}

static void
one_that_is_given_up_is_not_heard_of(void **state)
{
	struct http_peer peer = http_peer_at_path("HTTP/1.0 200 OK\r\n\r\n", true);
	struct answer answer = { .loop = loop_new() };
	struct http_call *call;

	(void)state;
	assert_int_equal(http_call(answer.loop,
				   &(struct http_call_opts){ .address = peer.address,
							     .method = "GET",
							     .path = "/",
							     .timeout_ns = SECOND_NS,
							     .max_bytes = 10 },
				   on_done, &answer, &call, NULL),
			 0);
	http_call_cancel(call);
	http_call_cancel(NULL);
	loop_free(answer.loop);
	assert_int_equal(answer.n, 0);
	http_peer_stop(&peer);
}

static void
only_this_host_is_called(void **state)
{
	static const char *const bad[] = { "", "x", "127.0.0.1", "localhost:80",
					   "127.0.0.1:0" };
	char path[200];
	struct err err;
	struct answer answer =
		ask(&(struct http_call_opts){ .address = "/tmp/antiphase-nobody.sock",
					      .method = "GET",
					      .path = "/",
					      .timeout_ns = SECOND_NS,
					      .max_bytes = 10 });

	(void)state;
	assert_int_equal(answer.status, -ENOENT);
	free(answer.body);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(http_call_check(bad[i], &err), -EINVAL);
	memset(path, '/', sizeof path - 1);
	path[sizeof path - 1] = '\0';
	assert_int_equal(http_call_check(path, &err), -EINVAL);
	assert_int_equal(http_call_check("192.0.2.1:80", &err), -EACCES);
	assert_int_equal(http_call_check("[2001:db8::1]:80", &err), -EACCES);
	assert_int_equal(http_call_check("127.0.0.1:8001", &err), 0);
	assert_int_equal(http_call_check("[::1]:8001", &err), 0);
	assert_int_equal(http_call_check("/run/x.sock", &err), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_of_ours_answers),
		cmocka_unit_test(who_does_not_answer_is_given_up_in_time),
		cmocka_unit_test(replies_are_checked),
		cmocka_unit_test(one_that_is_given_up_is_not_heard_of),
		cmocka_unit_test(only_this_host_is_called),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
