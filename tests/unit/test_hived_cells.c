/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cells: no VC gets less than from a private cluster of its cells, whatever the others
 * do; cells split and merge; opportunistic gangs yield; bad nodes.
 */
#include <errno.h>
#include <string.h>

#include "lib/base/rng.h"
#include "policies/hived/cells.h"
#include "tests/unit/test.h"

#define N_SEEDS 25
#define N_STEPS 400
#define N_GANGS (2 * N_STEPS)
#define MAX_VCS 4
#define MAX_POD 4

/* ---- Random clusters ------------------------------------------------------------- */

struct quota {
	uint32_t chain, level, n[MAX_VCS];
};

struct world {
	struct rng rng;
	struct cells_shape shapes[2];
	uint32_t n_leaves[2][CELLS_LEVELS + 1];
	uint32_t n_chains, n_tops[2], first_node[2], n_nodes, n_vcs, n_all;
	struct quota quotas[2 * CELLS_LEVELS];
	uint32_t n_quotas;
};

static uint32_t
draw(struct world *w, uint32_t from, uint32_t to)
{
	return from + (uint32_t)rng_below(&w->rng, to - from + 1);
}

static void
draw_chain(struct world *w, uint32_t c)
{
	struct cells_shape *shape = &w->shapes[c];

	shape->n_levels = draw(w, 2, 5);
	shape->node_level = draw(w, 2, shape->n_levels);
	w->n_leaves[c][1] = 1;
	for (uint32_t l = 2; l <= shape->n_levels; l++) {
		shape->n_children[l] = draw(w, 2, 3);
		w->n_leaves[c][l] = w->n_leaves[c][l - 1] * shape->n_children[l];
	}
	w->n_tops[c] = draw(w, 1, 3);
	w->first_node[c] = w->n_nodes;
	w->n_nodes += w->n_tops[c] * w->n_leaves[c][shape->n_levels] /
		      w->n_leaves[c][shape->node_level];
	w->n_all += w->n_tops[c] * w->n_leaves[c][shape->n_levels];
}

/* Deals out cells, the largest first; some remain. */
static void
draw_quotas(struct world *w, uint32_t c)
{
	uint32_t n_left = w->n_tops[c];

	for (uint32_t l = w->shapes[c].n_levels; l >= 1; l--) {
		struct quota *quota = &w->quotas[w->n_quotas++];

		*quota = (struct quota){ .chain = c, .level = l };
		for (uint32_t v = 0; v < w->n_vcs && n_left; v++) {
			quota->n[v] = draw(w, 0, n_left < 3 ? n_left : 3);
			n_left -= quota->n[v];
		}
		n_left *= w->shapes[c].n_children[l];
	}
}

static void
draw_world(struct world *w, uint64_t seed)
{
	*w = (struct world){ 0 };
	rng_init(&w->rng, seed);
	w->n_chains = draw(w, 1, 2);
	w->n_vcs = draw(w, 2, MAX_VCS);
	for (uint32_t c = 0; c < w->n_chains; c++) {
		draw_chain(w, c);
		draw_quotas(w, c);
	}
}

/* 'only': this VC alone owns cells; CELLS_NONE: all do. */
static struct cells *
build(const struct world *w, uint32_t only)
{
	struct cells *cells = cells_new();
	VEC(struct cells_leaf) leaves = VEC_EMPTY;

	for (uint32_t c = 0; c < w->n_chains; c++)
		cells_add_chain(cells, &w->shapes[c]);
	for (uint32_t c = 0; c < w->n_chains; c++) {
		uint32_t n = w->n_leaves[c][w->shapes[c].n_levels];
		uint32_t size = w->n_leaves[c][w->shapes[c].node_level];

		for (uint32_t top = 0; top < w->n_tops[c]; top++) {
			leaves.n = 0;
			for (uint32_t i = top * n; i < (top + 1) * n; i++)
				vec_push(&leaves, ((struct cells_leaf){
							  w->first_node[c] + i / size,
							  i % size }));
			cells_add_physical(cells, c, leaves.items);
		}
	}
	for (uint32_t v = 0; v < w->n_vcs; v++)
		cells_add_vc(cells);
	for (uint32_t i = 0; i < w->n_quotas; i++)
		for (uint32_t v = 0; v < w->n_vcs; v++)
			if (only == CELLS_NONE || only == v)
				cells_add_quota(cells, v, w->quotas[i].chain,
						w->quotas[i].level, w->quotas[i].n[v]);
	assert_int_equal(cells_ready(cells), 0);
	vec_free(&leaves);
	return cells;
}

/* ---- Gangs ----------------------------------------------------------------------- */

struct job {
	struct cells_request request;
	struct cells_member members[2];
	bool is_there;
};

/* A cluster, and what its GPUs are used for by the answers that it gave. */
struct site {
	struct cells *cells;
	struct job jobs[N_GANGS];
	uint32_t n_jobs;
	VEC(uint32_t) users[64]; /* By node and index: gang + 1. */
	struct cells_answer answer;
	bool bad[64]; /* By node. */
	uint32_t n_preempted, n_at_will, n_placed;
};

