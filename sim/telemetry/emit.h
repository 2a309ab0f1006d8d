/*
 * emit.h - what a simulation's flows make of the interfaces, as the telemetry
 * frames that collectors would send.
 *
 * Each host of the fabric is a sender, and each of its ports an interface of that
 * name; if asked for, each switch too, which knows its ports' loads but not whose
 * they are, as imported counters would.  All frames are marked TELE_SIMULATED.
 *
 * The engine's rates are constant between its events, so the bytes of a 1 ms bin
 * are an integral without error but rounding; whole bytes are sent and the rest is
 * carried on, so that a series adds up to what the engine says to within one byte.
 * A link's total is the sum of its jobs' series.
 *
 * The engine's bytes fill the link's capacity, so they are taken for bytes on the
 * wire; packets are those bytes divided by the scenario's MTU.  CE marks are the
 * engine's estimate and are counted where the packets arrive.  There is no queue
 * in a host here: no series of what was offered.
 *
 * A host's clock begins with the simulation at 0; boot and start ids come from the
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
	bool with_switches; /* They send too. */
	bool with_events;   /* Keep the begin and end of collectives. */
};

/* Borrows all but the options. */
struct emit *emit_new(const struct topo *topo, const struct scenario *scenario,
		      const struct sim_plan *plan, const struct emit_opts *opts);
void emit_free(struct emit *emit); /* Accepts NULL. */

/*
 * 0, or -EINVAL with 'err' filled if a frame has no room for a window of 'window_ms' of
 * some sender (tele.h).  O(senders + their ends of links).
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
 * Ends the window that the last call, or the beginning, began; at the next whole
 * millisecond.  emit_frame() is about this window until the next call.
 */
void emit_window(struct emit *emit, int64_t end_ns);

/* Hosts in the order of the fabric, then switches. */
size_t emit_n_senders(const struct emit *emit);
const char *emit_sender(const struct emit *emit, size_t sender);

/*
 * Makes '*frame' the sender's frame of 'kind' for the last window, and counts it in
 * the sequence; so ask only for what is sent.  Returns false, and counts nothing,
 * if there is nothing to say: events of a window without any.
 */
bool emit_frame(struct emit *emit, size_t sender, enum tele_kind kind,
		struct tele_frame *frame);

#endif
