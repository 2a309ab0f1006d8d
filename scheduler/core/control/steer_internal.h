/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steer_internal.h - declarations shared by the files of the control loop.
 *
 *	steer.c                the API: jobs, reports, state
 *	steer_shift.c          orders that keep jobs in their windows
 *	steer_send_schedule.c  orders that make jobs take turns
 *	steer_constraints.c    constraints, and the groups that they make
 *	steer_group.c          measured costs of sharing and turns, by group
 *	steer_node.c           one job: found, predicted, ordered
 *
 * Each needs only those below it.
 */
#ifndef SCHEDULER_CORE_CONTROL_STEER_INTERNAL_H
#define SCHEDULER_CORE_CONTROL_STEER_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "scheduler/core/control/onset_tracker.h"
#include "scheduler/core/control/regret.h"
#include "scheduler/core/control/stand_back.h"
#include "scheduler/core/control/steer.h"

#define STEER_N_BEGINS      8  /* Begins kept per job. */
#define STEER_MAX_COMPONENT 64 /* Jobs corrected together. */
#define STEER_MAX_GROUP     64 /* Jobs that learn together. */

struct node;

/* A constraint as one of its two jobs sees it. */
struct peer {
	struct node *other;
	bool is_a;                       /* The constraint's a is this job. */
	double modulus_ns, lo_ns, hi_ns; /* As given: of b against a. */
	double hold_ns;   /* Time after this job's begin until the other may begin. */
	double held_ns;   /* Time after the other's begin until this job may. */
	double overload;  /* 0 to 1: see rollout.h. */
	bool wants_turns; /* As rollout.h predicts; regret.h decides. */
};

/*
 * Jobs connected by constraints, up to STEER_MAX_GROUP: they all take turns, or all
 * share.  One of them, the leader, has the group.
 */
struct group {
	struct regret choice;
	struct stand_back watch; /* Of the same jobs, whatever their periods. */
	size_t n_jobs;           /* With constraints, live or not; 0: unknown. */
	size_t n_live;           /* Jobs that the costs are about. */
	int64_t block_ns;        /* Begin of this block; 0: none. */
	double length_ns;        /* Length of this block. */
	bool is_passing;         /* Not counted, since the choice has just changed. */
	/* After a search without feasible delays: time of the next one. */
	int64_t unfit_until_ns, unfit_ns;
};

struct node {
	uint32_t job;
	enum steer_mode mode;
	double locked_ns, weight;
	double planned_period_ns, planned_comm_ns; /* From its profile; 0: none. */
	double patience_ns;                        /* The longest wait for a turn. */
	double chosen_period_ns; /* Period when turns were chosen; 0: not yet. */
	int64_t chosen_ns;       /* Time of that choice. */
	size_t chosen_n_live;    /* Live peers at that choice. */
	struct onset_tracker onsets;
	int64_t begins_ns[STEER_N_BEGINS]; /* The last ones, by number. */
	double comms_ns[STEER_N_BEGINS];   /* Their time in collectives; 0: unknown. */
	size_t n_begins;
	VEC(struct peer) peers;

	uint32_t n_sent;     /* Number of the last order. */
	uint32_t n_received; /* Number of the last order that its pacer received. */
	bool has_pending;    /* An order for the next begin was sent. */
	double pending_ns;   /* Earliest begin by that order. */
	double tokens;       /* Corrections left, see the limit. */
	int64_t tokens_ns;   /* Time of that number. */
	struct node *leader, *next; /* Leader of its group, and the next member. */
	struct group group;         /* Used in the leader. */
	double predicted_share;     /* Predicted loss over its period if all share. */
	double predicted_turns;     /* Predicted loss if they take turns. */
	/*
	 * Cost of iterations in this block: waits and collectives, or everything where
	 * these are not reported.  Relative to the period when the group began to
	 * learn; 0: unknown.
	 */
	double unit_ns, cost_sum;
	uint32_t n_costs;
	uint64_t n_orders[STEER_N_WHYS];
	int64_t delayed_ns, first_shift_ns, settled_ns;
	uint32_t n_within; /* Consecutive iterations without a conflict. */
	double error_ns;
	bool is_fresh; /* Not shifted since the last plan. */
	uint32_t mark; /* Scratch: number in a component. */
};

struct orders {
	struct steer_order *items; /* Borrowed. */
	size_t n, max;
};

struct steer {
	struct steer_opts opts;
	VEC(struct node *) nodes; /* Owned.  By job. */
	int64_t now_ns;           /* Time of the current report. */
};

/* Position of the job in 'nodes', or where it belongs. */
size_t node_position(const struct steer *s, uint32_t job);
struct node *node_find(const struct steer *s, uint32_t job);

void group_init(struct node *node); /* A group of one. */
/* Discards the costs of turns: jobs or constraints have changed. */
void group_forget(struct node *node);
/* Counts its jobs, which may be others: then what was watched does not apply. */
void group_count(struct node *node);
/* Takes the begin of an iteration; the previous one was at 'before_ns'. */
void group_take(const struct steer *s, struct node *node, const struct steer_report *r,
		int64_t before_ns);
/* Takes new predictions of its jobs. */
void group_predict(const struct steer *s, struct node *node);
bool group_takes_turns(const struct node *node);
struct steer_learned group_learned(const struct node *node);

/*
 * True if the job's next begin can be predicted; false for a silent job.
 */
bool node_is_live(const struct steer *s, const struct node *node);

/*
 * Predicts the begin of the present burst, delayed by contention, and that of the next
 * one, orders included.
 */
void node_expect(const struct steer *s, const struct node *node, double *ret_begin_ns,
		 double *ret_next_ns);
double node_next_ns(const struct steer *s, const struct node *node);

/*
 * Orders the job not to begin before 'not_before_ns'; without the order it would begin
 * at 'next_ns'.
 */
void node_order(struct steer *s, struct node *node, double next_ns,
		double not_before_ns, enum steer_why why, struct orders *orders);

void steer_shift(struct steer *s, struct node *node, struct orders *orders);
void steer_send_schedule(struct steer *s, struct node *node, struct orders *orders);

#endif
