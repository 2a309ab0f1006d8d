/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* coll_events.h - records of the uprobes on collectives, for kernel and user space. */
#ifndef BPF_COLL_EVENTS_H
#define BPF_COLL_EVENTS_H

#include <linux/types.h>

/* The library, also in the attachment's cookie; as enum tele_event_source. */
#define COLL_MPI  0
#define COLL_GLOO 1
#define COLL_NCCL 2

/* A thread entered a collective or returned from it. */
struct coll_record {
	__u64 ns;    /* CLOCK_MONOTONIC. */
	__u64 bytes; /* The message's, on entry; 0: unknown. */
	__u32 pid, tid;
	__u8 source;
	__u8 is_exit;
	__u8 zero[6];
};

_Static_assert(sizeof(struct coll_record) == 32, "layout is shared with BPF");

#define COLL_RING_BYTES (256 * 1024)

#endif
