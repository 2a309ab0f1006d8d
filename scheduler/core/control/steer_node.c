/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steer_node.c - one job of the control loop: found by its number, its next begin
 * predicted, and given an order.
 */
#include <math.h>

#include "scheduler/core/control/control_constants.h"
#include "scheduler/core/control/steer_internal.h"

/* Position of the job in 'nodes', or where it belongs. */
size_t
node_position(const struct steer *s, uint32_t job)
{
	size_t low = 0, high = s->nodes.n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (s->nodes.items[middle]->job < job)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct node *
node_find(const struct steer *s, uint32_t job)
{
	size_t i = node_position(s, job);

	return i < s->nodes.n && s->nodes.items[i]->job == job ? s->nodes.items[i]
							       : NULL;
}

bool
node_is_live(const struct steer *s, const struct node *node)
{
	return onset_tracker_is_known(&node->onsets) &&
	       (double)(s->now_ns - node->onsets.begin_ns) <
		       STEER_SILENT_PERIODS * node->onsets.period_ns;
}

/* The locked period of a job that is kept in phase. */
static double
expected_period_ns(const struct node *node)
{
	double period_ns = node->onsets.period_ns;

	return node->mode == STEER_SHIFT ? fmax(period_ns, node->locked_ns) : period_ns;
}

/*
 * Stretch of the present burst: for each peer, the time in which both send.  Exact for
 * two jobs at full rate, else an approximation.
 */
static double
expected_stretch_ns(const struct node *node)
{
	double begin_ns = (double)node->onsets.begin_ns, stretch_ns = 0;

	for (size_t i = 0; i < node->peers.n; i++) {
		const struct peer *peer = &node->peers.items[i];
		const struct node *other = peer->other;

		/* Includes a peer that has begun again since. */
		for (size_t k = 0; k < other->n_begins && k < STEER_N_BEGINS; k++) {
			double other_ns = (double)other->begins_ns[k];
			double until_ns = fmin(begin_ns + peer->hold_ns,
					       other_ns + peer->held_ns);

			stretch_ns += peer->overload *
				      fmax(0, until_ns - fmax(begin_ns, other_ns));
		}
	}
	return stretch_ns;
}

void
node_expect(const struct steer *s, const struct node *node, double *ret_begin_ns,
	    double *ret_next_ns)
{
	const struct onset_tracker *t = &node->onsets;
	double begin_ns = (double)t->begin_ns + expected_stretch_ns(node);
	double period_ns = expected_period_ns(node);
	double next_ns = begin_ns + period_ns;
	double patience_ns = STEER_LATE_SDS * t->sd_ns;

	if (node->has_pending)
		next_ns = fmax(next_ns, node->pending_ns);
	/* So late that a report was lost: assume that the job went on. */
	while (next_ns + patience_ns < (double)s->now_ns) {
		begin_ns = next_ns;
		next_ns += period_ns;
	}
	*ret_begin_ns = begin_ns;
	*ret_next_ns = fmax(next_ns, (double)s->now_ns);
}

double
node_next_ns(const struct steer *s, const struct node *node)
{
	double begin_ns, next_ns;

	node_expect(s, node, &begin_ns, &next_ns);
	return next_ns;
}

/*
 * A number other than that of the pacer's last order, which may come from an earlier
 * daemon.
 */
static uint32_t
next_number(struct node *node)
{
	do
		node->n_sent++;
	while (node->n_sent == 0 || node->n_sent == node->n_received);
	return node->n_sent;
}

void
node_order(struct steer *s, struct node *node, double next_ns, double not_before_ns,
	   enum steer_why why, struct orders *orders)
{
	double period_ns = node->onsets.period_ns;
	double most_ns = s->opts.max_delay_frac * period_ns;
	struct steer_order *order;

	if (orders->n == orders->max || not_before_ns - next_ns > most_ns)
		return;
	order = &orders->items[orders->n++];
	*order = (struct steer_order){
		.job = node->job,
		.number = next_number(node),
		.not_before_ns = (int64_t)not_before_ns,
		.expires_ns = (int64_t)(not_before_ns + 1),
		.max_ns = (int64_t)fmin(most_ns, fmax(not_before_ns - next_ns, 0) +
							 STEER_ORDER_ROOM_SDS *
								 node->onsets.sd_ns),
		.why = why,
	};
	node->has_pending = true;
	node->pending_ns = not_before_ns;
	node->n_orders[why]++;
	if (!node->first_shift_ns)
		node->first_shift_ns = s->now_ns;
	if (why != STEER_WHY_PERIOD)
		node->is_fresh = false;
}
