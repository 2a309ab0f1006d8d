#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/daemon/loop.h"
#include "lib/wire/bus.h"
#include "lib/wire/bus_keys.h"
#include "lib/wire/rpc.h"
#include "tests/unit/test.h"

#define SECOND_NS ((int64_t)1000000000)

/* An endpoint of this test's own. */
static char endpoint[128];

static int
setup(void **state)
{
	(void)state;
	snprintf(endpoint, sizeof endpoint, "ipc:///tmp/antiphase-rpc-%d",
		 (int)getpid());
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	return unlink(endpoint + sizeof "ipc://" - 1) == 0 || errno == ENOENT ? 0 : -1;
}

/* Answers with the request twice. */
static void
answer(void *ctx, const char *request, size_t n, struct strbuf *reply)
{
	(*(int *)ctx)++;
	strbuf_add(reply, request, n);
	strbuf_add(reply, request, n);
}

/* Serves in this process what 'client' asks in another; returns what that exits with. */
static int
serve(const struct bus_keys *keys, int (*client)(void), int *ret_n)
{
	struct rpc_server *server;
	int status = -1, ends[2];
	char end;
	pid_t pid;

	*ret_n = 0;
	assert_int_equal(pipe(ends), 0);
	/* Before there are threads: what one of them has locked stays so in a child. */
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(ends[1]);
		_exit(read(ends[0], &end, 1) == 0 ? client() : -1);
	}
	close(ends[0]);
	assert_int_equal(rpc_server_open(endpoint, keys, answer, ret_n, &server, NULL),
			 0);
	close(ends[1]);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		rpc_server_serve(server);
		usleep(1000);
	}
	rpc_server_close(server);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int
ask_three(void)
{
	char *reply;
	size_t n;

	for (int i = 0; i < 3; i++) {
		if (rpc_call(endpoint, NULL, "ab", 3 * SECOND_NS, &reply, &n, NULL) < 0)
			return 1;
		if (n != 4 || strcmp(reply, "abab") != 0)
			return 2;
		free(reply);
	}
	return 0;
}

static void
a_question_gets_its_answer(void **state)
{
	int n;

	(void)state;
	assert_int_equal(serve(NULL, ask_three, &n), 0);
	assert_int_equal(n, 3);
}

static int
ask_too_much(void)
{
	size_t length = RPC_MAX_REQUEST_BYTES + 1, n;
	char *request = malloc(length + 1), *reply;
	int r;

	memset(request, 'x', length);
	request[length] = '\0';
	r = rpc_call(endpoint, NULL, request, SECOND_NS / 2, &reply, &n, NULL);
	return r < 0 ? ask_three() : 3;
}

static void
a_request_that_is_too_long_never_arrives(void **state)
{
	int n;

	(void)state;
	assert_int_equal(serve(NULL, ask_too_much, &n), 0);
	assert_int_equal(n, 3);
}

static void
nobody_there_is_said_at_once(void **state)
{
	int64_t begin_ns = clk_monotonic_ns();
	struct err err;
	char *reply;
	size_t n;

	(void)state;
	assert_int_equal(
		rpc_call(endpoint, NULL, "x", 30 * SECOND_NS, &reply, &n, &err),
		-ECONNREFUSED);
	assert_true(clk_monotonic_ns() - begin_ns < 10 * SECOND_NS);
	assert_non_null(strstr(err.text, endpoint));
}

static void
who_does_not_answer_is_waited_for_only_so_long(void **state)
{
	struct rpc_server *server;
	struct err err;
	char *reply;
	size_t n;
	int calls = 0;

	(void)state;
	assert_int_equal(rpc_server_open(endpoint, NULL, answer, &calls, &server, NULL),
			 0);
	assert_int_equal(
		rpc_call(endpoint, NULL, "x", SECOND_NS / 20, &reply, &n, &err),
		-ETIMEDOUT);
	rpc_server_close(server);
}

static void
without_keys_only_this_host_is_served(void **state)
{
	static const char *const beyond[] = { "tcp://0.0.0.0:0", "tcp://*:0",
					      "tcp://127x:1",    "tcp://10.0.0.1:7462",
					      "tcp://[::]:0",    NULL };
	struct rpc_server *server;
	struct rpc_announcer *announcer;
	struct err err;
	int calls = 0;

	(void)state;
	for (int i = 0; beyond[i]; i++) {
		assert_int_equal(
			rpc_server_open(beyond[i], NULL, answer, &calls, &server, &err),
			-EACCES);
		assert_non_null(strstr(err.text, "keys"));
		assert_int_equal(rpc_announcer_open(beyond[i], NULL, &announcer, &err),
				 -EACCES);
	}
	assert_int_equal(
		rpc_server_open("nonsense", NULL, answer, &calls, &server, &err),
		-EACCES);
}

static void
an_address_in_use_is_named(void **state)
{
	struct rpc_announcer *one, *two;
	struct err err;

	(void)state;
	assert_int_equal(rpc_announcer_open("tcp://127.0.0.1:*", NULL, &one, &err), 0);
	rpc_announcer_close(one);
	assert_int_equal(
		rpc_announcer_open("ipc:///nowhere/at/all", NULL, &two, &err) < 0, 1);
	assert_non_null(strstr(err.text, "/nowhere/at/all"));
}

