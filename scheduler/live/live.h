/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live.h - the live state of the cluster, built from telemetry frames.
 *
 * For each host it keeps how fresh and how complete its frames are; for each interface,
 * job and direction the last seconds in 1 ms bins. contention.h derives links from it,
 * and job_profiler.h profiles of jobs.
 *
 * Series are kept on the clock of their host (CLOCK_MONOTONIC, which is never stepped)
 * and moved to wall clock time when they are read, by the offset in the host's last
 * frame, rounded to 1 ms. "Now" is the newest wall clock time of any host, except of
 * hosts that are off: more than LIVE_OFF_NS away from it. If more than half of the hosts
 * that are not silent are off, their clocks were stepped, and "now" moves to the newest
 * time around their median, in either direction; the others are off then. So one host
 * with a wrong clock moves nothing, and a step of all costs no more than a frame of most.
 *
 * What is silent or out of date is decided on a clock that no step moves: the time at
 * which frames were received (live_receive()), or without one (live_frame(): recordings)
 * the time that passed on the hosts' own CLOCK_MONOTONIC.
 *
 * If two machines send under one name, the later one counts until it is silent; the
 * frames of the other are counted and dropped.
 *
 * A bin is zero only where a raw frame that lists the interface covers its time; time
 * without a frame is a gap (TELE_GAP), never zero.
 *
 * Memory is bounded: beyond 'max_bytes', and beyond the numbers of enum live_limit, new
 * hosts, interfaces, jobs and series are refused and counted. Rings of bins and events,
 * which take most of it, leave an eighth to the rest, so that summaries of all hosts are
 * known even where raw series of some are not kept. Outdated rings are freed first. What
 * one host names is bounded, too, so that it cannot take the room of all others; a job
 * counts for the host that named it first. live_forget() forgets jobs and hosts without
 * frames for long.
 *
 * Pure: no clock, no I/O. O(1) for each bin of a frame; O(hosts log hosts) for frames of
 * hosts that are off, at most every LIVE_VOTE_NS.
 */
#ifndef SCHEDULER_LIVE_LIVE_H
#define SCHEDULER_LIVE_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/wire/tele.h"

struct live;

#define LIVE_DEFAULT_KEEP_MS 32000
/* Enough for raw series of 200 hosts and summaries of 10,000. */
#define LIVE_DEFAULT_MAX_BYTES ((size_t)2 << 30)
/* A host is silent after this time without a frame: three summaries are missing. */
#define LIVE_SILENT_NS INT64_C(3000000000)
/*
 * A host's clock this far from "now" is off. Above the age that the last frame of a host
 * that is not silent may have, with a second for its window and another for its way.
 */
#define LIVE_OFF_NS INT64_C(5000000000)
/* A jump of a host's wall clock by more is a step; corrections by rate are far below. */
#define LIVE_STEP_NS INT64_C(100000000)
/* With many hosts, "now" is voted on no more often. */
#define LIVE_VOTE_NS INT64_C(250000000)
/*
 * Recordings: of a host or boot that was not known, a time up to this far ahead of "now"
 * is time that passed, and a later one is a wrong clock.
 */
#define LIVE_LEAP_NS        INT64_C(30000000000)
#define LIVE_FORGET_JOB_NS  INT64_C(300000000000)
#define LIVE_FORGET_HOST_NS INT64_C(86400000000000)
/* The same of both when their table is more than half full. */
#define LIVE_FORGET_CROWDED_NS INT64_C(60000000000)

/*
 * Chosen: clusters of 10,000 hosts with some interfaces each, and two jobs a host. A job
 * takes about 4 kB in all modules of antiphase-scheduler, and an interface 1 kB in scans.
 */
#define LIVE_MAX_HOSTS      16384
#define LIVE_MAX_JOBS       20000
#define LIVE_MAX_INTERFACES 131072
/* Of one host. Chosen: short jobs on all of its cores, which are kept for 5 minutes. */
#define LIVE_MAX_HOST_JOBS       2048
#define LIVE_MAX_HOST_INTERFACES TELE_MAX_INTERFACES
/*
 * One host gets one part in this many of max_bytes, or this much if that is more. Chosen:
 * of the daemon's 512 MiB, raw series of 1,000 pairs of interface and job.
 */
#define LIVE_HOST_SHARE     4
#define LIVE_HOST_MIN_BYTES ((size_t)64 << 20)
/* Of one job; older ones are dropped. */
#define LIVE_MAX_EVENTS 4096

/* One part in this many of max_bytes is left to data other than rings and events. */
#define LIVE_ITEMS_SHARE 8