static uint32_t *
user_of(struct site *site, struct cells_leaf leaf)
{
	while (site->users[leaf.node].n <= leaf.index)
		vec_push(&site->users[leaf.node], 0);
	return &site->users[leaf.node].items[leaf.index];
}

static void
end(struct site *site, uint32_t gang)
{
	if (!site->jobs[gang].is_there)
		return;
	cells_end(site->cells, gang);
	site->jobs[gang].is_there = false;
	for (size_t i = 0; i < 64; i++)
		for (size_t k = 0; k < site->users[i].n; k++)
			if (site->users[i].items[k] == gang + 1)
				site->users[i].items[k] = 0;
}

static void
fini(struct site *site)
{
	for (uint32_t i = 0; i < site->n_jobs; i++)
		end(site, i);
	cells_answer_fini(&site->answer);
	cells_free(site->cells);
	for (size_t i = 0; i < 64; i++)
		vec_free(&site->users[i]);
}

static void
draw_job(struct world *w, struct job *job, uint32_t gang, uint32_t vc, int32_t priority)
{
	*job = (struct job){ .request = { .gang = gang,
					  .vc = vc,
					  .pinned = CELLS_NONE,
					  .leaf_type = CELLS_NONE,
					  .priority = priority,
					  .is_lazy = draw(w, 0, 1),
					  .n_members = draw(w, 1, 2) } };
	for (uint32_t i = 0; i < 2; i++)
		job->members[i] =
			(struct cells_member){ draw(w, 1, 2), draw(w, 1, MAX_POD) };
}

/* Asks for a gang.  Others that have to end first do so.  Returns whether it runs. */
static bool
run(struct site *site, const struct job *job)
{
	uint32_t gang = job->request.gang;
	struct job *mine = &site->jobs[gang];
	struct cells_answer *answer = &site->answer;
	int r;

	*mine = *job;
	mine->request.members = mine->members;
	if (gang >= site->n_jobs)
		site->n_jobs = gang + 1;
	r = cells_claim(site->cells, &mine->request, answer);
	if (r != CELLS_FITS && r != CELLS_PREEMPTS)
		return false;
	for (size_t i = 0; i < answer->victims.n; i++) {
		uint32_t victim = answer->victims.items[i];
		const struct cells_request *other = &site->jobs[victim].request;
		bool may_stay = cells_hold(site->cells, victim) == CELLS_GUARANTEED;

		assert_true(job->request.priority >= 0);
		/* Only lower priorities of the same VC lose guaranteed cells. */
		if (may_stay && (other->vc != job->request.vc ||
				 other->priority >= job->request.priority))
			fail_msg("gang %u of VC %u preempts gang %u of VC %u", gang,
				 job->request.vc, victim, other->vc);
		end(site, victim);
		site->n_preempted++;
	}
	if (r == CELLS_PREEMPTS)
		assert_int_equal(cells_resume(site->cells, gang, NULL, answer),
				 CELLS_FITS);
	cells_begin(site->cells, &mine->request, &answer->placement);
	mine->is_there = true;
	site->n_placed++;
	site->n_at_will += cells_hold(site->cells, gang) == CELLS_AT_WILL;
	assert_int_equal(cells_hold(site->cells, gang),
			 job->request.priority < 0 ? CELLS_AT_WILL : CELLS_GUARANTEED);
	for (size_t i = 0; i < answer->placement.leaves.n; i++) {
		struct cells_leaf leaf = answer->placement.leaves.items[i];

		assert_int_equal(*user_of(site, leaf), 0);
		assert_false(site->bad[leaf.node]);
		*user_of(site, leaf) = gang + 1;
	}
	return true;
}

/* The level of the lowest cell with all GPUs of a pod, added up over the pods. */
static uint32_t
spread(const struct world *w, const struct cells_placement *placement)
{
	uint32_t c = placement->chain, sum = 0, at = 0;
	uint32_t size = w->n_leaves[c][w->shapes[c].node_level];

	for (size_t i = 0; i < placement->pods.n; i++) {
		uint32_t level = 1;

		for (uint32_t k = 0; k < placement->pods.items[i]; k++) {
			const struct cells_leaf *a = &placement->leaves.items[at];
			const struct cells_leaf *b = a + k;

			assert_int_equal(a->node, b->node);
			while ((a->node * size + a->index) / w->n_leaves[c][level] !=
			       (b->node * size + b->index) / w->n_leaves[c][level])
				level++;
		}
		at += placement->pods.items[i];
		sum += level;
	}
	return sum;
}

/* ---- Sharing --------------------------------------------------------------------- */

/* Ends in both clusters what was preempted in one. */
static void
agree(struct site *shared, struct site *alone, uint32_t vc)
{
	for (uint32_t i = 0; i < shared->n_jobs; i++) {
		if (shared->jobs[i].request.vc != vc)
			continue;
		if (!shared->jobs[i].is_there && alone->jobs[i].is_there)
			end(alone, i);
		if (alone->n_jobs > i && !alone->jobs[i].is_there)
			end(shared, i);
	}
}

