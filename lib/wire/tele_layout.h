/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tele_layout.h - the layout of an encoded frame, as docs/wire-format.md draws it; for the
 * encoder, the decoder and their tests
 */
#ifndef LIB_WIRE_TELE_LAYOUT_H
#define LIB_WIRE_TELE_LAYOUT_H

#include <stdint.h>

/* The header: 16 bytes that no version changes. */
#define TELE_MAGIC     UINT32_C(0x465041a7) /* Bytes a7 41 50 46: a7 "APF". */
#define TELE_AT_MAGIC  0                    /* 4 bytes. */
#define TELE_AT_MAJOR  4                    /* 1 byte, as the next three. */
#define TELE_AT_MINOR  5
#define TELE_AT_KIND   6
#define TELE_AT_ZERO   7  /* Sent as 0, not looked at. */
#define TELE_AT_LENGTH 8  /* 4 bytes: of the whole frame. */
#define TELE_AT_CRC    12 /* 4 bytes: CRC-32C of all other bytes in order. */

/* Sections: a byte of type, four of length, so many bytes. */
enum tele_section {
	TELE_SECTION_SENDER = 1, /* Comes first, and always. */
	TELE_SECTION_INTERFACES = 2,
	TELE_SECTION_JOBS = 3,
	TELE_SECTION_TRAFFIC = 4,
	TELE_SECTION_SERIES = 5,
	TELE_SECTION_EVENTS = 6,
	TELE_SECTION_ITERATIONS = 7,
};

#define TELE_SECTION_HEAD_BYTES 5

/* The least that one item of a section takes: its numbers one byte each. */
#define TELE_MIN_INTERFACE_BYTES 11
#define TELE_MIN_JOB_BYTES       2
#define TELE_MIN_TRAFFIC_BYTES   13
#define TELE_MIN_SERIES_BYTES    5
#define TELE_MIN_EVENT_BYTES     6
#define TELE_MIN_ITERATION_BYTES 14

/* The byte that says direction and measure, and that of an interface. */
#define TELE_DIRECTION_BIT 0x01
#define TELE_MEASURE_SHIFT 1
#define TELE_UP_BIT        0x01
#define TELE_RDMA_BIT      0x02
/* That of an event: its source below this bit. */
#define TELE_LAUNCH_BIT 0x80
/* The second of the two bytes of an iteration. */
#define TELE_CLAIMED_BIT   0x01
#define TELE_OBSERVING_BIT 0x02
#define TELE_OVER_BIT      0x04

/* Jobs are sent as index + 2, after these two. */
#define TELE_JOB_LINK  0
#define TELE_JOB_OTHER 1
#define TELE_JOB_FIRST 2

/*
 * A series' bins are varints.  Bit 0 clear: the other bits are the bytes of one bin.
 * Bit 0 set: a run; bit 1 says of what, the other bits are its length less 1.
 */
#define TELE_TOKEN_RUN     0x1
#define TELE_TOKEN_GAP     0x2 /* Of gaps; clear: of zeros. */
#define TELE_TOKEN_RUN_LOG 2

#endif
