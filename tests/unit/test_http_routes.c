/* SPDX-License-Identifier: Apache-2.0 */
/* test_http_routes.c - routes, tokens and bodies over HTTP */
#include <errno.h>
#include <fcntl.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "tests/unit/http_server.h"

#define TOKEN "0123456789abcdef"

/* ---- Requests -------------------------------------------------------------------- */

static void
a_route_gets_what_follows_its_path_its_query_and_its_body(void **state)
{
	struct server s = start(NULL);

	(void)state;
	expect(&s, "GET /echo/a%3Eb?name=x%20y+z&flag", "", NULL, 200,
	       "GET [a>b] [x y z] [] [] 0\n");
	expect(&s, "GET /echo/1?nam=x", "", NULL, 400, "(did you mean 'name'?)");
	expect(&s, "GET /echo/1?flag&other=1", "", NULL, 400, "unknown_parameter");
	expect(&s, "GET /tagged?x", "", NULL, 400, "unknown_parameter");
	expect(&s, "POST /echo/1", "", "{\"a\":1}", 200,
	       "POST [1] [(none)] [(none)] [{\"a\":1}] 7\n");
	expect(&s, "HEAD /echo/1", "", NULL, 200, "Content-Length: ");
	stop_quietly(&s);
}

static void
what_is_not_there_is_an_error_in_json(void **state)
{
	struct server s = start(NULL);

	(void)state;
	expect(&s, "GET /nothing", "", NULL, 404, "\"code\": \"not_found\"");
	expect(&s, "GET /taged", "", NULL, 404, "(did you mean '/tagged'?)");
	expect(&s, "DELETE /echo/1", "", NULL, 405, "Allow: GET, HEAD, POST\r\n");
	expect(&s, "POST /tagged", "", "", 405, "\"code\": \"method_not_allowed\"");
	expect(&s, "POST /events", "", "", 405, "Allow: GET, HEAD\r\n");
	stop_quietly(&s);
}

static void
a_page_in_a_browser_may_not_post(void **state)
{
	struct server s = start("the-token-of-this-test");

	(void)state;
	expect(&s, "POST /echo/1", "Origin: http://x\r\n", "a", 403, "\"cross_site\"");
	expect(&s, "GET /echo/1", "Origin: http://x\r\n", NULL, 200, "GET [1]");
	/* A page that has the token acts for its user. */
	expect(&s, "POST /change",
	       "Origin: http://x\r\nAuthorization: Bearer the-token-of-this-test\r\n",
	       "a", 200, "POST");
	stop_quietly(&s);
}

/* A page's name can be made to lead here; the browser still says that name. */
static void
a_request_for_another_host_is_refused(void **state)
{
	static const char *const ours[] = { "localhost",      "LocalHost:7470",
					    "127.0.0.1",      "127.0.0.1:7470",
					    "127.8.9.1:7470", "[::1]:7470" };
	static const char *const others[] = { "page.example:7470", "10.0.0.1",
					      "localhost.example", "127.0.0.1.example",
					      "[::2]:7470",        "[::1",
					      "1270.0.1",          "2130706433" };
	struct server s = start(NULL);
	char header[64];

	(void)state;
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
		snprintf(header, sizeof header, "Host: %s\r\n", ours[i]);
		expect(&s, "GET /echo/1", header, NULL, 200, "GET [1]");
	}
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		snprintf(header, sizeof header, "Host: %s\r\n", others[i]);
		expect(&s, "GET /echo/1", header, NULL, 403, "\"wrong_host\"");
		expect(&s, "POST /echo/1", header, "a", 403, "\"wrong_host\"");
	}
	stop_quietly(&s);
}

static void
an_answer_that_is_known_is_not_sent_again(void **state)
{
	struct server s = start(NULL);

	(void)state;
	expect(&s, "GET /tagged", "", NULL, 200, "ETag: \"v7\"\r\n");
	expect(&s, "GET /tagged", "If-None-Match: \"v7\"\r\n", NULL, 304, NULL);
	expect(&s, "GET /tagged", "If-None-Match: \"v6\"\r\n", NULL, 200, "{}");
	stop_quietly(&s);
}

