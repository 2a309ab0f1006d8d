/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_muri.c - jobs that interleave their stages on the same GPUs (Muri, SIGCOMM
 * 2022).
 *
 * Takes up to four times as many jobs from the order of service as there is room for.
 * While they request more GPUs than there are, jobs of equal size, then pairs of them,
 * are matched in pairs, so that the sum of the utilizations of stages is largest.
 * Groups that would be slower than one job after another are dissolved.  The groups
 * are served in order, and the largest are placed first.
 */
#include <math.h>
#include <string.h>

#include "policies/math/matching.h"
#include "policies/order_list.h"
#include "policies/places.h"
#include "policies/planners.h"
#include "policies/stages.h"

#define NONE UINT32_MAX

struct group {
	uint32_t n_gpus, n;
	uint32_t ids[STAGES_MAX_JOBS]; /* In the order in which the jobs joined. */
	double key;                    /* The least of the jobs' keys. */
};

/* Jobs with the same number of GPUs. */
struct bucket {
	uint32_t n_gpus;
	VEC(uint32_t) ids; /* In the order of service. */
	uint32_t n_chosen;
	VEC(struct group) groups;
};

struct state {
	struct order_list list;     /* First: order_list_on_event(). */
	VEC(struct bucket) buckets; /* The first n_buckets, as their first jobs come. */
	uint32_t n_buckets;
	VEC(uint32_t) scratch;    /* For sorting groups, and for matching. */
	VEC(uint32_t) group_of;   /* By id: index in 'groups', or NONE. */
	VEC(uint8_t) is_chosen;   /* By id. */
	VEC(struct group) groups; /* In the order of service. */
	VEC(struct group) sorted;
	VEC(double) weights;
	VEC(uint32_t) n_free; /* By node. */
	struct pol_free free;
	struct pol_plan tried; /* Filled by trial placements. */
	uint32_t max_jobs;
	bool by_attained, asked;
};

enum {
	MAX_JOBS,
	ASKED,
	N_PARAMS,
};

static const struct pol_param params[] = {
	[MAX_JOBS] = { "muri.max_jobs",
		       "most jobs that share the same GPUs (Muri's code)", 4, 1,
		       STAGES_MAX_JOBS, true },
	[ASKED] = { "muri.use_requested_duration",
		    "1: a job that has not begun is sorted by its predicted duration "
		    "(Muri's simulator)",
		    0, 0, 1, true },
	[N_PARAMS] = { 0 },
};

static void
init_srsf(void *state, const double *values, const struct pol_cluster *cluster,
	  struct rng *rng)
{
	struct state *s = state;

	(void)cluster;
	(void)rng;
	s->max_jobs = (uint32_t)values[MAX_JOBS];
	s->asked = values[ASKED] != 0;
}

static void
init_las(void *state, const double *values, const struct pol_cluster *cluster,
	 struct rng *rng)
{
	struct state *s = state;

	init_srsf(state, values, cluster, rng);
	s->by_attained = true;
}

static void
fini(void *state)
{
	struct state *s = state;

	order_list_fini(&s->list);
	for (size_t i = 0; i < s->buckets.n; i++) {
		vec_free(&s->buckets.items[i].ids);
		vec_free(&s->buckets.items[i].groups);
	}
	vec_free(&s->buckets);
	vec_free(&s->scratch);
	vec_free(&s->group_of);
	vec_free(&s->is_chosen);
	vec_free(&s->groups);
	vec_free(&s->sorted);
	vec_free(&s->weights);
	vec_free(&s->n_free);
	pol_plan_fini(&s->tried);
}

/* ---- Room ------------------------------------------------------------------------ */

static void
empty(struct state *s, const struct pol_view *view)
{
	vec_reserve(&s->n_free, view->cluster->n_nodes);
	s->free = place_empty(view->cluster, s->n_free.items);
	pol_plan_clear(&s->tried);
}

