/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status.h - the live state as documents: ages, silent hosts, and the JSON of links and
 * jobs (docs/json.md), the same from the command line and antiphase-scheduler.
 *
 * Pure: the caller passes the time since the last frames.
 */
#ifndef SCHEDULER_LIVE_STATUS_H
#define SCHEDULER_LIVE_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"

struct job_series;
struct contention;
struct contention_link;
struct contention_pair;
struct jsonw;
struct live;
struct job_profiler;
struct profiled_job;
struct profile;

/* Borrows everything. */
struct status {
	const struct live *live;
	const struct job_profiler *profiler;
	bool has_fabric;
	/* For a bus: time since the last frame was received; */
	int64_t idle_ns;
	/* the same up to the last read. Both 0 for a recording. */
	int64_t heard_idle_ns;
	/* With more hosts than this only the silent ones are listed; 0: all. */
	uint32_t max_hosts;
	bool omits_history; /* Of links and their jobs: 'history_bps' is empty. */
};

/* Nanoseconds from 'to_ms' until now. */
int64_t status_age_ns(const struct status *status, int64_t to_ms);
/* Nanoseconds since the host's last frame. */
int64_t status_host_age_ns(const struct status *status, uint32_t host);
bool status_is_silent(const struct status *status, uint32_t host);
/* Nanoseconds since the window of the estimate ended. */
int64_t status_estimate_age_ns(const struct status *status,
			       const struct profiled_job *job);

struct status_census {
	unsigned n_hosts, n_fresh, n_switches;
	unsigned n_off; /* Hosts and switches: live_is_off(). */
	uint64_t gaps, lost, unplaced, restarts;
	bool is_simulated;
	int64_t worst_clock_ns; /* -1: no host reports one. */
};

void status_census(const struct status *status, struct status_census *ret_census);

/* ---- Jobs and links -------------------------------------------------------------- */

struct status_names {
	VEC(const char *) names; /* Borrowed from the state. */
};

/*
 * The hosts that reported traffic of the job, by name; 'series' NULL: of all series.
 * Free with vec_free(&ret_hosts->names).
 */
void status_hosts(const struct status *status, const struct job_series *job_series,
		  uint32_t job, struct status_names *ret_hosts);

/* Overlap per iteration of a job, microseconds; negative: the period is unknown. */
double status_overlap_us(const struct status *status,
			 const struct contention_link *link,
			 const struct contention_pair *pair, uint32_t job);

/* ---- JSON ------------------------------------------------------------------------ */

/* Keys of the document: time, age, "hosts". */
void status_json_footer(const struct status *status, int64_t from_ms, int64_t to_ms,
			struct jsonw *w);
/* The array "links", and one of its elements under a key. */
void status_json_links(const struct status *status,
		       const struct contention_link *const *links, size_t n,
		       struct jsonw *w);
/* The array "phases" of a profile. */
void status_json_phases(const struct profile *p, struct jsonw *w);
/* The array "jobs"; 'found' has their links. */
void status_json_jobs(const struct status *status, const struct contention *found,
		      const struct profiled_job *const *jobs, size_t n,
		      struct jsonw *w);

/* ---- Starts of contention -------------------------------------------------------- */

/* When contention began, by name of the link. */
struct contention_starts;

struct contention_starts *contention_starts_new(void);
void contention_starts_free(struct contention_starts *since); /* Accepts NULL. */
/*
 * Sets since_ms of links whose contention began before the window, from earlier
 * windows, and numbers the links.
 */
void contention_starts_remember(struct contention_starts *since,
				struct contention *found);
/* The same for the links [from, to), to do it in pieces. */
void contention_starts_remember_some(struct contention_starts *since,
				     struct contention *found, size_t from, size_t to);
/* The wall clock of most hosts was stepped by 'step_ms': moves what is remembered. */
void contention_starts_move(struct contention_starts *since, int64_t step_ms);
/* Links that are remembered. */
size_t contention_starts_n(const struct contention_starts *since);
/* Forgets the links that were not seen since the last call. */
void contention_starts_forget(struct contention_starts *since);

#endif
