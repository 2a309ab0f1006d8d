/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - plans, and the check that a plan is possible. */
#include "policies/plan.h"

#include <math.h>
#include <string.h>

uint32_t
pol_cluster_gpus(const struct pol_cluster *cluster, uint32_t type)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < cluster->n_nodes; i++)
		n += cluster->type_of[i] == type ? cluster->n_gpus[i] : 0;
	return n;
}

uint32_t
pol_cluster_usable(const struct pol_cluster *cluster)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < cluster->n_nodes; i++)
		n += pol_node_gpus(cluster, i);
	return n;
}

struct needs
pol_cluster_capacity(const struct pol_cluster *cluster, uint32_t type)
{
	struct needs capacity = { 0 };

	if (cluster->capacity)
		capacity = cluster->capacity[type];
	capacity.of[NEED_CPUS] = capacity.of[NEED_GPU_SHARE] = 1;
	return capacity;
}

void
pol_plan_clear(struct pol_plan *plan)
{
	plan->grants.n = plan->pieces.n = plan->owners.n = 0;
	plan->score = 0;
}

void
pol_plan_fini(struct pol_plan *plan)
{
	vec_free(&plan->grants);
	vec_free(&plan->pieces);
	vec_free(&plan->owners);
}

void
pol_plan_grant(struct pol_plan *plan, uint32_t job, uint32_t n_gpus, uint32_t group,
	       size_t first_piece)
{
	vec_push(&plan->grants,
		 ((struct pol_grant){
			 .job = job,
			 .n_gpus = n_gpus,
			 .group = group,
			 .first_piece = (uint32_t)first_piece,
			 .n_pieces = (uint32_t)(plan->pieces.n - first_piece) }));
}

const struct pol_grant *
pol_plan_find(const struct pol_plan *plan, uint32_t job)
{
	for (size_t i = 0; i < plan->grants.n; i++)
		if (plan->grants.items[i].job == job)
			return &plan->grants.items[i];
	return NULL;
}

bool
pol_plan_names_gpus(const struct pol_plan *plan, const struct pol_grant *grant)
{
	for (uint32_t i = 0; i < grant->n_pieces; i++)
		if (plan->pieces.items[grant->first_piece + i].gpus)
			return true;
	return false;
}

/* ---- Checking -------------------------------------------------------------------- */

struct check {
	const struct pol_plan *plan;
	const struct pol_view *view;
	const struct pol_grant **of_job; /* By id. */
	uint32_t *n_given;               /* By node. */
	uint64_t *gpus_given;            /* By node, a bit for each that is named. */
	struct needs *of_group;          /* By id of the first job: of each GPU. */
	struct needs *of_node;           /* Sums over its GPUs. */
	uint32_t *n_shared; /* By piece: GPUs that an opportunistic job shares. */
};

static bool
has_same_pieces(const struct pol_plan *plan, const struct pol_grant *a,
		const struct pol_grant *b)
{
	return a->n_pieces == b->n_pieces &&
	       memcmp(plan->pieces.items + a->first_piece,
		      plan->pieces.items + b->first_piece,
		      a->n_pieces * sizeof(struct pol_piece)) == 0;
}

/* Whether the GPUs that a piece names are as many as it has, and on its node. */
static bool
are_named(const struct pol_cluster *cluster, const struct pol_piece *piece)
{
	uint32_t n = cluster->n_gpus[piece->node];

	if (!piece->gpus)
		return true;
	return (n >= 64 || piece->gpus >> n == 0) &&
	       (uint32_t)__builtin_popcountll(piece->gpus) == piece->n_gpus;
}

static const char *
check_pieces(const struct check *c, const struct pol_grant *grant)
{
	const struct pol_cluster *cluster = c->view->cluster;
	uint32_t sum = 0, last = POL_NONE;

	if (grant->first_piece > c->plan->pieces.n ||
	    grant->n_pieces > c->plan->pieces.n - grant->first_piece)
		return "a grant without its pieces";
	for (uint32_t i = 0; i < grant->n_pieces; i++) {
		const struct pol_piece *piece =
			&c->plan->pieces.items[grant->first_piece + i];

		if (piece->node >= cluster->n_nodes || !piece->n_gpus)
			return "a piece of no node, or of nothing";
		if (!are_named(cluster, piece))
			return "a piece that names other GPUs than it has";
		if (!pol_node_gpus(cluster, piece->node))
			return "a piece of a node that is away, or has no GPUs";
		if (last != POL_NONE && piece->node <= last)
			return "pieces that are not in the order of nodes";
		last = piece->node;
		sum += piece->n_gpus;
	}
	return sum == grant->n_gpus ? NULL : "a gang that is not whole";
}

