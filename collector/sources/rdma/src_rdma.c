/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/sources/rdma/src_rdma.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/sources/rdma/rdma_units.h"
#include "collector/sources/rdma/src_rdma_priv.h"
#include "collector/sources/source.h"
#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/log.h"

#define MS                  INT64_C(1000000)
#define DEFAULT_INTERVAL_NS (2 * MS)
#define EVENTS_NS           (10 * MS)   /* Packets, ECN marks, jobs. */
#define SCAN_NS             (1000 * MS) /* Scan for devices, state and rate. */

static struct rdma_source *
from_source(const struct source *source)
{
	return (struct rdma_source *)source;
}

/* Packets and congestion of a port, less often than bytes. */
static void
read_events(struct rdma_source *s, struct port *port)
{
	uint64_t value;

	for (size_t i = XMIT_PACKETS; i <= RCV_PACKETS; i++)
		if (port->fds[i] >= 0 && rdma_read_counter(port->fds[i], &value) == 0)
			rdma_counter_take(&port->counters[i], value);
	rdma_query_port(s, port);
}

static void
announce(struct rdma_source *s, struct port *port)
{
	struct tele_interface interface = {
		.capacity_bps = port->rate_bps,
		.is_up = port->is_up,
		.is_rdma = true,
	};

	memcpy(interface.name, port->name, sizeof interface.name);
	port->number = s->sink->interface(s->sink->ctx, &interface);
	port->is_announced = true;
}

/* Reads a data counter and passes it on, stamped with the middle of the reading. */
static int
read_data(struct rdma_source *s, struct port *port, enum port_file file)
{
	bool is_tx = file == XMIT_DATA;
	struct source_key key = { port->number, TELE_LINK, is_tx ? TELE_TX : TELE_RX,
				  TELE_WIRE };
	struct source_extra extra = {
		.packets = port->counters[is_tx ? XMIT_PACKETS : RCV_PACKETS].last,
		.ce = is_tx ? 0 : port->ce,
		.retransmits = is_tx ? port->retransmits : 0,
	};
	int64_t before_ns = clk_monotonic_ns(), took_ns;
	uint64_t value;
	int error = rdma_read_counter(port->fds[file], &value);

	took_ns = clk_monotonic_ns() - before_ns;
	if (error < 0)
		return error;
	s->status.n_reads++;
	s->status.n_slow += took_ns > RDMA_SLOW_NS;
	if (took_ns > s->status.slowest_read_ns)
		s->status.slowest_read_ns = took_ns;
	rdma_pace_note(&s->pace, took_ns);
	if (!rdma_counter_take(&port->counters[file], value)) {
		s->status.n_saturated++; /* Not a reading: its bins become a gap. */
		return 0;
	}
	s->sink->counter(s->sink->ctx, &key, before_ns + took_ns / 2,
			 value * port->unit_bytes, 64, &extra);
	return 0;
}

static void
read_port(struct rdma_source *s, struct port *port, bool with_events)
{
	int error;

	if (!port->is_announced)
		announce(s, port);
	if (with_events)
		read_events(s, port);
	error = read_data(s, port, XMIT_DATA);
	if (error == 0)
		error = read_data(s, port, RCV_DATA);
	if (error == -ENODATA) {
		log_warn("rdma", "%s does not count bytes", port->name);
		rdma_lose_port(s, port);
		port->is_useless = true;
	} else if (error < 0) {
		rdma_lose_port(s, port); /* The next scan may find it again. */
	} else {
		s->sink->complete(s->sink->ctx, port->number, clk_monotonic_ns() / MS);
	}
}

static int
rdma_poll(struct source *source, int64_t now_ns, const struct source_sink *sink,
	  struct err *err)
{
	struct rdma_source *s = from_source(source);
	bool with_events;

	(void)err;
	if (now_ns < s->next_ns)
		return 0;
	s->sink = sink;
	if (now_ns >= s->scan_ns) {
		s->scan_ns = now_ns + SCAN_NS;
		rdma_scan(s);
		rdma_query_devices(s);
	}
	with_events = now_ns >= s->events_ns;
	if (with_events)
		s->events_ns = now_ns + EVENTS_NS;
	for (size_t i = 0; i < s->ports.n; i++)
		if (s->ports.items[i].fds[XMIT_DATA] >= 0 &&
		    !s->ports.items[i].is_useless)
			read_port(s, &s->ports.items[i], with_events);
	if (with_events && s->has_netlink)
		rdma_read_jobs(s);
	s->next_ns = now_ns + s->pace.interval_ns;
	s->status.interval_ns = s->pace.interval_ns;
	s->sink = NULL;
	return 0;
}

static int64_t
rdma_interval_ns(const struct source *source)
{
	return from_source(source)->pace.interval_ns;
}

static void
rdma_close(struct source *source)
{
	struct rdma_source *s = from_source(source);

	if (!s)
		return;
	for (size_t i = 0; i < s->ports.n; i++)
		rdma_close_port(&s->ports.items[i]);
	for (size_t i = 0; i < s->names.n; i++)
		free(s->names.items[i]);
	if (s->netlink_fd >= 0)
		close(s->netlink_fd);
	vec_free(&s->names);
	vec_free(&s->ports);
	vec_free(&s->bound);
	vec_free(&s->jobs);
	free(s->sysroot);
	free(s->units);
	free(s->reply);
	free(s);
}

static const struct source_class rdma_class = {
	.name = "rdma",
	.summary = "port counters of RDMA devices",
	.poll = rdma_poll,
	.interval_ns = rdma_interval_ns,
	.close = rdma_close,
};

void
src_rdma_status(const struct source *source, struct rdma_status *ret_status)
{
	*ret_status = from_source(source)->status;
}

int
src_rdma_open(const struct rdma_options *options, struct source **ret_source,
	      struct err *err)
{
	int64_t least_ns =
		options->interval_ns > 0 ? options->interval_ns : DEFAULT_INTERVAL_NS;
	struct rdma_source *s;
	int error;

	if (!rdma_override_is_valid(options->units))
		return err_set(err, NULL, 0, 0,
			       "RDMA units '%s': expected DRIVER=BYTES by commas, such "
			       "as 'mlx5_core=4'",
			       options->units);
	s = xcalloc(1, sizeof *s);
	s->source.class = &rdma_class;
	s->options = *options;
	s->netlink_fd = -1;
	s->sysroot = xstrdup(options->sysroot ? options->sysroot : "");
	s->units = options->units ? xstrdup(options->units) : NULL;
	s->reply = xcalloc(RDMA_REPLY_BYTES, 1);
	s->pace = (struct rdma_pace){ least_ns, least_ns, RDMA_MAX_INTERVAL_NS,
				      RDMA_SLOW_NS, 0 };
	s->status.interval_ns = least_ns;
	for (size_t i = 0; i < options->n_names; i++)
		vec_push(&s->names, xstrdup(options->names[i]));
	error = rdma_scan(s);
	if (error == 0 && s->ports.n == 0)
		error = -ENODEV;
	if (error < 0) {
		err_set(err, NULL, 0, 0, "no RDMA device%s in %s/sys/class/infiniband",
			options->n_names ? " of that name" : "", s->sysroot);
		rdma_close(&s->source);
		return -ENODEV;
	}
	rdma_open_netlink(s);
	*ret_source = &s->source;
	return 0;
}
