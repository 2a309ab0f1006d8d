/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/control/steer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "scheduler/core/control/control_constants.h"
#include "scheduler/core/control/phase_correction.h"
#include "scheduler/core/control/steer_internal.h"
#include "scheduler/core/profile/profile.h"

const char *const steer_why_names[] = { "drift", "start", "period", "turn" };

struct steer *
steer_new(const struct steer_opts *opts)
{
	struct steer *s = xcalloc(1, sizeof *s);

	if (opts)
		s->opts = *opts;
	if (s->opts.latency_ns <= 0)
		s->opts.latency_ns = STEER_LATENCY_NS;
	if (!(s->opts.max_per_minute > 0))
		s->opts.max_per_minute = STEER_MAX_PER_MINUTE;
	if (!(s->opts.max_delay_frac > 0))
		s->opts.max_delay_frac = 1;
	return s;
}

static void
node_free(struct node *node)
{
	vec_free(&node->peers);
	free(node);
}

void
steer_free(struct steer *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->nodes.n; i++)
		node_free(s->nodes.items[i]);
	vec_free(&s->nodes);
	free(s);
}

/* ------ Jobs ------ */

static struct node *
add(struct steer *s, uint32_t job)
{
	size_t i = node_position(s, job);
	struct node *node = xcalloc(1, sizeof *node);

	node->job = job;
	node->tokens = STEER_MAX_TOKENS;
	group_init(node);
	vec_push(&s->nodes, node);
	memmove(&s->nodes.items[i + 1], &s->nodes.items[i],
		(s->nodes.n - 1 - i) * sizeof *s->nodes.items);
	s->nodes.items[i] = node;
	return node;
}

bool
steer_set_job(struct steer *s, uint32_t job, const struct steer_job *what)
{
	struct node *node = node_find(s, job);
	double period_ns = 0, comm_ns = 0, sd_ns = 0;
	bool is_new = !node;

	if (what->profile) {
		period_ns = 1e3 * (double)what->profile->period_us;
		sd_ns = 1e3 * (double)what->profile->jitter_us;
		comm_ns = 1e3 * (double)profile_busy_us(what->profile);
	}
	if (is_new) {
		node = add(s, job);
		onset_tracker_init(&node->onsets, period_ns, comm_ns, sd_ns);
	} else {
		onset_tracker_refine(&node->onsets, node->planned_comm_ns, comm_ns);
	}
	if (node->mode != what->mode || node->planned_period_ns != period_ns)
		node->is_fresh = true;
	/* The cost of sharing remains known when turns begin, but not vice versa. */
	if (node->mode == STEER_GATE && what->mode != STEER_GATE)
		group_forget(node);
	node->mode = what->mode;
	node->locked_ns = 1e3 * (double)what->locked_us;
	node->weight = what->weight > 0 ? what->weight : 1;
	node->planned_period_ns = period_ns;
	node->planned_comm_ns = comm_ns;
	return is_new;
}

void
steer_remove_job(struct steer *s, uint32_t job)
{
	size_t i = node_position(s, job);
	struct node *node = node_find(s, job);

	if (!node)
		return;
	steer_set_constraints(s, &job, 1, NULL, 0);
	node_free(node);
	memmove(&s->nodes.items[i], &s->nodes.items[i + 1],
		(s->nodes.n - 1 - i) * sizeof *s->nodes.items);
	s->nodes.n--;
}

/* ------ Reports ------ */

/* The length of that burst; the isolated length if not reported yet. */
static double
length_ns(const struct peer *peer, size_t k)
{
	double comm_ns = peer->other->comms_ns[k];

	return comm_ns > 0 ? fmax(comm_ns, peer->held_ns) : peer->held_ns;
}

/*
 * Whether others sent at the same time in the last iteration.  A burst without a
 * reported end may be stretched to twice its length.
 */
