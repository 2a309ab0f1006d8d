/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcp_flows.c - runs a flow scenario with TCP of this kernel between network namespaces
 *
 *	tcp_flows PREFIX FILE.scn ITERATIONS CONGESTION_CONTROL WARM_BYTES LIMIT_S
 *
 * Host N is the namespace PREFIX-hN, made by tests/net/bench_tcp.sh with a route for the
 * addresses of each flow.  Each flow is one connection, kept for all iterations; before
 * the scenario's time 0 each one sends WARM_BYTES alone.  A flow ends when its receiver
 * has all bytes.  One process has all sockets, so that it needs no clock or message
 * between hosts, and real-time priority if it may.
 *
 * CONGESTION_CONTROL is a name of net.ipv4.tcp_available_congestion_control, or "dctcp",
 * which BPF adds if the kernel lacks it; exit status 5 if it cannot.
 *
 * Prints "job,iter,end_time_s" like 'antiphase sim flows', then "0,ecn,packets,marked":
 * data packets of all jobs, and those of them with an ECN mark.  The last line is
 * "host,REALTIME,LATE_MS": 1 with real-time priority, and by how much its latest timer was
 * late.
 */
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "sim/run/flow_scenario.h"
#include "tests/bench/dctcp.h"
#include "tests/bench/netns_tcp.h"

#define NS_PER_S      1000000000ll
#define CHUNK_BYTES   65536
#define PAYLOAD_BYTES 1448 /* Of a packet, with timestamps. */

struct flow {
	uint32_t job;
	int sender, receiver;
	int64_t to_send, to_get;
};

struct job {
	uint64_t n_done;
	int timer;
	uint32_t n_running; /* Flows. */
	int64_t start_ns;   /* Of the sending of this iteration. */
	double *ends_s;     /* Owned, by iteration. */
};

enum kind {
	SENDER,
	RECEIVER,
	TIMER
};

static const struct flow_scenario *scn;
static const char *prefix, *congestion_control;
static uint64_t n_iterations;
static struct flow *flows;
static struct job *jobs;
static uint32_t n_jobs_running;
static int64_t begin_ns, latest_ns;
static int epoll_fd;
static char chunk[CHUNK_BYTES];

static void
die(const char *what)
{
	fprintf(stderr, "tcp_flows: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void
watch(int fd, uint32_t events, enum kind kind, uint32_t number)
{
	struct epoll_event event = { .events = events,
				     .data.u64 = (uint64_t)kind << 32 | number };

	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event))
		die("epoll_ctl");
}

/* ------ Flows ------ */

static void
open_flow(uint32_t f)
{
	const struct flow_scenario_flow *flow = &scn->flows[f];

	errno = -netns_tcp_connect(prefix, f, flow->src, flow->dst, congestion_control,
				   &flows[f].sender, &flows[f].receiver);
	if (errno)
		die("connecting the hosts of a flow");
	watch(flows[f].sender, EPOLLOUT | EPOLLET, SENDER, f);
	watch(flows[f].receiver, EPOLLIN, RECEIVER, f);
}

static void
push(struct flow *flow)
{
	while (flow->to_send) {
		size_t n = flow->to_send < CHUNK_BYTES ? (size_t)flow->to_send
						       : CHUNK_BYTES;
		ssize_t sent = send(flow->sender, chunk, n, MSG_NOSIGNAL);

		if (sent < 0 && errno == EAGAIN)
			return;
		if (sent < 0)
			die("send");
		flow->to_send -= sent;
	}
}

/* ------ Jobs ------ */

static void
compute(uint32_t j, int64_t from_ns)
{
	struct job *job = &jobs[j];
	struct itimerspec at = { 0 };

	job->start_ns = from_ns + scn->jobs[j].compute_ns;
	at.it_value.tv_sec = job->start_ns / NS_PER_S;
	at.it_value.tv_nsec = job->start_ns % NS_PER_S;
	if (timerfd_settime(job->timer, TFD_TIMER_ABSTIME, &at, NULL))
		die("timerfd_settime");
}

static void
end_flow(uint32_t j)
{
	struct job *job = &jobs[j];
	int64_t now = now_ns();

	if (--job->n_running)
		return;
	job->ends_s[job->n_done++] = (double)(now - begin_ns) / 1e9;
	if (job->n_done < n_iterations)
		compute(j, now);
	else
		n_jobs_running--;
}

static void
send_all(uint32_t j)
{
	const struct flow_scenario_job *job = &scn->jobs[j];
	int64_t late_ns = now_ns() - jobs[j].start_ns;

	latest_ns = late_ns > latest_ns ? late_ns : latest_ns;
	jobs[j].n_running = job->n_flows;
	for (uint32_t f = job->first_flow; f < job->first_flow + job->n_flows; f++) {
		flows[f].to_send = flows[f].to_get = scn->flows[f].bytes;
		push(&flows[f]);
	}
}

