/* SPDX-License-Identifier: Apache-2.0 */
/*
 * src_rdma_query.c - queries over NETLINK_RDMA: numbers of devices, congestion of a
 * port, counters bound to processes.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "collector/sources/rdma/rdma_nl.h"
#include "collector/sources/rdma/src_rdma_priv.h"
#include "lib/base/clk.h"
#include "lib/base/log.h"

#define MAX_BOUND 16384 /* Counters of processes. */

/* Sends a request and collects the whole reply. */
static ssize_t
kernel_exchange(struct rdma_source *s, const uint8_t *request, size_t n)
{
	static const struct rdma_nl_handler ignore = { 0 };
	size_t have = 0;

	if (send(s->netlink_fd, request, n, 0) < 0)
		return -errno;
	for (;;) {
		ssize_t got = recv(s->netlink_fd, s->reply + have,
				   RDMA_REPLY_BYTES - have, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (rdma_nl_parse(s->reply + have, (size_t)got, s->sequence, &ignore))
			return (ssize_t)have + got;
		have += (size_t)got;
		if (have + 32768 > RDMA_REPLY_BYTES)
			return -ENOBUFS;
	}
}

static int
ask(struct rdma_source *s, const uint8_t *request, size_t n,
    const struct rdma_nl_handler *handler)
{
	ssize_t got = s->options.exchange
			      ? s->options.exchange(s->options.ctx, request, n,
						    s->reply, RDMA_REPLY_BYTES)
			      : kernel_exchange(s, request, n);
	int error;

	if (got < 0)
		return (int)got;
	error = rdma_nl_parse(s->reply, (size_t)got, s->sequence, handler);
	return error < 0 ? error : 0;
}

static void
on_device(void *ctx, uint32_t index, const char *name, uint32_t n_ports)
{
	struct rdma_source *s = ctx;

	(void)n_ports;
	for (size_t i = 0; i < s->ports.n; i++)
		if (!strcmp(s->ports.items[i].device, name))
			s->ports.items[i].index = index;
}

void
rdma_open_netlink(struct rdma_source *s)
{
	struct timeval patience = { .tv_sec = 1 };

	s->has_netlink = s->options.exchange != NULL;
	if (s->has_netlink || s->sysroot[0])
		return;
	s->netlink_fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
	if (s->netlink_fd < 0) {
		log_info("rdma",
			 "the kernel has no NETLINK_RDMA: no ECN marks, no jobs");
		return;
	}
	setsockopt(s->netlink_fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	s->has_netlink = true;
}

void
rdma_query_devices(struct rdma_source *s)
{
	const struct rdma_nl_handler handler = { .ctx = s, .device = on_device };
	uint8_t request[RDMA_NL_MAX_REQUEST];

	if (s->has_netlink)
		ask(s, request, rdma_nl_ask_devices(request, ++s->sequence), &handler);
}

/* Congestion counters of a port. */
static void
on_port_counter(void *ctx, const struct rdma_nl_counter *counter)
{
	static const char *const repeats[] = { "packet_seq_err",
					       "local_ack_timeout_err",
					       "rnr_nak_retry_err" };
	struct port *port = ctx;

	if (counter->has_pid)
		return;
	if (!strcmp(counter->name, "np_ecn_marked_roce_packets"))
		port->ce = counter->value;
	for (size_t i = 0; i < sizeof repeats / sizeof *repeats; i++)
		if (!strcmp(counter->name, repeats[i]))
			port->events += counter->value;
}

static struct bound *
find_bound(struct rdma_source *s, const struct rdma_nl_counter *c, uint8_t direction)
{
	struct bound fresh = { .device = c->device,
			       .port = c->port,
			       .pid = c->pid,
			       .id = c->id,
			       .direction = direction,
			       .last = c->value };

	for (size_t i = 0; i < s->bound.n; i++) {
		struct bound *b = &s->bound.items[i];

		if (b->pid == c->pid && b->id == c->id && b->port == c->port &&
		    b->device == c->device && b->direction == direction)
			return b;
	}
	if (s->bound.n >= MAX_BOUND)
		s->bound.n = 0; /* Restarts: loses a few counts, but bounds memory. */
	vec_push(&s->bound, fresh);
	return &s->bound.items[s->bound.n - 1];
}

static void
add_job_bytes(struct rdma_source *s, const struct source_key *key, uint64_t bytes)
{
	for (size_t i = 0; i < s->jobs.n; i++) {
		struct job_bytes *j = &s->jobs.items[i];

		if (j->key.interface == key->interface && j->key.job == key->job &&
		    j->key.direction == key->direction) {
			j->total += bytes;
			return;
		}
	}
	vec_push(&s->jobs, ((struct job_bytes){ *key, bytes }));
}

/* Bytes of one process: adds the difference to its job. */
static void
on_bound_counter(void *ctx, const struct rdma_nl_counter *counter)
{
	struct rdma_source *s = ctx;
	struct source_key key = { .job = TELE_OTHER, .measure = TELE_WIRE };
	char name[TELE_MAX_NAME + 1];
	const struct port *port = NULL;
	struct bound *bound;
	uint64_t step;

	if (!strcmp(counter->name, "rdma_tx_bytes"))
		key.direction = TELE_TX;
	else if (!strcmp(counter->name, "rdma_rx_bytes"))
		key.direction = TELE_RX;
	else
		return;
	for (size_t i = 0; i < s->ports.n && !port; i++)
		if (s->ports.items[i].index == counter->device &&
		    s->ports.items[i].port == counter->port &&
		    s->ports.items[i].is_announced)
			port = &s->ports.items[i];
	if (!port || !counter->has_pid)
		return;
	bound = find_bound(s, counter, key.direction);
	step = counter->value >= bound->last ? counter->value - bound->last
					     : counter->value;
	bound->last = counter->value;
	key.interface = port->number;
	if (s->options.job_of_pid &&
	    s->options.job_of_pid(s->options.ctx, counter->pid, name))
		key.job = s->sink->job(s->sink->ctx, name);
	add_job_bytes(s, &key, step);
}

void
rdma_query_port(struct rdma_source *s, struct port *port)
{
	const struct rdma_nl_handler handler = { .ctx = port,
						 .counter = on_port_counter };
	uint8_t request[RDMA_NL_MAX_REQUEST];

	if (!s->has_netlink || port->index == UINT32_MAX)
		return;
	port->events = 0;
	if (ask(s, request,
		rdma_nl_ask_port(request, ++s->sequence, port->index, port->port),
		&handler) == 0)
		port->retransmits = port->events;
}

void
rdma_read_jobs(struct rdma_source *s)
{
	const struct rdma_nl_handler handler = { .ctx = s,
						 .counter = on_bound_counter };
	uint8_t request[RDMA_NL_MAX_REQUEST];
	int64_t before_ns = clk_monotonic_ns(), after_ns;

	if (!s->options.job_of_pid ||
	    ask(s, request, rdma_nl_ask_bound(request, ++s->sequence), &handler) < 0)
		return;
	after_ns = clk_monotonic_ns();
	for (size_t i = 0; i < s->jobs.n; i++)
		s->sink->counter(s->sink->ctx, &s->jobs.items[i].key,
				 before_ns + (after_ns - before_ns) / 2,
				 s->jobs.items[i].total, 64, NULL);
}
