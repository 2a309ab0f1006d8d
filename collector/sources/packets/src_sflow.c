/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/sources/packets/src_sflow.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collector/sources/packets/capfile.h"
#include "collector/sources/packets/job_rules.h"
#include "collector/sources/packets/sflow.h"
#include "collector/sources/source.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/vec.h"

#define MS               INT64_C(1000000)
#define SPAN_MS          500 /* Longest span that one poll of a capture reads. */
#define LONGEST_PAUSE_MS 600000
#define DATAGRAMS_A_POLL 2000
#define MAX_AGENTS       4096

/* One sender of datagrams. */
struct agent {
	struct packet_address address;
	uint32_t sub_agent, sequence;
};

struct port {
	struct packet_address agent;
	uint32_t index, number;
	uint64_t speed_bps;
	bool is_up;
};

struct sflow_source {
	struct source source;
	struct capfile *file; /* Owned. */
	struct job_rules *rules;
	bool has_rules, is_over, has_held;
	struct capfile_packet held;
	VEC(struct agent) agents;
	VEC(struct port) ports;
	int64_t now_ns, complete_ms;
	struct sflow_status status;
	const struct source_sink *sink; /* While polling. */
};

static struct sflow_source *
from_source(const struct source *source)
{
	return (struct sflow_source *)source;
}

/* ---- Datagrams ------------------------------------------------------------------- */

/* The port, announced if new; NULL if there are too many. */
static struct port *
get_port(struct sflow_source *s, const struct packet_address *agent, uint32_t index)
{
	struct tele_interface interface = { .is_up = true };
	char address[PACKET_ADDRESS_TEXT];
	struct port fresh = { .agent = *agent, .index = index, .is_up = true };

	for (size_t i = 0; i < s->ports.n; i++)
		if (s->ports.items[i].index == index &&
		    !memcmp(&s->ports.items[i].agent, agent, sizeof *agent))
			return &s->ports.items[i];
	if (s->ports.n >= TELE_MAX_INTERFACES)
		return NULL;
	packet_address_text(agent, address, sizeof address);
	snprintf(interface.name, sizeof interface.name, "%s/%" PRIu32, address, index);
	fresh.number = s->sink->interface(s->sink->ctx, &interface);
	s->sink->complete(s->sink->ctx, fresh.number, s->now_ns / MS);
	vec_push(&s->ports, fresh);
	return &s->ports.items[s->ports.n - 1];
}

/* Announces speed and state again if they changed. */
static void
update_port(struct sflow_source *s, struct port *port, const struct sflow_counters *c)
{
	struct tele_interface interface = { .capacity_bps = (double)c->speed_bps,
					    .is_up = c->is_up };
	char address[PACKET_ADDRESS_TEXT];

	if (port->speed_bps == c->speed_bps && port->is_up == c->is_up)
		return;
	port->speed_bps = c->speed_bps;
	port->is_up = c->is_up;
	packet_address_text(&port->agent, address, sizeof address);
	snprintf(interface.name, sizeof interface.name, "%s/%" PRIu32, address,
		 port->index);
	s->sink->interface(s->sink->ctx, &interface);
}

static void
on_counters(void *ctx, const struct sflow_datagram *datagram,
	    const struct sflow_counters *c)
{
	struct sflow_source *s = ctx;
	struct port *port = get_port(s, &datagram->agent, c->interface);
	struct source_extra extra = { .packets = c->out_packets };
	struct source_key key = { .job = TELE_LINK,
				  .direction = TELE_TX,
				  .measure = TELE_WIRE };

	s->status.n_counters++;
	if (!port) {
		s->sink->lost(s->sink->ctx, 1);
		return;
	}
	update_port(s, port, c);
	key.interface = port->number;
	s->sink->counter(s->sink->ctx, &key, s->now_ns, c->out_bytes, 64, &extra);
	key.direction = TELE_RX;
	extra.packets = c->in_packets;
	s->sink->counter(s->sink->ctx, &key, s->now_ns, c->in_bytes, 64, &extra);
}

/* A sample counts as many packets as the sampling rate. */
static void
count_sample(struct sflow_source *s, const struct packet_address *agent, uint32_t index,
	     enum tele_direction direction, const struct sflow_flow *flow, uint32_t job)
{
	struct port *port = index ? get_port(s, agent, index) : NULL;
	uint64_t bytes = (uint64_t)flow->packet.wire_bytes * flow->rate;
	uint32_t bin = bytes < TELE_GAP ? (uint32_t)bytes : TELE_GAP - 1;
	struct source_extra extra = { .packets = flow->rate,
				      .ce = flow->packet.is_ce ? flow->rate : 0 };
	struct source_key key = { .job = job,
				  .direction = (uint8_t)direction,
				  .measure = TELE_WIRE };

	if (!port)
		return;
	key.interface = port->number;
	s->sink->bins(s->sink->ctx, &key, s->now_ns / MS, &bin, 1, &extra);
}

static void
on_flow(void *ctx, const struct sflow_datagram *datagram, const struct sflow_flow *flow)
{
	struct sflow_source *s = ctx;
	const char *name;
	uint32_t job;

	s->status.n_flows++;
	if (!s->has_rules)
		return;
	name = job_rules_match(s->rules, &flow->packet);
	job = name ? s->sink->job(s->sink->ctx, name) : TELE_OTHER;
	count_sample(s, &datagram->agent, flow->input, TELE_RX, flow, job);
	count_sample(s, &datagram->agent, flow->output, TELE_TX, flow, job);
}

