/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steer_group.c - the measured costs of sharing and turns of a group: see regret.h.
 */
#include <math.h>

#include "scheduler/core/control/control_constants.h"
#include "scheduler/core/control/steer_internal.h"

void
group_init(struct node *node)
{
	node->leader = node;
	node->next = NULL;
	regret_init(&node->group.choice);
}

void
group_forget(struct node *node)
{
	struct node *leader = node->leader;

	leader->group = (struct group){ .watch = leader->group.watch,
					.n_jobs = leader->group.n_jobs };
	regret_init(&leader->group.choice);
	for (struct node *n = leader; n; n = n->next) {
		n->unit_ns = 0;
		n->chosen_period_ns = 0;
		n->chosen_n_live = 0;
	}
}

void
group_count(struct node *node)
{
	struct group *g = &node->leader->group;
	size_t n_jobs = 0;

	for (const struct node *n = node->leader; n; n = n->next)
		n_jobs++;
	if (n_jobs != g->n_jobs)
		stand_back_init(&g->watch);
	g->n_jobs = n_jobs;
}

bool
group_takes_turns(const struct node *node)
{
	return node->leader->group.choice.is_turning;
}

struct steer_learned
group_learned(const struct node *node)
{
	const struct regret *l = &node->leader->group.choice;
	const struct stand_back *w = &node->leader->group.watch;

	return (struct steer_learned){
		.takes_turns = l->is_turning,
		.predicted_share = l->predicted_share,
		.predicted_turns = l->predicted_turns,
		.share = l->share.mean,
		.turns = l->turns.mean,
		.n_share = l->share.n,
		.n_turns = l->turns.n,
		.stands_back = w->state != STAND_BACK_NOT,
		.stands_back_until_ns = w->state == STAND_BACK_RESTS ? w->until_ns : 0,
		.recent_share = w->share.mean,
		.recent_turns = w->turns.mean,
	};
}

/* The isolated cost of its iterations in this block. */
static double
isolated_cost(const struct node *node)
{
	const struct onset_tracker *t = &node->onsets;

	return (t->comm_ns > 0 ? t->comm_ns : t->period_ns) / node->unit_ns;
}

/* The longest period of live jobs, except very slow ones. */
static double
long_period_ns(const struct steer *s, const struct node *leader)
{
	double longest = 0, shortest = INFINITY;

	for (const struct node *n = leader; n; n = n->next) {
		if (!node_is_live(s, n))
			continue;
		longest = fmax(longest, n->onsets.period_ns);
		shortest = fmin(shortest, n->onsets.period_ns);
	}
	return fmin(longest, GROUP_SLOW_RATIO * shortest);
}

static void
begin_block(const struct steer *s, struct group *g, struct node *leader)
{
	g->block_ns = s->now_ns;
	g->length_ns = REGRET_BLOCK_PERIODS * long_period_ns(s, leader);
	for (struct node *n = leader; n; n = n->next) {
		n->cost_sum = 0;
		n->n_costs = 0;
	}
}

/* The mean over jobs that began an iteration in the block; false if none did. */
static bool
block_cost(const struct node *leader, double *ret_cost)
{
	double sum = 0;
	size_t n_jobs = 0;

	for (const struct node *n = leader; n; n = n->next) {
		if (!n->n_costs)
			continue;
		sum += n->cost_sum / n->n_costs - isolated_cost(n);
		n_jobs++;
	}
	*ret_cost = n_jobs ? sum / (double)n_jobs : 0;
	return n_jobs > 0;
}

/* Costs measured with other jobs do not apply to these. */
static void
note_live(const struct steer *s, struct node *leader)
{
	struct group *g = &leader->group;
	double share = g->choice.predicted_share, turns = g->choice.predicted_turns;
	size_t n_live = 0;

	for (const struct node *n = leader; n; n = n->next)
		n_live += n->peers.n && node_is_live(s, n);
	if (n_live == g->n_live)
		return;
	g->n_live = n_live;
	regret_init(&g->choice);
	regret_predict(&g->choice, share, turns);
	begin_block(s, g, leader);
}

static void
end_block(const struct steer *s, struct node *leader)
{
	struct group *g = &leader->group;
	bool was_turning = g->choice.is_turning;
	double cost;

	note_live(s, leader);
	if (block_cost(leader, &cost) && !g->is_passing)
		regret_take(&g->choice, cost);
	g->is_passing = g->choice.is_turning != was_turning;
	begin_block(s, g, leader);
}