static bool
has_its_gpus(const struct pol_grant *grant, const struct pol_job *job)
{
	uint32_t n = grant->n_ranks;

	if (n > 1)
		return grant->n_gpus == job->n_gpus / n + (job->n_gpus % n > 0);
	return job->max_gpus > job->n_gpus || grant->n_gpus == job->n_gpus;
}

static const char *
check_grant(const struct check *c, const struct pol_grant *grant)
{
	const struct pol_job *job;

	if (grant->job >= c->view->n_ids)
		return "a job that does not exist";
	job = &c->view->jobs[grant->job];
	if (c->of_job[grant->job])
		return "a job that is granted twice";
	c->of_job[grant->job] = grant;
	for (int i = 0; i < N_NEEDS; i++)
		if (!(grant->given.of[i] >= 0 && grant->given.of[i] < INFINITY))
			return "an amount that is not valid";
	if (!grant->n_gpus || !has_its_gpus(grant, job))
		return "another number of GPUs than was asked for";
	return check_pieces(c, grant);
}

static const char *
check_group(const struct check *c, const struct pol_grant *grant)
{
	const struct pol_grant *first =
		grant->group < c->view->n_ids ? c->of_job[grant->group] : NULL;

	if (!first || first->group != first->job)
		return "a group without its first job";
	return has_same_pieces(c->plan, grant, first) ? NULL
						      : "a group on different GPUs";
}

/* Marks 'n' GPUs of a job on a node as shared; false if it has fewer. */
static bool
share(const struct check *c, const struct pol_grant *grant, uint32_t node, uint32_t n)
{
	for (uint32_t i = 0; i < grant->n_pieces; i++) {
		uint32_t k = grant->first_piece + i;

		if (c->plan->pieces.items[k].node != node)
			continue;
		if (n > c->plan->pieces.items[k].n_gpus - c->n_shared[k])
			return false;
		c->n_shared[k] += n;
		return true;
	}
	return false;
}

static const char *
check_owners(const struct check *c, const struct pol_grant *job)
{
	if (job->first_owner > c->plan->owners.n ||
	    job->n_owners > c->plan->owners.n - job->first_owner)
		return "an opportunistic job without its owners";
	for (uint32_t i = 0; i < job->n_owners; i++) {
		const struct pol_owner *owner =
			&c->plan->owners.items[job->first_owner + i];
		const struct pol_grant *grant =
			owner->job < c->view->n_ids ? c->of_job[owner->job] : NULL;

		if (!grant || grant->n_owners || grant->group != grant->job ||
		    job->group != job->job)
			return "an owner that cannot be one";
		if (!owner->n_gpus || !share(c, grant, owner->node, owner->n_gpus) ||
		    !share(c, job, owner->node, owner->n_gpus))
			return "an opportunistic job where its owner is not";
	}
	return NULL;
}

/* Adds a grant to the sum of its group, for each GPU; a group has an even share of CPUs. */
static void
add_needs(const struct check *c, const struct pol_grant *grant)
{
	const struct pol_job *job = &c->view->jobs[grant->job];
	struct needs *sum = &c->of_group[grant->group], mine = grant->given;
	uint32_t n_ranks = grant->n_ranks > 1 ? grant->n_ranks : 1;

	for (int i = NEED_MEMORY; i < N_NEEDS; i++)
		if (!(mine.of[i] > 0))
			mine.of[i] = job->needs.of[i] * n_ranks;
	needs_add(sum, &mine, 1);
	if (grant->group == grant->job && !(sum->of[NEED_CPUS] > 0))
		sum->of[NEED_CPUS] = 1;
}

/* Memory and time of the GPUs of a group, or of an opportunistic job and its owners. */
static const char *
check_of_gpu(const struct check *c, const struct pol_grant *grant)
{
	const struct pol_cluster *cluster = c->view->cluster;
	const struct pol_piece *pieces = c->plan->pieces.items + grant->first_piece;
	bool fits = true;

	for (uint32_t i = 0; i < grant->n_pieces; i++) {
		struct needs capacity =
			pol_cluster_capacity(cluster, cluster->type_of[pieces[i].node]);

		fits &= needs_fit(&c->of_group[grant->job], &capacity, NEED_GPU_MEMORY,
				  NEED_GPU_SHARE);
	}
	for (uint32_t i = 0; i < grant->n_owners; i++) {
		const struct pol_owner *owner =
			&c->plan->owners.items[grant->first_owner + i];
		struct needs sum = c->of_group[grant->job];
		struct needs capacity =
			pol_cluster_capacity(cluster, cluster->type_of[owner->node]);

		needs_add(&sum, &c->of_group[owner->job], 1);
		fits &= needs_fit(&sum, &capacity, NEED_GPU_MEMORY, NEED_GPU_MEMORY);
	}
	return fits ? NULL : "memory or time of a GPU given twice";
}

