/* SPDX-License-Identifier: Apache-2.0 */
/* configs.c - numbers of GPUs of one type, and their places. */
#include "policies/configs.h"

#include <string.h>

/* ---- Configurations -------------------------------------------------------------- */

static void
add_type(struct configs *c, const struct pol_cluster *cluster, uint32_t type)
{
	uint32_t size = 0, n = pol_cluster_gpus(cluster, type), gpus = 1;

	for (uint32_t i = 0; i < cluster->n_nodes; i++)
		if (cluster->type_of[i] == type && cluster->n_gpus[i] > size)
			size = cluster->n_gpus[i];
	vec_push(&c->n_gpus, n);
	vec_push(&c->node_gpus, size);
	for (; gpus < size; gpus *= 2)
		vec_push(&c->all, ((struct config){ type, 1, gpus }));
	for (gpus = size; gpus && gpus <= n; gpus += size)
		vec_push(&c->all, ((struct config){ type, gpus / size, gpus }));
}

void
configs_init(struct configs *configs, const struct pol_cluster *cluster)
{
	*configs = (struct configs){ 0 };
	for (uint32_t type = 0; type < cluster->n_types; type++)
		add_type(configs, cluster, type);
}

void
configs_count(struct configs *configs, const struct pol_cluster *cluster)
{
	memset(configs->n_gpus.items, 0, configs->n_gpus.n * sizeof(uint32_t));
	for (uint32_t i = 0; i < cluster->n_nodes; i++)
		configs->n_gpus.items[cluster->type_of[i]] += pol_node_gpus(cluster, i);
}

void
configs_fini(struct configs *configs)
{
	vec_free(&configs->all);
	vec_free(&configs->n_gpus);
	vec_free(&configs->node_gpus);
	vec_free(&configs->n_free);
	vec_free(&configs->n_evicted);
	vec_free(&configs->order);
	vec_free(&configs->places);
	vec_free(&configs->pieces);
}

struct config
configs_of(const struct configs *configs, uint32_t type, uint32_t n_gpus)
{
	uint32_t size = configs->node_gpus.items[type];

	return (struct config){ type, size ? (n_gpus + size - 1) / size : 0, n_gpus };
}

struct config
configs_now(const struct pol_cluster *cluster, const struct pol_job *job)
{
	if (!job->n_pieces)
		return (struct config){ .type = POL_NONE };
	return (struct config){ cluster->type_of[job->pieces[0].node], job->n_pieces,
				job->n_held_gpus };
}

/* ---- Places ---------------------------------------------------------------------- */

struct placing {
	struct configs *c;
	const struct pol_view *view;
	const struct pol_want *wants;
	uint32_t n;
};

static int
compare_wants(const void *a, const void *b, void *ctx)
{
	const struct pol_want *wants = ctx;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	if (wants[i].n_gpus != wants[k].n_gpus)
		return wants[i].n_gpus > wants[k].n_gpus ? -1 : 1;
	return (i > k) - (i < k);
}

static bool
is_of_type(const struct placing *p, uint32_t node, uint32_t type)
{
	return p->view->cluster->type_of[node] == type;
}

static void
take(struct placing *p, struct config_place *place, uint32_t node, uint32_t n_gpus)
{
	p->c->n_free.items[node] -= n_gpus;
	vec_push(&p->c->pieces, ((struct pol_piece){ node, n_gpus, 0 }));
	place->n_pieces++;
}

/* Keeps the place of a job that has what it is to get. */
static void
keep(struct placing *p, uint32_t i)
{
	const struct pol_want *want = &p->wants[i];
	const struct pol_job *job = &p->view->jobs[want->job];
	struct config_place *place = &p->c->places.items[i];

	if (!job->n_pieces || job->n_held_gpus != want->n_gpus)
		return;
	for (uint32_t k = 0; k < job->n_pieces; k++)
		if (!is_of_type(p, job->pieces[k].node, want->type) ||
		    job->pieces[k].n_gpus > p->c->n_free.items[job->pieces[k].node])
			return;
	place->is_placed = true;
	place->first_piece = p->c->pieces.n;
	if (job->n_pieces == 1) {
		place->node = job->pieces[0].node;
		p->c->n_free.items[place->node] -= want->n_gpus;
		return;
	}
	for (uint32_t k = 0; k < job->n_pieces; k++)
		take(p, place, job->pieces[k].node, job->pieces[k].n_gpus);
}

/* Whether a job on one node makes room for one with more GPUs. */
static bool
is_movable(const struct placing *p, uint32_t i, uint32_t n_gpus)
{
	const struct config_place *place = &p->c->places.items[i];

	return place->is_placed && place->node != POL_NONE &&
	       p->wants[i].n_gpus < n_gpus;
}

static void
sum_up_movable(struct placing *p, uint32_t n_gpus)
{
	p->c->n_evicted.n = 0;
	for (uint32_t node = 0; node < p->view->cluster->n_nodes; node++)
		vec_push(&p->c->n_evicted, 0);
	for (uint32_t i = 0; i < p->n; i++)
		if (is_movable(p, i, n_gpus))
			p->c->n_evicted.items[p->c->places.items[i].node] +=
				p->wants[i].n_gpus;
}

