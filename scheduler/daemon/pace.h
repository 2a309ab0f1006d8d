/*
 * pace.h - iterations that pacers tell of, handed to steer.h, and its orders announced for
 * the collectors of the jobs' hosts, on topic "pace/HOST/":
 *
 *	{"schema":"antiphase.orders/1","orders":[{"job":"4711","pid":123,"number":7,
 *	 "delay_us":0,"not_before_us":WALL or 0,"expires_us":WALL,"max_us":250000}]}
 *
 * In observe and advise jobs are only tracked.
 */
#ifndef SCHEDULER_DAEMON_PACE_H
#define SCHEDULER_DAEMON_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "scheduler/core/control/steer.h"

struct advisor_view;
struct daemon;
struct job;

void pace_open(struct daemon *d);
void pace_close(struct daemon *d);
/*
 * What is advised of a running job: how it is steered; then the edges of the jobs of a
 * component, by number.
 */
void pace_take(struct daemon *d, struct job *job, const struct advisor_view *view);
void pace_take_edges(struct daemon *d, const uint32_t *numbers, size_t n);
void pace_remove(struct daemon *d, uint32_t number);

struct pace_counts {
	uint64_t reports;
	uint64_t others; /* Reports of another rank 0 than the one that has the job. */
	uint64_t orders[STEER_N_WHYS];
};
struct pace_counts pace_counts(const struct daemon *d);
/* Zeroed for a job that is not tracked. */
void pace_state(const struct daemon *d, const struct job *job,
		struct steer_state *ret_state);
/* Whether orders are sent to a job: its mode is enforce, and its pacer takes any. */
bool pace_is_steered(const struct daemon *d, const struct job *job);

#endif
