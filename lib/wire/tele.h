/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tele.h - the telemetry frame: what one host measured, in one message
 *
 * Collectors, the simulator and importers report in frames; a frame goes over ZeroMQ
 * (bus.h), into a file (rec.h) or through memory, with the same bytes each time.
 * docs/wire-format.md draws the layout; this header defines the meaning.  Pure: bytes in,
 * struct out, and back.
 *
 * A frame describes interfaces, by name, and the jobs seen on them.  Frames do not say
 * where cables lead: topology/ maps interfaces to links.
 *
 * Kinds.  A *summary*, once a second, has totals, and is an order of magnitude smaller than
 * a *raw* frame, which has the even 1 ms series and is sent only to subscribers.  An *event*
 * frame has the begin and end of collectives, as the program itself sees them.  A *pace*
 * frame has the iterations of jobs with a pacer (pacer/) and is sent within milliseconds,
 * because the scheduler steers by it.
 *
 * Time.  All stamps are nanoseconds of the host's CLOCK_MONOTONIC; bin number b covers
 * [b, b + 1) ms of it.  'wall_offset_ns' plus a stamp is wall clock time (since 1970, UTC),
 * by which hosts are compared; it changes when the wall clock is stepped, the series do
 * not.
 *
 * Bytes are wire bytes: all headers from the Ethernet header on, once for each segment that
 * the interface makes of a large one; without preamble, gap and FCS, which are 24 bytes per
 * packet on the line.
 *
 * Sequence numbers count from 0 for each kind, host and boot of the *sender* ('start_id'),
 * so that receivers can count lost frames.
 */
#ifndef LIB_WIRE_TELE_H
#define LIB_WIRE_TELE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"

struct err;

#define TELE_VERSION_MAJOR  1
#define TELE_VERSION_MINOR  1
#define TELE_MAX_NAME       63 /* Bytes of a host, interface or job name. */
#define TELE_MAX_INTERFACES 1024
#define TELE_MAX_JOBS       4096
#define TELE_MAX_TRAFFIC    65536     /* Summary rows of one frame. */
#define TELE_MAX_SERIES     65536     /* Of one frame. */
#define TELE_MAX_BINS       60000     /* Of one series: a minute. */
#define TELE_MAX_FRAME_BINS (1 << 22) /* Of one frame, all series together. */
#define TELE_MAX_EVENTS     65536
#define TELE_MAX_ITERATIONS 65536
#define TELE_MAX_BYTES      (64 << 20) /* Of an encoded frame. */
/* Of a stamp or offset, either sign: the sum of two is still a number. */
#define TELE_MAX_NS ((INT64_C(1) << 62) - 1)

enum tele_kind {
	TELE_SUMMARY = 1,
	TELE_RAW = 2,
	TELE_EVENTS = 3,
	TELE_PACE = 4, /* From version 1.1 on. */
};

#define TELE_LAST_KIND TELE_PACE

/* Flag bits of a frame. */
#define TELE_SIMULATED     0x1u /* Made by a simulator. */
#define TELE_CLOCK_STEPPED 0x2u /* wall_offset_ns jumped since the last frame. */
#define TELE_IMPORTED      0x4u /* From a switch's or sFlow's records. */

enum tele_direction {
	TELE_TX, /* Out of the interface. */
	TELE_RX,
};

/* What a row or a series counts. */
enum tele_measure {
	TELE_WIRE,    /* Bytes that crossed the interface: the link's load. */
	TELE_OFFERED, /* TX only: bytes handed to the queue in front of it. */
};

#define TELE_LINK  UINT32_MAX       /* As a job: everything on the interface. */
#define TELE_OTHER (UINT32_MAX - 1) /* As a job: what belongs to no known job. */

/* A bin about which nothing is known: not zero. */
#define TELE_GAP UINT32_MAX

struct tele_interface {
	char name[TELE_MAX_NAME + 1]; /* "eth0", "mlx5_0/1", "swp3". */
	double capacity_bps;          /* 0: unknown. */
	bool is_up;
	bool is_rdma; /* Counted by the RDMA device, not by the kernel's stack. */
};

struct tele_job {
	char name[TELE_MAX_NAME + 1]; /* The scheduler's id as text: "4711". */
};

/* One row of a summary: an interface, a job or all, a direction. */
struct tele_traffic {
	uint32_t interface; /* Index in this frame. */
	uint32_t job;       /* Index in this frame, TELE_LINK or TELE_OTHER. */
	uint8_t direction;
	uint8_t measure;
	/* Since the first start on this boot; they continue over a restart. */
	uint64_t total_bytes, total_packets, total_ce, total_retransmits;
	/* Of the window that ends at the frame's 'time_ns'. */
	uint64_t window_bytes;
	uint32_t peak_bytes; /* The largest bin. */
	uint32_t busy_bins;  /* With any bytes. */
	uint32_t gap_bins;   /* About which nothing is known. */
	uint32_t flows;      /* Estimate; 0: unknown. */
	/* TX of TELE_LINK: the largest backlog of the host's queue. */
	uint32_t queue_bytes;
};