static void
announcements_reach_who_listens_to_their_topic(void **state)
{
	struct rpc_announcer *announcer;
	struct rpc_listener *listener;
	char *text = NULL;
	int r = 0;

	(void)state;
	assert_int_equal(rpc_announcer_open(endpoint, NULL, &announcer, NULL), 0);
	assert_int_equal(rpc_listener_open(endpoint, NULL, "t/", &listener, NULL), 0);
	/* The subscription takes a moment to get there. */
	for (int i = 0; i < 200 && r == 0; i++) {
		rpc_announce(announcer, "u/other", "wrong\n");
		rpc_announce(announcer, "t/link_down", "right\n");
		r = rpc_listen(listener, SECOND_NS / 100, &text);
	}
	assert_int_equal(r, 1);
	assert_string_equal(text, "right\n");
	free(text);
	rpc_listener_close(listener);
	rpc_announcer_close(announcer);
}

/* ---- Keys --------------------------------------------------------------------------- */

static char keys_at[128];

/* A directory of keys below keys_at, made once a name. */
static struct bus_keys *
load_keys(const char *name)
{
	char path[200];
	struct bus_keys *keys;

	snprintf(path, sizeof path, "%s/%s", keys_at, name);
	if (bus_keys_load(path, &keys, NULL) < 0) {
		if (bus_keys_new(path, NULL) < 0 ||
		    bus_keys_load(path, &keys, NULL) < 0)
			return NULL;
	}
	return keys;
}

/* Who asks knows the server, and has a key of this name. */
static int
ask_as(const char *name)
{
	struct bus_keys *keys = load_keys(name);
	char *reply;
	size_t n;
	int r;

	if (!keys)
		return 9;
	r = rpc_call(endpoint, keys, "ab", SECOND_NS, &reply, &n, NULL);
	bus_keys_free(keys);
	if (r == 0)
		free(reply);
	return r == 0 ? 0 : r == -EACCES ? 1 : 2;
}

static int
ask_as_friend(void)
{
	return ask_as("friend");
}

static int
ask_as_stranger(void)
{
	return ask_as("stranger");
}

static int
ask_without_a_key(void)
{
	char *reply;
	size_t n;

	return rpc_call(endpoint, NULL, "ab", SECOND_NS, &reply, &n, NULL) == 0;
}

static void
only_who_has_an_allowed_key_is_answered(void **state)
{
	struct bus_keys *server, *friend, *stranger;
	char path[200];
	int n;

	(void)state;
	snprintf(keys_at, sizeof keys_at, "/tmp/antiphase-rpc-keys-%d", (int)getpid());
	assert_int_equal(mkdir(keys_at, 0700), 0);
	server = load_keys("server");
	friend = load_keys("friend");
	stranger = load_keys("stranger");
	assert_true(server && friend && stranger);
	snprintf(path, sizeof path, "%s/server", keys_at);
	assert_int_equal(bus_keys_allow(path, "friend", friend->public, NULL), 0);
	snprintf(path, sizeof path, "%s/friend", keys_at);
	assert_int_equal(bus_keys_server(path, server->public, NULL), 0);
	snprintf(path, sizeof path, "%s/stranger", keys_at);
	assert_int_equal(bus_keys_server(path, server->public, NULL), 0);
	bus_keys_free(server);
	server = load_keys("server");
	assert_int_equal(serve(server, ask_as_friend, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(serve(server, ask_as_stranger, &n), 1);
	assert_int_equal(n, 0);
	assert_int_equal(serve(server, ask_without_a_key, &n), 0);
	assert_int_equal(n, 0);
	bus_keys_free(server);
	bus_keys_free(friend);
	bus_keys_free(stranger);
	snprintf(path, sizeof path, "rm -r %s", keys_at);
	assert_int_equal(system(path), 0);
}

struct hearing {
	struct loop *loop;
	struct rpc_announcer *announcer;
	unsigned n_said, n_heard;
};

static void
hear(void *ctx, const char *text, size_t n)
{
	struct hearing *h = ctx;

	assert_int_equal(n, 4);
	assert_string_equal(text, "mine");
	if (++h->n_heard == 3)
		loop_stop(h->loop, 7);
}

/* A listener misses what was said before it was connected: so it is said again. */
static void
say(void *ctx, int64_t now_ns, int64_t missed)
{
	struct hearing *h = ctx;

	(void)now_ns;
	(void)missed;
	rpc_announce(h->announcer, "pace/n2/", "not mine");
	rpc_announce(h->announcer, "pace/n1/", "mine");
	if (++h->n_said > 500)
		loop_stop(h->loop, 1);
}

static void
a_listener_in_a_loop_hears_its_topic_and_no_other(void **state)
{
	struct hearing h = { .loop = loop_new() };
	struct rpc_listener *listener;

	(void)state;
	/* Who announces may come later. */
	assert_int_equal(rpc_listener_open(endpoint, NULL, "pace/n1/", &listener, NULL),
			 0);
	rpc_listener_join(listener, h.loop, hear, &h);
	assert_int_equal(rpc_announcer_open(endpoint, NULL, &h.announcer, NULL), 0);
	rpc_announcer_join(h.announcer, h.loop);
	loop_every(h.loop, 10000000, say, &h);
	assert_int_equal(loop_run(h.loop), 7);
	rpc_listener_close(listener);
	rpc_announcer_close(h.announcer);
	loop_free(h.loop);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_question_gets_its_answer, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			a_request_that_is_too_long_never_arrives, setup, teardown),
		cmocka_unit_test_setup_teardown(nobody_there_is_said_at_once, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			who_does_not_answer_is_waited_for_only_so_long, setup,
			teardown),
		cmocka_unit_test(without_keys_only_this_host_is_served),
		cmocka_unit_test(an_address_in_use_is_named),
		cmocka_unit_test_setup_teardown(
			a_listener_in_a_loop_hears_its_topic_and_no_other, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			announcements_reach_who_listens_to_their_topic, setup,
			teardown),
		cmocka_unit_test_setup_teardown(only_who_has_an_allowed_key_is_answered,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
