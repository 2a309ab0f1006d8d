/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steer_sim.h - simulated jobs under the control loop, with their pacers and network.
 *
 * Stands between the engine's observer and steer.h, as pacers and the network stand
 * between real jobs and antiphase-scheduler.  A job at the flows of its onset waits as
 * its last received order says, and reports when it goes on.  Orders take time, and
 * some are lost; some reports are lost or garbage.  Reported begins and ends have
 * noise, and some are late, as on a busy machine.  Deterministic for a seed.
 *
 *	steer_sim_add(sim, id, segment, &what);		(each, by engine number)
 *	steer_set_constraints(steer_sim_steer(sim), ...);
 *	config.observer.wait_ns = steer_sim_wait_ns;	(ctx: the sim)
 *	config.observer.on_flows = steer_sim_on_flows;
 */
#ifndef SCHEDULER_CORE_CONTROL_STEERED_H
#define SCHEDULER_CORE_CONTROL_STEERED_H

#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/control/steer.h"

struct steer_sim;

struct steer_sim_opts {
	struct steer_opts steer; /* Its latency is the one that the loop assumes. */
	int64_t latency_ns;     /* The actual latency of orders; 0: STEER_LATENCY_NS. */
	double lost_order_frac; /* Orders that never arrive. */
	double lost_report_frac;
	double garbage_frac; /* Reports with random content. */
	double mark_sd_ns;   /* Standard deviation of reported begins and ends. */
	double late_mark_frac, late_mark_ns; /* Share and delay of late reports. */
	double late_end_sd_ns;               /* Ends are late by this, never early. */
	/* Share of ordered waits that end late, and by how much in the mean. */
	double late_wake_frac, late_wake_ns;
	/* Called with each report before the loop takes it; may be NULL. */
	void (*on_report)(void *ctx, uint32_t job, const struct steer_report *report);
	void *ctx;
	uint64_t seed;
};

struct steer_sim *
steer_sim_new(const struct steer_sim_opts *opts);     /* NULL: defaults. */
void steer_sim_free(struct steer_sim *sim);           /* Accepts NULL. */
struct steer *steer_sim_steer(struct steer_sim *sim); /* Borrowed. */

/*
 * Steers the engine's job 'job' at its segment 'onset_segment'.  If 'what' is NULL, the
 * loop does not know the job until steer_set_job().
 */
void steer_sim_add(struct steer_sim *sim, uint32_t job, uint32_t onset_segment,
		   const struct steer_job *what);

/* For the engine's observer. */
double steer_sim_wait_ns(void *sim, uint32_t job, uint64_t iteration, uint32_t segment,
			 double now_ns);
void steer_sim_on_flows(void *sim, uint32_t job, uint32_t segment, double start_ns,
			double end_ns);

#endif
