/*
 * steer_group.c - what sharing and turns have cost the jobs of a group: see learn.h.
 */
#include <math.h>

#include "scheduler/core/control/steer_internal.h"

/* A period that is another one by so much since the group began to learn. */
#define OTHER_UNIT_FRAC 0.05
#define OTHER_UNIT_SDS  1.5 /* Its mean wanders by a quarter of one. */

#define SLOW_RATIO 4.0 /* Of periods. */

void
group_init(struct node *node)
{
	node->leader = node;
	node->next = NULL;
	learn_init(&node->group.learn);
}

void
group_forget(struct node *node)
{
	struct node *leader = node->leader;

	leader->group = (struct group){ .is_passing = false };
	learn_init(&leader->group.learn);
	for (struct node *n = leader; n; n = n->next) {
		n->unit_ns = 0;
		n->chosen_period_ns = 0;
		n->chosen_n_live = 0;
	}
}

bool
group_takes_turns(const struct node *node)
{
	return node->leader->group.learn.is_turning;
}

struct steer_learned
group_learned(const struct node *node)
{
	const struct learn *l = &node->leader->group.learn;

	return (struct steer_learned){
		.takes_turns = l->is_turning,
		.foretold_share = l->foretold_share,
		.foretold_turns = l->foretold_turns,
		.share = l->share.mean,
		.turns = l->turns.mean,
		.n_share = l->share.n,
		.n_turns = l->turns.n,
	};
}

/* What its iterations would have cost in this block, had it been alone. */
static double
alone_cost(const struct node *node)
{
	const struct track *t = &node->track;

	return (t->comm_ns > 0 ? t->comm_ns : t->period_ns) / node->unit_ns;
}

/*
 * The longest period of those that are live, so that all have their say; but jobs do not
 * wait for one that is very slow.
 */
static double
long_period_ns(const struct steer *s, const struct node *leader)
{
	double longest = 0, shortest = INFINITY;

	for (const struct node *n = leader; n; n = n->next) {
		if (!node_is_live(s, n))
			continue;
		longest = fmax(longest, n->track.period_ns);
		shortest = fmin(shortest, n->track.period_ns);
	}
	return fmin(longest, SLOW_RATIO * shortest);
}

static void
begin_block(const struct steer *s, struct group *g, struct node *leader)
{
	g->block_ns = s->now_ns;
	g->length_ns = LEARN_BLOCK_PERIODS * long_period_ns(s, leader);
	for (struct node *n = leader; n; n = n->next) {
		n->cost_sum = 0;
		n->n_costs = 0;
	}
}

/* Of the jobs that have begun again in it; false: nobody has. */
static bool
block_cost(const struct node *leader, double *ret_cost)
{
	double sum = 0;
	size_t n_jobs = 0;

	for (const struct node *n = leader; n; n = n->next) {
		if (!n->n_costs)
			continue;
		sum += n->cost_sum / n->n_costs - alone_cost(n);
		n_jobs++;
	}
	*ret_cost = n_jobs ? sum / (double)n_jobs : 0;
	return n_jobs > 0;
}

/* What others have seen together is of no use to those that are there now. */
static void
note_live(const struct steer *s, struct node *leader)
{
	struct group *g = &leader->group;
	double share = g->learn.foretold_share, turns = g->learn.foretold_turns;
	size_t n_live = 0;

	for (const struct node *n = leader; n; n = n->next)
		n_live += n->bonds.n && node_is_live(s, n);
	if (n_live == g->n_live)
		return;
	g->n_live = n_live;
	learn_init(&g->learn);
	learn_foretell(&g->learn, share, turns);
	begin_block(s, g, leader);
}

static void
end_block(const struct steer *s, struct node *leader)
{
	struct group *g = &leader->group;
	bool was_turning = g->learn.is_turning;
	double cost;

	note_live(s, leader);
	if (block_cost(leader, &cost) && !g->is_passing)
		learn_take(&g->learn, cost);
	g->is_passing = g->learn.is_turning != was_turning;
	begin_block(s, g, leader);
}

void
group_take(const struct steer *s, struct node *node, const struct steer_report *r,
	   int64_t before_ns)
{
	const struct track *t = &node->track;
	struct node *leader = node->leader;
	struct group *g = &leader->group;
	double cost_ns =
		t->comm_ns > 0 ? (double)r->comm_ns : (double)(r->enter_ns - before_ns);

	if (!node->bonds.n || !node_is_live(s, node))
		return;
	if (node->unit_ns > 0 &&
	    fabs(t->period_ns - node->unit_ns) >
		    fmax(OTHER_UNIT_FRAC * node->unit_ns, OTHER_UNIT_SDS * t->sd_ns))
		group_forget(node);
	if (node->unit_ns <= 0)
		node->unit_ns = t->period_ns;
	cost_ns += (double)(r->begin_ns - r->enter_ns);
	if (cost_ns > 0 && cost_ns < 4 * node->unit_ns) {
		node->cost_sum += cost_ns / node->unit_ns;
		node->n_costs++;
	}
	if (!g->block_ns || s->now_ns < g->block_ns)
		begin_block(s, g, leader);
	else if ((double)(s->now_ns - g->block_ns) >= g->length_ns)
		end_block(s, leader);
}

void
group_foretell(const struct steer *s, struct node *node)
{
	struct node *leader = node->leader;
	struct group *g = &leader->group;
	bool was_turning = g->learn.is_turning, wants_turns = false;
	double share = 0, turns = 0;
	size_t n_jobs = 0;

	for (const struct node *n = leader; n; n = n->next) {
		bool can_turn = n->mode == STEER_GATE;

		if (!node_is_live(s, n) || !n->bonds.n)
			continue;
		if (n->chosen_period_ns <= 0 && can_turn)
			return; /* It will be, when it begins next. */
		if (n->chosen_period_ns <= 0)
			continue;
		for (size_t i = 0; i < n->bonds.n && can_turn; i++)
			wants_turns |= n->bonds.items[i].wants_turns;
		share += n->foretold_share;
		turns += n->foretold_turns;
		n_jobs++;
	}
	if (!n_jobs)
		return;
	note_live(s, leader);
	learn_foretell(&g->learn, share / (double)n_jobs,
		       wants_turns ? turns / (double)n_jobs : INFINITY);
	if (g->learn.is_turning != was_turning) {
		g->is_passing = true;
		begin_block(s, g, leader);
	}
}
