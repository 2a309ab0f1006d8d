/* SPDX-License-Identifier: Apache-2.0 */
/*
 * src_text.h - counters as lines of text, from a FIFO, a file or standard input
 *
 * For counters that no other source reads: of a DPDK program, a SmartNIC's own tool, a
 * gNMI or SNMP client.  A line is one reading of one interface, a name and fields:
 *
 *	dpu0 tx=918273645 rx=564738291 tx_packets=70021 rx_packets=66010 gbps=100
 *	dpu0 job=4711 tx=818273645
 *
 *	tx, rx                  bytes, cumulative, 64 bits; one of them at least
 *	tx_packets, rx_packets  packets, cumulative
 *	job                     the counters are those of this job on the interface
 *	gbps, up                capacity and state (0 or 1) of the interface, if known
 *	time                    Unix time of the reading in seconds, at most 10 s from now;
 *				without it the time at which the line is read
 *
 * Blank lines and those that begin with "#" are skipped.  A line that cannot be read
 * counts as one lost record.  Readings of a counter more than 2 s apart
 * (BINNER_MAX_SPREAD_NS) leave a gap in its 1 ms series.
 */
#ifndef COLLECTOR_SOURCES_SRC_TEXT_H
#define COLLECTOR_SOURCES_SRC_TEXT_H

struct err;
struct source;

/*
 * Opens 'path', "-" for standard input.  A FIFO never ends: its writers may come and
 * go.  Anything else ends the source with its last byte.  Returns 0, or -errno with
 * 'err' filled.  Close by its class.
 */
int src_text_open(const char *path, struct source **ret_source, struct err *err);

#endif
