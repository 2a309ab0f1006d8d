/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fluid.h - weighted max-min fair rates of flows, updated as flows start and stop.
 *
 * The allocation.  Links l have a capacity C_l, flows f a cap c_f (their own
 * limit, or the slowest link of their path, whichever is less) and a weight
 * w_f.  The level of a flow is rate_f / w_f.  The allocation is the one for
 * which every flow has a certificate: it is at its cap, or there is a link on
 * its path that is full and on which no flow has a higher level.  That link is
 * the flow's bottleneck.  There is exactly one such allocation.
 *
 * Priorities are strict: each class of flows, from the highest to the lowest, gets the
 * allocation above, of the capacity that higher classes leave of each link.  In a
 * certificate, 'full' then counts the flows of this class and higher ones, and 'a
 * higher level' only flows of this class.  A flow may have the rate 0; see
 * fluid_classes.c, which does not run while all flows have the same priority.
 *
 * Exact methods that make it fast:
 *
 * - A link over which the caps of all flows that could ever be there at once
 *   sum to no more than its capacity can never bind: flows do not even list it
 *   (it is not 'live').  A flow without live links never enters a solve.
 * - Likewise a live link while the caps of the flows now on it fit ('hot' is
 *   the opposite): it neither binds nor connects.
 * - On an event only flows whose certificate can break are filled again, the
 *   others being frozen; see fluid_solve.c.
 * - Where few flows can ever meet (a 'part'), the rates are a function of which
 *   of them are active, and are remembered; see fluid_memo.c.  Not with classes.
 * - A flow stores the time at which it will end, and is not updated until its
 *   rate changes.
 *
 * Cost of an event: O(members of the links that refilled flows meet + fillings *
 * those links); some microseconds for tens of flows.
 *
 * Rates are bits per second, times nanoseconds since the start.  This header
 * is for the files of engine (and tests); it opens its structs because
 * engine and measurement read them on every event.
 */
#ifndef ENGINE_FLUID_H
#define ENGINE_FLUID_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"

#define FLUID_NONE UINT32_MAX
/* Padding after the last slot's share, which a solve may read. */
#define FLUID_N_BEYOND 3
/* Instead of a slot: the link is not hot. */
#define FLUID_COLD (UINT32_MAX - 1)
/* Most flows in a part. */
#define FLUID_PART_MAX 8
/* Two sums of capacities, or two levels, closer than this count as equal. */
#define FLUID_REL_TOL 1e-12
/*
 * If higher classes leave less than this share of a link, they leave nothing: chosen
 * far above rounding errors, and so small that a flow may as well wait.
 */
#define FLUID_LEFT_TOL  1e-9
#define FLUID_N_CLASSES 256 /* Any uint8_t is a class; only those in use cost time. */

/* fmax() and fmin() without NaN handling, which would cost a call. */
static inline double
max_of(double a, double b)
{
	return a > b ? a : b;
}

static inline double
min_of(double a, double b)
{
	return a < b ? a : b;
}

/* The part of a flow that solves read; one cache line. */
struct fluid_flow {
	double rate_bps;  /* Now; 1 between start and the first solve; 0: waits. */
	double level;     /* rate / weight; in a solve the new one. */
	double cap_level; /* cap / weight. */
	double weight;
	uint32_t bottleneck; /* A link, or FLUID_NONE: at its cap. */
	uint32_t mark;       /* The last solve that had the flow in its set. */
	uint32_t place;      /* The flow's place in that set. */
	uint32_t first_hop;  /* Of its live links, in fluid.hops. */
	uint32_t n_hops;
	uint32_t owner; /* The job, for the caller. */
	bool is_active;
	uint8_t priority; /* Its class; higher ones send first. */
} __attribute__((aligned(64)));

/* One live link of a flow. */
struct fluid_hop {
	uint32_t link;
	uint32_t place; /* While active: index in the link's members. */
};

/* One active flow on a live link. */
struct fluid_member {
	uint32_t flow;
	uint32_t hop; /* Index in fluid.hops of this flow and link. */
};

