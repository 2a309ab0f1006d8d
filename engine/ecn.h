/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ecn.h - ECN marks and queue length of a saturated link.
 *
 * These are estimates, fitted to packet-level runs, not a simulation: N DCTCP
 * flows that fully overlap on one link with marking above K = 150 KB, 50 Gb/s,
 * RTT 8 us and packets of 4000 bytes gave
 *
 *	N              1    2     3     4     8     16    32
 *	marked share   0  9.1  12.8  16.3  29.3  50.6   100   %
 *	largest queue  -   260 ... 360 KB .....  720  1480   KB
 *
 * The fit, share = min(1, 0.03 + 0.031 N) for N of at least 2, is within 2
 * points up to N = 16.  Other congestion controls (DCQCN) and other K
 * differ; read these numbers as "how much marking, about", and to compare.
 *
 * N counts the flows whose bottleneck the link is.  One such flow alone on a
 * link is held back by its own interface, which queues nothing; but one that
 * others squeeze, whose own bottleneck is elsewhere, does queue, so while the
 * demand exceeds the capacity N is at least 2.  A link whose demand fits marks
 * nothing.
 */
#ifndef ENGINE_ECN_H
#define ENGINE_ECN_H

#include <stdint.h>

/* Share of packets marked on a link that is the bottleneck of 'n' flows. */
double ecn_marked_frac(uint32_t n);

/* The longest queue then, bytes. */
double ecn_queue_bytes(uint32_t n);

#endif
