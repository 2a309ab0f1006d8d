/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steer_send_schedule.c - orders that make jobs take turns: see send_schedule.h.
 */
#include <math.h>

#include "scheduler/core/control/control_constants.h"
#include "scheduler/core/control/rollout.h"
#include "scheduler/core/control/send_schedule.h"
#include "scheduler/core/control/steer_internal.h"

struct table {
	struct node *nodes[SEND_SCHEDULE_MAX_JOBS];
	struct send_schedule_job jobs[SEND_SCHEDULE_MAX_JOBS];
	double hold_ns[SEND_SCHEDULE_MAX_JOBS * SEND_SCHEDULE_MAX_JOBS];
	size_t n;
};

static void
table_add(const struct steer *s, struct table *t, struct node *node)
{
	struct send_schedule_job *job;

	if (t->n == SEND_SCHEDULE_MAX_JOBS || node->mark || !node_is_live(s, node))
		return;
	job = &t->jobs[t->n];
	node_expect(s, node, &job->begin_ns, &job->next_ns);
	job->limit_ns = 0;
	if (node->mode == STEER_GATE)
		job->limit_ns = fmin(node->patience_ns,
				     s->opts.max_delay_frac * node->onsets.period_ns);
	t->nodes[t->n++] = node;
	node->mark = (uint32_t)t->n;
}

/*
 * How long others wait after its begin: the profile's length, or that of its isolated
 * collectives if longer, since ranks wait for each other.
 */
static double
hold_ns_of(const struct node *node, const struct peer *peer)
{
	return fmax(peer->hold_ns,
		    fmin(node->onsets.comm_ns, TURN_MAX_HOLD_FRAC * peer->hold_ns));
}

/* True if both groups and the pair take turns. */
static bool
takes_turns(const struct node *node, const struct peer *peer)
{
	return peer->wants_turns && group_takes_turns(node) &&
	       group_takes_turns(peer->other);
}

/* Fills the table with the job and its peers. */
static void
fill(const struct steer *s, struct table *t, struct node *node)
{
	table_add(s, t, node);
	for (size_t i = 0; i < node->peers.n; i++)
		table_add(s, t, node->peers.items[i].other);
	for (size_t i = 0; i < t->n; i++) {
		const struct node *n = t->nodes[i];

		for (size_t k = 0; k < n->peers.n; k++) {
			const struct peer *peer = &n->peers.items[k];
			double *hold_ns;

			if (!peer->other->mark || !takes_turns(n, peer))
				continue;
			hold_ns = &t->hold_ns[i * t->n + peer->other->mark - 1];
			*hold_ns = fmax(*hold_ns, hold_ns_of(n, peer));
		}
	}
	for (size_t i = 0; i < t->n; i++)
		t->nodes[i]->mark = 0;
}

/* ------ Choice of pairs ------ */

/* The present knowledge about the job, for rollout.h. */
static struct rollout_job
rollout_job_of(const struct node *node, double send_ns)
{
	const struct onset_tracker *t = &node->onsets;

	send_ns = fmin(send_ns, t->period_ns);
	return (struct rollout_job){ .compute_ns = t->period_ns - send_ns,
				     .sd_ns = t->sd_ns,
				     .send_ns = send_ns };
}

static void
set_turns(struct node *node, const struct node *other, bool wants_turns)
{
	for (size_t i = 0; i < node->peers.n; i++)
		if (node->peers.items[i].other == other)
			node->peers.items[i].wants_turns = wants_turns;
}

/* The number of live peers. */
static size_t
count_live(const struct steer *s, const struct node *node)
{
	size_t n = 0;

	for (size_t i = 0; i < node->peers.n; i++)
		n += node_is_live(s, node->peers.items[i].other);
	return n;
}

/* Stores the choice for 'nodes' in the node at 'i'. */
static void
apply(const struct steer *s, struct node **nodes, size_t n,
      const struct rollout *rollout, size_t i, double send_ns)
{
	struct node *node = nodes[i];

	node->predicted_share = rollout->free_slowdown[i] - 1;
	node->predicted_turns = rollout->slowdown[i] - 1;
	node->patience_ns = rollout->patience * send_ns;
	node->chosen_n_live = n - 1;
	node->chosen_period_ns = node->onsets.period_ns;
	node->chosen_ns = s->now_ns;
	for (size_t j = 0; j < n; j++) {
		set_turns(node, nodes[j], rollout->takes_turns[i * n + j]);
		set_turns(nodes[j], node, rollout->takes_turns[i * n + j]);
	}
}

/*
 * Chooses for the first of 'nodes' with each of the others, and for those without other
 * peers, so that all follow the same plan.
 */
