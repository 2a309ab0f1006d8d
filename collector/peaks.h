/*
 * peaks.h - the fullest millisecond of each interface within a window: what a rate over
 * a scrape interval does not show.  The window is of time, not since the last who asked,
 * so that several may ask.  Pure.
 */
#ifndef COLLECTOR_PEAKS_H
#define COLLECTOR_PEAKS_H

#include <stdint.h>

#include "lib/wire/tele.h"

struct peaks;

/* 'n_windows': summaries that are looked back on. */
struct peaks *peaks_new(unsigned n_windows);
void peaks_free(struct peaks *peaks); /* Accepts NULL. */

/* Takes the rows of whole interfaces of a summary: TELE_WIRE. */
void peaks_update(struct peaks *peaks, const struct tele_frame *summary);

/* Bytes of the fullest millisecond, 0 if there was none. */
uint32_t peaks_bytes(const struct peaks *peaks, const char *interface,
		     enum tele_direction direction);
/* The largest backlog of the queue in front of it. */
uint32_t peaks_queue_bytes(const struct peaks *peaks, const char *interface);

#endif
