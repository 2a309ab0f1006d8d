/* SPDX-License-Identifier: Apache-2.0 */
/*
 * src_pcap.h - packets of a capture file or a device, as bins
 *
 * For ports mirrored by a switch, and for hosts that allow CAP_NET_RAW but not BPF.
 * Files are pcap or pcapng, compressed or not (instream.h). packet.h parses the
 * packets; bytes are those on the wire, also of truncated packets.
 *
 * Direction: with 'local' addresses there is one interface; packets from one of these
 * addresses are TX, packets to one of them RX.  Without, each address that sends or
 * receives is an interface of its own, named by the address, so that a capture at one
 * switch port shows both ends.
 *
 * Retransmits are TCP segments with data that do not advance the sequence number of
 * their direction of the flow.
 */
#ifndef COLLECTOR_SOURCES_PACKETS_SRC_PCAP_H
#define COLLECTOR_SOURCES_PACKETS_SRC_PCAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct source;

/*
 * The job of a packet, by the first rule that matches in either direction.  A rule is
 * text "JOB=ADDRESS[,ADDRESS][:PORT[-PORT]]", for example "41=10.0.0.1,10.0.0.2" or
 * "42=10.0.0.0/24:5000-5999" or "43=:4791".
 */

struct pcap_options {
	const char *file; /* "-": stdin; NULL: live from 'device'. */
	const char *device;
	const char *interface; /* Its name in frames; NULL: the device's or file's. */
	const char *filter;    /* In pcap-filter(7)'s language; NULL: all packets. */
	const char *const *local; /* Addresses, or networks with a /LENGTH. */
	size_t n_local;
	const char *const *jobs; /* Rules as above. */
	size_t n_jobs;
	double capacity_bps; /* Of the interfaces; 0: unknown. */
	/* Live only; 0: enough for the headers of packet.h, and 16 MiB. */
	int snaplen_bytes, buffer_bytes;
};

/* Borrows the options until it returns. */
int src_pcap_open(const struct pcap_options *options, struct source **ret_source,
		  struct err *err);

struct pcap_status {
	uint64_t n_packets, n_bytes; /* All packets that matched the filter. */
	uint64_t n_unknown;          /* Packets that are not IP. */
	uint64_t n_dropped;          /* Live: by the kernel or the interface. */
	uint64_t n_roce;             /* RoCEv2 (UDP 4791). */
	uint64_t n_retransmits;
	int64_t first_ns, last_ns; /* Of the packets, as in the file. */
};

void src_pcap_status(const struct source *source, struct pcap_status *ret_status);

#endif
