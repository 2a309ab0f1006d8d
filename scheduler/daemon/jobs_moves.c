/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobs_moves.c - other hosts for running jobs that their users marked movable.
 *
 * A round looks at the movable jobs that lose by contention, one a step, and advises the
 * best move.  There is none while a waiting job has a place, since the next placement
 * heals first, and none beyond the limit an hour (move_log.h).
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/hostlist.h"
#include "lib/base/strbuf.h"
#include "scheduler/core/advise/advise.h"
#include "scheduler/core/advise/moves.h"
#include "scheduler/daemon/config.h"
#include "scheduler/daemon/fabric_source.h"
#include "scheduler/daemon/jobs_priv.h"
#include "scheduler/daemon/move_log.h"
#include "topology/topo.h"

/* The least rest after a round without and with a search, and as a multiple of its time. */
#define LEAST_REST_NS (2 * JOBS_SECOND_NS)
#define LONG_REST_NS  (20 * JOBS_SECOND_NS)
#define REST          50
/* Jobs that are slowed by less stay where they are. */
#define LEAST_LOSS 0.02
/* Jobs that one step skips. */
#define JOBS_A_STEP 512

/* ---- Advised moves --------------------------------------------------------------- */

void
jobs_move_free(struct job_move *move)
{
	if (!move)
		return;
	free(move->hosts);
	free(move->nodes);
	free(move->with);
	free(move);
}

void
jobs_forget_move(struct job *job)
{
	job->is_move_new |= job->move != NULL;
	jobs_move_free(job->move);
	job->move = NULL;
}

void
jobs_drop_move(struct jobs *jobs, const char *name)
{
	struct job *job = jobs_find(jobs, name);

	if (job)
		jobs_forget_move(job);
}

/* ---- Which jobs may move --------------------------------------------------------- */

/* Nodes that its user chose, or their features, are not known to exist elsewhere. */
static bool
has_own_nodes(const struct sched_job *known)
{
	return *known->features || (*known->required && !known->is_pinned);
}

void
jobs_mark_movable(struct jobs *jobs)
{
	const struct sched_snapshot *snapshot = jobs->opts.snapshot;

	if (!(jobs->opts.levers & ADVISE_MOVE) || !jobs->opts.moves)
		return;
	for (size_t i = 0; i < jobs->items.n; i++)
		if (jobs->items.items[i])
			jobs->items.items[i]->is_movable = false;
	for (size_t i = 0; i < snapshot->n_jobs; i++) {
		const struct sched_job *known = &snapshot->jobs[i];
		struct job *job = known->state == SCHED_RUNNING
					  ? jobs_find(jobs, known->local_id)
					  : NULL;

		if (!job)
			continue;
		if (known->start_us)
			job->began_us = known->start_us;
		job->is_movable = known->is_movable && !has_own_nodes(known);
		if (job->is_movable)
			job->move_s = jobs_declared_move_s(known->comment);
		else
			jobs_forget_move(job);
	}
}

/* ---- One search ------------------------------------------------------------------ */

struct finding {
	const struct topo *topo;
	const struct job *job;
	uint32_t n;
};

static int
find_host(void *ctx, const char *name)
{
	struct finding *finding = ctx;
	uint32_t node = topo_find_node(finding->topo, name);

	for (uint32_t i = 0; i < finding->job->n_hosts; i++) {
		if (finding->job->hosts[i] != node)
			continue;
		finding->n++;
		return 0;
	}
	return -ENOENT;
}

/* Whether its traffic is that of its nodes now: it may just have moved. */
static bool
is_up_to_date(const struct jobs *jobs, const struct job *job,
	      const struct sched_job *known)
{
	struct finding finding = { fabric_source_topo(jobs->opts.fabric), job, 0 };
	const char *why;

	return hostlist_expand(known->nodes, SCHED_MAX_NODES, find_host, &finding,
			       &why) >= 0 &&
	       finding.n == job->n_hosts;
}

/* Whether the job may move in one step with 'mover', whose nodes it may get. */
static bool
may_move_with(const struct jobs *jobs, const struct job *job,
	      const struct sched_job *mover, int64_t now_us)
{
	const struct sched_job *known;

	if (!job->is_movable ||
	    move_log_is_resting(jobs->opts.moves, job->name, now_us))
		return false;
	known = sched_find_local(jobs->opts.snapshot, job->name);
	return known &&
	       (known == mover || (strcmp(known->partition, mover->partition) == 0 &&
				   !*known->excluded)) &&
	       is_up_to_date(jobs, job, known);
}

