/* SPDX-License-Identifier: Apache-2.0 */
/* share_finish.c - equal finish-time fairness (Themis, NSDI 2020; Gavel, OSDI 2020). */
#include "policies/isolated.h"
#include "policies/math/shares.h"
#include "policies/share_types.h"
#include "policies/shares.h"

struct state {
	bool is_muri; /* Value of finish-time.muri_semantics. */
	struct isolated isolated;
	VEC(double) gpus;
	VEC(double) elapsed_s;
	VEC(double) left_s;
	VEC(double) isolated_s;
	struct share_types types; /* For clusters with several types. */
};

static void
init(void *state, const double *params)
{
	struct state *s = state;

	s->is_muri = s->isolated.is_whole = params[0] > 0;
}

static void
fini(void *state)
{
	struct state *s = state;

	isolated_fini(&s->isolated);
	vec_free(&s->gpus);
	vec_free(&s->elapsed_s);
	vec_free(&s->left_s);
	vec_free(&s->isolated_s);
	share_types_fini(&s->types);
}

/* On its own cluster, a job would have its part of each type. */
static void
shares_of_types(struct state *s, const struct pol_view *view, const uint32_t *ids,
		uint32_t n, double *ret_shares)
{
	int r;

	share_types_read(&s->types, view, ids, n);
	s->elapsed_s.n = s->left_s.n = s->isolated_s.n = 0;
	for (uint32_t i = 0; i < s->types.in.n_jobs; i++) {
		const struct pol_job *job = &view->jobs[ids[i]];

		vec_push(&s->elapsed_s, view->now_s - job->submit_s);
		vec_push(&s->left_s, job->remaining_s > 0 ? job->remaining_s : 0);
		vec_push(&s->isolated_s, isolated_s(&s->isolated, view, job,
						    share_types_mean(&s->types, i), n));
	}
	r = shares_types_finish_time(&s->types.in, s->elapsed_s.items, s->left_s.items,
				     s->isolated_s.items, ret_shares, NULL);
	share_types_end(&s->types, r, n, ret_shares);
}

static void
shares(void *state, const struct pol_view *view, const uint32_t *ids, uint32_t n,
       double *ret_shares)
{
	struct state *s = state;
	double capacity = view->cluster->n_all_gpus;

	if (view->cluster->n_types > 1) {
		shares_of_types(s, view, ids, n, ret_shares);
		return;
	}
	s->gpus.n = s->elapsed_s.n = s->left_s.n = s->isolated_s.n = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct pol_job *job = &view->jobs[ids[i]];
		double speed = share_speed(view, job, 0);

		vec_push(&s->gpus, job->n_gpus);
		vec_push(&s->elapsed_s, view->now_s - job->submit_s);
		vec_push(&s->left_s,
			 job->remaining_s > 0 ? job->remaining_s / speed : 0);
		if (s->is_muri && job->iteration_s > 0)
			speed = job->iteration_s;
		vec_push(&s->isolated_s, isolated_s(&s->isolated, view, job, speed, n));
	}
	shares_finish_time(s->gpus.items, s->elapsed_s.items, s->left_s.items,
			   s->isolated_s.items, n, capacity, ret_shares);
	if (!s->is_muri)
		shares_spread(s->gpus.items, n, capacity, ret_shares);
}

const struct share_rule share_finish_time = {
	.state_size = sizeof(struct state),
	.init = init,
	.fini = fini,
	.shares = shares,
};