static enum onset_contention
contention_of(const struct node *node, const struct steer_report *r)
{
	double begin_ns = (double)node->onsets.begin_ns;
	double end_ns = begin_ns + (double)r->comm_ns;
	enum onset_contention contention = ONSET_ISOLATED;

	/* There may be jobs that are not known yet. */
	if (!node->peers.n)
		return ONSET_UNKNOWN;
	for (size_t i = 0; i < node->peers.n; i++) {
		const struct peer *peer = &node->peers.items[i];
		const struct node *other = peer->other;

		/* One of its reports was lost. */
		if (other->onsets.has_begun &&
		    begin_ns > (double)other->onsets.begin_ns +
				       STEER_LOST_PERIODS * other->onsets.period_ns)
			contention = ONSET_MAYBE_CONTENDED;
		for (size_t k = 0; k < other->n_begins && k < STEER_N_BEGINS; k++) {
			double from_ns = (double)other->begins_ns[k];

			if (from_ns >= end_ns)
				continue;
			if (from_ns + length_ns(peer, k) > begin_ns)
				return ONSET_CONTENDED;
			if (from_ns + 2 * peer->held_ns > begin_ns)
				contention = ONSET_MAYBE_CONTENDED;
		}
	}
	return contention;
}

/*
 * The isolated length of the last collectives: two jobs that send together for x ms, at
 * half the rate each, end x/2 later.  0: others sent for too long, or the peers are
 * unknown.
 */
static double
isolated_ns(const struct node *node, const struct steer_report *r)
{
	double begin_ns = (double)node->onsets.begin_ns;
	double comm_ns = (double)r->comm_ns, stretch_ns = 0;

	for (size_t i = 0; i < node->peers.n; i++) {
		const struct peer *peer = &node->peers.items[i];
		const struct node *other = peer->other;

		for (size_t k = 0; k < other->n_begins && k < STEER_N_BEGINS; k++) {
			double from_ns = (double)other->begins_ns[k];
			double length_ns = other->comms_ns[k] > 0
						   ? other->comms_ns[k]
						   : other->onsets.comm_ns;
			double both_ns = fmin(begin_ns + comm_ns, from_ns + length_ns) -
					 fmax(begin_ns, from_ns);

			stretch_ns += fmax(0, both_ns) * peer->overload /
				      (1 + peer->overload);
		}
	}
	if (!node->peers.n || stretch_ns >= STEER_MAX_STRETCH_FRAC * comm_ns)
		return 0;
	return comm_ns - stretch_ns;
}

/* Measures how far this begin is from the present constraints. */
static void
judge(const struct steer *s, struct node *node)
{
	double worst_ns = 0;

	for (size_t i = 0; i < node->peers.n; i++) {
		const struct peer *peer = &node->peers.items[i];
		const struct node *other = peer->other;

		if (!other->onsets.has_begun || !node_is_live(s, other))
			continue;
		worst_ns = fmax(worst_ns, (double)(other->onsets.begin_ns -
						   node->onsets.begin_ns) +
						  peer->held_ns);
	}
	node->error_ns = worst_ns;
	node->n_within = worst_ns > STEER_SETTLED_SDS * node->onsets.sd_ns
				 ? 0
				 : node->n_within + 1;
	if (node->n_within == STEER_SETTLED_ITERATIONS && !node->settled_ns)
		node->settled_ns = s->now_ns;
}

/* The regime of the job, and so of its group, has changed. */
static void
begin_anew(struct node *node)
{
	node->settled_ns = 0;
	node->n_within = 0;
	group_forget(node);
}

/* Its clock was set back: drops notes about the future. */
static void
turn_back(struct node *node)
{
	node->has_pending = false;
	node->n_begins = 0;
}

/* Stores the time in collectives of the last iteration. */
static void
note_comm(struct node *node, const struct steer_report *r)
{
	node->comms_ns[(node->n_begins - 1) % STEER_N_BEGINS] = (double)r->comm_ns;
}

