/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link_events.h - links and switches that fail during a run, and are repaired.
 *
 * At the time of an event, the flows of all jobs are hashed again over the links that are
 * then up, as ECMP does when its set of next links changes: so a run with an event at
 * time 0 is the run on a fabric without these links.  A flow goes on with what it has
 * left.  A flow whose path a policy has chosen keeps it while all its links are up.  A
 * flow that was spread over n paths has n parts for good: part i takes path i mod m of
 * the m that are left.  A flow without a path waits for one, and its job with it.
 *
 * A link is as good as the worst of itself and the switches at its ends.  Policies and
 * isolated jobs know nothing of events.
 */
#ifndef SIM_RUN_LINK_EVENTS_H
#define SIM_RUN_LINK_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/run/plan.h"

struct engine;
struct topo;

/* What an event did. */
struct link_event {
	uint32_t number;    /* Of the scenario's event. */
	bool has_happened;  /* Before the run ended. */
	uint32_t n_moved;   /* Flows that took another path, or lost or found one. */
	bool *is_waiting;   /* Owned.  By job: a flow has no path from then on. */
	uint32_t n_waiting; /* Jobs. */
};

struct link_events;

/* NULL if the scenario has no events.  Borrows all until link_events_free(). */
struct link_events *link_events_new(const struct scenario *scenario,
				    const struct sim_plan *plan,
				    const struct topo *topo);
void link_events_free(struct link_events *events); /* Accepts NULL. */

/* The time of the next event, or ENGINE_NEVER. */
int64_t link_events_next_ns(const struct link_events *events);

/* Between calls of engine_run(): the events that are due at the engine's time. */
void link_events_apply(struct link_events *events, struct engine *engine);

/* All events by time; '*ret_n' of them.  Borrowed. */
const struct link_event *link_events_all(const struct link_events *events,
					 size_t *ret_n);

/* How long the job has waited for paths, until 'now_ns'. */
double link_events_waited_ns(const struct link_events *events, size_t job,
			     double now_ns);

/* Counts each job that an event brought to a link into 'n_jobs', by link. */
void link_events_count_jobs(const struct link_events *events, uint32_t *n_jobs);

#endif