/* Moves jobs with fewer than n_gpus from a node, smallest first, until 'room' is free. */
static void
evict(struct placing *p, uint32_t node, uint32_t n_gpus, uint32_t room)
{
	for (uint32_t k = p->n; k && p->c->n_free.items[node] < room; k--) {
		uint32_t i = p->c->order.items[k - 1];
		struct config_place *place = &p->c->places.items[i];

		if (!is_movable(p, i, n_gpus) || place->node != node)
			continue;
		p->c->n_free.items[node] += p->wants[i].n_gpus;
		*place = (struct config_place){ .node = POL_NONE };
	}
}

/* The node with the fewest free GPUs of 'room' or more; or POL_NONE. */
static uint32_t
find_room(const struct placing *p, uint32_t type, uint32_t room)
{
	const uint32_t *n_free = p->c->n_free.items;
	uint32_t best = POL_NONE;

	for (uint32_t node = 0; node < p->view->cluster->n_nodes; node++)
		if (is_of_type(p, node, type) && n_free[node] >= room &&
		    (best == POL_NONE || n_free[node] < n_free[best]))
			best = node;
	return best;
}

/* The node where the fewest GPUs must be freed for 'room'; or POL_NONE. */
static uint32_t
make_room(struct placing *p, uint32_t type, uint32_t n_gpus, uint32_t room)
{
	const uint32_t *n_free = p->c->n_free.items;
	uint32_t best = find_room(p, type, room);

	if (best != POL_NONE)
		return best;
	sum_up_movable(p, n_gpus);
	for (uint32_t node = 0; node < p->view->cluster->n_nodes; node++)
		if (is_of_type(p, node, type) &&
		    n_free[node] + p->c->n_evicted.items[node] >= room &&
		    (best == POL_NONE || n_free[node] > n_free[best]))
			best = node;
	if (best != POL_NONE)
		evict(p, best, n_gpus, room);
	return best;
}

/* Any free GPUs, most on a node first. */
static void
scatter(struct placing *p, uint32_t type, struct config_place *place, uint32_t left)
{
	while (left) {
		uint32_t best = POL_NONE, n;

		for (uint32_t node = 0; node < p->view->cluster->n_nodes; node++)
			if (is_of_type(p, node, type) && p->c->n_free.items[node] &&
			    (best == POL_NONE ||
			     p->c->n_free.items[node] > p->c->n_free.items[best]))
				best = node;
		n = p->c->n_free.items[best] < left ? p->c->n_free.items[best] : left;
		take(p, place, best, n);
		left -= n;
	}
}

static void
place_anew(struct placing *p, uint32_t i)
{
	const struct pol_want *want = &p->wants[i];
	uint32_t size = p->c->node_gpus.items[want->type], left = want->n_gpus;
	struct config_place place = { .is_placed = true,
				      .node = POL_NONE,
				      .first_piece = p->c->pieces.n };

	while (left) {
		uint32_t part = left < size ? left : size;
		uint32_t node = make_room(p, want->type, want->n_gpus, part);

		if (node == POL_NONE)
			break;
		if (part == want->n_gpus) {
			place.node = node;
			p->c->n_free.items[node] -= part;
		} else {
			take(p, &place, node, part);
		}
		left -= part;
	}
	scatter(p, want->type, &place, left);
	p->c->places.items[i] = place;
}

static int
compare_pieces(const void *a, const void *b)
{
	const struct pol_piece *x = a, *y = b;

	return (x->node > y->node) - (x->node < y->node);
}

static void
grant(const struct placing *p, uint32_t i, struct pol_plan *plan)
{
	const struct config_place *place = &p->c->places.items[i];
	size_t first = plan->pieces.n;

	if (place->node != POL_NONE)
		vec_push(&plan->pieces,
			 ((struct pol_piece){ place->node, p->wants[i].n_gpus, 0 }));
	for (uint32_t k = 0; k < place->n_pieces; k++)
		vec_push(&plan->pieces, p->c->pieces.items[place->first_piece + k]);
	qsort(plan->pieces.items + first, plan->pieces.n - first,
	      sizeof *plan->pieces.items, compare_pieces);
	pol_plan_grant(plan, p->wants[i].job, p->wants[i].n_gpus, p->wants[i].job,
		       first);
}

void
configs_place(struct configs *configs, const struct pol_view *view,
	      const struct pol_want *wants, uint32_t n, struct pol_plan *plan)
{
	struct placing p = { configs, view, wants, n };

	configs->n_free.n = configs->order.n = configs->places.n = configs->pieces.n =
		0;
	for (uint32_t i = 0; i < view->cluster->n_nodes; i++)
		vec_push(&configs->n_free, pol_node_gpus(view->cluster, i));
	for (uint32_t i = 0; i < n; i++) {
		vec_push(&configs->order, i);
		vec_push(&configs->places, ((struct config_place){ .node = POL_NONE }));
	}
	if (n)
		qsort_r(configs->order.items, n, sizeof *configs->order.items,
			compare_wants, (void *)wants);
	for (uint32_t i = 0; i < n; i++)
		keep(&p, i);
	/* A job that is moved has fewer GPUs, and comes later. */
	for (uint32_t k = 0; k < n; k++)
		if (!configs->places.items[configs->order.items[k]].is_placed)
			place_anew(&p, configs->order.items[k]);
	for (uint32_t i = 0; i < n; i++)
		grant(&p, i, plan);
}
