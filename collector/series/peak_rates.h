/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peak_rates.h - the busiest millisecond of each interface within a time window
 *
 * A rate over a scrape interval hides bursts.  The window is a time span, not the time
 * since the last scrape, so that several servers can scrape.  Pure.
 */
#ifndef COLLECTOR_SERIES_PEAK_RATES_H
#define COLLECTOR_SERIES_PEAK_RATES_H

#include <stdint.h>

#include "lib/wire/tele.h"

struct peak_rates;

/* 'n_windows': number of summaries in the window. */
struct peak_rates *peak_rates_new(unsigned n_windows);
void peak_rates_free(struct peak_rates *peaks); /* Accepts NULL. */

/* Takes the rows of whole interfaces in a summary: TELE_WIRE. */
void peak_rates_update(struct peak_rates *peaks, const struct tele_frame *summary);

/* Bytes of the fullest millisecond; 0 if none. */
uint32_t peak_rates_bytes(const struct peak_rates *peaks, const char *interface,
			  enum tele_direction direction);
/* The largest backlog of the interface's queue. */
uint32_t peak_rates_queue_bytes(const struct peak_rates *peaks, const char *interface);

#endif