static uint32_t
place(struct state *s, const struct pol_view *view, uint32_t id, struct pol_plan *plan)
{
	const struct pol_want want = place_want(&view->jobs[id]);

	return place_whole.place(NULL, view, &want, &s->free, plan);
}

/* ---- Candidates ------------------------------------------------------------------ */

static struct bucket *
bucket_of(struct state *s, uint32_t n_gpus)
{
	struct bucket *bucket;

	for (uint32_t i = 0; i < s->n_buckets; i++)
		if (s->buckets.items[i].n_gpus == n_gpus)
			return &s->buckets.items[i];
	if (s->n_buckets == s->buckets.n)
		vec_push(&s->buckets, (struct bucket){ 0 });
	bucket = &s->buckets.items[s->n_buckets++];
	bucket->n_gpus = n_gpus;
	bucket->ids.n = bucket->groups.n = 0;
	bucket->n_chosen = 0;
	return bucket;
}

static void
sort_list(struct state *s, const struct pol_view *view)
{
	double *keys = order_list_keys(&s->list, view);

	for (size_t i = 0; i < s->list.ids.n; i++) {
		const struct pol_job *job = &view->jobs[s->list.ids.items[i]];

		keys[job->id] = job->n_gpus *
				(s->by_attained ? job->executed_s : job->remaining_s);
		if (s->asked && !s->by_attained && isnan(job->first_s) &&
		    !isnan(job->predicted_s))
			keys[job->id] = job->n_gpus * job->predicted_s;
	}
	order_list_sort(&s->list);
}

/* Chooses each job that fits and the next ones of its size.  Returns all their GPUs. */
static uint64_t
choose(struct state *s, const struct pol_view *view)
{
	uint64_t n_wanted = 0;

	s->n_buckets = 0;
	vec_reserve(&s->is_chosen, view->n_ids);
	for (size_t i = 0; i < s->list.ids.n; i++) {
		uint32_t id = s->list.ids.items[i];
		struct bucket *bucket = bucket_of(s, view->jobs[id].n_gpus);

		s->is_chosen.items[id] = 0;
		vec_push(&bucket->ids, id);
	}
	empty(s, view);
	for (size_t i = 0; i < s->list.ids.n && s->free.n_all; i++) {
		uint32_t id = s->list.ids.items[i];
		struct bucket *bucket = bucket_of(s, view->jobs[id].n_gpus);

		if (s->is_chosen.items[id] || !place(s, view, id, &s->tried))
			continue;
		for (uint32_t n = 0;
		     n < s->max_jobs && bucket->n_chosen < bucket->ids.n; n++) {
			uint32_t chosen = bucket->ids.items[bucket->n_chosen++];

			s->is_chosen.items[chosen] = 1;
			vec_push(&bucket->groups,
				 ((struct group){ .n_gpus = bucket->n_gpus,
						  .n = 1,
						  .ids = { chosen },
						  .key = s->list.keys.items[chosen] }));
			n_wanted += bucket->n_gpus;
		}
	}
	return n_wanted;
}

/* ---- Groups ------------------------------------------------------------------ */

static double
cycle_s(const struct pol_view *view, const struct group *group)
{
	const struct pol_job *jobs[STAGES_MAX_JOBS] = { 0 };

	for (uint32_t i = 0; i < group->n; i++)
		jobs[i] = &view->jobs[group->ids[i]];
	return stages_cycle_s(jobs, group->n);
}

static void
merge(struct group *into, const struct group *group)
{
	for (uint32_t i = 0; i < group->n; i++)
		into->ids[into->n++] = group->ids[i];
	into->key = fmin(into->key, group->key);
}

static bool
are_known(const struct pol_view *view, const struct group *group)
{
	for (uint32_t i = 0; i < group->n; i++)
		if (!stages_are_known(&view->jobs[group->ids[i]]))
			return false;
	return true;
}

