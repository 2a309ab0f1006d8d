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

/* ---- Checking -------------------------------------------------------------------- */

#define NEAR 1e-6 /* CPUs are sums of shares. */

struct check {
	const struct pol_plan *plan;
	const struct pol_view *view;
	const struct pol_grant **of_job; /* By id. */
	uint32_t *n_given;               /* By node. */
	double *cpus_given;              /* By node, in even shares of a GPU. */
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
		if (last != POL_NONE && piece->node <= last)
			return "pieces that are not in the order of nodes";
		last = piece->node;
		sum += piece->n_gpus;
	}
	return sum == grant->n_gpus ? NULL : "a gang that is not whole";
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
	if (!(grant->cpus >= 0 && grant->cpus < INFINITY))
		return "a share of CPUs that is not valid";
	if (!grant->n_gpus ||
	    (job->max_gpus <= job->n_gpus && grant->n_gpus != job->n_gpus))
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

/* A group's GPUs count once; shared ones count for the owner. */
static const char *
check_given(const struct check *c, const struct pol_grant *grant)
{
	const struct pol_cluster *cluster = c->view->cluster;

	for (uint32_t i = 0; grant->group == grant->job && i < grant->n_pieces; i++) {
		uint32_t k = grant->first_piece + i;
		const struct pol_piece *piece = &c->plan->pieces.items[k];

		c->n_given[piece->node] +=
			piece->n_gpus - (grant->n_owners ? c->n_shared[k] : 0);
		if (c->n_given[piece->node] > cluster->n_gpus[piece->node])
			return "a GPU given twice";
		/* Opportunistic jobs use their owners' CPUs, too. */
		c->cpus_given[piece->node] +=
			(grant->cpus > 0 ? grant->cpus : 1) *
			(piece->n_gpus - (grant->n_owners ? c->n_shared[k] : 0));
		if (c->cpus_given[piece->node] > cluster->n_gpus[piece->node] + NEAR)
			return "CPUs given twice";
	}
	return NULL;
}

const char *
pol_plan_why_not(const struct pol_plan *plan, const struct pol_view *view)
{
	struct check c = {
		.plan = plan,
		.view = view,
		.of_job = xcalloc(view->n_ids + 1, sizeof *c.of_job),
		.n_given = xcalloc(view->cluster->n_nodes + 1, sizeof *c.n_given),
		.cpus_given = xcalloc(view->cluster->n_nodes + 1, sizeof(double)),
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
		why = check_given(&c, &plan->grants.items[i]);
	for (uint32_t i = 0; !why && i < view->n_jobs; i++)
		n_here += c.of_job[view->ids[i]] != NULL;
	if (!why && n_here != plan->grants.n)
		why = "a job that is not here";
	free(c.of_job);
	free(c.n_given);
	free(c.cpus_given);
	free(c.n_shared);
	return why;
}
