/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hft.h - a reader of the high-frequency telemetry of Cumulus Linux
 *
 * A switch with a Spectrum-4 or later samples the octets of its ports every 100 us to
 * 12.75 ms and writes them to /var/run/cumulus/hft (Cumulus Linux 5.10 and later, "ASIC
 * Monitoring"):
 *
 *	{ "hostname": "leaf01",
 *	  "0": { "sample_index": 1,
 *	         "metadata": { "sec": 1715957858, "nsec": 714503118 },
 *	         "port_data": { "swp1": { "if_out_octets": 0, "if_in_octets": 0,
 *	                                  "tc_data": { ... } } } },
 *	  "1": ... }
 *
 * The manual does not say whether octets are counted since the last sample or
 * cumulatively.  Octets that decrease at any time are the former; HFT_AUTO decides so.
 * The manual's example lacks the comma after the host's name; such files are accepted.
 * The occupancy of queues is skipped, because its unit is not documented.  Pure, except
 * hft_read().
 */
#ifndef COLLECTOR_IMPORT_HFT_H
#define COLLECTOR_IMPORT_HFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "lib/wire/tele.h"

struct err;
struct source;

#define HFT_MAX_BYTES ((size_t)256 << 20)

enum hft_counts {
	HFT_AUTO,
	HFT_CUMULATIVE,
	HFT_INTERVAL, /* Since the sample before. */
};

struct hft_sample {
	int64_t time_ns; /* Wall clock. */
	uint32_t port;   /* Index in 'ports'. */
	bool has_out, has_in;
	uint64_t out_bytes, in_bytes; /* Always cumulative. */
};

struct hft_port {
	char name[TELE_MAX_NAME + 1];
};

struct hft {
	char host[TELE_MAX_NAME + 1]; /* "": not in the file. */
	VEC(struct hft_port) ports;
	VEC(struct hft_sample) samples; /* By time. */
	enum hft_counts counts;         /* As assumed for the file. */
};

/*
 * Parses the terminated 'text', which may be changed.  0, or -EINVAL with 'err'
 * filled.  Release with hft_fini().
 */
int hft_parse(const char *file, char *text, size_t length, enum hft_counts counts,
	      struct hft *ret_hft, struct err *err);
int hft_read(const char *file, enum hft_counts counts, struct hft *ret_hft,
	     struct err *err);
void hft_fini(struct hft *hft);

/* A source of the samples as counter readings, 500 ms per poll.  Takes '*hft'. */
void src_hft_open(struct hft *hft, double capacity_bps, struct source **ret_source);

#endif