/* Even 1 ms bins of one interface, job and direction. */
struct tele_series {
	uint32_t interface, job; /* As above. */
	uint8_t direction;
	uint8_t measure;
	int64_t start_ms; /* Number of the first bin; from 0. */
	uint32_t n_bins;
	uint32_t bins_at; /* Index of the first in the frame's 'bins'. */
};

/* One collective, as the program saw it. */
struct tele_event {
	uint32_t job;   /* Index in this frame or TELE_OTHER. */
	uint8_t source; /* enum tele_event_source. */
	bool is_launch; /* It was only enqueued then, as with ncclAllReduce. */
	uint32_t pid;   /* On the host; distinguishes ranks. */
	int64_t begin_ns, end_ns; /* From 0; equal if only the begin is known. */
	uint64_t bytes;           /* Of the message; 0: unknown. */
};

enum tele_event_source {
	TELE_EVENT_MPI,
	TELE_EVENT_GLOO,
	TELE_EVENT_NCCL,
};

/* An iteration that begins in a job, and what the one before did: see lib/wire/pace.h. */
struct tele_iteration {
	uint32_t job;      /* Index in this frame or TELE_OTHER. */
	uint8_t source;    /* enum pace_source. */
	bool is_claimed;   /* The job is the process's own claim. */
	bool is_observing; /* It takes no orders. */
	bool is_over; /* The last of its process: all but job, pid, rank are old. */
	uint32_t
		pid; /* On the host: with the job it identifies the receiver of orders. */
	uint32_t rank;
	uint64_t number;
	int64_t enter_ns, begin_ns; /* From 0, in this order. */
	int64_t comm_ns;            /* From 0. */
	uint64_t bytes;
	uint32_t n_collectives, gap_us, order, lost;
};

struct tele_frame {
	uint8_t kind;
	uint32_t flags;
	char host[TELE_MAX_NAME + 1];
	uint8_t boot_id[16]; /* The kernel's. */
	uint64_t start_id;   /* Drawn when the sender started. */
	uint64_t sequence;
	int64_t time_ns;        /* End of the window; from 0. */
	int64_t window_ns;      /* Its length. */
	int64_t wall_offset_ns; /* See above. */
	int64_t clock_error_ns; /* The kernel's bound on its error; -1: unknown. */
	/* The sender's own losses since it started. */
	uint64_t lost_records;  /* Traffic it could not account for in time. */
	uint64_t unplaced_jobs; /* Jobs counted as other since a table was full. */

	VEC(struct tele_interface) interfaces;
	VEC(struct tele_job) jobs;
	VEC(struct tele_traffic) traffic; /* Summaries. */
	VEC(struct tele_series) series;   /* Raw frames. */
	VEC(uint32_t) bins;               /* Bytes each, or TELE_GAP. */
	VEC(struct tele_event) events;
	VEC(struct tele_iteration) iterations;
};

/* All zero is a valid empty frame.  clear keeps the memory for the next one. */
void tele_clear(struct tele_frame *frame);
void tele_fini(struct tele_frame *frame);

/*
 * Copies a name into a frame's: cut where it is too long, with '?' for bytes that
 * are no UTF-8 and for control characters, and for an empty one.
 */
void tele_set_name(char ret_name[TELE_MAX_NAME + 1], const char *name);
/* True if a frame can hold this name unchanged. */
bool tele_name_is_valid(const char *name);

/* Add an interface or job, or find it; return its index.  As tele_set_name(). */
uint32_t tele_add_interface(struct tele_frame *frame, const char *name);
uint32_t tele_add_job(struct tele_frame *frame, const char *name);

/* Adds a series of 'n' bins copied from 'bins'. */
void tele_add_series(struct tele_frame *frame, uint32_t interface, uint32_t job,
		     enum tele_direction direction, enum tele_measure measure,
		     int64_t start_ms, const uint32_t *bins, uint32_t n);

/* The bins of series 's'; borrowed, NULL if it has none. */
const uint32_t *tele_bins(const struct tele_frame *frame, const struct tele_series *s);

/* "4711", "(all)" or "(other)"; borrowed from the frame or static. */
const char *tele_job_name(const struct tele_frame *frame, uint32_t job);

struct tele_buffer {
	uint8_t *bytes; /* Owned. */
	size_t n, capacity;
};

/*
 * Appends the encoded frame to 'out' (bytes; ends are not marked).  The frame has
 * to be within the limits above: a BUG otherwise.  Series cost three bytes a busy
 * bin of 1 Gb/s, four of 100 Gb/s, and two or three an idle stretch.
 */
void tele_encode(const struct tele_frame *frame, struct tele_buffer *out);
void tele_buffer_fini(struct tele_buffer *buffer);

/*
 * Decodes one frame of exactly 'n' bytes into '*frame', whose memory is used
 * again.  Everything is checked, a CRC first.  Returns 0, -EBADMSG for damage,
 * -EPROTONOSUPPORT for a later major version, with what and where in 'err'; the
 * frame is then empty.  Sections that a later minor version added are skipped.
 */
int tele_decode(const uint8_t *bytes, size_t n, struct tele_frame *frame,
		struct err *err);

/* Bytes of a header that contain the length of its frame. */
#define TELE_HEADER_BYTES 16
/* The length of the frame that begins with these bytes, or 0 if none does. */
size_t tele_frame_bytes(const uint8_t header[TELE_HEADER_BYTES]);

#endif
