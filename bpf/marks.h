/*
 * marks.h - what the uprobes on collectives tell, as both sides see it.
 */
#ifndef BPF_MARKS_H
#define BPF_MARKS_H

#include <linux/types.h>

/* Which function it is; also in the attachment's cookie.  As enum tele_mark_source. */
#define MARKS_MPI  0
#define MARKS_GLOO 1
#define MARKS_NCCL 2

/* A thread has entered a collective, or come back from it. */
struct marks_event {
	__u64 ns;    /* CLOCK_MONOTONIC. */
	__u64 bytes; /* Of the message, on entry; 0: unknown. */
	__u32 pid, tid;
	__u8 source;
	__u8 is_exit;
	__u8 zero[6];
};

_Static_assert(sizeof(struct marks_event) == 32, "layout is shared with BPF");

#define MARKS_RING_BYTES (256 * 1024)

#endif
