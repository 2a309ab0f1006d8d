/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pace.h - orders for pacers: gives steer.h the iterations that pacers report, and
 * announces its orders to the collectors of the jobs' hosts on topic "pace/HOST/":
 *
 *	{"schema":"antiphase.orders/1","orders":[{"job":"4711","pid":123,"number":7,
 *	 "delay_us":0,"not_before_us":WALL or 0,"expires_us":WALL,"max_us":250000}]}
 *
 * In the modes observe and advise jobs are only tracked.
 */
#ifndef SCHEDULER_DAEMON_PACE_H
#define SCHEDULER_DAEMON_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/control/steer.h"

struct job;
struct jobs;
struct modes;
struct pace;
struct scheduler_config;
struct sched_snapshot;
struct telemetry;

struct pace_opts {
	const struct scheduler_config *config; /* Borrowed, as all here. */
	struct telemetry *telemetry;
	struct jobs *jobs;
	const struct sched_snapshot *snapshot; /* at_us 0 while there is none. */
	const struct modes *modes;
	/* Publishes orders. */
	void (*announce)(void *ctx, const char *topic, const char *text);
	void *ctx;
};

/* Registers itself at 'telemetry' and 'jobs'. */
struct pace *pace_new(const struct pace_opts *opts);
void pace_free(struct pace *pace); /* Accepts NULL. */
/* Calls 'fn' whenever a job's pacer begins an iteration; wall clock nanoseconds. */
void pace_on_iteration(struct pace *pace,
		       void (*fn)(void *ctx, const char *job, uint64_t number,
				  int64_t begin_ns),
		       void *ctx);
/*
 * Calls 'fn' whenever an order is sent to a job's pacer; 'at_ns' is the begin of the
 * iteration whose report caused it, as above.
 */
void pace_on_order(struct pace *pace,
		   void (*fn)(void *ctx, const char *job, int64_t at_ns,
			      const struct steer_order *order),
		   void *ctx);
/* Steers no job from now on. */
void pace_end(struct pace *pace);

struct pace_counts {
	uint64_t reports;
	uint64_t others;   /* Reports of a rank 0 other than the one in use. */
	uint64_t replaced; /* Pacers elsewhere, by one on a node of the job. */
	uint64_t orders[STEER_N_WHYS];
};
struct pace_counts pace_counts(const struct pace *pace);
/* Zeroed for a job that is not tracked. */
void pace_state(const struct pace *pace, const struct job *job,
		struct steer_state *ret_state);

#endif