static double
sum_stages_s(const struct pol_view *view, const struct group *a, const struct group *b)
{
	double sum_s = 0;

	for (uint32_t i = 0; i < a->n + b->n; i++) {
		const double *stage_s =
			view->jobs[i < a->n ? a->ids[i] : b->ids[i - a->n]].stage_s;

		sum_s += stage_s[0] + stage_s[1] + stage_s[2];
	}
	return sum_s;
}

/*
 * The utilization of stages by both groups.  Computed both ways, since they differ in
 * rounding, which breaks ties in the published simulator.
 */
static void
weigh(struct state *s, const struct pol_view *view, const struct bucket *bucket,
      uint32_t u, uint32_t v)
{
	const struct group *a = &bucket->groups.items[u], *b = &bucket->groups.items[v];
	double *uv = &s->weights.items[u * bucket->groups.n + v];
	double *vu = &s->weights.items[v * bucket->groups.n + u];
	struct group both = *a;
	double slots_s;

	*uv = *vu = 0;
	if (a->n + b->n > s->max_jobs || !are_known(view, a) || !are_known(view, b))
		return;
	merge(&both, b);
	slots_s = cycle_s(view, &both) * STAGES_MAX_JOBS;
	*uv = sum_stages_s(view, a, b) / slots_s;
	*vu = sum_stages_s(view, b, a) / slots_s;
}

/* Pairs the groups of a bucket while the request exceeds the cluster. */
static void
pair(struct state *s, const struct pol_view *view, struct bucket *bucket,
     uint64_t *n_wanted)
{
	struct group *groups = bucket->groups.items;
	uint32_t n = (uint32_t)bucket->groups.n, *mates;

	s->weights.n = s->scratch.n = 0;
	vec_reserve(&s->weights, (size_t)n * n);
	vec_reserve(&s->scratch, n);
	mates = s->scratch.items;
	for (uint32_t u = 0; u < n; u++) {
		s->weights.items[(size_t)u * n + u] = 0;
		for (uint32_t v = 0; v < u; v++)
			weigh(s, view, bucket, v, u);
	}
	matching_find(n, s->weights.items, mates);
	/* A pair takes the later group's position; both stay if there is room. */
	s->sorted.n = 0;
	for (uint32_t u = 0; u < n; u++) {
		if (mates[u] != MATCHING_NONE && mates[u] > u)
			continue;
		if (mates[u] == MATCHING_NONE) {
			vec_push(&s->sorted, groups[u]);
		} else if (*n_wanted > pol_cluster_usable(view->cluster)) {
			merge(&groups[mates[u]], &groups[u]);
			vec_push(&s->sorted, groups[mates[u]]);
			*n_wanted -= bucket->n_gpus;
		} else {
			vec_push(&s->sorted, groups[mates[u]]);
			vec_push(&s->sorted, groups[u]);
		}
	}
	bucket->groups.n = 0;
	for (size_t i = 0; i < s->sorted.n; i++)
		vec_push(&bucket->groups, s->sorted.items[i]);
}

static bool
is_worth_it(const struct pol_view *view, const struct group *group)
{
	double sum_s = 0;

	for (uint32_t i = 0; i < group->n; i++)
		sum_s += STAGES_ISOLATED * view->jobs[group->ids[i]].iteration_s;
	return group->n == 1 || cycle_s(view, group) <= sum_s;
}

