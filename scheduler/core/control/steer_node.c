/*
 * steer_node.c - one job of the control loop: found by its number, its next begin
 * predicted, and given an order.
 */
#include <math.h>

#include "scheduler/core/control/steer_internal.h"

#define SILENT_PERIODS 4 /* Without a report: the job is not steered by. */
#define LATE_SDS       4 /* A report later than that is taken for lost. */

/* An order's longest wait is this many standard deviations beyond what it asks for. */
#define ORDER_ROOM_SDS 4

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
	return track_is_known(&node->track) &&
	       (double)(s->now_ns - node->track.begin_ns) <
		       SILENT_PERIODS * node->track.period_ns;
}

/* Of those that are kept in phase it is the locked one. */
static double
expected_period_ns(const struct node *node)
{
	double period_ns = node->track.period_ns;

	return node->mode == STEER_SHIFT ? fmax(period_ns, node->locked_ns) : period_ns;
}

/*
 * How much longer the burst under way takes than alone: for each other, as long as the
 * two would send at once.  Exact for two at full rate; beyond that, near enough.
 */
static double
expected_stretch_ns(const struct node *node)
{
	double begin_ns = (double)node->track.begin_ns, stretch_ns = 0;

	for (size_t i = 0; i < node->bonds.n; i++) {
		const struct bond *bond = &node->bonds.items[i];
		const struct node *other = bond->other;

		/* Also one that has begun again since. */
		for (size_t k = 0; k < other->n_begins && k < STEER_N_BEGINS; k++) {
			double other_ns = (double)other->begins_ns[k];
			double until_ns = fmin(begin_ns + bond->hold_ns,
					       other_ns + bond->held_ns);

			stretch_ns += bond->overload *
				      fmax(0, until_ns - fmax(begin_ns, other_ns));
		}
	}
	return stretch_ns;
}

void
node_expect(const struct steer *s, const struct node *node, double *ret_begin_ns,
	    double *ret_next_ns)
{
	const struct track *t = &node->track;
	double begin_ns = (double)t->begin_ns + expected_stretch_ns(node);
	double period_ns = expected_period_ns(node);
	double next_ns = begin_ns + period_ns;
	double patience_ns = LATE_SDS * t->sd_ns;

	if (node->has_pending)
		next_ns = fmax(next_ns, node->pending_ns);
	/* So late that its report must have been lost: it went on as expected. */
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
 * Another than that of the last order its pacer has, which may be of somebody before us.
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
	double period_ns = node->track.period_ns;
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
		.max_ns = (int64_t)fmin(most_ns,
					fmax(not_before_ns - next_ns, 0) +
						ORDER_ROOM_SDS * node->track.sd_ns),
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
