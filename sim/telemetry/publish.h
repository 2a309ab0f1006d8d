/* SPDX-License-Identifier: Apache-2.0 */
/*
 * publish.h - sends a simulation's telemetry to the bus, or into a recording.
 *
 * Every second of simulated time, each sender of emit.h sends its summary, then its
 * raw series, then its collective events.  On the bus, raw series and events are made
 * only for subscribers; in a recording they always are.  On the bus, simulated time
 * passes as real time, unless opts.pace says otherwise.
 */
#ifndef SIM_TELEMETRY_PUBLISH_H
#define SIM_TELEMETRY_PUBLISH_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/telemetry/emit.h"

struct err;
struct publish;

/* Simulated time between frames. */
#define PUBLISH_WINDOW_NS INT64_C(1000000000)

/* Since 1970, so that time stamps of any run stay below TELE_MAX_NS: in 2096. */
#define PUBLISH_MAX_S 4e9

struct publish_opts {
	const char *target; /* An endpoint of the bus, or a file; "-": stdout. */
	const char *keys;   /* Folder of CURVE keys, or NULL. */
	bool is_connected;  /* To a proxy, instead of bound. */
	bool must_wait;     /* Begin only with a subscriber. */
	bool has_pace;      /* Default: 1 on the bus, 0 into a file. */
	double pace;        /* Simulated over real time; 0: as fast as possible. */
	bool has_epoch;     /* Default: now on the bus, 0 in a file. */
	double epoch_s; /* Wall clock when the simulation begins; to PUBLISH_MAX_S. */
	struct emit_opts emit;
	bool (*is_interrupted)(void);
};

/* True if 'target' is an endpoint, such as "tcp://127.0.0.1:7461". */
bool publish_is_bus(const char *target);

/*
 * Opens the target, and waits if requested.  Borrows all but the options.  Returns 0,
 * or the error of emit_check(), bus_pub_open() or rec_writer_open() with 'err' filled.
 */
int publish_open(const struct topo *topo, const struct scenario *scenario,
		 const struct sim_plan *plan, const struct publish_opts *opts,
		 struct publish **ret_publish, struct err *err);

/* Receives emit_sent() and emit_flows(). */
struct emit *publish_emit(struct publish *publish);

/* For on_tick of experiment.h.  Returns false on errors, too. */
bool publish_tick(struct publish *publish, int64_t now_ns);

/* Returns 0, or the first error, with 'err' filled.  Accepts NULL. */
int publish_close(struct publish *publish, struct err *err);

#endif
