/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/advisor/advisor.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "scheduler/core/advise/advise_constants.h"
#include "scheduler/core/advisor/advisor_priv.h"
#include "topology/route.h"
#include "topology/topo.h"

static void
begin_fabric(struct advisor *advisor, struct topo *topo)
{
	advisor->topo = topo_ref(topo);
	advisor->routes = routes_new(topo, advisor->opts.ecmp_seed);
	advisor->is_choosing = (advisor->opts.levers & ADVISE_PATH) &&
			       routes_all_hash(advisor->routes);
	advisor->place =
		place_new(topo, advisor->routes, &advisor->workload, PLACE_HASHED);
	advisor->given_slots =
		xcalloc(topo_n_nodes(topo) + 1, sizeof *advisor->given_slots);
	for (uint32_t i = 0; i < topo_n_nodes(topo); i++)
		advisor->given_slots[i] = -1;
}

static void
end_fabric(struct advisor *advisor)
{
	place_free(advisor->place);
	routes_free(advisor->routes);
	topo_unref(advisor->topo);
	free(advisor->given_slots);
}

struct advisor *
advisor_new(struct topo *topo, const struct advisor_opts *opts)
{
	struct advisor *advisor = xcalloc(1, sizeof *advisor);

	if (opts)
		advisor->opts = *opts;
	if (advisor->opts.levers == 0)
		advisor->opts.levers = ADVISE_ALL_LEVERS;
	if (!(advisor->opts.change_s > 0))
		advisor->opts.change_s = ADVISE_CHANGE_S;
	if (!(advisor->opts.payback_s > 0))
		advisor->opts.payback_s = ADVISE_PAYBACK_S;
	if (advisor->opts.changes_a_minute == 0)
		advisor->opts.changes_a_minute = ADVISE_CHANGES_A_MINUTE;
	begin_fabric(advisor, topo);
	return advisor;
}

static void
job_free(struct advisor_job *job)
{
	advisor_unpublish(job);
	free(job->paths.changed_ns);
	free(job->paths.view);
	free(job->name);
	free(job);
}

void
advisor_free(struct advisor *advisor)
{
	if (!advisor)
		return;
	HASH_CLEAR(hh, advisor->by_name);
	end_fabric(advisor);
	for (size_t i = 0; i < advisor->jobs.n; i++)
		job_free(advisor->jobs.items[i]);
	vec_free(&advisor->jobs);
	vec_free(&advisor->free_numbers);
	vec_free(&advisor->touched);
	vec_free(&advisor->restless);
	vec_free(&advisor->change_times);
	workload_fini(&advisor->workload);
	free(advisor);
}

unsigned
advisor_levers(const struct advisor *advisor)
{
	return advisor->opts.levers &
	       (advisor->is_choosing ? ADVISE_ALL_LEVERS : ~(unsigned)ADVISE_PATH);
}

/* ---- Jobs ------------------------------------------------------------------------ */

uint32_t
advisor_find(const struct advisor *advisor, const char *name)
{
	struct advisor_job *job;

	HASH_FIND_STR(advisor->by_name, name, job);
	return job ? job->number : UINT32_MAX;
}

const struct work_job *
advisor_job(const struct advisor *advisor, uint32_t number)
{
	if (number >= advisor->jobs.n || !advisor->jobs.items[number]->name)
		return NULL;
	return &advisor->workload.jobs[number];
}

static bool
is_same_profile(const struct profile *a, const struct profile *b)
{
	double period_us = (double)a->period_us;

	return a->n_phases == b->n_phases &&
	       fabs((double)b->period_us - period_us) <=
		       PROFILE_SAME_PERIOD_FRAC * period_us &&
	       fabs(b->bytes_per_iteration - a->bytes_per_iteration) <=
		       PROFILE_SAME_BYTES_FRAC * a->bytes_per_iteration;
}

static bool
is_same(const struct advisor *advisor, const struct advisor_job *known,
	const struct work_job *job, bool is_shiftable)
{
	const struct work_job *old = &advisor->workload.jobs[known->number];

	if (!old->hosts != !job->hosts || known->is_shiftable != is_shiftable ||
	    old->n_hosts_wanted != job->n_hosts_wanted ||
	    old->slots_per_host != job->slots_per_host ||
	    old->collective != job->collective || old->weight != job->weight ||
	    old->first_port != job->first_port ||
	    old->n_connections != job->n_connections)
		return false;
	if (job->hosts && memcmp(old->hosts, job->hosts,
				 job->n_hosts_wanted * sizeof *job->hosts) != 0)
		return false;
	if (job->paths &&
	    (old->n_paths != job->n_paths ||
	     memcmp(old->paths, job->paths, job->n_paths * sizeof *job->paths) != 0))
		return false;
	return is_same_profile(&old->profile, &job->profile);
}

static struct advisor_job *
add_job(struct advisor *advisor, const char *name)
{
	struct workload *workload = &advisor->workload;
	struct advisor_job *job;

	if (advisor->free_numbers.n) {
		job = advisor->jobs.items[advisor->free_numbers
						  .items[--advisor->free_numbers.n]];
	} else {
		job = xcalloc(1, sizeof *job);
		job->number = (uint32_t)advisor->jobs.n;
		vec_push(&advisor->jobs, job);
		if (advisor->jobs.n > workload->n) {
			size_t n = workload->n * 2 + 8;

			workload->jobs = xreallocarray(workload->jobs, n,
						       sizeof *workload->jobs);
			memset(workload->jobs + workload->n, 0,
			       (n - workload->n) * sizeof *workload->jobs);
			workload->n = n;
		}
	}
	job->name = xstrdup(name);
	job->paths.may_choose = true;
	HASH_ADD_KEYPTR(hh, advisor->by_name, job->name, strlen(job->name), job);
	return job;
}

