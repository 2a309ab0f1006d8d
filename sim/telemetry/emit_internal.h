/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emit_internal.h - declarations shared by emit.c and emit_frame.c.
 *
 *	emit.c        links, senders, and the bins of a window
 *	emit_frame.c  frames
 */
#ifndef SIM_TELEMETRY_EMIT_INTERNAL_H
#define SIM_TELEMETRY_EMIT_INTERNAL_H

#include "lib/base/vec.h"
#include "sim/telemetry/emit.h"

/* Windows of silence after which a job is no longer listed. */
#define EMIT_FORGET_WINDOWS 60

/* A constant rate within a window. */
struct piece {
	double start_ns, end_ns, rate_bps;
};

/* Counts as in struct tele_traffic. */
struct counts {
	uint64_t total_bytes, window_bytes;
	double total_ce;
	uint32_t peak_bytes, busy_bins;
};

/* One job on one link. */
struct stream {
	uint32_t link, job;
	uint32_t n_flows;          /* Of the job, over this link. */
	VEC(struct piece) pieces;  /* Of the window. */
	double carry_bytes;        /* Carried from before the window, -0.5 to 0.5. */
	double next_carry_bytes;   /* After it. */
	double ce_packets;         /* Marked on arrival; only where the flow ends. */
	struct counts counts;      /* At the end of the window. */
	uint32_t n_silent_windows; /* Consecutive; EMIT_FORGET_WINDOWS: not listed. */
};

/* A link with all of its streams. */
struct loaded_link {
	uint32_t first, n; /* In emit.streams. */
	struct counts counts;
};

/* One end of a link, at a sender. */
struct end {
	uint32_t link;
	uint8_t direction;
};

struct sender {
	uint32_t node;
	uint32_t first, n; /* In emit.ends. */
	uint8_t boot_id[16];
	uint64_t start_id;
	uint64_t sequence[TELE_EVENTS + 1];
};

struct collective_seen {
	uint32_t job;
	double start_ns, end_ns, bytes;
};

struct emit {
	const struct topo *topo;
	const struct scenario *scenario;
	const struct sim_plan *plan;
	struct emit_opts opts;
	struct sender *senders; /* Owned. */
	size_t n_senders;
	struct end *ends;          /* Owned.  By sender and port's first link. */
	struct loaded_link *links; /* Owned.  By link of the topology. */
	struct stream *streams;    /* Owned.  By link, then job. */
	size_t n_streams;
	uint32_t **stream_at; /* Owned.  By job, and place in routed.path_links. */
	VEC(struct collective_seen) events;
	int64_t wall_offset_ns;
	int64_t from_ms, to_ms; /* The window. */
	size_t n_bins;
	double *exact_bytes; /* Owned scratch, n_bins. */
	uint32_t *bins;      /* Likewise. */
	uint64_t *link_bins; /* Likewise. */
	size_t bins_capacity;
};

/*
 * Fills emit->bins with the stream's whole bytes in the window.  Returns the bytes
 * carried over.
 */
double emit_fill_bins(struct emit *emit, const struct stream *stream);

#endif