/* Lets turns be chosen anew. */
static void
choose_again(struct node *leader)
{
	const struct stand_back *w = &leader->group.watch;

	double turns = stand_back_turns_cost(w);

	if (w->share.n > 0 && turns < w->share.mean)
		regret_resume(&leader->group.choice, w->share.mean, turns);
	else
		regret_init(&leader->group.choice);
	for (struct node *n = leader; n; n = n->next)
		n->chosen_period_ns = 0;
}

/*
 * Whether begins vary by so much that predictions of them are in doubt.  Where they do
 * not, the comparison of blocks is better: after turns, jobs stay apart for a while, so
 * sharing looks cheap at first.
 */
static bool
is_noisy(const struct steer *s, const struct node *leader)
{
	double sum = 0;
	size_t n_jobs = 0;

	for (const struct node *n = leader; n; n = n->next) {
		if (!n->peers.n || !node_is_live(s, n))
			continue;
		sum += n->onsets.sd_ns / n->onsets.period_ns;
		n_jobs++;
	}
	return sum > STAND_BACK_NOISE_FRAC * (double)n_jobs;
}

/* Ends turns that do not help, and allows them again: see stand_back.h. */
static void
watch_take(const struct steer *s, struct node *node, double cost)
{
	struct node *leader = node->leader;
	struct group *g = &leader->group;
	struct stand_back_iteration it = {
		.now_ns = s->now_ns,
		.is_turning = g->choice.is_turning,
		.cost = fmin(cost, isolated_cost(node) + 1),
		.isolated = isolated_cost(node),
		.weight = 1 / fmax(1, (double)g->n_live),
		.predicted_share = g->choice.predicted_share,
		.predicted_turns = g->choice.predicted_turns,
	};

	if ((g->watch.state == STAND_BACK_NOT && !is_noisy(s, leader)) ||
	    !stand_back_take(&g->watch, &it))
		return;
	if (g->watch.state == STAND_BACK_NOT) {
		choose_again(leader);
	} else {
		regret_predict(&g->choice, g->choice.predicted_share, INFINITY);
		g->is_passing = true;
	}
	begin_block(s, g, leader);
}

void
group_take(const struct steer *s, struct node *node, const struct steer_report *r,
	   int64_t before_ns)
{
	const struct onset_tracker *t = &node->onsets;
	struct node *leader = node->leader;
	struct group *g = &leader->group;
	double cost_ns =
		t->comm_ns > 0 ? (double)r->comm_ns : (double)(r->enter_ns - before_ns);

	if (!node->peers.n || !node_is_live(s, node))
		return;
	if (node->unit_ns > 0 && fabs(t->period_ns - node->unit_ns) >
					 fmax(GROUP_CHANGED_FRAC * node->unit_ns,
					      GROUP_CHANGED_SDS * t->sd_ns))
		group_forget(node);
	if (node->unit_ns <= 0)
		node->unit_ns = t->period_ns;
	cost_ns += (double)(r->begin_ns - r->enter_ns);
	if (cost_ns > 0 && cost_ns < GROUP_MAX_COST * node->unit_ns) {
		node->cost_sum += cost_ns / node->unit_ns;
		node->n_costs++;
		watch_take(s, node, cost_ns / node->unit_ns);
	}
	if (!g->block_ns || s->now_ns < g->block_ns)
		begin_block(s, g, leader);
	else if ((double)(s->now_ns - g->block_ns) >= g->length_ns)
		end_block(s, leader);
}

void
group_predict(const struct steer *s, struct node *node)
{
	struct node *leader = node->leader;
	struct group *g = &leader->group;
	bool was_turning = g->choice.is_turning, wants_turns = false;
	double share = 0, turns = 0;
	size_t n_jobs = 0;

	for (const struct node *n = leader; n; n = n->next) {
		bool can_turn = n->mode == STEER_GATE;

		if (!node_is_live(s, n) || !n->peers.n)
			continue;
		if (n->chosen_period_ns <= 0 && can_turn)
			return; /* Turns will be chosen at its next begin. */
		if (n->chosen_period_ns <= 0)
			continue;
		for (size_t i = 0; i < n->peers.n && can_turn; i++)
			wants_turns |= n->peers.items[i].wants_turns;
		share += n->predicted_share;
		turns += n->predicted_turns +
			 TURN_ERROR_SDS * n->onsets.sd_ns / n->onsets.period_ns;
		n_jobs++;
	}
	if (!n_jobs)
		return;
	wants_turns &= g->watch.state == STAND_BACK_NOT;
	note_live(s, leader);
	regret_predict(&g->choice, share / (double)n_jobs,
		       wants_turns ? turns / (double)n_jobs : INFINITY);
	if (g->choice.is_turning != was_turning) {
		g->is_passing = true;
		begin_block(s, g, leader);
	}
}