static void
get(struct flow *flow)
{
	ssize_t got = recv(flow->receiver, chunk, CHUNK_BYTES, 0);

	if (got < 0 && errno == EAGAIN)
		return;
	if (got <= 0 || got > flow->to_get)
		die("recv");
	flow->to_get -= got;
	if (!flow->to_get && jobs[flow->job].n_running)
		end_flow(flow->job);
}

static void
handle_events(void)
{
	struct epoll_event events[64];
	int n = epoll_wait(epoll_fd, events, 64, -1);
	uint64_t expirations;

	if (n < 0 && errno != EINTR)
		die("epoll_wait");
	for (int i = 0; i < n; i++) {
		uint32_t number = (uint32_t)events[i].data.u64;

		switch ((enum kind)(events[i].data.u64 >> 32)) {
		case SENDER:
			push(&flows[number]);
			break;
		case RECEIVER:
			get(&flows[number]);
			break;
		case TIMER:
			if (read(jobs[number].timer, &expirations, 8) == 8)
				send_all(number);
			break;
		}
	}
}

static void
warm_up(struct flow *flow, int64_t bytes)
{
	flow->to_send = flow->to_get = bytes;
	push(flow);
	while (flow->to_get)
		handle_events();
}

static void
run_jobs(void)
{
	begin_ns = now_ns();
	n_jobs_running = scn->n_jobs;
	for (uint32_t j = 0; j < scn->n_jobs; j++)
		compute(j, begin_ns + scn->jobs[j].shift_ns);
	while (n_jobs_running)
		handle_events();
}

/* ------ Results ------ */

static uint64_t
count_marked(void)
{
	uint64_t marked;

	errno = -netns_tcp_marked(prefix, scn->n_hosts, &marked);
	if (errno)
		die("counting marks");
	return marked;
}

/* Without those that are sent again: links drop nothing. */
static uint64_t
count_packets(void)
{
	uint64_t packets = 0;

	for (uint32_t f = 0; f < scn->n_flows; f++)
		packets += (uint64_t)(scn->flows[f].bytes + PAYLOAD_BYTES - 1) /
			   PAYLOAD_BYTES;
	return n_iterations * packets;
}

static void
print(bool realtime, uint64_t marked)
{
	for (uint32_t j = 0; j < scn->n_jobs; j++)
		for (uint64_t i = 0; i < n_iterations; i++)
			printf("%u,%llu,%.9f\n", j, (unsigned long long)i,
			       jobs[j].ends_s[i]);
	printf("0,ecn,%llu,%llu\n", (unsigned long long)count_packets(),
	       (unsigned long long)marked);
	printf("host,%d,%.3f\n", realtime, (double)latest_ns / 1e6);
}

static struct flow_scenario *
read_scenario(const char *path)
{
	struct flow_scenario *scenario;
	struct err err;
	size_t length;
	char *text;

	if (file_read(path, (size_t)1 << 30, &text, &length, &err) ||
	    flow_scenario_parse(path, text, length, &scenario, &err)) {
		err_print(&err, stderr);
		exit(2);
	}
	free(text);
	return scenario;
}

int
main(int argc, char **argv)
{
	struct sched_param priority = { .sched_priority = 10 };
	uint64_t marked;
	bool realtime;

	if (argc != 7 || (n_iterations = strtoull(argv[3], NULL, 10)) == 0) {
		fprintf(stderr, "usage: tcp_flows PREFIX FILE.scn ITERATIONS "
				"CONGESTION_CONTROL WARM_BYTES LIMIT_S\n");
		return 2;
	}
	prefix = argv[1];
	congestion_control = argv[4];
	scn = read_scenario(argv[2]);
	/* A lost connection must not make it wait for ever. */
	alarm((unsigned)strtoul(argv[6], NULL, 10));
	if (!strcmp(congestion_control, "dctcp") && !netns_tcp_has("dctcp") &&
	    !(congestion_control = dctcp_register())) {
		fprintf(stderr,
			"tcp_flows: dctcp: not in this kernel, and not by BPF: %s\n",
			strerror(errno));
		return 5;
	}
	realtime = !sched_setscheduler(0, SCHED_FIFO, &priority);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	flows = xcalloc(scn->n_flows + 1, sizeof *flows);
	jobs = xcalloc(scn->n_jobs + 1, sizeof *jobs);
	for (uint32_t j = 0; j < scn->n_jobs; j++) {
		jobs[j].ends_s = xcalloc(n_iterations, sizeof *jobs[j].ends_s);
		jobs[j].timer =
			timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
		watch(jobs[j].timer, EPOLLIN, TIMER, j);
		for (uint32_t f = 0; f < scn->jobs[j].n_flows; f++)
			flows[scn->jobs[j].first_flow + f].job = j;
	}
	for (uint32_t f = 0; f < scn->n_flows; f++)
		open_flow(f);
	for (uint32_t f = 0; f < scn->n_flows; f++)
		warm_up(&flows[f], strtoll(argv[5], NULL, 10));
	marked = count_marked();
	run_jobs();
	marked = count_marked() - marked;
	print(realtime, marked);
	return fflush(stdout) == 0 ? 0 : 1;
}
