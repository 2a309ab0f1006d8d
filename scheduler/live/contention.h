/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contention.h - contention: which jobs share which link, for how long, at what cost.
 *
 * A link is directed. Its traffic is known in one of three ways:
 *
 *	measured  it is the end of an interface that sends frames: the host's, or a
 *	          switch's own (imported) one. The frames name the jobs.
 *	computed  it is between switches. The traffic of a job is computed from its
 *	          hosts' traffic: the flows of a ring over the job's hosts are routed on
 *	          the fabric (topology/collective.h, topology/route.h), and a flow
 *	          carries, millisecond by millisecond, the job's traffic at its
 *	          interface, shared out in proportion to the flows' bytes. Source ports
 *	          are assumed as in scenario files whose jobs are in natural order (job2
 *	          before job10).
 *	plain     no fabric is known: each interface is two links, "HOST:IF>" and
 *	          ">HOST:IF".
 *
 * If the switch of a link between switches sends frames, the total of the link is
 * measured and its jobs are computed. The window is [to_ms - window_ms, to_ms). In it,
 * with x_j(t) the rate of job j in millisecond t, C the capacity and x(t) the total
 * (from the frames, or else the sum over jobs and other traffic):
 *
 *	known     t in which no series of the link has a gap; no other is counted
 *	active    job j in t: x_j(t) >= active_frac C (of the highest x(t), where C is
 *	          not known)
 *	overlap   of jobs i and j: known t in which both are active
 *	over      known t with at least two jobs active and x(t) >= over_frac C.  OVER
 *	          is their share of the known t; unknown where C is
 *	alone     the mean of x_j(t) over t in which j is active and no other job is
 *	NOW       the mean of x(t) over the last second; PEAK: the highest x(t)
 *	since     the start of the present contention: the first over t after which
 *	          there was no pause longer than CONTENTION_PAUSE_MS
 *
 * The worst pair has the most over t in which both are active, then the most overlap,
 * then comes first by name.
 *
 * Which of several equal paths a flow takes is assumed, unless it was inferred from
 * counters of switches (path_watch.h). If the mean of a
 * computed link over some 100 ms is above 1.05 C, the assumption was wrong somewhere.
 *
 * With summaries only, NOW and PEAK are those of the summaries, and the rest is
 * unknown, as is everything about a host that has since fallen silent.
 *
 * Pure. O(window) for each series on each link.
 */
#ifndef SCHEDULER_LIVE_CONTENTION_H
#define SCHEDULER_LIVE_CONTENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flow_paths;
struct live;
struct routes;
struct topo;
struct traffic_map_part;

#define CONTENTION_OVER_FRAC   0.9  /* Of the capacity: the link is full. */
#define CONTENTION_ACTIVE_FRAC 0.02 /* Of the capacity: the job sends. */
#define CONTENTION_PAUSE_MS    3000
#define CONTENTION_NOW_MS      1000
#define CONTENTION_COLUMNS     60 /* Of a history. */
#define CONTENTION_MAX_JOBS    64 /* Of one link: the busiest. */

struct contention_opts {
	struct topo *topo;     /* NULL: no fabric. */
	struct routes *routes; /* With a fabric. */
	/* Known paths of flows, or NULL; the others are assumed. */
	const struct flow_paths *paths;
	uint32_t window_ms;  /* 0: 10000; at most what the state keeps. */
	uint32_t history_ms; /* Before to_ms, in CONTENTION_COLUMNS; 0: 1000. */
	bool keeps_parts;    /* For contention_series.h. */
	double over_frac;    /* 0: CONTENTION_OVER_FRAC. */
	double active_frac;  /* 0: CONTENTION_ACTIVE_FRAC. */
};

enum contention_basis {
	CONTENTION_MEASURED,
	CONTENTION_COMPUTED,
	CONTENTION_SUMMARY, /* Measured, but no raw series were seen. */
};

/* "measured", "computed", "summary". */
extern const char *const contention_basis_names[];

struct contention_job {
	uint32_t job;                     /* live_job_name(). */
	double now_bps, peak_bps;         /* now: -1 if unknown. */
	double mean_bps;                  /* Over the known time; -1: unknown. */
	double isolated_bps, overlap_bps; /* While active; 0: never was. */
	uint32_t active_ms, overlap_ms;   /* Overlap: with any other job. */
	uint32_t over_ms;                 /* Active while the link is over, */
	double over_bps;                  /* and its rate then. */
	const float *history_bps;         /* A part of the link's. */
};

struct contention_pair {
	uint32_t a, b; /* Jobs; a's name before b's. */
	uint32_t overlap_ms, over_ms;
};

