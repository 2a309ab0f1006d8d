/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include <zmq.h>

#include "lib/base/clk.h"
#include "lib/daemon/loop.h"
#include "tests/unit/test.h"

#define MS 1000000

struct lab {
	struct loop *loop;
	struct loop_item *item;
	int64_t start_ns, calls, missed;
	int fds[2];
	void *sockets[2];
};

static void
setup_loop(struct lab *lab)
{
	*lab = (struct lab){ .loop = loop_new(), .start_ns = clk_monotonic_ns() };
}

static void
stop_after_three(void *ctx, int64_t now_ns, int64_t missed)
{
	struct lab *lab = ctx;

	lab->missed += missed;
	lab->calls++;
	assert_true(now_ns - lab->start_ns >= (lab->calls + lab->missed) * 5 * MS);
	if (lab->calls == 3)
		loop_stop(lab->loop, 7);
}

static void
timers_keep_their_grid(void **state)
{
	struct lab lab;

	(void)state;
	setup_loop(&lab);
	loop_every(lab.loop, 5 * MS, stop_after_three, &lab);
	assert_int_equal(loop_run(lab.loop), 7);
	assert_int_equal(lab.calls, 3);
	loop_free(lab.loop);
}

static void
sleep_once(void *ctx, int64_t now_ns, int64_t missed)
{
	struct lab *lab = ctx;
	int64_t periods = (now_ns - lab->start_ns) / (5 * MS);

	lab->calls++;
	lab->missed += missed;
	/* No period is lost or counted twice. */
	assert_in_range(lab->calls + lab->missed, periods - 1, periods);
	if (lab->calls == 1)
		usleep(32 * 1000);
	if (lab->calls == 3)
		loop_stop(lab->loop, 0);
}

static void
a_late_timer_is_called_once_and_told_what_it_missed(void **state)
{
	struct lab lab;

	(void)state;
	setup_loop(&lab);
	loop_every(lab.loop, 5 * MS, sleep_once, &lab);
	loop_run(lab.loop);
	assert_true(lab.missed >= 5);
	loop_free(lab.loop);
}

static void
read_and_stop(void *ctx)
{
	struct lab *lab = ctx;
	char byte;

	assert_int_equal(read(lab->fds[0], &byte, 1), 1);
	lab->calls++;
	if (byte == 'z')
		loop_stop(lab->loop, 0);
}

static void
a_descriptor_is_served_until_it_is_empty(void **state)
{
	struct lab lab;

	(void)state;
	setup_loop(&lab);
	assert_int_equal(pipe(lab.fds), 0);
	assert_int_equal(write(lab.fds[1], "xyz", 3), 3);
	loop_fd(lab.loop, lab.fds[0], read_and_stop, &lab);
	loop_run(lab.loop);
	assert_int_equal(lab.calls, 3);
	loop_free(lab.loop);
	close(lab.fds[0]);
	close(lab.fds[1]);
}

static void
receive_one(void *ctx)
{
	struct lab *lab = ctx;
	char byte;

	assert_int_equal(zmq_recv(lab->sockets[1], &byte, 1, ZMQ_DONTWAIT), 1);
	if (++lab->calls == 3)
		loop_stop(lab->loop, 0);
}