struct fluid_link {
	double capacity_bps;
	double hot_bps;    /* The capacity plus a rounding error. */
	double capsum_bps; /* Sum of need_bps of the active flows. */
	uint32_t first;    /* In fluid.members; only if live. */
	uint32_t n_members;
	bool is_live;    /* Listed by its flows. */
	bool can_exceed; /* The caps of all that could meet exceed it. */
	bool is_touched; /* Listed in fluid.touched. */
	/* With classes, if touched: the highest one in which it changed; else 0. */
	uint8_t top_priority;
} __attribute__((aligned(64)));

/* A flow of a solve's set. */
struct fluid_open {
	double weight, cap_level;
	double level; /* New; valid once fixed. */
	uint32_t flow;
	uint32_t bottleneck; /* New; a link or FLUID_NONE. */
	uint32_t first_slot; /* In fluid.slots_of_flow: its hot links. */
	uint32_t n_slots;
	uint32_t from_slot; /* The slot whose scan drew it in, or FLUID_NONE. */
	bool is_fixed;
};

/* A hot link of a solve: what the flows of the set may share. */
struct fluid_slot {
	double open_bps;     /* Left for flows of the set not yet fixed. */
	double open_weight;  /* Weight of those flows. */
	double fill_level;   /* Level at which it filled; INFINITY: it did not. */
	uint32_t n_open;     /* Flows of the set not yet fixed. */
	uint32_t n_flows;    /* Flows of the set on the link. */
	uint32_t first_flow; /* In fluid.flows_of_slot. */
	uint32_t link;
	double free_bps; /* Capacity that frozen flows leave; at least 0. */
	double weight;   /* Weight of the set's flows. */
	double frozen_max_level;
	bool is_stale; /* To be scanned: flows joined the set. */
};

/* A flow's fixed parameters, read when it starts and for a rebuild. */
struct fluid_spec {
	double cap_bps;      /* Path and own limit; INFINITY: neither. */
	double own_bps;      /* Own limit alone; INFINITY: none. */
	double blocked_bps;  /* Limit while there is no path; 0: there is one. */
	double need_bps;     /* cap_bps rounded up to 1 b/s, so that sums are exact. */
	double work;         /* bits * 1e9: nanoseconds at 1 b/s. */
	uint32_t first_link; /* In fluid.paths. */
	uint32_t n_links;
	uint32_t group;  /* Flows of one owner in different groups never meet. */
	uint32_t part;   /* In fluid.parts, or FLUID_NONE. */
	uint8_t bit;     /* The flow's bit in the part's sets. */
	bool is_retired; /* Will not start again. */
};

/*
 * A few flows that influence each other and no other flow: bit i of a set of them is
 * flow flows[i].
 */
struct fluid_part {
	uint32_t n_flows;
	uint32_t flows[FLUID_PART_MAX];
	uint32_t active;   /* Set of active flows; 0 for good once dissolved. */
	bool is_touched;   /* Listed in fluid.touched_parts. */
	double *rates_bps; /* Owned.  By set and flow; 0: set not yet seen. */
};

struct fluid {
	struct fluid_link *links; /* Owned, n_links. */
	uint32_t n_links;
	bool keeps_all;       /* All links are live: for measurement. */
	bool is_stale;        /* Flows came or went: fluid_rebuild() is due. */
	bool has_new_caps;    /* Links or paths changed, and caps of flows with them. */
	bool has_new_weights; /* Weights change, so rates cannot be remembered. */
	bool has_classes;     /* Priorities differ, or did since the rebuild. */

	uint32_t n_flows, flows_capacity;
	struct fluid_flow *flows; /* Owned.  By flow id, as the next two. */
	double *finish_ns;        /* Owned.  INFINITY while not active, or rate 0. */
	struct fluid_spec *specs; /* Owned. */
	VEC(uint32_t) paths;      /* All links of all flows. */
	VEC(struct fluid_hop) hops;
	VEC(struct fluid_member) members;
	uint32_t n_retired; /* Since the last rebuild. */
	VEC(struct fluid_part) parts;

	/* The batch that fluid_solve() will end. */
	VEC(uint32_t) touched;       /* Live links whose members changed. */
	VEC(uint32_t) started;       /* Flows; may also have stopped again. */
	VEC(uint32_t) touched_parts; /* Parts whose active set changed. */

