/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/path_orders.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/sort.h"
#include "scheduler/core/advise/advice_path.h"
#include "scheduler/core/workload/workload.h"
#include "scheduler/daemon/flow_table.h"
#include "topology/route.h"
#include "topology/topo.h"
#define uthash_fatal(msg) BUG("uthash: %s", msg)
#include <uthash.h>

/* Chosen: six reports of a host are missing, and those after a restart of it. */
#define FORGET_NS INT64_C(60000000000)
/* Chosen: probes that found no port are not repeated sooner; answers are kept longer. */
#define UNKNOWN_NS INT64_C(60000000000)

#define NO_SLOT UINT32_MAX

/* An advised flow: a slot for connections of the job between two hosts. */
struct slot {
	uint32_t source, destination;
	uint32_t index; /* Among the job's paths. */
	uint32_t number;
	uint16_t port;
	uint64_t visit; /* When 'bytes' was counted. */
	uint64_t bytes; /* Of the connections in it. */
};

/* The wishes for a job, as they were when it was asked for last. */
struct order_job {
	UT_hash_handle hh;
	char name[TELE_MAX_NAME + 1];
	enum path_wish wish;
	uint64_t revision;
	struct slot *slots; /* Owned.  By source, destination and index. */
	size_t n_slots;
	int64_t asked_ns;
};

/* A connection, in one direction, of a job with chosen paths. */
struct order_flow {
	UT_hash_handle hh;
	struct port_flow flow;
	uint32_t slot;   /* Among those of its two hosts. */
	uint32_t number; /* The path that 'port' was found for; WORK_HASHED: none. */
	uint16_t port;   /* The wire port that it was ordered to take; 0: none. */
	bool is_ours;    /* This process has ordered it, or has found it on its path. */
	bool is_settled; /* Its host has reported that port. */
	bool is_probing; /* The last time no port was known yet. */
	bool is_leaving; /* It was ordered to take its own port. */
	unsigned n_failed;     /* Orders in a row. */
	int64_t until_ns;      /* The order may take effect until then; 0: no order. */
	int64_t not_before_ns; /* No order before. */
	int64_t seen_ns;
};

/* The slots of a job between two hosts. */
struct slots {
	struct slot *items;
	uint32_t n;
};

struct path_orders {
	struct path_orders_opts opts;
	struct topo *topo;              /* A reference, or NULL. */
	struct routes *routes;          /* Of 'topo'. */
	struct order_job *jobs;         /* Owned, as the flows. */
	struct order_flow *flows;       /* By flow. */
	char cursor[TELE_MAX_NAME + 1]; /* The host that was read last; "": none. */
	uint64_t visit;                 /* Counts hosts read. */
	size_t n_left;                  /* Orders, in this tick. */
	struct path_orders_counts counts;
};

struct path_orders *
path_orders_new(const struct path_orders_opts *opts)
{
	struct path_orders *orders = xcalloc(1, sizeof *orders);

	orders->opts = *opts;
	return orders;
}

static void
drop_job(struct path_orders *orders, struct order_job *job)
{
	HASH_DEL(orders->jobs, job);
	free(job->slots);
	free(job);
}

static void
drop_flow(struct path_orders *orders, struct order_flow *f)
{
	HASH_DEL(orders->flows, f);
	free(f);
}

/* Its wire port is free for others. */
static void
end_flow(struct path_orders *orders, struct order_flow *f)
{
	orders->opts.release_port(orders->opts.ctx, &f->flow);
	drop_flow(orders, f);
}

static void
drop_jobs(struct path_orders *orders)
{
	struct order_job *job, *next;

	HASH_ITER(hh, orders->jobs, job, next)
	drop_job(orders, job);
}

static void
drop_fabric(struct path_orders *orders)
{
	routes_free(orders->routes);
	topo_unref(orders->topo);
	orders->routes = NULL;
	orders->topo = NULL;
}

void
path_orders_free(struct path_orders *orders)
{
	struct order_flow *f, *next;

	if (!orders)
		return;
	drop_jobs(orders);
	HASH_ITER(hh, orders->flows, f, next)
	drop_flow(orders, f);
	drop_fabric(orders);
	free(orders);
}