/* CPUs and memory of a node; opportunistic jobs use their owners' CPUs, too. */
static const char *
check_of_node(const struct check *c, const struct pol_grant *grant, uint32_t piece)
{
	const struct pol_cluster *cluster = c->view->cluster;
	uint32_t node = c->plan->pieces.items[piece].node;
	uint32_t n = c->plan->pieces.items[piece].n_gpus;
	const struct needs *group = &c->of_group[grant->job];
	struct needs capacity = { 0 },
		     one = pol_cluster_capacity(cluster, cluster->type_of[node]);

	needs_add(&c->of_node[node], group, n);
	if (grant->n_owners)
		c->of_node[node].of[NEED_CPUS] -=
			group->of[NEED_CPUS] * c->n_shared[piece];
	needs_add(&capacity, &one, cluster->n_gpus[node]);
	if (!needs_fit(&c->of_node[node], &capacity, NEED_CPUS, NEED_CPUS))
		return "CPUs given twice";
	return needs_fit(&c->of_node[node], &capacity, NEED_MEMORY, NEED_MEMORY)
		       ? NULL
		       : "memory of a node given twice";
}

/* A group's GPUs count once; shared ones count for the owner. */
static const char *
check_given(const struct check *c, const struct pol_grant *grant)
{
	const struct pol_cluster *cluster = c->view->cluster;
	const char *why;

	for (uint32_t i = 0; grant->group == grant->job && i < grant->n_pieces; i++) {
		uint32_t k = grant->first_piece + i;
		const struct pol_piece *piece = &c->plan->pieces.items[k];

		c->n_given[piece->node] +=
			piece->n_gpus - (grant->n_owners ? c->n_shared[k] : 0);
		if (c->n_given[piece->node] > cluster->n_gpus[piece->node])
			return "a GPU given twice";
		if (!grant->n_owners && (c->gpus_given[piece->node] & piece->gpus))
			return "a named GPU given twice";
		c->gpus_given[piece->node] |= piece->gpus;
		why = check_of_node(c, grant, k);
		if (why)
			return why;
	}
	return grant->group == grant->job ? check_of_gpu(c, grant) : NULL;
}

const char *
pol_plan_why_not(const struct pol_plan *plan, const struct pol_view *view)
{
	struct check c = {
		.plan = plan,
		.view = view,
		.of_job = xcalloc(view->n_ids + 1, sizeof *c.of_job),
		.n_given = xcalloc(view->cluster->n_nodes + 1, sizeof *c.n_given),
		.gpus_given = xcalloc(view->cluster->n_nodes + 1, sizeof(uint64_t)),
		.of_group = xcalloc(view->n_ids + 1, sizeof *c.of_group),
		.of_node = xcalloc(view->cluster->n_nodes + 1, sizeof *c.of_node),
		.n_shared = xcalloc(plan->pieces.n + 1, sizeof *c.n_shared),
	};
	const char *why = NULL;
	size_t n_here = 0;

	for (size_t i = 0; !why && i < plan->grants.n; i++)
		why = check_grant(&c, &plan->grants.items[i]);
	for (size_t i = 0; !why && i < plan->grants.n; i++)
		why = check_group(&c, &plan->grants.items[i]);
	for (size_t i = 0; !why && i < plan->grants.n; i++)
		why = check_owners(&c, &plan->grants.items[i]);
	for (size_t i = 0; !why && i < plan->grants.n; i++)
		add_needs(&c, &plan->grants.items[i]);
	for (size_t i = 0; !why && i < plan->grants.n; i++)
		why = check_given(&c, &plan->grants.items[i]);
	for (uint32_t i = 0; !why && i < view->n_jobs; i++)
		n_here += c.of_job[view->ids[i]] != NULL;
	if (!why && n_here != plan->grants.n)
		why = "a job that is not here";
	free(c.of_job);
	free(c.n_given);
	free(c.gpus_given);
	free(c.of_group);
	free(c.of_node);
	free(c.n_shared);
	return why;
}