	/* Scratch and result of a solve. */
	uint32_t mark;
	uint32_t n_tabled;          /* Flows of the set whose slots are known. */
	uint32_t n_open;            /* Flows of the set not yet fixed. */
	bool is_by_class;           /* fluid_solve_classes() runs, */
	uint8_t priority;           /* and solves this class. */
	VEC(struct fluid_open) set; /* Flows filled again: result. */
	VEC(struct fluid_slot) slots;
	VEC(double) shares; /* By slot: open_bps / open_weight, or INFINITY. */
	VEC(uint32_t) slots_of_flow, flows_of_slot;
	VEC(uint32_t) changed; /* Flows whose rate changed: result. */
	uint64_t n_solves, n_set_sum, n_passes;
	/*
	 * Owned.  By link: FLUID_COLD unless capsum > capacity as of the last solve,
	 * else its slot, and FLUID_NONE between solves.  Separate from the links, since
	 * a solve reads it for each hop.
	 */
	uint32_t *slot_of_link;

	/* Classes of priority: those with flows that are not retired, descending. */
	uint32_t n_classes;
	uint8_t classes[FLUID_N_CLASSES];
	uint32_t n_of_class[FLUID_N_CLASSES];
	double *waiting_work;   /* Owned.  By flow: what is left, while rate 0. */
	VEC(uint32_t) refilled; /* The sets of the classes solved so far. */
};

/* Borrows nothing.  'keeps_all' makes every link live. */
void fluid_init(struct fluid *fl, const double *capacity_bps, uint32_t n_links,
		bool keeps_all);
void fluid_fini(struct fluid *fl);

/*
 * Adds a flow that may start later; it may be started after fluid_rebuild().
 * Flows of one owner are added one after the other, ordered by group.
 */
uint32_t fluid_add_flow(struct fluid *fl, uint32_t owner, uint32_t group,
			const uint32_t *links, uint32_t n_links, double bytes,
			double cap_bps, double weight);

/*
 * Retires a flow that is not active: it will not start again.  After many of these a
 * rebuild is due, since fewer links can be exceeded.
 */
void fluid_retire(struct fluid *fl, uint32_t flow);

/*
 * Decides again which links are live, after flows were added or retired.  Flows
 * that are active stay so; the next fluid_solve() fills all of them.
 */
void fluid_rebuild(struct fluid *fl);

/* True if the flow has no live link: it always gets its cap and need not be started. */
static inline bool
fluid_is_private(const struct fluid *fl, uint32_t flow)
{
	return fl->flows[flow].n_hops == 0;
}

/* How long the flow takes at its cap. */
static inline double
fluid_alone_ns(const struct fluid *fl, uint32_t flow)
{
	return fl->specs[flow].work / fl->specs[flow].cap_bps;
}

/*
 * Change a link, or the path of a flow, also an active one; fluid_rebuild() must follow
 * before the next solve.  'blocked_bps' above 0 limits a flow that has no path.  O(flows)
 * at that rebuild.
 */
void fluid_set_capacity(struct fluid *fl, uint32_t link, double capacity_bps);
void fluid_set_path(struct fluid *fl, uint32_t flow, const uint32_t *links,
		    uint32_t n_links, double blocked_bps);

/* Also of an active flow. */
void fluid_set_weight(struct fluid *fl, uint32_t flow, double weight);

/*
 * A new flow has priority 0.  An active flow has a rate of its new class from the next
 * fluid_solve() on.  O(links of its path), more where all had one priority before.
 */
void fluid_set_priority(struct fluid *fl, uint32_t flow, uint8_t priority);

/*
 * Ends a batch of starts and stops: gives every flow its rate and finish time.
 * 'changed' then lists the flows with a new finish time, and 'set' the flows that were
 * filled again.
 */
void fluid_solve(struct fluid *fl, double now_ns);

/* True if flows or links wait for fluid_solve(). */
static inline bool
fluid_is_pending(const struct fluid *fl)
{
	return fl->touched.n || fl->started.n || fl->touched_parts.n;
}

/* ------ Between the files of the fluid ------ */

/* Lists a link as changed. */
static inline void
fluid_touch_link(struct fluid *fl, uint32_t l, struct fluid_link *link)
{
	if (link->is_touched)
		return;
	link->is_touched = true;
	vec_push(&fl->touched, l);
}

/* fluid_links.c: lists an active flow on its live links. */
void fluid_enter_links(struct fluid *fl, uint32_t flow);
void fluid_leave_links(struct fluid *fl, uint32_t flow);
/* Empties those lists. */
void fluid_clear_links(struct fluid *fl, uint32_t flow);

