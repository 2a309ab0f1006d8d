/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/sources/packets/sflow.h"

#include <errno.h>
#include <string.h>

#define VERSION           5
#define MAX_SAMPLES       1024 /* A datagram of 64 KB has no more. */
#define FCS_BYTES         4
#define FLOW_SAMPLE       1
#define COUNTERS_SAMPLE   2
#define FLOW_EXPANDED     3
#define COUNTERS_EXPANDED 4
#define RAW_HEADER        1 /* Record of a flow sample. */
#define IF_COUNTERS       1 /* Record of a counters sample. */
#define IF_COUNTER_BYTES  88
#define HEADER_ETHERNET   1
#define HEADER_IPV4       11
#define HEADER_IPV6       12

/* The unread part, in XDR: big-endian words. */
struct reader {
	const uint8_t *at;
	size_t n;
	bool is_short; /* A field was missing. */
};

static uint32_t
take32(struct reader *r)
{
	uint32_t value;

	if (r->n < 4) {
		r->is_short = true;
		r->n = 0;
		return 0;
	}
	value = (uint32_t)r->at[0] << 24 | (uint32_t)r->at[1] << 16 |
		(uint32_t)r->at[2] << 8 | r->at[3];
	r->at += 4;
	r->n -= 4;
	return value;
}

static uint64_t
take64(struct reader *r)
{
	uint64_t high = take32(r);

	return high << 32 | take32(r);
}

/* Skips 'n' bytes and their padding to whole words; returns them as a reader. */
static struct reader
take_bytes(struct reader *r, uint32_t n)
{
	struct reader part = { r->at, n, false };
	size_t padded = ((size_t)n + 3) & ~(size_t)3;

	if (padded > r->n) {
		r->is_short = true;
		part.n = r->n = 0;
		return part;
	}
	r->at += padded;
	r->n -= padded;
	return part;
}

static void
parse_address(struct reader *r, struct packet_address *ret)
{
	uint32_t type = take32(r);
	struct reader bytes = take_bytes(r, type == 2 ? 16 : 4);

	memset(ret, 0, sizeof *ret);
	if (type != 1 && type != 2)
		r->is_short = true;
	if (r->is_short)
		return;
	if (type == 1)
		memset(ret->bytes + 10, 0xff, 2);
	memcpy(ret->bytes + 16 - bytes.n, bytes.at, bytes.n);
}

/* ---- Samples --------------------------------------------------------------------- */

static void
parse_counters(struct reader r, const struct sflow_datagram *datagram,
	       const struct sflow_handler *handler)
{
	struct sflow_counters c = { 0 };

	if (r.n < IF_COUNTER_BYTES)
		return;
	c.interface = take32(&r);
	take32(&r); /* ifType. */
	c.speed_bps = take64(&r);
	take32(&r); /* ifDirection. */
	c.is_up = (take32(&r) & 3) == 3;
	c.in_bytes = take64(&r);
	for (int i = 0; i < 3; i++) /* Unicast, multicast, broadcast. */
		c.in_packets += take32(&r);
	for (int i = 0; i < 3; i++) /* Discards, errors, unknown protocols. */
		take32(&r);
	c.out_bytes = take64(&r);
	for (int i = 0; i < 3; i++)
		c.out_packets += take32(&r);
	if (handler->counters)
		handler->counters(handler->ctx, datagram, &c);
}

static void
parse_header(struct reader r, struct sflow_flow *flow,
	     const struct sflow_datagram *datagram, const struct sflow_handler *handler)
{
	uint32_t protocol = take32(&r), length = take32(&r), stripped = take32(&r);
	struct reader header = take_bytes(&r, take32(&r));

	(void)stripped; /* Padding of the header; 'length' excludes it. */
	if (r.is_short)
		return;
	if (length > 0x10000000) /* No packet is that long. */
		return;
	if (protocol == HEADER_ETHERNET) {
		/* Includes the checksum, which wire bytes exclude. */
		length = length > FCS_BYTES ? length - FCS_BYTES : 0;
		packet_parse(PACKET_ETHERNET, header.at, header.n, length,
			     &flow->packet);
	} else if (protocol == HEADER_IPV4 || protocol == HEADER_IPV6) {
		packet_parse(PACKET_IP, header.at, header.n, length, &flow->packet);
	} else {
		return;
	}
	if (handler->flow)
		handler->flow(handler->ctx, datagram, flow);
}

