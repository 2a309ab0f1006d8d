/*
 * running.h - the jobs that run, as a workload to advise on: profiles as they are
 * found online, hosts as they are seen.  Pure.
 *
 * A profile is to be that of a job alone, and a job that runs may be held up by
 * others.  What that costs it is estimated where it can be seen.  On the link where
 * it loses most, the job is active for a ms, for o of them while the link is full
 * with others (contention.h: "over"), then at the mean rate x.  Alone, it is taken to
 * send at the rate y that it has there when no other job is active, if that is so
 * for a tenth of a, or else at the link's capacity or its hosts' line rate, whichever
 * is less.  What it sends takes the share o/a (1 - x/y) of its time less: its phases
 * are shortened and its period with them, the bytes kept and the gaps as they are.
 */
#ifndef SCHEDULER_LIVE_RUNNING_H
#define SCHEDULER_LIVE_RUNNING_H

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
 * Makes a workload of the jobs that have an estimate which is not stale, by name:
 * each a ring on those hosts of the fabric that carry its traffic, one slot a host,
 * its source ports as assumed in footing.h.  Appends a line to 'notes' for each job
 * that is left out, with the reason, or that is held up.  Release with workload_fini().
 */
void running_workload(const struct live *live, const struct job_profiler *online,
		      struct topo *topo, struct routes *routes,
		      struct workload *ret_workload, struct strbuf *notes);

/*
 * The same one by one, as of a look at the links (of JOB_PROFILER_MAX_WINDOW_MS, where what
 * others cost is to be told) which is borrowed, as everything.  Nothing may be forgotten
 * (live_forget()) while it is there.
 */
struct running;

/*
 * In steps of a few milliseconds: true when it may be asked.  What was found has
 * to stay from the begin on, as it is; frames may come.
 */
struct running *running_begin(const struct live *live, const struct topo *topo,
			      const struct contention *found);
bool running_step(struct running *running);
void running_free(struct running *running); /* Accepts NULL. */
/*
 * Makes one job: NULL, or why it cannot be advised on, borrowed, and 'ret_job' is then
 * not made.  Release with work_job_fini().
 */
const char *running_job(const struct running *running, const struct profiled_job *seen,
			struct work_job *ret_job, struct strbuf *notes);

/*
 * Makes a job, by its number, as the ring that it is where it carries traffic, which may
 * be fewer than two hosts: without a profile.  And the series of it, borrowed.
 */
void running_ring(const struct running *running, uint32_t job,
		  struct work_job *ret_job);
const uint32_t *running_series(const struct running *running, uint32_t job,
			       size_t *ret_n);

/*
 * What others do to it on the links of its footprint, each as a share of its time sending:
 * what they cost it, as above (where it is never seen alone, it could send what its hosts'
 * lines let it), and in how much of it any of them send as well, on the link where that is
 * most.
 */
struct running_others {
	double held_frac, met_frac;
};

struct running_others running_others(const struct running *running, uint32_t job,
				     const struct footprint *footprint,
				     double line_bps);

/*
 * Takes out of a profile the share 'held_frac' (0 to below 1) of the time in which it
 * sends, as above.  For tests, too.
 */
void running_relieve(struct profile *profile, double held_frac);

#endif
