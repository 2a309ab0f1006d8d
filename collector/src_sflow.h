/*
 * src_sflow.h - listens for sFlow v5 datagrams: switches' counters and samples.
 *
 * Each agent's interfaces are interfaces named "AGENT/IFINDEX"; their counters
 * (if_counters) become readings, stamped when they came.  Sampled packets, times
 * their sampling rate, become bins of jobs if rules name some.  The host that sends
 * frames is the collector; what it hears is flagged TELE_IMPORTED by its caller.
 */
#ifndef COLLECTOR_SRC_SFLOW_H
#define COLLECTOR_SRC_SFLOW_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct source;

struct sflow_options {
	const char *address;     /* To listen at; NULL: 127.0.0.1. */
	uint16_t port;           /* 0: any free one (tests). */
	const char *const *jobs; /* Rules as in src_pcap.h. */
	size_t n_jobs;
};

int src_sflow_open(const struct sflow_options *options, struct source **ret_source,
		   struct err *err);

struct sflow_status {
	uint16_t port;
	uint64_t n_datagrams, n_malformed, n_counters, n_flows, n_lost;
};

void src_sflow_status(const struct source *source, struct sflow_status *ret_status);

#endif
