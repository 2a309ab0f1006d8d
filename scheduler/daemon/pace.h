/*
 * pace.h - orders for pacers: the iterations that pacers report, given to steer.h, and its
 * orders, announced for the collectors of the jobs' hosts on topic "pace/HOST/":
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

struct advisor_view;
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
	/* A job's pacer began an iteration; wall clock nanoseconds. */
	void (*on_iteration)(void *ctx, const char *job, uint64_t number,
			     int64_t begin_ns);
	void *ctx;
};

/* Listens to iterations of 'telemetry' from now on. */
struct pace *pace_new(const struct pace_opts *opts);
void pace_free(struct pace *pace); /* Accepts NULL. */
/* From now on no job is steered. */
void pace_end(struct pace *pace);

/* Whether orders are sent to a job: its mode is enforce, and its pacer takes any. */
bool pace_is_steered(const struct pace *pace, const struct job *job);
/*
 * Takes up what is advised of a running job: how it is steered; then the phase constraints
 * of the jobs of a component, by number.
 */
void pace_take(struct pace *pace, struct job *job, const struct advisor_view *view);
void pace_take_component(struct pace *pace, const uint32_t *numbers, size_t n);
void pace_remove(struct pace *pace, uint32_t number);

struct pace_counts {
	uint64_t reports;
	uint64_t others; /* Reports of another rank 0 than the one that has the job. */
	uint64_t orders[STEER_N_WHYS];
};
struct pace_counts pace_counts(const struct pace *pace);
/* Zeroed for a job that is not tracked. */
void pace_state(const struct pace *pace, const struct job *job,
		struct steer_state *ret_state);

#endif
