/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_workload.h - running jobs as a workload to advise on: estimated profiles,
 * observed hosts.
 *
 * A profile must be that of the isolated job, but others may delay a running job. That
 * delay is estimated where it is visible. On the link where the job loses most, it is
 * active for a ms, for o of them while the link is full with others (contention.h:
 * "over"), then at the mean rate x. In isolation it is assumed to send at its rate y
 * there while no other job is active, if that is so for a tenth of a, or else at the
 * link's capacity or its hosts' line rate, whichever is less. Its sending is shortened
 * by the share o/a (1 - x/y), and its period by the same time; bytes and gaps stay.
 * Pure.
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
 * Makes a workload of the jobs whose estimate is not stale, by name: each a ring on the
 * hosts of the fabric that carry its traffic, one slot per host, with source ports as
 * assumed in traffic_map.h. Appends a line to 'notes' for each job that is left out,
 * with the reason, or that others delay. Release with workload_fini().
 */
void live_workload_make(const struct live *live, const struct job_profiler *profiler,
			struct topo *topo, struct routes *routes,
			struct workload *ret_workload, struct strbuf *notes);

/*
 * The same job by job, from contention found before (over JOB_PROFILER_MAX_WINDOW_MS,
 * to estimate the delays by others). Everything is borrowed; meanwhile do not call
 * live_forget().
 */
struct live_workload;

/*
 * In steps of a few milliseconds: true when the workload is ready. 'found' must stay
 * unchanged from the begin on; frames may come.
 */
struct live_workload *live_workload_begin(const struct live *live,
					  const struct topo *topo,
					  const struct contention *found);
bool live_workload_step(struct live_workload *workload);
void live_workload_free(struct live_workload *workload); /* Accepts NULL. */
/*
 * Makes one job. Returns NULL, or the reason (borrowed) why there is no advice for it;
 * then 'ret_job' is not made. Release with work_job_fini().
 */
const char *live_workload_job(const struct live_workload *workload,
			      const struct profiled_job *seen, struct work_job *ret_job,
			      struct strbuf *notes);

/*
 * Makes a job, by its number, as a ring on the hosts with its traffic, perhaps fewer
 * than two, without a profile. Returns its series, borrowed.
 */
void live_workload_ring(const struct live_workload *workload, uint32_t job,
			struct work_job *ret_job);
const uint32_t *live_workload_series(const struct live_workload *workload, uint32_t job,
				     size_t *ret_n);

/*
 * The effect of other jobs on the links of its footprint, as shares of its sending
 * time: the time lost to them, as above (if never seen alone, it could send at its
 * hosts' line rate), and the time in which others send, too, on the link where that is
 * most.
 */
struct live_workload_others {
	double held_frac, met_frac;
};

struct live_workload_others live_workload_others(const struct live_workload *workload,
						 uint32_t job,
						 const struct footprint *footprint,
						 double line_bps);

/*
 * Removes from a profile the share 'held_frac' (0 to below 1) of its sending time, as
 * above, and adds the error of that to the period's. Also for tests.
 */
void live_workload_relieve(struct profile *profile, double held_frac);

#endif