struct contention_link {
	char *name;      /* Owned. */
	uint32_t link;   /* Of the fabric, or TOPO_NONE. */
	uint32_t number; /* Given by contention_starts (status.h); stays the same. */
	uint32_t from_tier, to_tier;
	enum contention_basis basis;
	bool is_up;
	double capacity_bps; /* 0: unknown. */
	uint32_t known_ms;   /* Of the window. */
	uint32_t over_ms;    /* 0 where the capacity is unknown. */
	/* Each -1 if unknown, for example for a silent host. */
	double now_bps, peak_bps, mean_bps;
	double other_bps; /* Mean of traffic without a job. */
	/* The last summary of the host that measures it is recent enough. */
	bool has_counts;
	uint64_t total_ce, total_retransmits; /* Since that host's collector began. */
	uint32_t queue_bytes;                 /* At most, of the host in front of it. */
	int64_t since_ms;            /* Wall clock; INT64_MIN: no contention now. */
	bool is_since_older;         /* It began before the window. */
	struct contention_job *jobs; /* Owned. Those active in the window; by name. */
	size_t n_jobs;
	struct contention_pair *pairs; /* Owned. Those with overlap; worst first. */
	size_t n_pairs;
	size_t first_part, n_parts; /* Of the parts that are kept. */
	/* CONTENTION_COLUMNS, oldest first; < 0: unknown. NULL: known_ms is 0. */
	float *history_bps; /* Owned, with those of its jobs behind it. */
};

struct contention {
	int64_t from_ms, to_ms; /* Wall clock; the window. */
	bool has_raw;
	uint32_t history_ms;           /* Of the histories. */
	struct contention_link *links; /* Owned.  Of a fabric: by number. */
	size_t n_links;
	uint32_t n_unattached;     /* Interfaces at the end of no known cable. */
	uint32_t first_unattached; /* One of them. */
	uint32_t n_unplaced; /* Jobs whose flows could not be routed on the fabric. */
	/*
	 * Links computed above their capacity.  Impossible: the assumed paths are wrong.
	 * Overfull: there is no other path, so hosts send into a queue or the capacity
	 * is wrong.
	 */
	uint32_t n_impossible, n_overfull;
	/* NULL: not kept.  Owned.  Valid until live_forget(). */
	struct traffic_map_part *parts;
};

/* Finds the links of known traffic. Release with contention_fini(). */
void contention_find(const struct live *live, const struct contention_opts *opts,
		     struct contention *ret_contention);
void contention_fini(struct contention *contention); /* Accepts a zeroed one. */
/* The same in pieces of 'n_max' links: true when all are released. */
bool contention_drop(struct contention *contention, size_t n_max);
/* Releases the parts only: the series that they name have changed. */
void contention_drop_parts(struct contention *contention);

/*
 * The same in steps of about a millisecond, for an event loop; the window is that of
 * the first step. Between steps frames may come, but do not call live_forget() or
 * replace the fabric.
 */
struct contention_finder;

struct contention_finder *contention_begin(const struct live *live,
					   const struct contention_opts *opts);
bool contention_step(struct contention_finder *finder); /* True: all is found. */
/* Moves the result out and ends the finder; NULL: drops the result. */
void contention_end(struct contention_finder *finder,
		    struct contention *ret_contention);

enum contention_sort {
	CONTENTION_BY_CONTENTION, /* OVER, then overlap, then peak. */
	CONTENTION_BY_PEAK,       /* Over the capacity, where that is known. */
	CONTENTION_BY_UTIL,       /* NOW over the capacity. */
};

/* "contention", "peak", "util"; NULL-terminated. */
extern const char *const contention_sort_names[];

/* Sorts the links, ties by name. */
void contention_sort(struct contention *contention, enum contention_sort sort);
/* The same in steps of about a millisecond; meanwhile do not use the links. */
struct contention_sorter;

struct contention_sorter *contention_sort_begin(struct contention *contention,
						enum contention_sort sort);
bool
contention_sort_step(struct contention_sorter *sorter); /* True: they are sorted. */
/* Allowed at any time: all links are there, sorted or not. Accepts NULL. */
void contention_sort_end(struct contention_sorter *sorter);

/* Shares, 0 to 1 and more; -1 if unknown. */
double contention_over_frac(const struct contention_link *link);
double contention_peak_frac(const struct contention_link *link);
double contention_now_frac(const struct contention_link *link);

/* The job on the link, or NULL. */
const struct contention_job *contention_find_job(const struct contention_link *link,
						 uint32_t job);

/* The links of each job.  Those of job j are items[first[j]] to items[first[j + 1] - 1]. */
struct contention_by_job {
	size_t *first; /* Owned. */

	struct contention_place {
		uint32_t link, at; /* Link, and the job's place in it. */
	} * items;                 /* Owned.  By job, then link. */
};

/* Makes the index; all jobs of 'found' are below 'n_jobs'. O(links + jobs). */
void contention_by_job_init(struct contention_by_job *by_job,
			    const struct contention *found, uint32_t n_jobs);
void
contention_by_job_fini(struct contention_by_job *by_job); /* Accepts a zeroed one. */

#endif
