/* SPDX-License-Identifier: Apache-2.0 */
/* sflow_datagram.h - datagrams written from the sFlow v5 specification, not recorded */
#ifndef TESTS_UNIT_SFLOW_DATAGRAM_H
#define TESTS_UNIT_SFLOW_DATAGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct datagram {
	uint8_t bytes[2048];
	size_t n;
};

static inline void
word(struct datagram *d, uint32_t value)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		d->bytes[d->n++] = (uint8_t)(value >> shift);
}

static inline void
words64(struct datagram *d, uint64_t value)
{
	word(d, (uint32_t)(value >> 32));
	word(d, (uint32_t)value);
}

/* Begins a datagram from agent 192.0.2.1. */
static inline void
datagram_begin(struct datagram *d, uint32_t sequence, uint32_t n_samples)
{
	d->n = 0;
	word(d, 5);
	word(d, 1);
	word(d, 0xc0000201);
	word(d, 0);
	word(d, sequence);
	word(d, 123456);
	word(d, n_samples);
}

/* Leaves a length word open; returns its offset for datagram_close(). */
static inline size_t
datagram_open(struct datagram *d, uint32_t type)
{
	word(d, type);
	word(d, 0);
	return d->n;
}

static inline void
datagram_close(struct datagram *d, size_t at)
{
	struct datagram length = { .n = 0 };

	word(&length, (uint32_t)(d->n - at));
	memcpy(d->bytes + at - 4, length.bytes, 4);
}

static inline void
datagram_counters(struct datagram *d, bool is_expanded, uint32_t index,
		  uint64_t in_bytes, uint64_t out_bytes)
{
	size_t sample = datagram_open(d, is_expanded ? 4 : 2), record;

	word(d, 1);
	if (is_expanded)
		word(d, 0);
	word(d, index);
	word(d, 2);
	record = datagram_open(d, 99); /* An unknown record type. */
	word(d, 7);
	datagram_close(d, record);
	record = datagram_open(d, 1);
	word(d, index);
	word(d, 6);
	words64(d, 100000000000);
	word(d, 1);
	word(d, 3);
	words64(d, in_bytes);
	word(d, 10);
	word(d, 1);
	word(d, 2);
	word(d, 0);
	word(d, 0);
	word(d, 0);
	words64(d, out_bytes);
	word(d, 20);
	word(d, 3);
	word(d, 4);
	word(d, 0);
	word(d, 0);
	word(d, 0);
	datagram_close(d, record);
	datagram_close(d, sample);
}

/* The 'header' of a packet of 'length' bytes without its checksum. */
static inline void
datagram_flow(struct datagram *d, bool is_expanded, uint32_t rate, uint32_t input,
	      uint32_t output, const uint8_t *header, size_t n, uint32_t length)
{
	size_t sample = datagram_open(d, is_expanded ? 3 : 1), record;

	word(d, 1);
	if (is_expanded)
		word(d, 0);
	word(d, input);
	word(d, rate);
	word(d, rate * 10);
	word(d, 0);
	if (is_expanded)
		word(d, 0);
	word(d, input);
	if (is_expanded)
		word(d, 0);
	word(d, output);
	word(d, 1);
	record = datagram_open(d, 1);
	word(d, 1);
	word(d, length + 4);
	word(d, 4);
	word(d, (uint32_t)n);
	memcpy(d->bytes + d->n, header, n);
	d->n += (n + 3) & ~(size_t)3;
	datagram_close(d, record);
	datagram_close(d, sample);
}

#endif
