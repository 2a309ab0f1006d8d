/*
 * status.h - what goes on, as programs and people are told: how old it is, who is
 * silent, and the JSON of links and jobs (docs/json.md), the same from the command line
 * and from antiphase-scheduler.
 *
 * Pure: the time that went by since the frames is handed in.
 */
#ifndef SCHEDULER_LIVE_STATUS_H
#define SCHEDULER_LIVE_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"

struct by_job;
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
	const struct job_profiler *online;
	bool has_fabric;
	/* Of a bus: since time last moved on in its frames, up to now; */
	int64_t idle_ns;
	/* and up to when frames were last looked for.  Both 0 of a recording. */
	int64_t heard_idle_ns;
	/* Where there are more hosts only the silent ones are told of; 0: all. */
	uint32_t max_hosts;
};

/* Nanoseconds since the end of what ends at 'to_ms'. */
int64_t status_age_ns(const struct status *picture, int64_t to_ms);
/* Nanoseconds since the host was last heard. */
int64_t status_host_age_ns(const struct status *picture, uint32_t host);
bool status_is_silent(const struct status *picture, uint32_t host);
/* Nanoseconds since the window of the estimate ended. */
int64_t status_estimate_age_ns(const struct status *picture,
			       const struct profiled_job *job);

struct status_census {
	unsigned n_hosts, n_fresh, n_switches;
	uint64_t gaps, lost, unplaced, restarts;
	bool is_simulated;
	int64_t worst_clock_ns; /* -1: nobody says. */
};

void status_census(const struct status *picture, struct status_census *ret_census);

/* ---- Jobs and links ----------------------------------------------------------------- */

struct status_names {
	VEC(const char *) names; /* Borrowed from the state. */
};

/*
 * The hosts that told of traffic of the job, by name; 'series' NULL: of all series.  Free
 * with vec_free(&ret_hosts->names).
 */
void status_hosts(const struct status *picture, const struct by_job *by_job,
		  uint32_t job, struct status_names *ret_hosts);

/* Share of the iteration in which it sends. */
double status_duty(const struct profile *profile);

/* Overlap in each iteration of a job, microseconds; negative: no period is known. */
double status_overlap_us(const struct status *picture,
			 const struct contention_link *link,
			 const struct contention_pair *pair, uint32_t job);

/* ---- JSON ---------------------------------------------------------------------------- */

/* Keys of the document: time, age, "hosts". */
void status_json_footer(const struct status *picture, int64_t from_ms, int64_t to_ms,
			struct jsonw *w);
/* The array "links", and one of its elements under a key. */
void status_json_links(const struct status *picture,
		       const struct contention_link *const *links, size_t n,
		       struct jsonw *w);
/* The array "jobs"; 'found' has the links they are on. */
void status_json_jobs(const struct status *picture, const struct contention *found,
		      const struct profiled_job *const *jobs, size_t n,
		      struct jsonw *w);

/* ---- Since when ---------------------------------------------------------------------- */

/* Contention that was found before: links by name, and since when. */
struct since;

struct since *since_new(void);
void since_free(struct since *since); /* Accepts NULL. */
/*
 * A window ends at its beginning; what was found before it is remembered, and told in
 * since_ms of the links, which are given numbers, too.
 */
void since_remember(struct since *since, struct contention *found);
/* The same of the links [from, to), where it is done in pieces. */
void since_remember_some(struct since *since, struct contention *found, size_t from,
			 size_t to);
/* Forgets the links that were not found since the last time that this was asked. */
void since_forget(struct since *since);

#endif
