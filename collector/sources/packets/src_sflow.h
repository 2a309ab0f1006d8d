/* SPDX-License-Identifier: Apache-2.0 */
/*
 * src_sflow.h - counters and samples of switches, by sFlow v5, from a capture
 *
 * Each agent's interfaces are named "AGENT/IFINDEX"; their counters (if_counters)
 * become readings with the time of capture.  Sampled packets, times the sampling rate,
 * become bins of jobs if rules name jobs: correct only on average.  Switches send
 * counters every 20 to
 * 30 s by default, so series of whole interfaces have gaps (the binner spreads nothing over
 * more than 2 s); totals are correct.  Frames from this source are flagged
 * TELE_IMPORTED.
 */
#ifndef COLLECTOR_SOURCES_PACKETS_SRC_SFLOW_H
#define COLLECTOR_SOURCES_PACKETS_SRC_SFLOW_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct source;

struct sflow_options {
	const char *file;        /* A capture of datagrams to SFLOW_PORT. */
	const char *const *jobs; /* Rules as in src_pcap.h. */
	size_t n_jobs;
};

int src_sflow_open(const struct sflow_options *options, struct source **ret_source,
		   struct err *err);

struct sflow_status {
	uint64_t n_datagrams, n_malformed, n_counters, n_flows;
	uint64_t n_lost; /* Datagrams missing in the agents' sequences. */
};

void src_sflow_status(const struct source *source, struct sflow_status *ret_status);

#endif