/* By number at the advisor, for a move of 'mover'. */
static struct moves_job *
list_jobs(const struct jobs *jobs, const struct sched_job *mover)
{
	struct moves_job *list = xcalloc(jobs->by_number.n + 1, sizeof *list);
	int64_t now_us = clk_wall_us();

	for (uint32_t i = 0; i < jobs->by_number.n; i++) {
		const struct job *job = jobs->by_number.items[i];

		if (!job || job->is_waiting)
			continue;
		list[i] = (struct moves_job){
			.weight = advisor_job(jobs->advisor, i)->weight,
			.left_s = fmax((double)(now_us - job->began_us) / 1e6, 0),
			.cost_s = job->move_s,
			.is_movable = may_move_with(jobs, job, mover, now_us),
		};
	}
	return list;
}

static bool
is_in_list(const char *list, const char *word)
{
	size_t n_word = strlen(word);

	while (*list) {
		size_t n = strcspn(list, ",");

		if (n == n_word && strncmp(list, word, n) == 0)
			return true;
		list += n + (list[n] == ',');
	}
	return false;
}

struct allowing {
	const struct topo *topo;
	bool *allowed;
};

static int
forbid(void *ctx, const char *name)
{
	const struct allowing *a = ctx;
	uint32_t node = topo_find_node(a->topo, name);

	if (node != TOPO_NONE && topo_node(a->topo, node)->kind == TOPO_HOST)
		a->allowed[topo_host_number(a->topo, node)] = false;
	return 0;
}

/* The hosts of the job's partition, without those that its user excludes. */
static bool *
list_allowed(const struct jobs *jobs, const struct sched_job *known)
{
	const struct sched_snapshot *snapshot = jobs->opts.snapshot;
	struct allowing a = { .topo = fabric_source_topo(jobs->opts.fabric) };
	const char *why;

	a.allowed = xcalloc(topo_n_hosts(a.topo) + 1, sizeof *a.allowed);
	for (size_t i = 0; i < snapshot->n_nodes; i++) {
		const struct sched_node *node = &snapshot->nodes[i];
		uint32_t id = topo_find_node(a.topo, node->name);

		if (id != TOPO_NONE && topo_node(a.topo, id)->kind == TOPO_HOST &&
		    is_in_list(node->partitions, known->partition))
			a.allowed[topo_host_number(a.topo, id)] = true;
	}
	if (*known->excluded)
		hostlist_expand(known->excluded, SCHED_MAX_NODES, forbid, &a, &why);
	return a.allowed;
}

/* Keeps a step if it is the best one of the round; takes it over. */
static void
keep_best(struct jobs *jobs, struct moves_step *step, const struct moves_job *list)
{
	struct jobs_moving *moving = &jobs->moving;
	const struct moves_bill *best = &moving->best.bill;

	if (moving->best.n_jobs &&
	    step->bill.gain - step->bill.cost <= best->gain - best->cost) {
		moves_step_fini(step);
		return;
	}
	moves_step_fini(&moving->best);
	moving->best = *step;
	for (uint32_t i = 0; i < step->n_jobs; i++) {
		uint32_t number = step->jobs[i];

		free(moving->best_jobs[i]);
		moving->best_jobs[i] = xstrdup(jobs_of_number(jobs, number)->name);
		moving->best_lost_s[i] =
			moves_lost_s(&list[number], step->n_workers[i]);
	}
}

static void
seek(struct jobs *jobs, const struct job *job)
{
	const struct sched_job *known =
		sched_find_local(jobs->opts.snapshot, job->name);
	struct moves_step step = { .n_jobs = 0 };
	struct moves_job *list;
	bool *allowed;

	if (!known)
		return;
	jobs->moving.has_sought = true;
	list = list_jobs(jobs, known);
	allowed = list_allowed(jobs, known);
	if (list[job->number].is_movable &&
	    advisor_find_move(jobs->advisor, job->number, list, jobs->by_number.n,
			      allowed, jobs->moving.n_allowed, &step) > 0)
		keep_best(jobs, &step, list);
	free(allowed);
	free(list);
}

/* Whether it may move and its advice leaves it slowed. */
static bool
is_candidate(const struct jobs *jobs, const struct job *job)
{
	struct advisor_view view;

	return job && job->is_here && job->is_movable && !job->is_waiting &&
	       job->refusal == JOBS_ADVISED && jobs_view(jobs, job, &view) &&
	       view.slowdown_after > 1 + LEAST_LOSS;
}

/* ---- Rounds ---------------------------------------------------------------------- */

static void
forget_best(struct jobs_moving *moving)
{
	moves_step_fini(&moving->best);
	for (size_t i = 0; i < MOVES_STEP_JOBS; i++) {
		free(moving->best_jobs[i]);
		moving->best_jobs[i] = NULL;
	}
}

void
jobs_stop_moving(struct jobs *jobs)
{
	forget_best(&jobs->moving);
	jobs->moving = (struct jobs_moving){ .is_under_way = false };
}

