/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobs_wait.c - waiting jobs: the declarations of their users, or their last run, and
 * the ranking of places for them.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "scheduler/daemon/config.h"
#include "scheduler/daemon/fabric_source.h"
#include "scheduler/daemon/jobs_priv.h"
#include "scheduler/daemon/persist.h"
#include "topology/topo.h"

/* Per update, so that many new jobs do not delay the others. */
#define MAX_RANKED 8
#define RANK_NS    (JOBS_SECOND_NS / 200)
/* Between two searches of the store for an earlier run of a job. */
#define SEEK_NS (60 * JOBS_SECOND_NS)

static bool
take_number(const char *comment, const char *key, int64_t *ret_value)
{
	const char *at = strstr(comment, key);
	char *end;
	long long value;

	if (!at || at[strlen(key)] < '0' || at[strlen(key)] > '9')
		return false;
	errno = 0;
	value = strtoll(at + strlen(key), &end, 10);
	if (errno || value < 1 || value > PROFILE_MAX_PERIOD_US ||
	    (*end && *end != ' ' && *end != ',' && *end != ';'))
		return false;
	*ret_value = value;
	return true;
}

bool
jobs_declared(const char *comment, struct declared *ret_declared)
{
	struct declared declared;
	const char *ours = strstr(comment, "antiphase:");

	if (!ours || !take_number(ours, "iter_us=", &declared.iter_us) ||
	    !take_number(ours, "comm_us=", &declared.comm_us) ||
	    declared.comm_us >= declared.iter_us)
		return false;
	*ret_declared = declared;
	return true;
}

double
jobs_declared_move_s(const char *comment)
{
	const char *ours = strstr(comment, "antiphase:");
	int64_t move_s;

	return ours && take_number(ours, "move_s=", &move_s) ? (double)move_s : NAN;
}

/* At the rate of the first host's interfaces: most hosts are alike. */
static void
profile_of_declared(const struct jobs *jobs, const struct declared *declared,
		    struct profile *ret_profile)
{
	size_t n;
	const uint32_t *hosts = topo_hosts(fabric_source_topo(jobs->opts.fabric), &n);

	profile_of_burst(
		declared->iter_us, declared->comm_us,
		topo_line_bps(fabric_source_topo(jobs->opts.fabric), hosts, n > 0),
		ret_profile);
}

static void
rank(struct jobs *jobs, struct job *job)
{
	struct advisor_ranking ranking = { 0 };
	int64_t began_ns = clk_monotonic_ns();
	int rc = advisor_rank(jobs->advisor, job->number, NULL, &ranking);

	jobs_count_ranking(jobs, clk_monotonic_ns() - began_ns);
	job->is_ranked = true;
	job->refusal = rc == 0 && ranking.n ? JOBS_ADVISED : JOBS_NO_SPACE;
	jobs_write_doc(jobs, job, NULL, &ranking);
	advisor_ranking_fini(&ranking);
}

/* Takes the profile that a waiting job's user declared, or that of its last run. */
static bool
find_profile(struct jobs *jobs, struct job *job, const struct sched_job *waiting,
	     struct profile *ret_profile)
{
	int64_t now_ns = clk_monotonic_ns();
	struct declared declared;
	struct err err;
	int r;

	job->earlier_us = 0;
	if (jobs_declared(waiting->comment, &declared)) {
		profile_of_declared(jobs, &declared, ret_profile);
		return true;
	}
	if (job->sought_ns && now_ns - job->sought_ns < SEEK_NS)
		return false;
	r = persist_find_earlier(jobs->opts.store, waiting,
				 jobs->opts.config->earlier_max_age_us, ret_profile,
				 &job->earlier_us, &err);
	if (r > 0) {
		job->sought_ns = 0;
		return true;
	}
	if (r < 0)
		log_limited(&jobs->store_limit, now_ns, LOG_LEVEL_ERR, "store", "%s",
			    err.text);
	job->sought_ns = now_ns;
	return false;
}