static void
choose_among(const struct steer *s, struct node **nodes, size_t n)
{
	struct rollout_job jobs[ROLLOUT_MAX_JOBS] = { 0 };
	double overload[ROLLOUT_MAX_JOBS * ROLLOUT_MAX_JOBS] = { 0 };
	double send_ns[ROLLOUT_MAX_JOBS] = { 0 };
	struct rollout rollout;

	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < nodes[i]->peers.n; k++) {
			const struct peer *peer = &nodes[i]->peers.items[k];

			for (size_t j = 0; j < n; j++) {
				if (nodes[j] != peer->other)
					continue;
				overload[i * n + j] = peer->overload;
				send_ns[i] = fmax(send_ns[i], peer->hold_ns);
			}
		}
	}
	for (size_t i = 0; i < n; i++)
		jobs[i] = rollout_job_of(nodes[i], send_ns[i]);
	rollout_choose(jobs, n, overload, &rollout);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || count_live(s, nodes[i]) == n - 1)
			apply(s, nodes, n, &rollout, i, send_ns[i]);
}

/* All at once if they are few, else pair by pair. */
static void
choose(const struct steer *s, struct node *node, size_t n_live)
{
	struct node *nodes[ROLLOUT_MAX_JOBS] = { node };
	size_t n = 1;

	for (size_t i = 0; i < node->peers.n; i++) {
		struct node *other = node->peers.items[i].other;

		if (!node_is_live(s, other))
			continue;
		nodes[n++] = other;
		if (n_live >= ROLLOUT_MAX_JOBS) {
			choose_among(s, nodes, 2);
			n = 1;
		}
	}
	if (n > 1)
		choose_among(s, nodes, n);
	node->chosen_n_live = n_live;
	node->chosen_period_ns = node->onsets.period_ns;
	node->chosen_ns = s->now_ns;
	group_predict(s, node);
}

/* True if the period has changed since turns were chosen, beyond noise. */
static bool
is_other_period(const struct node *node)
{
	double off_ns = fabs(node->onsets.period_ns - node->chosen_period_ns);

	return node->chosen_period_ns <= 0 ||
	       off_ns > fmax(TURN_CHANGED_FRAC * node->chosen_period_ns,
			     node->onsets.sd_ns);
}

/*
 * The interval of choices.  A changed period waits; new jobs, or a missing choice, wait
 * only until choosing takes less than a hundredth of the time.
 */
static int64_t
choose_every_ns(const struct node *node, size_t n_live)
{
	double frac = fmin(1, (double)(n_live + 1) / ROLLOUT_MAX_JOBS);

	if (n_live == node->chosen_n_live && node->chosen_period_ns > 0)
		return TURN_EVERY_NS;
	return (int64_t)(frac * frac * frac * TURN_EVERY_NS);
}

/* The choice holds until the period or the live peers change. */
static void
choose_if_due(const struct steer *s, struct node *node)
{
	size_t n_live = count_live(s, node);

	if (node->chosen_ns && s->now_ns - node->chosen_ns >= 0 &&
	    s->now_ns - node->chosen_ns < choose_every_ns(node, n_live))
		return;
	if (n_live != node->chosen_n_live || is_other_period(node))
		choose(s, node, n_live);
}

/* ------ Times ------ */

/* True if the job that it follows reports early enough for a later order. */
static bool
can_wait(const struct steer *s, const struct table *t, size_t j, size_t after,
	 double clear_ns, double guard_ns)
{
	const struct send_schedule_job *first = &t->jobs[after];
	double hold_ns = t->hold_ns[after * t->n + j];

	if (clear_ns <= first->begin_ns + hold_ns + 1)
		return false; /* It has reported, and the plan rests on that. */
	return clear_ns - hold_ns + (double)s->opts.latency_ns <
	       t->jobs[j].next_ns - guard_ns;
}

void
steer_send_schedule(struct steer *s, struct node *node, struct orders *orders)
{
	struct table t = { .n = 0 };
	double start_ns[SEND_SCHEDULE_MAX_JOBS], clear_ns[SEND_SCHEDULE_MAX_JOBS];
	size_t after[SEND_SCHEDULE_MAX_JOBS];

	if (!node->peers.n)
		return;
	choose_if_due(s, node);
	if (!group_takes_turns(node))
		return;
	fill(s, &t, node);
	send_schedule_plan(t.jobs, t.hold_ns, t.n, start_ns, after, clear_ns);
	for (size_t j = 0; j < t.n; j++) {
		struct node *n = t.nodes[j];
		double next_ns = t.jobs[j].next_ns;
		double guard_ns = TURN_GUARD_SDS * n->onsets.sd_ns;

		if (n->mode != STEER_GATE || n->has_pending || after[j] == t.n ||
		    clear_ns[j] <= next_ns - guard_ns ||
		    clear_ns[j] > start_ns[j] + 1 ||
		    can_wait(s, &t, j, after[j], clear_ns[j], guard_ns))
			continue;
		node_order(s, n, next_ns, clear_ns[j], STEER_WHY_TURN, orders);
	}
}