static void
begin_round(struct jobs *jobs)
{
	uint32_t n_running = 0;
	bool is_healing = false;

	for (size_t i = 0; i < jobs->items.n; i++) {
		const struct job *job = jobs->items.items[i];

		if (!job || !job->is_here)
			continue;
		n_running += !job->is_waiting && job->number != UINT32_MAX;
		is_healing |= job->is_waiting && job->refusal == JOBS_ADVISED;
	}
	jobs->moving.n_allowed =
		is_healing
			? 0
			: move_log_allowed(jobs->opts.moves, clk_wall_us(), n_running,
					   jobs->opts.config->moves_per_hour);
	jobs->moving.is_under_way = true;
	jobs->moving.has_sought = false;
	jobs->moving.next_job = 0;
	jobs->moving.cost_ns = 0;
}

/* Looks at the next candidate; false: none is left. */
static bool
go_on(struct jobs *jobs)
{
	struct jobs_moving *moving = &jobs->moving;

	if (!moving->n_allowed)
		return false;
	for (size_t i = 0; i < JOBS_A_STEP; i++) {
		const struct job *job;

		if (moving->next_job >= jobs->items.n)
			return false;
		job = jobs->items.items[moving->next_job++];
		if (!is_candidate(jobs, job))
			continue;
		seek(jobs, job);
		break;
	}
	return true;
}

static bool
is_same_move(const struct job *job, const uint32_t *hosts)
{
	return job->move &&
	       memcmp(job->move->hosts, hosts, job->n_hosts * sizeof *hosts) == 0;
}

static struct job_move *
make_move(const struct jobs *jobs, const struct job *job, uint32_t i)
{
	const struct topo *topo = fabric_source_topo(jobs->opts.fabric);
	const struct jobs_moving *moving = &jobs->moving;
	const struct moves_step *step = &moving->best;
	struct job_move *move = xcalloc(1, sizeof *move);
	const char **names = xcalloc(job->n_hosts + 1, sizeof *names);
	struct strbuf nodes = STRBUF_EMPTY;

	for (uint32_t k = 0; k < job->n_hosts; k++)
		names[k] = topo_node(topo, step->hosts[i][k])->name;
	hostlist_fold(names, job->n_hosts, &nodes);
	free(names);
	*move = (struct job_move){
		.hosts = xmemdup(step->hosts[i], job->n_hosts, sizeof *move->hosts),
		.nodes = strbuf_steal(&nodes),
		.n_workers = step->n_workers[i],
		.with = step->n_jobs > 1 ? xstrdup(moving->best_jobs[1 - i]) : NULL,
		.lost_s = moving->best_lost_s[i],
		.gain = step->bill.gain,
		.cost = step->bill.cost,
		.payback_s = step->bill.payback_s,
	};
	return move;
}

/* Whether the jobs of the step are still there, and may move. */
static bool
is_best_valid(const struct jobs *jobs)
{
	const struct jobs_moving *moving = &jobs->moving;

	for (uint32_t i = 0; i < moving->best.n_jobs; i++) {
		const struct job *job = jobs_find(jobs, moving->best_jobs[i]);

		if (!job || job->number != moving->best.jobs[i] || job->is_waiting ||
		    !job->is_movable || job->refusal != JOBS_ADVISED)
			return false;
	}
	return moving->best.n_jobs > 0;
}

/* Advises the best step, and no other one. */
static void
end_round(struct jobs *jobs)
{
	struct jobs_moving *moving = &jobs->moving;
	bool is_valid = is_best_valid(jobs);

	for (size_t k = 0; k < jobs->items.n; k++) {
		struct job *job = jobs->items.items[k];
		uint32_t i = 0;

		if (!job)
			continue;
		while (i < moving->best.n_jobs &&
		       strcmp(moving->best_jobs[i], job->name) != 0)
			i++;
		if (!is_valid || i == moving->best.n_jobs) {
			jobs_forget_move(job);
			continue;
		}
		jobs->totals.n_moves_advised +=
			!is_same_move(job, moving->best.hosts[i]);
		jobs_move_free(job->move);
		job->move = make_move(jobs, job, i);
		job->is_move_new = true;
	}
	forget_best(moving);
	moving->is_under_way = false;
}

bool
jobs_seek_move(struct jobs *jobs)
{
	struct jobs_moving *moving = &jobs->moving;
	int64_t began_ns = clk_monotonic_ns();

	if (!(jobs->opts.levers & ADVISE_MOVE) || !jobs->opts.moves || !jobs->advisor ||
	    began_ns < moving->rest_until_ns)
		return false;
	if (!moving->is_under_way)
		begin_round(jobs);
	else if (!go_on(jobs))
		end_round(jobs);
	moving->cost_ns += clk_monotonic_ns() - began_ns;
	if (!moving->is_under_way) {
		int64_t least_ns = moving->has_sought ? LONG_REST_NS : LEAST_REST_NS;
		int64_t rest_ns = REST * moving->cost_ns;

		moving->rest_until_ns =
			clk_monotonic_ns() + (rest_ns > least_ns ? rest_ns : least_ns);
	}
	return moving->is_under_way;
}