/* fluid_solve.c: solves for the touched links and started flows. */
void fluid_solve_touched(struct fluid *fl, double now_ns);

/* fluid_classes.c: the same with classes. */
void fluid_solve_classes(struct fluid *fl, double now_ns);
/* Lists all or only the hot links of a flow as changed in this class. */
void fluid_touch_links(struct fluid *fl, const struct fluid_flow *flow,
		       uint8_t priority, bool only_hot);
/* Counts a flow of this class in, or out. */
void fluid_count_class(struct fluid *fl, uint8_t priority, bool is_in);
/* At a rebuild: whether fluid_solve_touched() would do. */
bool fluid_is_of_one_class(const struct fluid *fl);

/* The work that an active flow has left: nanoseconds at 1 b/s. */
static inline double
fluid_work_left(const struct fluid *fl, uint32_t f, double now_ns)
{
	const struct fluid_flow *flow = &fl->flows[f];

	return flow->rate_bps > 0 ? (fl->finish_ns[f] - now_ns) * flow->rate_bps
				  : fl->waiting_work[f];
}

/* Gives a flow its new rate, and the finish time that follows.  No rate is 0. */
static inline void
fluid_set_rate(struct fluid *fl, uint32_t f, struct fluid_flow *flow, double rate_bps,
	       double now_ns)
{
	fl->finish_ns[f] =
		now_ns + (fl->finish_ns[f] - now_ns) * (flow->rate_bps / rate_bps);
	flow->rate_bps = rate_bps;
	fl->changed.items[fl->changed.n++] = f;
}

/* fluid_memo.c: finds the parts; forgets them; gives touched parts their rates. */
void fluid_find_parts(struct fluid *fl);
void fluid_free_parts(struct fluid *fl);
void fluid_solve_parts(struct fluid *fl, double now_ns);
/* Dissolves a part: from now on its flows are solved like others. */
void fluid_dissolve_part(struct fluid *fl, uint32_t part);
void fluid_dissolve_parts(struct fluid *fl);

static inline void
fluid_touch_part(struct fluid *fl, uint32_t p, struct fluid_part *part)
{
	if (part->is_touched)
		return;
	part->is_touched = true;
	fl->touched_parts.items[fl->touched_parts.n++] = p;
}

/* Registers an active flow with its part, or with its links. */
static inline void
fluid_enter(struct fluid *fl, uint32_t f)
{
	const struct fluid_spec *spec = &fl->specs[f];

	if (spec->part != FLUID_NONE) {
		struct fluid_part *part = &fl->parts.items[spec->part];

		part->active |= 1u << spec->bit;
		fluid_touch_part(fl, spec->part, part);
		return;
	}
	fl->flows[f].bottleneck = FLUID_NONE;
	fluid_enter_links(fl, f);
	vec_push(&fl->started, f);
}

/* ------ Starts and stops ------ */

/* The flow begins to send.  It has no rate until fluid_solve(). */
static inline void
fluid_start(struct fluid *fl, uint32_t f, double now_ns)
{
	struct fluid_flow *flow = &fl->flows[f];

	BUG_ON(flow->is_active);
	flow->is_active = true;
	flow->rate_bps = 1;
	fl->finish_ns[f] = now_ns + fl->specs[f].work;
	fluid_enter(fl, f);
}

/* As fluid_start(), for a flow that would end at 'finish_ns' at its cap. */
void fluid_start_midway(struct fluid *fl, uint32_t flow, double finish_ns);

/* Ends an active flow, whatever it has left. */
static inline void
fluid_stop(struct fluid *fl, uint32_t f)
{
	const struct fluid_spec *spec = &fl->specs[f];
	struct fluid_flow *flow = &fl->flows[f];

	if (spec->part != FLUID_NONE) {
		struct fluid_part *part = &fl->parts.items[spec->part];

		part->active &= ~(1u << spec->bit);
		fluid_touch_part(fl, spec->part, part);
	} else {
		fluid_leave_links(fl, f);
	}
	flow->is_active = false;
	flow->rate_bps = 0;
	flow->bottleneck = FLUID_NONE;
	fl->finish_ns[f] = INFINITY;
}

#endif