static void
note_begin(struct node *node, const struct steer_report *r)
{
	node->n_received = r->order;
	node->comms_ns[node->n_begins % STEER_N_BEGINS] = 0;
	node->begins_ns[node->n_begins++ % STEER_N_BEGINS] = r->begin_ns;
}

size_t
steer_report(struct steer *s, uint32_t job, const struct steer_report *report,
	     struct steer_order *ret_orders, size_t max)
{
	struct node *node = node_find(s, job);
	struct orders orders = { .items = ret_orders, .max = max };
	enum onset_contention contention;
	enum onset_event event;
	int64_t before_ns;
	double comm_ns;

	if (!node)
		return 0;
	before_ns = node->onsets.begin_ns;
	contention = contention_of(node, report);
	comm_ns = isolated_ns(node, report);
	event = onset_tracker_report(&node->onsets, report, contention);
	if (event == ONSET_REFUSED)
		return 0;
	if (event != ONSET_SYNCED && node->n_begins) {
		note_comm(node, report);
		if (contention != ONSET_ISOLATED && comm_ns > 0)
			onset_tracker_learn_isolated(&node->onsets, comm_ns);
	}
	if (report->begin_ns < before_ns)
		turn_back(node);
	if (event == ONSET_CHANGED)
		begin_anew(node);
	note_begin(node, report);
	s->now_ns = report->begin_ns;
	/* The order may be for the next begin. */
	if ((double)report->begin_ns > node->pending_ns - node->onsets.period_ns / 2)
		node->has_pending = false;
	if (event != ONSET_SYNCED) {
		node->delayed_ns +=
			(int64_t)fmin((double)(report->begin_ns - report->enter_ns),
				      node->onsets.period_ns);
		group_take(s, node, report, before_ns);
	}
	judge(s, node);
	if (!node_is_live(s, node))
		return 0;
	if (node->mode == STEER_GATE)
		steer_send_schedule(s, node, &orders);
	else if (node->mode == STEER_SHIFT)
		steer_shift(s, node, &orders);
	return orders.n;
}

void
steer_remember(struct steer *s, uint32_t job, const struct steer_report *reports,
	       size_t n_reports)
{
	struct node *node = node_find(s, job);

	for (size_t i = 0; node && i < n_reports; i++) {
		enum onset_event event = onset_tracker_report(
			&node->onsets, &reports[i], ONSET_CONTENDED);

		if (event == ONSET_REFUSED)
			continue;
		if (event != ONSET_SYNCED && node->n_begins)
			note_comm(node, &reports[i]);
		note_begin(node, &reports[i]);
	}
}

void
steer_state(const struct steer *s, uint32_t job, struct steer_state *ret_state)
{
	const struct node *node = node_find(s, job);
	const struct onset_tracker *t;

	*ret_state = (struct steer_state){ 0 };
	if (!node || !onset_tracker_is_known(&node->onsets))
		return;
	t = &node->onsets;
	ret_state->is_tracked = true;
	ret_state->is_settled = node->n_within >= STEER_SETTLED_ITERATIONS;
	ret_state->has_changed =
		node->planned_period_ns > 0 &&
		fabs(t->period_ns - node->planned_period_ns) >
			fmax(STEER_CHANGED_FRAC * node->planned_period_ns,
			     STEER_CHANGED_SDS * t->sd_ns);
	ret_state->n_iterations = t->n_reports;
	ret_state->period_us = (int64_t)llround(t->period_ns / 1e3);
	ret_state->jitter_us = (int64_t)llround(t->sd_ns / 1e3);
	ret_state->burst_us = (int64_t)llround(t->comm_ns / 1e3);
	ret_state->error_us = (int64_t)llround(node->error_ns / 1e3);
	ret_state->last_begin_ns = t->begin_ns;
	memcpy(ret_state->n_orders, node->n_orders, sizeof ret_state->n_orders);
	ret_state->delayed_ns = node->delayed_ns;
	ret_state->first_shift_ns = node->first_shift_ns;
	ret_state->settled_ns = node->settled_ns;
	ret_state->learned = group_learned(node);
}
