/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * events.h - data shared by the counting BPF programs and user space.
 *
 * No packet is sent to user space.  Each CPU has, for each *ring*, a ring of 1 ms
 * buckets of bytes and one record of running totals; user space maps both and reads
 * them at any time, without a system call.  A CPU writes only its own memory, so there
 * is no lock.
 *
 * A bucket is one 64-bit word, with the number of the millisecond in the upper half and
 * the bytes in the lower half.  It is written in one store, so a reader sees the old
 * word or the new one.  The bucket being filled is beside the totals, so that a packet
 * touches one cache line; it goes into the ring when the next one begins.  A bucket
 * with an unexpected millisecond number means that there was no traffic then, or that
 * the ring has wrapped.  To distinguish these, a program writes the bucket first and
 * then the totals: if a reader reads the total first, and then finds less in the sum of
 * all buckets since the start, it has missed the difference.  So a late reader loses
 * resolution but never bytes.
 *
 * Rings are numbered: FLOW_LINK_RINGS for each link, then FLOW_SLOT_RINGS for each
 * slot.  A *link* is an interface, numbered by user space; a *job* is a number that
 * user space gave to one or more control groups; a *slot* is a pair of both, which user
 * space allocates when the job first has traffic on the link.  Slots begin at 1; each
 * link has one for job 0, all traffic without a known job.
 */
#ifndef BPF_EVENTS_H
#define BPF_EVENTS_H

#include <linux/types.h>

#define FLOW_VERSION 1

#define FLOW_MAX_LINKS     64    /* Interfaces; a power of two. */
#define FLOW_MAX_JOBS      1024  /* Jobs of this host with job 0; a power of two. */
#define FLOW_MAX_SLOTS     4096  /* Pairs of link and job. */
#define FLOW_MAX_CGROUPS   32768 /* Known control groups. */
#define FLOW_LINK_CELLS    1024  /* In the table of interfaces; a power of two. */
#define FLOW_LINK_PROBES   4
#define FLOW_REQUEST_CELLS 1024 /* In the table of unknown groups; a power of two. */
#define FLOW_MIN_BUCKETS   256
#define FLOW_MAX_BUCKETS   4096

/* The rings of a link, then those of a slot. */
enum flow_ring {
	FLOW_TX,      /* Handed to the device: after the host's queue. */
	FLOW_RX,      /* Received. */
	FLOW_OFFERED, /* Handed to the host's queue. */
	FLOW_LINK_RINGS,
	FLOW_SLOT_RINGS = FLOW_OFFERED,
};

/* A bucket: millisecond of CLOCK_MONOTONIC, modulo 2^32, and bytes in it. */
#define FLOW_BUCKET(ms, bytes)    (((__u64)(__u32)(ms) << 32) + (bytes))
#define FLOW_BUCKET_MS(bucket)    ((__u32)((bucket) >> 32))
#define FLOW_BUCKET_BYTES(bucket) ((__u32)(bucket))

/*
 * Totals since the ring was created.  A flow sets one bit of the sketch, chosen by its
 * hash; the sketch restarts with each window of FLOW_SKETCH_MS milliseconds.
 */
struct flow_totals {
	__u64 bytes;
	__u64 packets; /* On the wire: a large packet counts its segments. */
	__u64 ce;      /* Packets with "congestion experienced" set. */
	__u64 retransmits;
	__u64 sketch[2];
	__u64 sketch_window;
	__u64 current; /* The bucket being filled; goes into the ring at its end. */
};

_Static_assert(sizeof(struct flow_totals) == 64, "one cache line a CPU");

#define FLOW_SKETCH_SHIFT 10
#define FLOW_SKETCH_MS    (1 << FLOW_SKETCH_SHIFT)
#define FLOW_SKETCH_BITS  128

/* The look-up table of interfaces: at the hash or within FLOW_LINK_PROBES after it. */
struct flow_link_cell {
	__u32 ifindex; /* 0: empty. */
	__u32 link;
};

_Static_assert(sizeof(struct flow_link_cell) == 8, "read in one load");

#define FLOW_LINK_HASH(ifindex) (((ifindex)*0x9e3779b1u) >> 22)

/* The label stored with a socket. */
struct flow_label {
	__u64 cgroup_id;
	__u32 generation; /* The job table's when 'job' was looked up. */
	__u32 job;
};

_Static_assert(sizeof(struct flow_label) == 16, "as both sides know it");

/*
 * The job of a received flow, cached for a short time: a word with 32 bits of a hash of
 * its addresses, the time and generation for which it is valid, and the job.  Other
 * bits of the hash choose the cell.
 */
#define FLOW_SCRATCH_CELLS 4096
#define FLOW_SCRATCH_SHIFT 7 /* Valid for up to 128 ms. */

#define FLOW_SCRATCH_WORD(key, ms, generation, job)              \
	(((__u64)(__u32)(key) << 32) |                           \
	 ((__u64)(((ms) >> FLOW_SCRATCH_SHIFT) & 0xfff) << 20) | \
	 ((__u64)((generation)&0x3ff) << 10) | (job))
#define FLOW_SCRATCH_JOB(word) ((__u32)(word)&0x3ff)

_Static_assert(FLOW_MAX_JOBS <= 1024, "a job's number has ten bits there");

/* The cell where an unknown control group waits for user space to give it a job. */
#define FLOW_REQUEST_HASH(cgroup_id) \
	((__u32)(((cgroup_id)*0x9e3779b97f4a7c15ull) >> 54))

#endif