/* Checks that the job's hosts are hosts and that the fabric connects them. */
static int
check_hosts(const struct advisor *advisor, const struct work_job *job)
{
	struct routed_job routed = { 0 };
	int rc;

	for (uint32_t i = 0; job->hosts && i < job->n_hosts_wanted; i++)
		if (job->hosts[i] >= topo_n_nodes(advisor->topo) ||
		    topo_node(advisor->topo, job->hosts[i])->kind != TOPO_HOST)
			return -EINVAL;
	if (!job->hosts)
		return 0;
	rc = routed_job_make(job, job->hosts, advisor->topo, advisor->routes, &routed);
	if (rc == 0)
		routed_job_fini(&routed);
	return rc;
}

static void
take_entry(struct advisor *advisor, struct advisor_job *job,
	   const struct work_job *from)
{
	struct work_job *entry = &advisor->workload.jobs[job->number];

	work_job_fini(entry);
	work_job_copy(from, entry);
	if (entry->profile.period_us <= 0)
		entry->profile.period_us = 1;
	place_renew(advisor->place, job->number);
}

/* Takes a placed job off its hosts and links. */
static void
take_off(struct advisor *advisor, uint32_t number)
{
	advisor_touch_around(advisor, number);
	advisor_paths_leave(advisor, number);
	place_remove(advisor->place, number);
}

int
advisor_put(struct advisor *advisor, const struct work_job *job, bool is_shiftable,
	    uint32_t *ret_number)
{
	uint32_t number = advisor_find(advisor, job->name);
	struct advisor_job *known;
	uint32_t *kept = NULL;
	size_t n_kept = 0;
	bool has_waited;
	int rc;

	if (job->n_hosts_wanted == 0 ||
	    job->n_hosts_wanted > topo_n_hosts(advisor->topo))
		return -EINVAL;
	known = number == UINT32_MAX ? NULL : advisor->jobs.items[number];
	if (known && is_same(advisor, known, job, is_shiftable)) {
		*ret_number = number;
		return 0;
	}
	rc = check_hosts(advisor, job);
	if (rc < 0)
		return rc;
	has_waited = known && !place_routed_job(advisor->place, number);
	if (known && !has_waited) {
		kept = advisor_paths_keep(advisor, number, job, &n_kept);
		take_off(advisor, number);
	}
	if (!known)
		known = add_job(advisor, job->name);
	number = known->number;
	known->is_shiftable = is_shiftable;
	take_entry(advisor, known, job);
	advisor_paths_prepare(advisor, number, has_waited, kept, n_kept);
	if (job->hosts)
		BUG_ON(place_put(advisor->place, number, job->hosts) < 0);
	else
		advisor_unpublish(known);
	advisor_paths_note(advisor, number);
	advisor_touch_around(advisor, number);
	*ret_number = number;
	return 0;
}

void
advisor_remove(struct advisor *advisor, const char *name)
{
	uint32_t number = advisor_find(advisor, name);
	struct advisor_job *job;

	if (number == UINT32_MAX)
		return;
	job = advisor->jobs.items[number];
	if (place_routed_job(advisor->place, number))
		take_off(advisor, number);
	HASH_DEL(advisor->by_name, job);
	advisor_unpublish(job);
	free(job->name);
	job->name = NULL;
	work_job_fini(&advisor->workload.jobs[number]);
	memset(&advisor->workload.jobs[number], 0, sizeof(struct work_job));
	advisor_paths_note(advisor, number);
	vec_push(&advisor->free_numbers, number);
}

int64_t
advisor_set_free(struct advisor *advisor, uint32_t host, int64_t n_slots)
{
	int64_t was;

	if (host >= topo_n_nodes(advisor->topo))
		return -1;
	was = advisor->given_slots[host];
	advisor->given_slots[host] = n_slots;
	return was;
}

/* ---- Solving and views ----------------------------------------------------------- */

/* Solves the job's component, or compares its paths; false: neither is due. */
static bool
step_one(struct advisor *advisor, uint32_t number)
{
	struct advisor_job *job = advisor->jobs.items[number];
	bool is_touched = job->is_touched;

	job->is_queued = false;
	job->is_touched = false;
	if (!place_routed_job(advisor->place, number))
		return false;
	if (is_touched) {
		advisor_solve(advisor, number);
	} else if (job->hashed.is_stale && job->paths.n_chosen) {
		advisor_compare_hashed(advisor, number);
		return true;
	} else {
		/* Solved with another job. */
		return false;
	}
	if (job->hashed.is_stale && job->paths.n_chosen)
		advisor_queue(advisor, number);
	return true;
}

size_t
advisor_step(struct advisor *advisor, size_t n_max)
{
	while (advisor->first_touched < advisor->touched.n && n_max > 0) {
		uint32_t job = advisor->touched.items[advisor->first_touched++];

		n_max -= step_one(advisor, job);
	}
	/* Drops the finished part, in case the queue is never empty. */
	if (advisor->first_touched > advisor->touched.n / 2) {
		advisor->touched.n -= advisor->first_touched;
		memmove(advisor->touched.items,
			advisor->touched.items + advisor->first_touched,
			advisor->touched.n * sizeof *advisor->touched.items);
		advisor->first_touched = 0;
	}
	return advisor->touched.n - advisor->first_touched;
}

bool
advisor_view(const struct advisor *advisor, uint32_t job, struct advisor_view *ret_view)
{
	if (job >= advisor->jobs.n || !advisor->jobs.items[job]->name)
		return false;
	*ret_view = advisor->jobs.items[job]->view;
	ret_view->is_solved &= !advisor->jobs.items[job]->is_touched;
	return true;
}
