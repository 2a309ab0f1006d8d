/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pace.h - packets between a job's pacer and the collector of its host
 *
 * They go over a local SOCK_SEQPACKET socket.  The pacer (pacer/) runs inside a job, in
 * rank 0 alone.  It identifies itself once, then sends one packet per iteration: when it
 * began, and what the previous one did.  Orders go the other way: wait for a time, or until
 * a time, before the next iteration.  An order is applied once and delays by at most one
 * period; an expired order is ignored.  Neither side waits for an answer, so a job runs on
 * whatever happens to the collector.
 *
 * Minimal, because it is linked into jobs: no allocation, no waiting, no output, and of our
 * code only these two files.  All fields are little endian, at the offsets in pace.c.
 * Times are CLOCK_MONOTONIC of the host, in nanoseconds.
 */
#ifndef LIB_WIRE_PACE_H
#define LIB_WIRE_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACE_VERSION   1
#define PACE_MAX_BYTES 160 /* Of any packet. */
#define PACE_MAX_NAME  63
/* No order is of more: the longest period that a profile may have, an hour. */
#define PACE_MAX_ORDER_NS INT64_C(3600000000000)
#define PACE_DEFAULT_PATH "/run/antiphase/sockets/pacer.sock"
#define PACE_PATH_ENV     "ANTIPHASE_ENDPOINT"

enum pace_kind {
	PACE_HELLO = 1,     /* Pacer to collector, first. */
	PACE_ITERATION = 2, /* Pacer to collector. */
	PACE_ORDER = 3,     /* Collector to pacer. */
};

enum pace_source {
	PACE_MPI,
	PACE_NCCL, /* Times are those of the enqueueing, not of the wire. */
	PACE_API,  /* The program itself reports where iterations begin. */
};

struct pace_hello {
	uint8_t source;              /* enum pace_source. */
	bool is_observing;           /* It will not delay: ANTIPHASE_MODE=profile. */
	uint32_t pid, rank, n_ranks; /* n_ranks 0: unknown. */
	char job[PACE_MAX_NAME + 1]; /* As the environment has it; "": unknown. */
};

struct pace_iteration {
	uint64_t number;        /* Of the iteration that begins, from 0. */
	int64_t enter_ns;       /* When the program came to its first collective, */
	int64_t begin_ns;       /* and when it was let go on. */
	int64_t comm_ns;        /* In collectives, in the iteration before; and there */
	uint64_t bytes;         /* of their messages, */
	uint32_t n_collectives; /* and how many. */
	uint32_t gap_us;        /* The learned gap between iterations. */
	uint32_t order;         /* Number of the last order received; 0: none. */
	uint32_t lost;          /* Packets that could not be sent so far. */
};

struct pace_order {
	uint32_t number;       /* Another than that of the one before; from 1. */
	int64_t delay_ns;      /* At least 0. */
	int64_t not_before_ns; /* 0: none.  The later of the two is waited for. */
	int64_t expires_ns;    /* An iteration that begins after this is not delayed. */
	int64_t max_ns;        /* Never wait longer: the job's period. */
};

struct pace_packet {
	enum pace_kind kind;

	union {
		struct pace_hello hello;
		struct pace_iteration iteration;
		struct pace_order order;
	};
};

/* Returns the number of bytes written. */
size_t pace_encode(const struct pace_packet *packet, uint8_t ret_bytes[PACE_MAX_BYTES]);

/*
 * Returns 0; -EBADMSG for what is no packet or cannot be (times that are negative or
 * beyond those of a frame, a begin before its enter, an order of number 0 or of more
 * than PACE_MAX_ORDER_NS, a rank that is none of n_ranks, a name that is not terminated
 * or has control characters); -EPROTONOSUPPORT for another version.  '*ret_packet' is
 * then left alone.  Whatever is taken encodes to the same bytes again.
 */
int pace_decode(const uint8_t *bytes, size_t n, struct pace_packet *ret_packet);

#endif