static void
a_zeromq_socket_is_served_until_it_is_empty(void **state)
{
	void *context = zmq_ctx_new();
	struct lab lab;

	(void)state;
	setup_loop(&lab);
	for (int i = 0; i < 2; i++)
		lab.sockets[i] = zmq_socket(context, ZMQ_PAIR);
	assert_int_equal(zmq_bind(lab.sockets[1], "inproc://loop"), 0);
	assert_int_equal(zmq_connect(lab.sockets[0], "inproc://loop"), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(zmq_send(lab.sockets[0], "x", 1, 0), 1);
	loop_socket(lab.loop, lab.sockets[1], receive_one, &lab);
	loop_run(lab.loop);
	loop_free(lab.loop);
	zmq_close(lab.sockets[0]);
	zmq_close(lab.sockets[1]);
	zmq_ctx_term(context);
}

static void
on_usr1(void *ctx, int signal)
{
	struct lab *lab = ctx;

	assert_int_equal(signal, SIGUSR1);
	lab->calls++;
}

static void
on_term(void *ctx, int signal)
{
	struct lab *lab = ctx;

	assert_int_equal(signal, SIGTERM);
	loop_stop(lab->loop, 3);
}

static void
raise_both(void *ctx, int64_t now_ns, int64_t missed)
{
	(void)ctx;
	(void)now_ns;
	(void)missed;
	raise(SIGUSR1);
	raise(SIGTERM);
}

static void
signals_are_served_in_the_loop_and_given_back_after_it(void **state)
{
	struct sigaction after;
	struct lab lab;

	(void)state;
	setup_loop(&lab);
	loop_signal(lab.loop, SIGUSR1, on_usr1, &lab);
	loop_signal(lab.loop, SIGTERM, on_term, &lab);
	loop_every(lab.loop, MS, raise_both, &lab);
	assert_int_equal(loop_run(lab.loop), 3);
	assert_int_equal(lab.calls, 1);
	loop_free(lab.loop);
	sigaction(SIGTERM, NULL, &after);
	assert_ptr_equal(after.sa_handler, SIG_DFL);
	/* Again with a loop of its own. */
	setup_loop(&lab);
	loop_signal(lab.loop, SIGTERM, on_term, &lab);
	loop_every(lab.loop, MS, raise_both, &lab);
	signal(SIGUSR1, SIG_IGN);
	assert_int_equal(loop_run(lab.loop), 3);
	signal(SIGUSR1, SIG_DFL);
	loop_free(lab.loop);
}

static void
a_signal_is_not_blocked_in_programs_we_start(void **state)
{
	struct lab lab;
	int status;
	pid_t child;

	(void)state;
	setup_loop(&lab);
	loop_signal(lab.loop, SIGTERM, on_term, &lab);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		execl("/bin/sh", "sh", "-c", "kill -TERM $$; sleep 5", NULL);
		_exit(1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	loop_free(lab.loop);
}

static void
remove_itself(void *ctx, int64_t now_ns, int64_t missed)
{
	struct lab *lab = ctx;

	(void)now_ns;
	(void)missed;
	lab->calls++;
	loop_remove(lab->loop, lab->item);
	loop_remove(lab->loop, lab->item);
}

static void
add_three(void *ctx, int64_t now_ns, int64_t missed)
{
	struct lab *lab = ctx;

	(void)now_ns;
	(void)missed;
	if (lab->missed++ == 0) {
		for (int i = 0; i < 30; i++)
			loop_remove(lab->loop,
				    loop_every(lab->loop, MS, add_three, lab));
		lab->item = loop_every(lab->loop, MS, remove_itself, lab);
	}
	if (lab->missed == 6)
		loop_stop(lab->loop, 0);
}

static void
callbacks_add_and_remove_items_and_themselves(void **state)
{
	struct lab lab;

	(void)state;
	setup_loop(&lab);
	loop_every(lab.loop, 2 * MS, add_three, &lab);
	loop_run(lab.loop);
	assert_int_equal(lab.calls, 1);
	loop_free(lab.loop);
}

static void
a_loop_without_work_uses_no_processor(void **state)
{
	struct lab lab;
	int64_t cpu_ns;

	(void)state;
	setup_loop(&lab);
	assert_int_equal(pipe(lab.fds), 0);
	loop_fd(lab.loop, lab.fds[0], read_and_stop, &lab);
	lab.calls = 2;
	lab.start_ns -= 15 * MS;
	loop_every(lab.loop, 100 * MS, stop_after_three, &lab);
	cpu_ns = clk_cpu_ns();
	loop_run(lab.loop);
	assert_true(clk_cpu_ns() - cpu_ns < 20 * MS);
	loop_free(lab.loop);
	close(lab.fds[0]);
	close(lab.fds[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timers_keep_their_grid),
		cmocka_unit_test(a_late_timer_is_called_once_and_told_what_it_missed),
		cmocka_unit_test(a_descriptor_is_served_until_it_is_empty),
		cmocka_unit_test(a_zeromq_socket_is_served_until_it_is_empty),
		cmocka_unit_test(
			signals_are_served_in_the_loop_and_given_back_after_it),
		cmocka_unit_test(a_signal_is_not_blocked_in_programs_we_start),
		cmocka_unit_test(callbacks_add_and_remove_items_and_themselves),
		cmocka_unit_test(a_loop_without_work_uses_no_processor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