void
path_orders_set_fabric(struct path_orders *orders, struct topo *topo)
{
	if (topo)
		topo_ref(topo);
	drop_jobs(orders);
	drop_fabric(orders);
	/* Numbers of paths are those of the old fabric. */
	for (struct order_flow *f = orders->flows; f; f = f->hh.next)
		f->number = WORK_HASHED;
	if (!topo)
		return;
	orders->topo = topo;
	/* Paths are taken by number, so the seed is of no effect. */
	orders->routes = routes_new(topo, 0);
}

/* ---- Wishes of jobs -------------------------------------------------------------- */

static int
compare_slots(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	if (x->destination != y->destination)
		return x->destination < y->destination ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static void
take_slots(struct order_job *job, const struct path_wishes *wishes)
{
	job->slots = xreallocarray(job->slots, wishes->n_paths + 1, sizeof *job->slots);
	job->n_slots = wishes->n_paths;
	job->revision = wishes->revision;
	for (size_t i = 0; i < wishes->n_paths; i++) {
		const struct advice_path *path = &wishes->paths[i];

		job->slots[i] = (struct slot){
			.source = path->source,
			.destination = path->destination,
			.index = (uint32_t)i,
			.number = path->number,
			.port = path->port ? path->port : (uint16_t)i,
		};
	}
	sort_items(job->slots, job->n_slots, compare_slots);
}

static struct order_job *
job_of(struct path_orders *orders, int64_t now_ns, const char *name)
{
	struct path_wishes wishes;
	struct order_job *job;

	HASH_FIND_STR(orders->jobs, name, job);
	if (!job) {
		job = xcalloc(1, sizeof *job);
		tele_set_name(job->name, name);
		job->asked_ns = INT64_MIN;
		HASH_ADD_STR(orders->jobs, name, job);
	}
	if (job->asked_ns == now_ns)
		return job;
	job->asked_ns = now_ns;
	wishes = orders->opts.wishes(orders->opts.ctx, name);
	job->wish = wishes.wish;
	if (job->wish == PATH_WISH_CHOSEN &&
	    (job->revision != wishes.revision || job->n_slots != wishes.n_paths))
		take_slots(job, &wishes);
	return job;
}

static struct slots
slots_of(const struct order_job *job, uint32_t source, uint32_t destination)
{
	const struct slot key = { .source = source, .destination = destination };
	size_t low = 0, high = job->n_slots, end;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (compare_slots(&job->slots[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < job->n_slots && job->slots[end].source == source &&
			job->slots[end].destination == destination;
	     end++)
		;
	return (struct slots){ job->slots + low, (uint32_t)(end - low) };
}

/* ---- Flows ----------------------------------------------------------------------- */

static struct order_flow *
find_flow(const struct path_orders *orders, const struct port_flow *flow)
{
	struct order_flow *found;

	HASH_FIND(hh, orders->flows, flow, sizeof *flow, found);
	return found;
}

static struct order_flow *
add_flow(struct path_orders *orders, const struct port_flow *flow)
{
	struct order_flow *f = xcalloc(1, sizeof *f);

	f->flow = *flow;
	f->slot = NO_SLOT;
	f->number = WORK_HASHED;
	HASH_ADD(hh, orders->flows, flow, sizeof f->flow, f);
	return f;
}

static uint64_t *
bytes_of(const struct path_orders *orders, struct slot *slot)
{
	if (slot->visit != orders->visit)
		slot->bytes = 0;
	slot->visit = orders->visit;
	return &slot->bytes;
}

/* The switches of a slot's path, in order; 0: there is no other path. */
static size_t
switches_of(const struct path_orders *orders, const struct slot *slot,
	    uint32_t ret_switches[ROUTE_MAX_HOPS])
{
	uint32_t links[ROUTE_MAX_HOPS], n_paths;
	size_t n;

	if (routes_numbered_path(orders->routes, slot->source, slot->destination,
				 slot->port, slot->number, links, &n, &n_paths) < 0 ||
	    n_paths < 2)
		return 0;
	for (size_t i = 0; i + 1 < n; i++)
		ret_switches[i] = topo_link(orders->topo, links[i])->to;
	return n - 1;
}

/* The flow's own port takes the slot's path. */
static bool
takes_own(const struct path_orders *orders, const struct slot *slot,
	  const struct port_flow *flow)
{
	uint32_t switches[ROUTE_MAX_HOPS];
	size_t n = switches_of(orders, slot, switches);

	return n && orders->opts.takes_own(orders->opts.ctx, flow, switches, n);
}

/*
 * The slot with the fewest bytes, the first of several; with 'is_taken', of these only.
 */
static uint32_t
choose_slot(const struct path_orders *orders, const struct slots *slots,
	    const bool *is_taken)
{
	uint32_t best = NO_SLOT;

	for (uint32_t i = 0; i < slots->n; i++)
		if ((!is_taken || is_taken[i]) &&
		    (best == NO_SLOT || *bytes_of(orders, &slots->items[i]) <
						*bytes_of(orders, &slots->items[best])))
			best = i;
	return best;
}

/*
 * The slots whose path the port of a flow takes, its own or its wire port.  1; 0: there is
 * none; or -EAGAIN: it is being found out.
 */
static int
find_taken(struct path_orders *orders, int64_t now_ns, const struct slots *slots,
	   const struct flow_row *row, bool *ret_is_taken)
{
	const bool has_wire_port = row->port != row->flow.source_port;
	uint32_t switches[ROUTE_MAX_HOPS];
	int any = 0;

	if (has_wire_port)
		orders->opts.give_port(orders->opts.ctx, &row->flow, row->port);
	for (uint32_t i = 0; i < slots->n; i++) {
		const struct slot *slot = &slots->items[i];
		int r = 0;

		if (slot->number != WORK_HASHED && !has_wire_port) {
			r = takes_own(orders, slot, &row->flow);
		} else if (slot->number != WORK_HASHED) {
			size_t n = switches_of(orders, slot, switches);

			r = n ? orders->opts.takes_wire(orders->opts.ctx, now_ns,
							&row->flow, switches, n)
			      : 0;
		}
		if (r == -EAGAIN)
			return r;
		ret_is_taken[i] = r > 0;
		any |= r > 0;
	}
	return any;
}

/* The slot of a connection that has none; NO_SLOT: it is being found out. */
static uint32_t
slot_for(struct path_orders *orders, int64_t now_ns, const struct slots *slots,
	 const struct flow_row *row)
{
	bool *is_taken = NULL;
	uint32_t slot = NO_SLOT;
	int r = 0;

	if (slots->n > 1) {
		is_taken = xcalloc(slots->n, sizeof *is_taken);
		r = find_taken(orders, now_ns, slots, row, is_taken);
	}
	if (r >= 0)
		slot = choose_slot(orders, slots, r > 0 ? is_taken : NULL);
	free(is_taken);
	return slot;
}

static int64_t
rest_of(const struct order_flow *f)
{
	int64_t rest_ns = PATH_ORDERS_WAIT_NS;

	for (unsigned i = 1; i < f->n_failed && rest_ns < PATH_ORDERS_REST_NS; i++)
		rest_ns *= 2;
	return rest_ns;
}

/*
 * Whether an order may be given now: the last one was carried out, or has failed a while
 * ago.
 */
static bool
is_due(struct path_orders *orders, struct order_flow *f, int64_t now_ns)
{
	if (f->until_ns && now_ns >= f->until_ns) {
		f->until_ns = 0;
		f->n_failed++;
		f->not_before_ns = now_ns + rest_of(f);
		orders->counts.n_failed++;
	}
	return !f->until_ns && now_ns >= f->not_before_ns && orders->n_left;
}

static bool
order(struct path_orders *orders, int64_t now_ns, const char *job, struct order_flow *f,
      uint16_t port)
{
	if (orders->opts.move(orders->opts.ctx, now_ns, job, &f->flow, port) < 0)
		return false;
	f->until_ns = now_ns + PATH_ORDERS_WAIT_NS;
	f->is_ours = true;
	orders->n_left--;
	return true;
}

static void
note_effect(struct order_flow *f)
{
	f->until_ns = f->not_before_ns = 0;
	f->n_failed = 0;
}

/* Ends the wish for a flow; one that was moved before this process began stays so. */
static void
leave(struct path_orders *orders, int64_t now_ns, const char *job, struct order_flow *f,
      const struct flow_row *row)
{
	uint16_t own = row->flow.source_port;
	bool may_move = f->until_ns && !f->is_leaving;

	if (row->port == own && !may_move) {
		end_flow(orders, f);
		return;
	}
	if (!f->is_ours) {
		drop_flow(orders, f);
		return;
	}
	/* Replaces an order to take a path at once. */
	if (!f->is_leaving)
		note_effect(f);
	f->is_settled = f->is_probing = false;
	f->number = WORK_HASHED;
	if (is_due(orders, f, now_ns) && order(orders, now_ns, job, f, own)) {
		f->is_leaving = true;
		orders->counts.n_undone++;
	}
}

static void
follow(struct path_orders *orders, int64_t now_ns, const char *job,
       struct order_flow *f, const struct slot *slot, const struct flow_row *row)
{
	uint32_t switches[ROUTE_MAX_HOPS];
	size_t n_switches;
	uint16_t port;
	int rc;

	if (f->number != slot->number) {
		/* Another path: what has failed before does not count. */
		note_effect(f);
		f->number = slot->number;
		f->port = 0;
		f->is_settled = f->is_leaving = false;
	}
	if (!f->port && row->port == row->flow.source_port &&
	    takes_own(orders, slot, &row->flow)) {
		f->port = row->port;
		f->is_ours = true;
	}
	if (f->port && row->port == f->port) {
		note_effect(f);
		f->is_settled = true;
		return;
	}
	f->is_settled = false;
	if (!is_due(orders, f, now_ns))
		return;
	n_switches = switches_of(orders, slot, switches);
	if (n_switches == 0)
		return;
	if (row->port != row->flow.source_port)
		orders->opts.give_port(orders->opts.ctx, &f->flow, row->port);
	rc = orders->opts.find_port(orders->opts.ctx, now_ns, &f->flow, switches,
				    n_switches, &port);
	f->is_probing = rc == -EAGAIN;
	if (rc < 0 && rc != -EAGAIN) {
		f->not_before_ns = now_ns + UNKNOWN_NS;
		orders->counts.n_unknown++;
	}
	if (rc < 0)
		return;
	if (port == row->port) {
		f->port = port;
		f->is_ours = f->is_settled = true;
	} else if (order(orders, now_ns, job, f, port)) {
		f->port = port;
		orders->counts.n_orders++;
	}
}

/* ---- Reports --------------------------------------------------------------------- */

/* The slots for a connection of a host; none if its other end is not known. */
static struct slots
slots_of_row(const struct path_orders *orders, const struct flow_table *flows,
	     const struct order_job *job, uint32_t source, const struct flow_row *row)
{
	const char *host = flow_table_host_of(flows, row->flow.destination);
	uint32_t destination = host ? topo_find_node(orders->topo, host) : TOPO_NONE;

	if (destination == TOPO_NONE)
		return (struct slots){ NULL, 0 };
	return slots_of(job, source, destination);
}

/* Counts the bytes of connections that have a slot. */
static void
count_row(struct path_orders *orders, int64_t now_ns, const struct flow_table *flows,
	  uint32_t source, const struct flow_row *row)
{
	struct order_flow *f = find_flow(orders, &row->flow);
	const struct order_job *job;
	struct slots slots;

	if (!f)
		return;
	f->seen_ns = now_ns;
	job = job_of(orders, now_ns, row->job);
	if (job->wish != PATH_WISH_CHOSEN || f->slot == NO_SLOT)
		return;
	slots = slots_of_row(orders, flows, job, source, row);
	if (f->slot < slots.n)
		*bytes_of(orders, &slots.items[f->slot]) += row->bytes;
}

static void
take_row(struct path_orders *orders, int64_t now_ns, const struct flow_table *flows,
	 uint32_t source, const struct flow_row *row)
{
	const struct order_job *job = job_of(orders, now_ns, row->job);
	struct order_flow *f = find_flow(orders, &row->flow);
	struct slots slots = { NULL, 0 };

	if (job->wish == PATH_WISH_OFF && f)
		end_flow(orders, f);
	if (job->wish == PATH_WISH_WAIT || job->wish == PATH_WISH_OFF)
		return;
	if (job->wish == PATH_WISH_CHOSEN)
		slots = slots_of_row(orders, flows, job, source, row);
	if (f && f->slot >= slots.n)
		f->slot = NO_SLOT;
	if (slots.n && !f) {
		f = add_flow(orders, &row->flow);
		f->seen_ns = now_ns;
	}
	if (slots.n && f->slot == NO_SLOT) {
		f->slot = slot_for(orders, now_ns, &slots, row);
		f->is_probing = f->slot == NO_SLOT;
		if (f->is_probing)
			return;
		*bytes_of(orders, &slots.items[f->slot]) += row->bytes;
	}
	if (slots.n && slots.items[f->slot].number != WORK_HASHED)
		follow(orders, now_ns, job->name, f, &slots.items[f->slot], row);
	else if (f && (!slots.n || f->is_ours))
		leave(orders, now_ns, job->name, f, row);
}

static void
take_report(struct path_orders *orders, int64_t now_ns, const struct flow_table *flows,
	    const struct flow_rows *report)
{
	uint32_t source = topo_find_node(orders->topo, report->host);

	if (source == TOPO_NONE)
		return;
	orders->visit++;
	for (size_t i = 0; i < report->rows.n; i++)
		count_row(orders, now_ns, flows, source, &report->rows.items[i]);
	for (size_t i = 0; i < report->rows.n; i++)
		take_row(orders, now_ns, flows, source, &report->rows.items[i]);
}

/* Flows and jobs that are not reported any more. */
static void
forget(struct path_orders *orders, int64_t now_ns)
{
	struct order_flow *f, *next;
	struct order_job *job, *next_job;

	orders->counts.n_wanted = orders->counts.n_settled = 0;
	HASH_ITER(hh, orders->flows, f, next)
	{
		if (now_ns - f->seen_ns >= FORGET_NS) {
			end_flow(orders, f);
			continue;
		}
		orders->counts.n_wanted += f->number != WORK_HASHED;
		orders->counts.n_settled += f->is_settled;
	}
	HASH_ITER(hh, orders->jobs, job, next_job)
	if (now_ns - job->asked_ns >= FORGET_NS)
		drop_job(orders, job);
}

void
path_orders_tick(struct path_orders *orders, int64_t now_ns,
		 const struct flow_table *flows)
{
	const struct flow_rows *report;
	size_t n_rows = 0;

	if (!orders->topo)
		return;
	orders->n_left = PATH_ORDERS_A_TICK;
	while ((report = flow_table_next(flows, orders->cursor))) {
		if (n_rows && n_rows + report->rows.n > PATH_ORDERS_ROWS)
			return;
		take_report(orders, now_ns, flows, report);
		n_rows += report->rows.n + 1;
		strcpy(orders->cursor, report->host);
	}
	/* All hosts were read: the next tick begins with the first. */
	*orders->cursor = '\0';
	forget(orders, now_ns);
}

size_t
path_orders_paths(struct path_orders *orders, int64_t now_ns,
		  const struct flow_table *flows, const char *host,
		  const struct flow_row *row, struct path_switches *ret_paths,
		  size_t max)
{
	uint32_t source = orders->topo ? topo_find_node(orders->topo, host) : TOPO_NONE;
	struct slots slots = { NULL, 0 };
	const struct order_job *job;
	size_t n = 0;

	if (source == TOPO_NONE)
		return 0;
	job = job_of(orders, now_ns, row->job);
	if (job->wish == PATH_WISH_CHOSEN)
		slots = slots_of_row(orders, flows, job, source, row);
	for (uint32_t i = 0; i < slots.n && n < max; i++) {
		const struct slot *slot = &slots.items[i];

		if (slot->number == WORK_HASHED)
			continue;
		ret_paths[n].n = switches_of(orders, slot, ret_paths[n].switches);
		n += ret_paths[n].n > 0;
	}
	return n;
}

bool
path_orders_is_settled(const struct path_orders *orders, const struct port_flow *flow)
{
	const struct order_flow *f = find_flow(orders, flow);

	return f && f->is_settled;
}

const char *
path_orders_state(const struct path_orders *orders, const struct port_flow *flow)
{
	const struct order_flow *f = find_flow(orders, flow);

	if (!f)
		return "";
	if (f->is_settled)
		return "settled";
	if (f->is_probing)
		return "probing";
	if (f->until_ns)
		return f->is_leaving ? "leaving" : "ordered";
	return f->number == WORK_HASHED ? "" : "waiting";
}

struct path_orders_counts
path_orders_counts(const struct path_orders *orders)
{
	return orders->counts;
}
