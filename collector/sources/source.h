/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.h - the interface of sources of counts
 *
 * A source is opened, polled from the collector's loop, and closed. poll() emits what
 * is new since the last poll, in one of two forms:
 *
 *	counter   a cumulative count with the time of its reading (netlink, RDMA); the
 *		  binner spreads the differences
 *	bins      bytes of numbered 1 ms bins (eBPF, captures, recordings)
 *
 * Sources keep no series and do no arithmetic on them; the binner (series/binner.h)
 * does.  All times are nanoseconds of CLOCK_MONOTONIC.
 */
#ifndef COLLECTOR_SOURCES_SOURCE_H
#define COLLECTOR_SOURCES_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/wire/tele.h"

struct err;

/* The subject of a count. */
struct source_key {
	uint32_t interface; /* As returned by sink.interface(). */
	uint32_t job;       /* As returned by sink.job(), TELE_LINK or TELE_OTHER. */
	uint8_t direction;  /* enum tele_direction. */
	uint8_t measure;    /* enum tele_measure. */
};

/* Other counts that go with bytes; cumulative, or of the given bins. */
struct source_extra {
	uint64_t packets, ce, retransmits;
	uint32_t flows;       /* Estimate since the last; 0: unknown. */
	uint32_t queue_bytes; /* Largest backlog since the last. */
};

/* The receiver of a source's counts; filled by the collector, or by a test. */
struct source_sink {
	void *ctx;
	/* Names an interface or updates its description; returns its number. */
	uint32_t (*interface)(void *ctx, const struct tele_interface *interface);
	/* Names a job; returns its number. */
	uint32_t (*job)(void *ctx, const char *name);
	/*
	 * A cumulative count, read at 'time_ns'.  'bits' is the width at which the
	 * counter wraps (32 or 64).  'extra' may be NULL.
	 */
	void (*counter)(void *ctx, const struct source_key *key, int64_t time_ns,
			uint64_t bytes, unsigned bits,
			const struct source_extra *extra);
	/*
	 * Bytes of the bins 'first_ms' to 'first_ms' + 'n' - 1 (TELE_GAP: unknown).
	 * Repeated bins add up (several CPUs, late packets).
	 */
	void (*bins)(void *ctx, const struct source_key *key, int64_t first_ms,
		     const uint32_t *bytes, size_t n, const struct source_extra *extra);
	/* Everything up to this time has been emitted for these interfaces. */
	void (*complete)(void *ctx, uint32_t interface, int64_t until_ms);
	/* The interface is gone: its series end. */
	void (*gone)(void *ctx, uint32_t interface);
	/* 'n' packets, samples or records could not be accounted for. */
	void (*lost)(void *ctx, uint64_t n);
};

struct source;

struct source_class {
	const char *name;    /* "bpf", "netlink", "rdma", "pcap", "replay", "text". */
	const char *summary; /* One line. */
	/* Emits what is new.  0, -ENODATA at the end of a file, or -errno. */
	int (*poll)(struct source *source, int64_t now_ns,
		    const struct source_sink *sink, struct err *err);
	/* The interval of polls that it requests; 0: as fast as possible (files). */
	int64_t (*interval_ns)(const struct source *source);
	/* Bytes of its file that were read, packed as they are; NULL: all, once it is open. */
	uint64_t (*at)(const struct source *source);
	/* A descriptor that is readable when there is data, or -1; NULL: none. */
	int (*fd)(const struct source *source);
	void (*close)(struct source *source);
};

/* First member of every source's own struct. */
struct source {
	const struct source_class *class;
};

#endif
