#include "lib/base/vec.h"
#include "scheduler/policy/math/shares.h"
#include "scheduler/policy/shares.h"

struct state {
	VEC(double) gpus;
	VEC(double) values;
};

static void
fini(void *state)
{
	struct state *s = state;

	vec_free(&s->gpus);
	vec_free(&s->values);
}

static bool
has_room(const struct pol_cluster *cluster, uint32_t type, uint32_t n_gpus)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < cluster->n_nodes && n < n_gpus; i++)
		n += cluster->type_of[i] == type ? cluster->n_gpus[i] : 0;
	return n >= n_gpus;
}

double
share_speed(const struct pol_view *view, const struct pol_job *job, uint32_t type)
{
	double speed = 1;

	if (view->speed.speed)
		speed = view->speed.speed(view->speed.ctx, job, job->n_gpus, 1, type,
					  NULL, 0);
	if (view->cluster->n_types == 1)
		return speed > 0 ? speed : 1;
	return speed > 0 && has_room(view->cluster, type, job->n_gpus) ? speed : 0;
}

static void
read_gpus(struct state *s, const struct pol_view *view, const uint32_t *ids, uint32_t n)
{
	s->gpus.n = s->values.n = 0;
	for (uint32_t i = 0; i < n; i++)
		vec_push(&s->gpus, view->jobs[ids[i]].n_gpus);
}

static void
equal(void *state, const struct pol_view *view, const uint32_t *ids, uint32_t n,
      double *ret_shares)
{
	(void)state;
	(void)ids;
	shares_equal(n, view->cluster->n_all_gpus, ret_shares);
}

static void
max_min(void *state, const struct pol_view *view, const uint32_t *ids, uint32_t n,
	double *ret_shares)
{
	struct state *s = state;
	double capacity = view->cluster->n_all_gpus;

	read_gpus(s, view, ids, n);
	shares_max_min(s->gpus.items, NULL, n, capacity, ret_shares);
	shares_spread(s->gpus.items, n, capacity, ret_shares);
}

static void
makespan(void *state, const struct pol_view *view, const uint32_t *ids, uint32_t n,
	 double *ret_shares)
{
	struct state *s = state;
	double capacity = view->cluster->n_all_gpus;

	read_gpus(s, view, ids, n);
	for (uint32_t i = 0; i < n; i++) {
		const struct pol_job *job = &view->jobs[ids[i]];

		vec_push(&s->values, job->remaining_s / share_speed(view, job, 0));
	}
	shares_makespan(s->gpus.items, s->values.items, n, capacity, ret_shares);
	shares_spread(s->gpus.items, n, capacity, ret_shares);
}

static void
throughput(void *state, const struct pol_view *view, const uint32_t *ids, uint32_t n,
	   double *ret_shares)
{
	struct state *s = state;

	read_gpus(s, view, ids, n);
	for (uint32_t i = 0; i < n; i++)
		vec_push(&s->values, share_speed(view, &view->jobs[ids[i]], 0));
	shares_most(s->gpus.items, s->values.items, n, view->cluster->n_all_gpus,
		    ret_shares);
}

const struct share_rule share_equal = { .shares = equal };
const struct share_rule share_max_min = {
	.state_size = sizeof(struct state),
	.fini = fini,
	.shares = max_min,
};
const struct share_rule share_makespan = {
	.state_size = sizeof(struct state),
	.fini = fini,
	.shares = makespan,
};
const struct share_rule share_throughput = {
	.state_size = sizeof(struct state),
	.fini = fini,
	.shares = throughput,
};