/* Counts datagrams missing since the agent's last one. */
static void
check_sequence(struct sflow_source *s, const struct sflow_datagram *d)
{
	struct agent *agent = NULL;
	uint32_t gap;

	for (size_t i = 0; i < s->agents.n && !agent; i++)
		if (s->agents.items[i].sub_agent == d->sub_agent &&
		    !memcmp(&s->agents.items[i].address, &d->agent, sizeof d->agent))
			agent = &s->agents.items[i];
	if (!agent) {
		struct agent fresh = { d->agent, d->sub_agent, d->sequence };

		if (s->agents.n < MAX_AGENTS)
			vec_push(&s->agents, fresh);
		return;
	}
	gap = d->sequence - agent->sequence - 1;
	if (gap > 0 && gap < 100000) { /* Larger gaps: a restart, or a late datagram. */
		s->status.n_lost += gap;
		s->sink->lost(s->sink->ctx, gap);
	}
	agent->sequence = d->sequence;
}

static void
take(struct sflow_source *s, const uint8_t *bytes, size_t n)
{
	const struct sflow_handler handler = { s, on_counters, on_flow };
	struct sflow_datagram datagram;
	int error = sflow_parse(bytes, n, &handler, &datagram);

	s->status.n_datagrams++;
	if (error < 0) {
		s->status.n_malformed++;
		s->sink->lost(s->sink->ctx, 1);
	} else {
		check_sequence(s, &datagram);
	}
}

/* ---- Polling --------------------------------------------------------------------- */

static void
complete_to(struct sflow_source *s, int64_t until_ms)
{
	if (until_ms <= s->complete_ms)
		return;
	for (size_t i = 0; i < s->ports.n; i++)
		s->sink->complete(s->sink->ctx, s->ports.items[i].number, until_ms);
	s->complete_ms = until_ms;
}

/* As in src_pcap.c: time advances in small steps, also over a pause. */
static bool
is_due(struct sflow_source *s)
{
	int64_t at_ms = s->held.time_ns / MS;

	if (at_ms <= s->complete_ms + SPAN_MS ||
	    at_ms > s->complete_ms + LONGEST_PAUSE_MS)
		return true;
	complete_to(s, s->complete_ms + SPAN_MS);
	return false;
}

static int
poll_capture(struct sflow_source *s, struct err *err)
{
	int64_t begin_ms = 0;

	for (int i = 0; i < DATAGRAMS_A_POLL; i++) {
		struct packet packet;

		if (!s->has_held) {
			int got = capfile_next(s->file, &s->held, err);

			if (got < 0) {
				s->is_over = true;
				complete_to(s, s->now_ns / MS + 1);
				return got;
			}
		}
		s->has_held = true;
		if (!s->complete_ms)
			s->complete_ms = s->held.time_ns / MS;
		if (i == 0)
			begin_ms = s->complete_ms;
		if (s->held.time_ns / MS > begin_ms + SPAN_MS && i > 0)
			break;
		if (!is_due(s))
			return 0;
		s->has_held = false;
		s->now_ns = s->held.time_ns;
		packet_parse(capfile_link(s->file), s->held.bytes, s->held.n,
			     s->held.length, &packet);
		if (packet.udp && packet.destination_port == SFLOW_PORT)
			take(s, packet.udp, packet.udp_n);
	}
	complete_to(s, s->now_ns / MS);
	return 0;
}

static int
sflow_poll(struct source *source, int64_t now_ns, const struct source_sink *sink,
	   struct err *err)
{
	struct sflow_source *s = from_source(source);
	int error;

	(void)now_ns;
	if (s->is_over)
		return -ENODATA;
	s->sink = sink;
	error = poll_capture(s, err);
	s->sink = NULL;
	return error;
}

static uint64_t
sflow_at(const struct source *source)
{
	return capfile_at(from_source(source)->file);
}

static int64_t
sflow_interval_ns(const struct source *source)
{
	(void)source;
	return 0;
}

static void
sflow_close(struct source *source)
{
	struct sflow_source *s = from_source(source);

	if (!s)
		return;
	capfile_close(s->file);
	job_rules_free(s->rules);
	vec_free(&s->agents);
	vec_free(&s->ports);
	free(s);
}

static const struct source_class sflow_class = {
	.name = "sflow",
	.summary = "counters and samples that switches send",
	.poll = sflow_poll,
	.interval_ns = sflow_interval_ns,
	.at = sflow_at,
	.close = sflow_close,
};

void
src_sflow_status(const struct source *source, struct sflow_status *ret_status)
{
	*ret_status = from_source(source)->status;
}

/* ---- Opening --------------------------------------------------------------------- */

int
src_sflow_open(const struct sflow_options *options, struct source **ret_source,
	       struct err *err)
{
	struct sflow_source *s = xcalloc(1, sizeof *s);
	int error;

	s->source.class = &sflow_class;
	s->has_rules = options->n_jobs > 0;
	error = job_rules_new(options->jobs, options->n_jobs, &s->rules, err);
	if (error == 0)
		error = capfile_open(options->file, &s->file, err);
	if (error < 0) {
		sflow_close(&s->source);
		return error;
	}
	*ret_source = &s->source;
	return 0;
}
