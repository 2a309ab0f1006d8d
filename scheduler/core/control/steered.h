/*
 * steered.h - simulated jobs under the control loop: the pacer, the way to it and back.
 *
 * Stands between the engine's observer and steer.h as the pacer and the network stand
 * between real jobs and the daemon.  When a job comes to the flows of its onset it
 * waits as the last order that has reached it says, and when it is let go on it
 * reports.  Orders take their time, and some are lost; so are some reports, and some
 * are garbage.  Marks of when an iteration began are off by noise, and some are late, as
 * on a busy machine.  All by seed.
 *
 *	steered_add(steered, id, segment, &what);		(each, by engine number)
 *	steer_set_constraints(steered_steer(steered), ...);
 *	config.observer.wait_ns = steered_wait_ns;		(ctx: the steered)
 *	config.observer.on_flows = steered_on_flows;
 */
#ifndef SCHEDULER_CORE_CONTROL_STEERED_H
#define SCHEDULER_CORE_CONTROL_STEERED_H

#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/control/steer.h"

struct steered;

struct steered_opts {
	struct steer_opts steer; /* Its latency is what steering reckons with, */
	int64_t latency_ns;      /* and this what an order takes; 0: 20 ms. */
	double lost_order_frac;  /* Orders that never arrive. */
	double lost_report_frac;
	double garbage_frac; /* Reports that say anything. */
	double mark_sd_ns;   /* Of when a burst begins and ends, as it is reported; */
	double late_mark_frac, late_mark_ns; /* some are late, by so much; */
	double late_end_sd_ns;               /* ends are never early by this one. */
	/* Told of each report before the loop takes it; NULL: nobody is. */
	void (*on_report)(void *ctx, uint32_t job, const struct steer_report *report);
	void *ctx;
	uint64_t seed;
};

struct steered *steered_new(const struct steered_opts *opts); /* NULL: defaults. */
void steered_free(struct steered *steered);                   /* Accepts NULL. */
struct steer *steered_steer(struct steered *steered);         /* Borrowed. */

/*
 * The engine's job 'job' is steered, at its segment 'onset_segment'.  'what' NULL: it is
 * yet to be set, until when the loop does not know it.
 */
void steered_add(struct steered *steered, uint32_t job, uint32_t onset_segment,
		 const struct steer_job *what);

/* For the engine's observer. */
double steered_wait_ns(void *steered, uint32_t job, uint64_t iteration,
		       uint32_t segment, double now_ns);
void steered_on_flows(void *steered, uint32_t job, uint32_t segment, double start_ns,
		      double end_ns);

#endif
