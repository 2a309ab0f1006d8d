/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sflow.h - a decoder of sFlow version 5 datagrams
 *
 * Counter samples (the generic interface counters) and flow samples (headers of sampled
 * packets), each also in its expanded form; other records are skipped.  Source:
 * sflow.org/sflow_version_5.txt.  Pure.
 */
#ifndef COLLECTOR_SOURCES_PACKETS_SFLOW_H
#define COLLECTOR_SOURCES_PACKETS_SFLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/sources/packets/packet.h"

#define SFLOW_PORT 6343

struct sflow_datagram {
	struct packet_address agent;
	uint32_t sub_agent, sequence, uptime_ms;
	uint32_t n_samples; /* As reported. */
};

struct sflow_counters {
	uint32_t interface; /* ifIndex. */
	uint64_t speed_bps;
	bool is_up;
	uint64_t in_bytes, out_bytes;
	uint64_t in_packets, out_packets; /* Sums of 32-bit counters. */
};

struct sflow_flow {
	uint32_t rate;          /* The sampling rate: one of this many packets. */
	uint32_t drops;         /* Samples lost so far. */
	uint32_t input, output; /* ifIndex; 0: none, unknown or several. */
	struct packet packet;   /* wire_bytes are those of the whole packet. */
};

struct sflow_handler {
	void *ctx;
	/* Either may be NULL. */
	void (*counters)(void *ctx, const struct sflow_datagram *datagram,
			 const struct sflow_counters *counters);
	void (*flow)(void *ctx, const struct sflow_datagram *datagram,
		     const struct sflow_flow *flow);
};

/*
 * Parses a datagram of 'n' bytes.  0, -EPROTONOSUPPORT for another version, or -EBADMSG
 * if it is damaged, after handing on what precedes the damage.
 */
int sflow_parse(const uint8_t *bytes, size_t n, const struct sflow_handler *handler,
		struct sflow_datagram *ret_datagram);

#endif
