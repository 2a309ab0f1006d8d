/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_workload.h - running jobs as a workload to advise on: estimated profiles, seen hosts.
 *
 * A profile is to be that of an isolated job, and a job that runs may be delayed by
 * others.  That delay is estimated where it can be seen.  On the link where the job
 * loses most, it is active for a ms, for o of them while the link is full with others
 * (contention.h: "over"), then at the mean rate x.  In isolation it is assumed to send
 * at the rate y that it has there when no other job is active, if that is so for a
 * tenth of a, or else at the link's capacity or its hosts' line rate, whichever is
 * less.  Its sending is shortened by the share o/a (1 - x/y), and its period by the
 * same time; bytes and gaps stay.  Pure.
 */
#ifndef SCHEDULER_LIVE_LIVE_WORKLOAD_H
#define SCHEDULER_LIVE_LIVE_WORKLOAD_H

#include "scheduler/core/workload/workload.h"

struct contention;
struct footprint;
struct live;
struct job_profiler;
struct profiled_job;
struct routes;
struct strbuf;
struct topo;

/*
 * Makes a workload of the jobs that have an estimate which is not stale, by name: each
 * a ring on the hosts of the fabric that carry its traffic, one slot a host, with
 * source ports as assumed in traffic_map.h.  Appends a line to 'notes' for each job
 * that is left out, with the reason, or that is delayed by others.  Release with
 * workload_fini().
 */
void live_workload_make(const struct live *live, const struct job_profiler *profiler,
			struct topo *topo, struct routes *routes,
			struct workload *ret_workload, struct strbuf *notes);

/*
 * The same job by job, from contention that was found (over JOB_PROFILER_MAX_WINDOW_MS,
 * if the delays by others are to be estimated).  Everything is borrowed; nothing may be
 * forgotten (live_forget()) meanwhile.
 */
struct live_workload;

/*
 * In steps of a few milliseconds: true when it may be asked.  What was found has
 * to stay from the begin on, as it is; frames may come.
 */
struct live_workload *live_workload_begin(const struct live *live,
					  const struct topo *topo,
					  const struct contention *found);
bool live_workload_step(struct live_workload *workload);
void live_workload_free(struct live_workload *workload); /* Accepts NULL. */
/*
 * Makes one job.  Returns NULL, or why there is no advice for it (borrowed), and then
 * 'ret_job' is not made.  Release with work_job_fini().
 */
const char *live_workload_job(const struct live_workload *workload,
			      const struct profiled_job *seen, struct work_job *ret_job,
			      struct strbuf *notes);

/*
 * Makes a job, by its number, as a ring on the hosts with its traffic, perhaps fewer
 * than two, without a profile; and returns its series, borrowed.
 */
void live_workload_ring(const struct live_workload *workload, uint32_t job,
			struct work_job *ret_job);
const uint32_t *live_workload_series(const struct live_workload *workload, uint32_t job,
				     size_t *ret_n);

/*
 * What others do to it on the links of its footprint, each as a share of its time
 * sending: what they cost it, as above (where it is never seen alone, it could send
 * what its hosts' lines let it), and in how much of it any of them send as well, on the
 * link where that is most.
 */
struct live_workload_others {
	double held_frac, met_frac;
};

struct live_workload_others live_workload_others(const struct live_workload *workload,
						 uint32_t job,
						 const struct footprint *footprint,
						 double line_bps);

/*
 * Takes out of a profile the share 'held_frac' (0 to below 1) of the time in which it
 * sends, as above.  For tests, too.
 */
void live_workload_relieve(struct profile *profile, double held_frac);

#endif
