/* SPDX-License-Identifier: Apache-2.0 */
/* test_http_streams.c - events over HTTP: delivery, and disconnected listeners */
#include "tests/unit/http_server.h"

#define LISTEN "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"

static void
listeners_hear_events(void **state)
{
	struct server s = start(NULL);
	int fds[2];
	char *reply;

	(void)state;
	for (int i = 0; i < 2; i++) {
		fds[i] = connect_to(&s);
		send_text(fds[i], LISTEN);
		reply = receive(fds[i], "{\"n\":1}\n\n");
		assert_non_null(strstr(reply, "Content-Type: text/event-stream\r\n"));
		assert_non_null(strstr(reply, "event: hello\ndata: {\"n\":1}\n\n"));
		free(reply);
	}
	expect(&s, "POST /tell/3", "", "", 200, "told");
	for (int i = 0; i < 2; i++) {
		reply = receive(fds[i], "xxx\"\n\n");
		assert_non_null(strstr(reply, "event: tick\ndata: \"xxx\"\n\n"));
		free(reply);
	}
	close(fds[0]);
	/* A closed connection is noticed when the server sends. */
	for (int i = 0; i < 3; i++)
		expect(&s, "POST /tell/3", "", "", 200, "told");
	expect(&s, "GET /counts", "", NULL, 200, "listeners 1\n");
	close(fds[1]);
	stop_quietly(&s);
}

static void
a_server_ends_while_somebody_listens(void **state)
{
	struct server s = start(NULL);
	int fd = connect_to(&s);

	(void)state;
	send_text(fd, LISTEN);
	free(receive(fd, "{\"n\":1}\n\n"));
	stop_quietly(&s);
	free(receive(fd, NULL));
	close(fd);
}

static void
a_listener_that_does_not_read_is_let_go(void **state)
{
	struct server s = start(NULL);
	int fd = connect_to(&s);
	char *reply = NULL;

	(void)state;
	send_text(fd, LISTEN);
	free(receive(fd, "{\"n\":1}\n\n"));
	for (int i = 0; i < 40; i++)
		expect(&s, "POST /tell/400000", "", "", 200, "told");
	for (int i = 0; i < 80; i++) {
		reply = ask(&s, "GET /counts", "", NULL);
		if (strstr(reply, "listeners 0\n"))
			break;
		free(reply);
		reply = NULL;
		usleep(100000);
	}
	assert_non_null(reply);
	free(reply);
	close(fd);
	expect_serving(&s);
	stop_quietly(&s);
}

static void
listeners_are_not_without_number(void **state)
{
	struct server s = start(NULL);
	int fds[HTTP_MAX_STREAMS];

	(void)state;
	for (size_t i = 0; i < HTTP_MAX_STREAMS; i++) {
		fds[i] = connect_to(&s);
		send_text(fds[i], LISTEN);
		free(receive(fds[i], "{\"n\":1}\n\n"));
	}
	expect(&s, "GET /events", "", NULL, 503, "too_many_listeners");
	for (size_t i = 0; i < HTTP_MAX_STREAMS; i++)
		close(fds[i]);
	expect_serving(&s);
	stop_quietly(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(listeners_hear_events),
		cmocka_unit_test(a_server_ends_while_somebody_listens),
		cmocka_unit_test(a_listener_that_does_not_read_is_let_go),
		cmocka_unit_test(listeners_are_not_without_number),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("http_streams", tests, NULL, NULL);
}
