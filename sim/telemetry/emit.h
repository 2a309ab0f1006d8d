/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emit.h - telemetry frames of a simulation, as collectors on its hosts would send
 * them.
 *
 * Each host of the fabric is a sender, and each of its ports an interface of that
 * name; optionally each switch, too, which knows the loads of its ports but not the
 * jobs, as imported counters do.  All frames are marked TELE_SIMULATED.
 *
 * The engine's rates are constant between its events, so the bytes of a 1 ms bin are
 * exact but for rounding: whole bytes are sent and the rest is carried over, so a
 * series adds up to the engine's bytes to within one byte.  A link's total is the sum
 * of its jobs' series.
 *
 * The engine's bytes fill the link's capacity, so they count as bytes on the wire;
 * packets are these bytes divided by the scenario's MTU. CE marks are the engine's
 * estimate, counted where packets arrive.  Simulated hosts have no queue, so there is
 * no series of offered traffic.
 *
 * A host's clock begins at 0 with the simulation; boot and start ids come from the
 * seed.  Pure: the same run and seed give the same frames.
 */
#ifndef SIM_TELEMETRY_EMIT_H
#define SIM_TELEMETRY_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/wire/tele.h"
#include "sim/run/plan.h"

struct emit;
struct err;

struct emit_opts {
	uint64_t seed;
	double mtu_bytes;   /* 0: the engine's default. */
	bool with_switches; /* Switches send, too. */
	bool with_events;   /* Keep the begin and end of collectives. */
};

/* Borrows all but the options. */
struct emit *emit_new(const struct topo *topo, const struct scenario *scenario,
		      const struct sim_plan *plan, const struct emit_opts *opts);
void emit_free(struct emit *emit); /* Accepts NULL. */

/*
 * Returns 0, or -EINVAL with 'err' filled if the window of a sender does not fit into
 * a frame of 'window_ms' (tele.h). O(senders + their ends of links).
 */
int emit_check(const struct emit *emit, uint32_t window_ms, struct err *err);

/* See tele.h; 0 unless set. */
void emit_set_wall_offset(struct emit *emit, int64_t wall_offset_ns);

/* For the callbacks of experiment.h. */
void emit_sent(struct emit *emit, uint32_t job, uint32_t flow, double start_ns,
	       double end_ns, double rate_bps, double ecn_packets);
void emit_flows(struct emit *emit, uint32_t job, uint32_t segment, double start_ns,
		double end_ns);

/*
 * Ends the current window, at the next whole millisecond, and begins the next.
 * emit_frame() is about the ended window until the next call.
 */
void emit_window(struct emit *emit, int64_t end_ns);

/* Hosts in the order of the fabric, then switches. */
size_t emit_n_senders(const struct emit *emit);
const char *emit_sender(const struct emit *emit, size_t sender);

/*
 * Fills '*frame' with the sender's frame of 'kind' for the last window, and counts it
 * in the sequence: ask only for frames that are sent.  Returns false, and counts
 * nothing, for a window without such content.
 */
bool emit_frame(struct emit *emit, size_t sender, enum tele_kind kind,
		struct tele_frame *frame);

#endif