static void
ask_both(struct world *w, struct site *shared, struct site *alone, struct job *job)
{
	bool fits_alone = run(alone, job), fits = run(shared, job);

	if (fits_alone != fits)
		fail_msg("a gang of VC %u %s", job->request.vc,
			 fits ? "gets more than its cells" : "gets less than alone");
	if (fits)
		assert_int_equal(spread(w, &shared->answer.placement),
				 spread(w, &alone->answer.placement));
	agree(shared, alone, job->request.vc);
	for (uint32_t i = 0; i < alone->n_jobs; i++)
		if (shared->jobs[i].is_there && alone->jobs[i].is_there)
			assert_int_equal(cells_hold(shared->cells, i),
					 cells_hold(alone->cells, i));
}

/* One VC asks the same of its own cluster and of the shared one. */
static void
share(struct world *w, uint32_t vc, struct site *shared, struct site *alone)
{
	for (uint32_t step = 0; step < N_STEPS; step++) {
		uint32_t other = draw(w, 0, 1) ? vc : draw(w, 0, w->n_vcs - 1);
		struct job job;

		draw_job(w, &job, step, other, (int32_t)draw(w, 0, 3) - 1);
		if (!draw(w, 0, 2)) {
			uint32_t gang = draw(w, 0, step);

			end(shared, gang);
			end(alone, gang);
		} else if (other == vc && job.request.priority >= 0) {
			ask_both(w, shared, alone, &job);
		} else {
			run(shared, &job);
			agree(shared, alone, vc);
		}
	}
}

static void
a_vc_gets_what_it_would_get_alone(void **state)
{
	uint32_t n_placed = 0, n_preempted = 0, n_at_will = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
		struct world w;

		draw_world(&w, seed);
		for (uint32_t vc = 0; vc < w.n_vcs; vc++) {
			struct site *shared = xcalloc(1, sizeof *shared);
			struct site *alone = xcalloc(1, sizeof *alone);

			shared->cells = build(&w, CELLS_NONE);
			alone->cells = build(&w, vc);
			share(&w, vc, shared, alone);
			n_placed += alone->n_placed;
			n_preempted += shared->n_preempted;
			n_at_will += shared->n_at_will;
			fini(shared);
			fini(alone);
			free(shared);
			free(alone);
		}
	}
	print_message("%u gangs placed, %u preempted, %u opportunistic\n", n_placed,
		      n_preempted, n_at_will);
	assert_true(n_placed > 1000 && n_preempted > 1000 && n_at_will > 1000);
}

/* ---- Bad nodes ------------------------------------------------------------------- */

/* Fills each cell of each VC: all of them have to be there. */
static void
fill_all(struct world *w, struct site *site)
{
	uint32_t gang = 0;

	for (uint32_t i = 0; i < w->n_quotas; i++) {
		const struct quota *quota = &w->quotas[i];
		uint32_t size = w->n_leaves[quota->chain][quota->level];
		uint32_t most =
			w->n_leaves[quota->chain][w->shapes[quota->chain].node_level];

		for (uint32_t v = 0; v < w->n_vcs; v++)
			for (uint32_t n = 0; n < quota->n[v]; n++) {
				uint32_t pod = size < most ? size : most;
				struct job job = { .request = { .gang = gang,
								.vc = v,
								.pinned = CELLS_NONE,
								.leaf_type =
									quota->chain,
								.n_members = 1 },
						   .members = { { size / pod, pod } } };

				assert_true(run(site, &job));
				gang++;
			}
	}
	for (uint32_t i = 0; i < gang; i++)
		end(site, i);
}

static void
bad_nodes_are_not_used_and_come_back(void **state)
{
	uint32_t n_placed = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
		struct site *site = xcalloc(1, sizeof *site);
		struct world w;

		draw_world(&w, seed);
		for (uint32_t c = 0; c < w.n_chains; c++)
			w.shapes[c].leaf_type = c;
		site->cells = build(&w, CELLS_NONE);
		for (uint32_t step = 0; step < N_STEPS; step++) {
			uint32_t node = draw(&w, 0, w.n_nodes - 1);
			struct job job;

			draw_job(&w, &job, step, draw(&w, 0, w.n_vcs - 1),
				 (int32_t)draw(&w, 0, 3) - 1);
			job.request.leaf_type = CELLS_NONE;
			if (draw(&w, 0, 2))
				run(site, &job);
			else
				end(site, draw(&w, 0, step));
			if (!draw(&w, 0, 3)) {
				site->bad[node] = !site->bad[node];
				cells_set_node(site->cells, node, !site->bad[node]);
			}
		}
		for (uint32_t i = 0; i < w.n_nodes; i++) {
			cells_set_node(site->cells, i, true);
			site->bad[i] = false;
		}
		for (uint32_t i = 0; i < site->n_jobs; i++)
			end(site, i);
		n_placed += site->n_placed;
		fill_all(&w, site);
		fini(site);
		free(site);
	}
	assert_true(n_placed > 1000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_vc_gets_what_it_would_get_alone),
		cmocka_unit_test(bad_nodes_are_not_used_and_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