static void
requests_in_a_row_are_all_answered(void **state)
{
	struct server s = start(NULL);
	int fd = connect_to(&s);
	char *reply;

	(void)state;
	send_text(
		fd,
		"GET /echo/1 HTTP/1.1\r\nHost: localhost\r\n\r\n"
		"POST /echo/2 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi"
		"GET /echo/3 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
	reply = receive(fd, NULL);
	assert_non_null(strstr(reply, "GET [1]"));
	assert_non_null(strstr(reply, "POST [2] [(none)] [(none)] [hi]"));
	assert_non_null(strstr(reply, "GET [3]"));
	free(reply);
	close(fd);
	stop_quietly(&s);
}

/* ---- Authorization --------------------------------------------------------------- */

static void
without_a_token_nothing_is_changed(void **state)
{
	struct server s = start(NULL);

	(void)state;
	expect(&s, "POST /change", "", "{}", 403, "\"code\": \"no_token\"");
	/* A token is also needed for questions that take long. */
	expect(&s, "POST /change", "", "{}", 403,
	       "this request needs a token, and none");
	expect(&s, "POST /change", "Authorization: Bearer \r\n", "{}", 403, NULL);
	stop_quietly(&s);
}

static void
only_the_right_token_changes_anything(void **state)
{
	static const char *const wrong[] = {
		"",
		"Authorization: Bearer \r\n",
		"Authorization: Bearer 0123456789abcde\r\n",
		"Authorization: Bearer 0123456789abcdef0\r\n",
		"Authorization: Bearer " TOKEN TOKEN "\r\n",
		"Authorization: Bearer 0123456789abcdeg\r\n",
		"Authorization: Basic " TOKEN "\r\n",
		"Authorization: " TOKEN "\r\n",
		"X-Authorization: Bearer " TOKEN "\r\n",
	};
	struct server s = start(TOKEN);

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		expect(&s, "POST /change", wrong[i], "{}", 401,
		       "WWW-Authenticate: Bearer\r\n");
	expect(&s, "POST /change", "Authorization: Bearer " TOKEN "\r\n", "{}", 200,
	       "POST []");
	stop_quietly(&s);
}

static void
what_is_refused_is_said_once(void **state)
{
	struct server s = start(TOKEN);
	unsigned n_lines = 0;
	char *said;

	(void)state;
	for (int i = 0; i < 50; i++)
		expect(&s, "POST /change", "Authorization: Bearer x\r\n", "{}", 401,
		       NULL);
	expect(&s, "GET /counts", "", NULL, 200, "refused 50 ");
	said = stop(&s);
	for (const char *c = said; *c; c++)
		n_lines += *c == '\n';
	if (n_lines != 1 || !strstr(said, "/change: answered with 401"))
		fail_msg("expected one line, not '%s'", said);
	assert_null(strstr(said, TOKEN));
	free(said);
}

/* ---- Oversized requests ---------------------------------------------------------- */

static char *
of_length(size_t n)
{
	char *text = xcalloc(n + 1, 1);

	memset(text, 'b', n);
	return text;
}

static void
a_body_that_is_too_long_is_refused(void **state)
{
	struct server s = start(NULL);
	char *body = of_length(1001), *large = of_length(HTTP_MAX_BODY);
	struct strbuf chunked = STRBUF_EMPTY;
	int fd;
	char *reply;

	(void)state;
	expect(&s, "POST /echo/1", "", body, 413, "\"code\": \"too_large\"");
	expect(&s, "POST /large", "", body, 200, " 1001\n");
	expect(&s, "POST /large", "", large, 200, "(long)");
	/* A request without a length. */
	strbuf_puts(&chunked,
		    "POST /echo/1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
		    "Transfer-Encoding: chunked\r\n\r\n");
	for (int i = 0; i < 3; i++)
		strbuf_printf(&chunked, "3e9\r\n%s\r\n", body);
	strbuf_puts(&chunked, "0\r\n\r\n");
	fd = connect_to(&s);
	send_text(fd, chunked.text);
	reply = receive(fd, NULL);
	assert_memory_equal(reply, "HTTP/1.1 413 ", 13);
	free(reply);
	close(fd);
	/* A request that claims to be endless. */
	fd = connect_to(&s);
	send_text(fd, "POST /large HTTP/1.1\r\nHost: localhost\r\n"
		      "Content-Length: 99999999999\r\n\r\nbbb");
	reply = receive(fd, "\r\n\r\n");
	assert_memory_equal(reply, "HTTP/1.1 413 ", 13);
	free(reply);
	close(fd);
	expect_serving(&s);
	strbuf_free(&chunked);
	free(large);
	free(body);
	stop_quietly(&s);
}

static void
headers_that_are_too_long_are_refused(void **state)
{
	struct server s = start(NULL);
	char *junk = of_length(200000);
	struct strbuf request = STRBUF_EMPTY;
	int fd = connect_to(&s);
	char *reply;

	(void)state;
	strbuf_printf(&request,
		      "GET /echo/1 HTTP/1.1\r\nHost: localhost\r\nX: %s\r\n\r\n", junk);
	send_text(fd, request.text);
	reply = receive(fd, NULL);
	assert_null(strstr(reply, "GET [1]"));
	free(reply);
	close(fd);
	expect_serving(&s);
	strbuf_free(&request);
	free(junk);
	stop_quietly(&s);
}

/* Sends a byte every 100 ms until the connection is cut; returns the time taken. */
static int64_t
trickle(const struct server *server, const char *start_)
{
	int64_t began_ns = clk_monotonic_ns();
	int fd = connect_to(server);
	char byte;

	send_text(fd, start_);
	for (int i = 0; i < 80; i++) {
		if (send(fd, "a", 1, MSG_NOSIGNAL) < 0)
			break;
		usleep(100000);
		if (recv(fd, &byte, 1, MSG_DONTWAIT) == 0 ||
		    (errno != EAGAIN && errno != EWOULDBLOCK))
			break;
		if (i == 5)
			expect_serving(server);
	}
	close(fd);
	return clk_monotonic_ns() - began_ns;
}

static void
who_sends_a_byte_now_and_then_is_cut(void **state)
{
	struct server s = start(NULL);

	(void)state;
	assert_true(trickle(&s, "GET /echo/1 HTTP/1.1\r\nHost: localhost\r\nX: ") <
		    INT64_C(4000000000));
	assert_true(trickle(&s, "POST /large HTTP/1.1\r\nHost: localhost\r\n"
				"Content-Length: 1000\r\n\r\n") < INT64_C(4000000000));
	expect(&s, "GET /counts", "", NULL, 200, "cut 2 ");
	stop_quietly(&s);
}

static void
many_connections_that_say_nothing_lock_nobody_out(void **state)
{
	struct server s = start(NULL);
	int fds[3 * HTTP_MAX_CONNECTIONS];
	size_t n = sizeof fds / sizeof *fds;

	(void)state;
	for (size_t i = 0; i < n; i++)
		fds[i] = connect_to(&s);
	expect_serving(&s);
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
	expect_serving(&s);
	stop_quietly(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_route_gets_what_follows_its_path_its_query_and_its_body),
		cmocka_unit_test(what_is_not_there_is_an_error_in_json),
		cmocka_unit_test(a_page_in_a_browser_may_not_post),
		cmocka_unit_test(a_request_for_another_host_is_refused),
		cmocka_unit_test(an_answer_that_is_known_is_not_sent_again),
		cmocka_unit_test(requests_in_a_row_are_all_answered),
		cmocka_unit_test(without_a_token_nothing_is_changed),
		cmocka_unit_test(only_the_right_token_changes_anything),
		cmocka_unit_test(what_is_refused_is_said_once),
		cmocka_unit_test(a_body_that_is_too_long_is_refused),
		cmocka_unit_test(headers_that_are_too_long_are_refused),
		cmocka_unit_test(who_sends_a_byte_now_and_then_is_cut),
		cmocka_unit_test(many_connections_that_say_nothing_lock_nobody_out),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("http_routes", tests, NULL, NULL);
}