struct live_opts {
	uint32_t keep_ms; /* 0: LIVE_DEFAULT_KEEP_MS. */
	size_t max_bytes; /* 0: LIVE_DEFAULT_MAX_BYTES. */
};

#define LIVE_NEVER INT64_MIN

struct live_host {
	const char *name; /* Borrowed from the state, as all names here. */
	uint32_t flags;   /* Of its last frame. */
	int64_t time_ns;  /* Wall clock: end of the newest frame of any kind. */
	int64_t raw_ns;   /* The same of the newest raw frame, or LIVE_NEVER. */
	int64_t summary_ns, summary_window_ns; /* Likewise, and its window. */
	int64_t wall_offset_ns, clock_error_ns;
	uint64_t n_frames;
	uint64_t gaps;     /* Frames missing from its sequences. */
	uint64_t restarts; /* Its sender began anew. */
	uint64_t steps;    /* Of its wall clock: told by it, or above LIVE_STEP_NS. */
	uint64_t lost_records, unplaced_jobs; /* As the host reports. */
};

struct live_interface {
	uint32_t host;
	const char *name;
	double capacity_bps; /* 0: unknown. */
	bool is_up, is_rdma;
};

/* The data of an interface, a job (or all, or others) and a direction. */
struct live_series {
	uint32_t interface;
	uint32_t job; /* live_job_name(), TELE_LINK or TELE_OTHER. */
	uint8_t direction;
	bool has_bins;      /* Raw frames were seen. */
	int64_t last_ms;    /* Host's clock: newest bin with traffic, or LIVE_NEVER. */
	bool has_summary;   /* The next members are from the host's last summary. */
	int64_t summary_ns; /* The host's then; a later summary without it differs. */
	uint64_t total_bytes, total_ce, total_retransmits;
	uint64_t window_bytes;
	uint32_t peak_bytes, queue_bytes;
};

/* One collective, on wall clock time. */
struct live_event {
	uint32_t host, pid;
	bool is_launch;
	int64_t begin_ns;
	uint64_t bytes;
};

/* The begin of an iteration, reported by the job's pacer, on wall clock time. */
struct live_iteration {
	uint32_t host, job; /* live_host(), live_job_name(). */
	uint32_t pid, rank;
	uint8_t source;                         /* enum pace_source. */
	bool is_claimed, is_observing, is_over; /* As in struct tele_iteration. */
	uint64_t number;
	int64_t enter_ns, begin_ns;
	int64_t comm_ns; /* Of the iteration before, as the next ones. */
	uint64_t bytes;
	uint32_t n_collectives, gap_us, order, lost;
};

typedef void live_iteration_fn(void *ctx, const struct live_iteration *iteration);

/* Why hosts, interfaces, jobs or series are refused. */
enum live_limit {
	LIVE_LIMIT_BYTES, /* max_bytes. */
	LIVE_LIMIT_HOSTS,
	LIVE_LIMIT_JOBS,
	LIVE_LIMIT_INTERFACES,
	LIVE_LIMIT_HOST_JOBS, /* Of one host, as the next ones. */
	LIVE_LIMIT_HOST_INTERFACES,
	LIVE_LIMIT_HOST_BYTES,
	LIVE_LIMIT_TIMES, /* Frames with times that are none. */
	LIVE_N_LIMITS,
};

extern const char *const live_limit_names[LIVE_N_LIMITS]; /* "bytes", "hosts", ... */

/* Data that were not kept or used. */
struct live_counts {
	uint64_t refused; /* The sum of 'over'. */
	uint64_t over[LIVE_N_LIMITS];
	enum live_limit last_limit;
	char last_refused[TELE_MAX_NAME + 1]; /* Its host. */
	uint64_t doubled;   /* Frames of a second machine with the same name. */
	uint64_t late_bins; /* Older than what is kept, or outside their frame. */
	uint64_t reboots;   /* Hosts whose series began anew. */
	uint64_t steps;     /* Of hosts' wall clocks. */
	uint64_t rebases;   /* Of "now", after steps of most hosts. */
	/* All changes of "now" that no time passed for, and the last one. */
	int64_t rebased_ns, last_rebase_ns;
	int64_t last_step_ns; /* By which 'last_stepped' was stepped. */
	char last_stepped[TELE_MAX_NAME + 1];
};

struct live *live_new(const struct live_opts *opts); /* NULL: defaults. */
void live_free(struct live *live);                   /* Accepts NULL. */