/* The interface of a compact sample; the upper two bits are its format. */
static uint32_t
compact_interface(uint32_t value)
{
	return value >> 30 == 0 && value != 0x3fffffff ? value : 0;
}

static uint32_t
expanded_interface(uint32_t format, uint32_t value)
{
	return format == 0 && value != UINT32_MAX ? value : 0;
}

static int
parse_flow_sample(struct reader r, bool is_expanded,
		  const struct sflow_datagram *datagram,
		  const struct sflow_handler *handler)
{
	struct sflow_flow flow = { 0 };
	uint32_t n, format;

	take32(&r); /* Sequence. */
	take32(&r); /* Source. */
	if (is_expanded)
		take32(&r);
	flow.rate = take32(&r);
	take32(&r); /* Pool. */
	flow.drops = take32(&r);
	if (is_expanded) {
		format = take32(&r);
		flow.input = expanded_interface(format, take32(&r));
		format = take32(&r);
		flow.output = expanded_interface(format, take32(&r));
	} else {
		flow.input = compact_interface(take32(&r));
		flow.output = compact_interface(take32(&r));
	}
	n = take32(&r);
	for (uint32_t i = 0; i < n && !r.is_short; i++) {
		uint32_t type = take32(&r);
		struct reader record = take_bytes(&r, take32(&r));

		if (!r.is_short && type == RAW_HEADER)
			parse_header(record, &flow, datagram, handler);
	}
	return r.is_short ? -EBADMSG : 0;
}

static int
parse_counters_sample(struct reader r, bool is_expanded,
		      const struct sflow_datagram *datagram,
		      const struct sflow_handler *handler)
{
	uint32_t n;

	take32(&r); /* Sequence. */
	take32(&r); /* Source. */
	if (is_expanded)
		take32(&r);
	n = take32(&r);
	for (uint32_t i = 0; i < n && !r.is_short; i++) {
		uint32_t type = take32(&r);
		struct reader record = take_bytes(&r, take32(&r));

		if (!r.is_short && type == IF_COUNTERS)
			parse_counters(record, datagram, handler);
	}
	return r.is_short ? -EBADMSG : 0;
}

int
sflow_parse(const uint8_t *bytes, size_t n, const struct sflow_handler *handler,
	    struct sflow_datagram *ret_datagram)
{
	struct reader r = { bytes, n, false };
	struct sflow_datagram datagram = { 0 };
	uint32_t version = take32(&r);

	if (!r.is_short && version != VERSION)
		return -EPROTONOSUPPORT;
	parse_address(&r, &datagram.agent);
	datagram.sub_agent = take32(&r);
	datagram.sequence = take32(&r);
	datagram.uptime_ms = take32(&r);
	datagram.n_samples = take32(&r);
	if (r.is_short || datagram.n_samples > MAX_SAMPLES)
		return -EBADMSG;
	*ret_datagram = datagram;
	for (uint32_t i = 0; i < datagram.n_samples; i++) {
		uint32_t type = take32(&r);
		struct reader sample = take_bytes(&r, take32(&r));
		int error = r.is_short ? -EBADMSG : 0;

		if (error == 0 && (type == FLOW_SAMPLE || type == FLOW_EXPANDED))
			error = parse_flow_sample(sample, type == FLOW_EXPANDED,
						  &datagram, handler);
		if (error == 0 &&
		    (type == COUNTERS_SAMPLE || type == COUNTERS_EXPANDED))
			error = parse_counters_sample(sample, type == COUNTERS_EXPANDED,
						      &datagram, handler);
		if (error < 0)
			return error;
	}
	return 0;
}