/* Collects all groups, in the order of service. */
static void
collect(struct state *s, const struct pol_view *view)
{
	uint32_t n;

	s->sorted.n = 0;
	for (uint32_t i = 0; i < s->n_buckets; i++) {
		for (size_t k = 0; k < s->buckets.items[i].groups.n; k++) {
			const struct group *group =
				&s->buckets.items[i].groups.items[k];

			if (is_worth_it(view, group)) {
				vec_push(&s->sorted, *group);
				continue;
			}
			for (uint32_t j = 0; j < group->n; j++)
				vec_push(&s->sorted,
					 ((struct group){
						 .n_gpus = group->n_gpus,
						 .n = 1,
						 .ids = { group->ids[j] },
						 .key = s->list.keys
								.items[group->ids[j]],
					 }));
		}
	}
	n = (uint32_t)s->sorted.n;
	s->weights.n = s->scratch.n = s->groups.n = 0;
	vec_reserve(&s->weights, n);
	vec_reserve(&s->scratch, 2 * (size_t)n);
	vec_reserve(&s->groups, n);
	for (uint32_t i = 0; i < n; i++) {
		s->scratch.items[i] = i;
		s->weights.items[i] = s->sorted.items[i].key;
	}
	order_sort(s->scratch.items, n, s->weights.items, s->scratch.items + n);
	for (uint32_t i = 0; i < n; i++)
		s->groups.items[s->groups.n++] = s->sorted.items[s->scratch.items[i]];
}

/* ---- The plan -------------------------------------------------------------------- */

/* Lists the groups that have room, in order; sets group_of of their jobs. */
static void
serve(struct state *s, const struct pol_view *view)
{
	vec_reserve(&s->group_of, view->n_ids);
	for (uint32_t i = 0; i < view->n_jobs; i++)
		s->group_of.items[view->ids[i]] = NONE;
	empty(s, view);
	for (size_t i = 0; i < s->groups.n && s->free.n_all; i++) {
		const struct group *group = &s->groups.items[i];

		if (!place(s, view, group->ids[0], &s->tried))
			continue;
		for (uint32_t k = 0; k < group->n; k++)
			s->group_of.items[group->ids[k]] = (uint32_t)i;
	}
}

static void
grant(struct state *s, const struct pol_view *view, const struct group *group,
      uint32_t id, struct pol_plan *plan)
{
	size_t first = plan->pieces.n;

	if (!place(s, view, id, plan))
		return;
	for (uint32_t k = 0; k < group->n; k++) {
		pol_plan_grant(plan, group->ids[k], group->n_gpus, id, first);
		s->group_of.items[group->ids[k]] = NONE;
	}
}

static uint32_t
plan(void *state, const struct pol_view *view, struct pol_plan *plans, uint32_t n_max)
{
	struct state *s = state;
	uint64_t n_wanted;

	(void)n_max;
	sort_list(s, view);
	n_wanted = choose(s, view);
	for (uint32_t round = 0;
	     round < s->max_jobs && n_wanted > pol_cluster_usable(view->cluster);
	     round++)
		for (uint32_t i = 0; i < s->n_buckets; i++)
			pair(s, view, &s->buckets.items[i], &n_wanted);
	collect(s, view);
	serve(s, view);
	/* Largest first; ties by order of service, in this order and the next. */
	for (size_t i = 0; i < s->list.ids.n; i++)
		s->list.keys.items[s->list.ids.items[i]] =
			-(double)view->jobs[s->list.ids.items[i]].n_gpus;
	order_list_sort(&s->list);
	empty(s, view);
	for (size_t i = 0; i < s->list.ids.n; i++) {
		uint32_t id = s->list.ids.items[i];

		if (s->group_of.items[id] != NONE)
			grant(s, view, &s->groups.items[s->group_of.items[id]], id,
			      &plans[0]);
	}
	return 1;
}

#define PLANNER(NAME, TEXT, INIT)                               \
	{                                                       \
		.module = { .name = NAME,                       \
			    .text = TEXT,                       \
			    .params = params,                   \
			    .state_size = sizeof(struct state), \
			    .init = INIT,                       \
			    .fini = fini,                       \
			    .on_event = order_list_on_event },  \
		.plan = plan,                                   \
	}

const struct pol_planner planner_muri_srsf = PLANNER(
	"muri-srsf",
	"least remaining GPU time first; jobs whose stages interleave well share GPUs",
	init_srsf);
const struct pol_planner planner_muri_las = PLANNER(
	"muri-las",
	"least attained GPU time first; jobs whose stages interleave well share GPUs",
	init_las);
