/*
 * src_sflow.h - sFlow v5 datagrams, heard or captured: switches' counters, samples.
 *
 * Each agent's interfaces are interfaces named "AGENT/IFINDEX"; their counters
 * (if_counters) become readings, stamped when they came.  Sampled packets, times
 * their sampling rate, become bins of jobs if rules name some: right on average only.
 * A switch sends counters every 20 to 30 s, so series of whole interfaces have gaps
 * (binner.h spreads nothing over more than 2 s) unless it was told to send them
 * more often; totals are right.  What comes out is to be flagged TELE_IMPORTED.
 */
#ifndef COLLECTOR_SOURCES_PACKETS_SRC_SFLOW_H
#define COLLECTOR_SOURCES_PACKETS_SRC_SFLOW_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct source;

struct sflow_options {
	const char *file;    /* A capture of datagrams to SFLOW_PORT; NULL: listen. */
	const char *address; /* To listen at; NULL: 127.0.0.1. */
	uint16_t port;       /* 0: any free one (tests). */
	const char *const *jobs; /* Rules as in src_pcap.h. */
	size_t n_jobs;
};

int src_sflow_open(const struct sflow_options *options, struct source **ret_source,
		   struct err *err);

struct sflow_status {
	uint16_t port;
	uint64_t n_datagrams, n_malformed, n_counters, n_flows;
	uint64_t n_lost; /* Datagrams missing in the agents' sequences. */
};

void src_sflow_status(const struct source *source, struct sflow_status *ret_status);

#endif