/*
 * Processes a frame, which is borrowed, of a recording; or one that was received at
 * 'received_ns' of a clock that is never stepped. Use only one of both for a state.
 */
void live_frame(struct live *live, const struct tele_frame *frame);
void live_receive(struct live *live, const struct tele_frame *frame,
		  int64_t received_ns);

/*
 * Sets 'fn', which live_frame() calls for each iteration of a known job in a frame that
 * is not refused; iterations are not kept here.  NULL: none, the default.
 */
void live_on_iteration(struct live *live, live_iteration_fn *fn, void *ctx);

/*
 * Forgets jobs that no frame has named for LIVE_FORGET_JOB_NS, except those for which
 * 'is_held' (or NULL) returns true, and hosts that were silent for LIVE_FORGET_HOST_NS,
 * with all their data (either for LIVE_FORGET_CROWDED_NS if there are very many); so the
 * present jobs and hosts bound the memory. Numbers of jobs
 * stay and are used again; those of hosts, interfaces and series change. Returns how
 * many jobs and hosts it forgot. O(all there is): call it about once a minute.
 */
size_t live_forget(struct live *live, bool (*is_held)(const void *ctx, uint32_t job),
		   const void *ctx);

/* "Now", wall clock nanoseconds; LIVE_NEVER before the first frame. */
int64_t live_now_ns(const struct live *live);
/* Time that passed since any begin, never stepped: 'received_ns' of the last frame. */
int64_t live_elapsed_ns(const struct live *live);
/*
 * The wall clock millisecond up to which all hosts that send raw frames and are not
 * silent have reported; LIVE_NEVER if none has.
 */
int64_t live_complete_ms(const struct live *live);
/* Milliseconds before live_complete_ms() with any data. */
uint32_t live_span_ms(const struct live *live);

uint32_t live_n_hosts(const struct live *live);
uint32_t live_n_interfaces(const struct live *live);
uint32_t live_n_jobs(const struct live *live);
uint32_t live_n_series(const struct live *live);
const struct live_host *live_host(const struct live *live, uint32_t host);
const struct live_interface *live_interface(const struct live *live,
					    uint32_t interface);
const struct live_series *live_series(const struct live *live, uint32_t series);
/* Whether a number below live_n_jobs() is in use; and how many are. */
bool live_is_job(const struct live *live, uint32_t job);
uint32_t live_n_known_jobs(const struct live *live);
/* Name of a job's number, of TELE_LINK "(all)" or TELE_OTHER "(other)". */
const char *live_job_name(const struct live *live, uint32_t job);
/* By name; TELE_LINK if there is none. */
uint32_t live_find_job(const struct live *live, const char *name);
/* The number of that series, or UINT32_MAX. */
uint32_t live_find_series(const struct live *live, uint32_t interface, uint32_t job,
			  enum tele_direction direction);

/* Nanoseconds since the host's newest frame; never negative. */
int64_t live_age_ns(const struct live *live, uint32_t host);
bool live_is_silent(const struct live *live, uint32_t host);
/* Whether the host is not silent, and its wall clock is far from that of most. */
bool live_is_off(const struct live *live, uint32_t host);

/* Whether the host's last summary exists and is recent enough. */
bool live_has_summary(const struct live *live, uint32_t host);
/* Bytes of that summary's window; 0 if it has no row for the series. */
uint64_t live_window_bytes(const struct live *live, uint32_t series);
/*
 * Whether there was traffic in the kept time, or in the last summary; false for a host
 * that has been silent for longer than that time.
 */
bool live_has_traffic(const struct live *live, uint32_t series);

/*
 * Whether the series has bins, and its host sends raw frames, or did when it fell
 * silent; false for a host that still sends other frames.
 */
bool live_is_raw(const struct live *live, uint32_t series);
/*
 * Mean bytes per millisecond: over the kept time, if raw frames still come, or else
 * from the last summary; 0 without traffic. O(1).
 */
double live_mean_bytes_per_ms(const struct live *live, uint32_t series);

/*
 * Stores the bytes of the wall clock milliseconds [from_ms, from_ms + n) of a series
 * in ret_bins[n], TELE_GAP where nothing is known.
 */
void live_bins(const struct live *live, uint32_t series, int64_t from_ms, size_t n,
	       uint32_t *ret_bins);

/* The events of a job in the order of arrival; '*ret_n' of them.  Borrowed. */
const struct live_event *live_events(const struct live *live, uint32_t job,
				     size_t *ret_n);

const struct live_counts *live_counts(const struct live *live);
/* Memory in use, which max_bytes bounds. */
size_t live_bytes(const struct live *live);

#endif