void
jobs_take_waiting(struct jobs *jobs)
{
	const struct sched_snapshot *snapshot = jobs->opts.snapshot;
	int64_t began_ns = clk_monotonic_ns();
	size_t n_ranked = 0, n_sought = 0;

	jobs->has_unranked = false;
	for (size_t i = 0; i < snapshot->n_jobs; i++) {
		const struct sched_job *waiting = &snapshot->jobs[i];
		struct profile profile;
		struct work_job new;
		struct job *job;

		if (waiting->state != SCHED_WAITING || waiting->n_nodes < 2)
			continue;
		job = jobs_make(jobs, waiting->id);
		job->is_here = true;
		if (!jobs->advisor) {
			jobs_refuse(jobs, job,
				    fabric_source_topo(jobs->opts.fabric)
					    ? JOBS_NO_ADVISOR
					    : JOBS_NO_FABRIC);
			continue;
		}
		if (job->is_ranked && job->valid_until_us > clk_wall_us())
			continue;
		/* The rest waits for the next round, which is soon. */
		if (n_ranked >= MAX_RANKED ||
		    (n_sought && clk_monotonic_ns() - began_ns > RANK_NS)) {
			jobs->has_unranked = true;
			continue;
		}
		n_sought++;
		if (!find_profile(jobs, job, waiting, &profile)) {
			jobs_refuse(jobs, job, JOBS_NO_PERIOD);
			continue;
		}
		n_ranked++;
		jobs_make_work(waiting->id, waiting->n_nodes, &profile, &new);
		jobs_put(jobs, job, &new, false);
		if (job->number != UINT32_MAX)
			rank(jobs, job);
		work_job_fini(&new);
		profile_fini(&profile);
	}
}

/* Free nodes of the cluster's scheduler override what running jobs leave. */
void
jobs_take_nodes(struct jobs *jobs)
{
	const struct sched_snapshot *snapshot = jobs->opts.snapshot;

	if (!jobs->advisor || jobs->nodes_at_us == snapshot->at_us)
		return;
	jobs->nodes_at_us = snapshot->at_us;
	for (size_t i = 0; i < snapshot->n_nodes; i++) {
		const struct sched_node *node = &snapshot->nodes[i];
		uint32_t id = topo_find_node(fabric_source_topo(jobs->opts.fabric),
					     node->name);

		if (id == TOPO_NONE ||
		    topo_node(fabric_source_topo(jobs->opts.fabric), id)->kind !=
			    TOPO_HOST)
			continue;
		advisor_set_free(
			jobs->advisor, id,
			node->state == SCHED_NODE_FREE
				? topo_node(fabric_source_topo(jobs->opts.fabric), id)
					  ->n_slots
				: 0);
	}
}

int
jobs_rank(struct jobs *jobs, const char *name, uint32_t n_nodes,
	  const struct profile *profile, const bool *allowed,
	  struct advisor_ranking *ret_ranking, struct err *err)
{
	char *asked = xasprintf("ask:%s", name);
	int64_t began_ns = clk_monotonic_ns();
	struct work_job new;
	uint32_t number;
	int rc;

	if (!jobs->advisor) {
		free(asked);
		err_set(err, NULL, 0, 0, "%s",
			jobs_refusal_texts[fabric_source_topo(jobs->opts.fabric)
						   ? JOBS_NO_ADVISOR
						   : JOBS_NO_FABRIC]);
		return -ENODATA;
	}
	jobs_make_work(asked, n_nodes, profile, &new);
	rc = advisor_put(jobs->advisor, &new, false, &number);
	if (rc == 0) {
		rc = advisor_rank(jobs->advisor, number, allowed, ret_ranking);
		advisor_remove(jobs->advisor, asked);
	}
	if (rc < 0)
		err_set(err, NULL, 0, 0, "%s",
			rc == -ENOSPC ? "no place has room for it"
				      : "no place of the fabric can be ranked for it");
	work_job_fini(&new);
	free(asked);
	jobs_count_ranking(jobs, clk_monotonic_ns() - began_ns);
	return rc;
}
