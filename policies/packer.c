/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/packer.h"

void
packer_init(struct packer *packer, const struct pol_cluster *cluster)
{
	packer->place = place_best_fit_new(cluster, false);
}

void
packer_fini(struct packer *packer)
{
	order_list_fini(&packer->list);
	place_best_fit_free(packer->place);
	vec_free(&packer->slots);
	vec_free(&packer->slot_of);
	vec_free(&packer->n_free);
}

static void
add_slot(struct packer *p, uint32_t node, uint32_t id)
{
	vec_push(&p->slots,
		 ((struct packer_slot){ .node = node, .n = 1, .ids = { id } }));
}

/* Keeps a running job of one GPU: with its group, if that has a slot. */
static void
keep_small(struct packer *p, const struct pol_job *job)
{
	uint32_t *slot = &p->slot_of.items[job->group];

	if (*slot != POL_NONE) {
		packer_join(p, *slot, job);
		return;
	}
	*slot = (uint32_t)p->slots.n;
	add_slot(p, job->pieces[0].node, job->id);
	p->n_free.items[job->pieces[0].node]--;
	p->free.n_all--;
}

void
packer_begin(struct packer *p, const struct pol_view *view, struct pol_plan *plan)
{
	p->slots.n = 0;
	while (p->slot_of.n < view->n_ids)
		vec_push(&p->slot_of, POL_NONE);
	vec_reserve(&p->n_free, view->cluster->n_nodes);
	p->free = place_empty(view->cluster, p->n_free.items);
	for (size_t i = 0; i < p->list.ids.n; i++) {
		const struct pol_job *job = &view->jobs[p->list.ids.items[i]];
		size_t first = plan->pieces.n;

		p->slot_of.items[job->group] = POL_NONE;
		if (job->n_pieces && job->n_gpus > 1 && place_keep(job, &p->free, plan))
			pol_plan_grant(plan, job->id, job->n_gpus, job->id, first);
	}
	for (size_t i = 0; i < p->list.ids.n; i++) {
		const struct pol_job *job = &view->jobs[p->list.ids.items[i]];

		if (job->n_pieces && job->n_gpus == 1)
			keep_small(p, job);
	}
}

bool
packer_place(struct packer *p, const struct pol_view *view, const struct pol_job *job,
	     struct pol_plan *plan)
{
	const struct pol_want want = place_want(job);
	size_t first = plan->pieces.n;
	uint32_t n = place_best_fit.place(p->place, view, &want, &p->free, plan);

	if (n && job->n_gpus > 1) {
		pol_plan_grant(plan, job->id, job->n_gpus, job->id, first);
	} else if (n) {
		add_slot(p, plan->pieces.items[first].node, job->id);
		plan->pieces.n = first;
	}
	return n > 0;
}

void
packer_join(struct packer *p, uint32_t slot, const struct pol_job *job)
{
	struct packer_slot *to = &p->slots.items[slot];

	BUG_ON(to->n == PACKER_MAX_JOBS);
	to->ids[to->n++] = job->id;
}

void
packer_end(struct packer *p, struct pol_plan *plan)
{
	for (size_t i = 0; i < p->slots.n; i++) {
		const struct packer_slot *slot = &p->slots.items[i];
		size_t first = plan->pieces.n;

		vec_push(&plan->pieces, ((struct pol_piece){ slot->node, 1, 0 }));
		for (uint32_t k = 0; k < slot->n; k++)
			pol_plan_grant(plan, slot->ids[k], 1, slot->ids[0], first);
	}
}
