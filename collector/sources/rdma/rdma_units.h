/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rdma_units.h - units and plausibility of an RDMA device's port counters
 *
 * port_xmit_data and port_rcv_data are "octets divided by 4" (InfiniBand Architecture
 * Specification 16.1.3.5, PortCounters), and the drivers of the Linux kernel follow it:
 * mlx5_ib and mlx4_ib shift the adapter's bytes right by two, bnxt_re and ocrdma divide
 * by
 * 4, hfi1 and qib count words.  A driver outside of the kernel may differ (netdata issue
 * 14747 reports one); an override covers these.  Pure.
 */
#ifndef COLLECTOR_SOURCES_RDMA_RDMA_UNITS_H
#define COLLECTOR_SOURCES_RDMA_RDMA_UNITS_H

#include <stdbool.h>
#include <stdint.h>

/* Unit of a driver that is not in the table: the specification's. */
#define RDMA_UNIT_BYTES 4

/*
 * Bytes per count of the driver's data counters.  'override' as text
 * "DRIVER=BYTES[,DRIVER=BYTES]" comes first; NULL: none.
 */
unsigned rdma_unit_bytes(const char *driver, const char *override);

/* False if 'override' is malformed, or a unit is not 1 to 64 bytes. */
bool rdma_override_is_valid(const char *override);

/* One counter of a port, as last read. */
struct rdma_counter {
	uint64_t last;
	bool is_wide; /* It was above 32 bits, so it does not end there. */
};

/*
 * Takes a reading.  False if it is useless: a 32-bit counter stays at its largest value
 * once it reaches it.
 */
bool rdma_counter_take(struct rdma_counter *counter, uint64_t value);

/* Parses a port's rate, "100 Gb/sec (4X EDR)", into bits per second; 0 if malformed. */
double rdma_parse_rate_bps(const char *text);

/* The interval of readings: doubled after slow reads, halved after many quick ones. */
struct rdma_pace {
	int64_t interval_ns, least_ns, most_ns, slow_ns;
	unsigned n_quick;
};

#define RDMA_QUICK_READS 256

void rdma_pace_note(struct rdma_pace *pace, int64_t read_ns);

#endif
