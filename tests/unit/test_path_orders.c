/* SPDX-License-Identifier: Apache-2.0 */
/* test_path_orders.c - live flows are put on chosen paths, and only those */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/rng.h"
#include "lib/wire/port_text.h"
#include "scheduler/core/advise/advice_path.h"
#include "scheduler/core/workload/workload.h"
#include "scheduler/daemon/flow_table.h"
#include "scheduler/daemon/path_orders.h"
#include "tests/unit/test.h"
#include "topology/gen_table.h"
#include "topology/topo.h"

#define SECOND     INT64_C(1000000000)
#define N_HOSTS    6
#define N_SPINES   4
#define N_JOBS     3
#define MAX_FLOWS  400
#define MAX_PATHS  32
#define FIRST_WIRE 61000
#define OWN        41000

/* A connection in one direction, as it is. */
struct live_flow {
	bool is_there;
	uint32_t from, to, job;
	struct port_flow flow;
	uint16_t port; /* On the wire, host's order. */
	uint64_t bytes;
	uint16_t ordered; /* On its way; 0: none. */
	uint16_t given;   /* By the model of path_ports; 0: none. */
};

struct world {
	struct topo *topo;
	struct flow_table *flows;
	struct path_orders *orders;
	int64_t now_ns;
	struct live_flow live[MAX_FLOWS];
	size_t n_live;

	struct {
		enum path_wish wish;
		struct advice_path paths[MAX_PATHS];
		size_t n;
		uint64_t revision;
	} jobs[N_JOBS];

	uint32_t hosts[N_HOSTS];
	bool is_silent[N_HOSTS]; /* Reports nothing. */
	bool is_lost[MAX_FLOWS]; /* Its orders are. */
	int find_rc;
	bool has_connect_ports; /* Own ports take spines as wire ports do. */
	int takes_rc;
	size_t n_found, n_moves, n_moves_of_tick, n_released;
	uint64_t revision;
};

static struct live_flow *
live_of(struct world *w, const struct port_flow *flow)
{
	for (size_t i = 0; i < w->n_live; i++)
		if (w->live[i].is_there &&
		    !memcmp(&w->live[i].flow, flow, sizeof *flow))
			return &w->live[i];
	return NULL;
}

/* ---- Callbacks ------------------------------------------------------------------- */

static struct path_wishes
wishes(void *ctx, const char *job)
{
	struct world *w = ctx;
	unsigned long i = strtoul(job, NULL, 10);

	assert_true(i < N_JOBS);
	return (struct path_wishes){ w->jobs[i].wish, w->jobs[i].paths, w->jobs[i].n,
				     w->jobs[i].revision };
}

/* The spine of a path; the rest of it must be right. */
static uint32_t
spine_of(const struct world *w, const struct live_flow *f, const uint32_t *switches,
	 size_t n)
{
	unsigned spine;

	assert_int_equal(n, 3);
	assert_int_equal(switches[0], topo_leaf_of(w->topo, w->hosts[f->from]));
	assert_int_equal(switches[2], topo_leaf_of(w->topo, w->hosts[f->to]));
	assert_int_equal(
		sscanf(topo_node(w->topo, switches[1])->name, "spine%u", &spine), 1);
	return spine;
}

/* A port takes spine number 'port' mod N_SPINES, and is for one connection only. */
static uint16_t
free_port(const struct world *w, const struct live_flow *f, uint32_t spine)
{
	for (uint16_t port = FIRST_WIRE; port < FIRST_WIRE + 1000; port++) {
		bool is_free = port % N_SPINES == spine;

		for (size_t i = 0; i < w->n_live; i++)
			is_free &= w->live[i].given != port ||
				   w->live[i].from != f->from || w->live[i].to != f->to;
		if (is_free)
			return port;
	}
	fail();
	return 0;
}

static int
find_port(void *ctx, int64_t now_ns, const struct port_flow *flow,
	  const uint32_t *switches, size_t n, uint16_t *ret_port)
{
	struct world *w = ctx;
	struct live_flow *f = live_of(w, flow);
	uint32_t spine;

	assert_true(now_ns == w->now_ns);
	w->n_found++;
	if (w->find_rc < 0 || !f)
		return f ? w->find_rc : -ENOENT;
	spine = spine_of(w, f, switches, n);
	if (!f->given || f->given % N_SPINES != spine) {
		f->given = 0;
		f->given = free_port(w, f, spine);
	}
	*ret_port = htons(f->given);
	return 0;
}

static int
takes_wire(void *ctx, int64_t now_ns, const struct port_flow *flow,
	   const uint32_t *switches, size_t n)
{
	struct world *w = ctx;
	struct live_flow *f = live_of(w, flow);

	assert_true(now_ns == w->now_ns);
	if (w->takes_rc < 0 || !f)
		return f ? w->takes_rc : -ENOENT;
	assert_true(f->given);
	return f->given % N_SPINES == spine_of(w, f, switches, n);
}

static void
give_port(void *ctx, const struct port_flow *flow, uint16_t port)
{
	struct live_flow *f = live_of(ctx, flow);

	if (f && !f->given)
		f->given = ntohs(port);
}

static void
release_port(void *ctx, const struct port_flow *flow)
{
	struct world *w = ctx;
	struct live_flow *f = live_of(w, flow);

	if (f)
		f->given = 0;
	w->n_released++;
}

static bool
takes_own(void *ctx, const struct port_flow *flow, const uint32_t *switches, size_t n)
{
	const struct world *w = ctx;
	const struct live_flow *f = live_of(ctx, flow);

	return w->has_connect_ports && f &&
	       ntohs(flow->source_port) % N_SPINES == spine_of(w, f, switches, n);
}

static int
move(void *ctx, int64_t now_ns, const char *job, const struct port_flow *flow,
     uint16_t port)
{
	struct world *w = ctx;
	struct live_flow *f = live_of(w, flow);

	assert_true(now_ns == w->now_ns);
	w->n_moves++;
	w->n_moves_of_tick++;
	if (!f) /* It has ended since its host reported it. */
		return 0;
	assert_int_equal(strtoul(job, NULL, 10), f->job);
	if (w->jobs[f->job].wish == PATH_WISH_CHOSEN)
		assert_true(ntohs(port) == f->given || port == f->flow.source_port);
	else
		assert_true(w->jobs[f->job].wish == PATH_WISH_NONE &&
			    port == f->flow.source_port);
	f->ordered = ntohs(port);
	return 0;
}

/* ---- The world ------------------------------------------------------------------- */

static void
world_init(struct world *w)
{
	*w = (struct world){ .now_ns = SECOND };
	assert_int_equal(gen_text("leaf-spine --leaves 2 --hosts-per-leaf 3 "
				  "--spines 4 --gbps 50",
				  &w->topo, NULL),
			 0);
	for (uint32_t i = 0; i < N_HOSTS; i++) {
		char name[8];

		snprintf(name, sizeof name, "h%u", i);
		w->hosts[i] = topo_find_node(w->topo, name);
		assert_true(w->hosts[i] != TOPO_NONE);
	}
	w->flows = flow_table_new();
	w->orders = path_orders_new(
		&(struct path_orders_opts){ .wishes = wishes,
					    .takes_wire = takes_wire,
					    .find_port = find_port,
					    .give_port = give_port,
					    .release_port = release_port,
					    .takes_own = takes_own,
					    .move = move,
					    .ctx = w });
	path_orders_set_fabric(w->orders, w->topo);
}

static void
world_fini(struct world *w)
{
	path_orders_free(w->orders);
	flow_table_free(w->flows);
	topo_unref(w->topo);
}

static size_t
connect_hosts(struct world *w, uint32_t job, uint32_t from, uint32_t to, uint64_t bytes)
{
	struct live_flow *f = &w->live[w->n_live];
	char end[32];

	assert_true(w->n_live < MAX_FLOWS);
	*f = (struct live_flow){
		.is_there = true, .from = from, .to = to, .job = job, .bytes = bytes
	};
	f->port = (uint16_t)(OWN + w->n_live);
	snprintf(end, sizeof end, "10.0.0.%u:%u", from + 1, (unsigned)f->port);
	assert_int_equal(port_text_end(end, f->flow.source, &f->flow.source_port), 0);
	snprintf(end, sizeof end, "10.0.0.%u:5001", to + 1);
	assert_int_equal(
		port_text_end(end, f->flow.destination, &f->flow.destination_port), 0);
	return w->n_live++;
}

static struct advice_path *
add_path(struct world *w, uint32_t job, uint32_t from, uint32_t to, uint32_t number)
{
	struct advice_path *path = &w->jobs[job].paths[w->jobs[job].n++];

	assert_true(w->jobs[job].n <= MAX_PATHS);
	*path = (struct advice_path){ .source = w->hosts[from],
				      .destination = w->hosts[to],
				      .number = number };
	w->jobs[job].wish = PATH_WISH_CHOSEN;
	w->jobs[job].revision = ++w->revision;
	return path;
}

static void
report(struct world *w)
{
	for (uint32_t host = 0; host < N_HOSTS; host++) {
		struct flow_rows rows = { .rows = VEC_EMPTY };
		char *text;

		if (w->is_silent[host])
			continue;
		snprintf(rows.host, sizeof rows.host, "h%u", host);
		for (size_t i = 0; i < w->n_live; i++) {
			const struct live_flow *f = &w->live[i];
			struct flow_row row = { .flow = f->flow,
						.port = htons(f->port),
						.bytes = f->bytes };

			if (!f->is_there || f->from != host)
				continue;
			snprintf(row.job, sizeof row.job, "%u", f->job);
			vec_push(&rows.rows, row);
		}
		text = flow_text_write(&rows);
		assert_int_equal(
			flow_table_take(w->flows, w->now_ns, text, strlen(text), NULL),
			0);
		free(text);
		vec_free(&rows.rows);
	}
	flow_table_tick(w->flows, w->now_ns);
}

/* Orders arrive, unless they are lost.  The relay sends flows back in other modes. */
static void
carry_out(struct world *w)
{
	for (size_t i = 0; i < w->n_live; i++) {
		struct live_flow *f = &w->live[i];

		if (f->ordered && !w->is_lost[i])
			f->port = f->ordered;
		if (w->jobs[f->job].wish == PATH_WISH_OFF)
			f->port = ntohs(f->flow.source_port);
		f->ordered = 0;
	}
}

static void
tick(struct world *w)
{
	w->n_moves_of_tick = 0;
	path_orders_tick(w->orders, w->now_ns, w->flows);
	assert_true(w->n_moves_of_tick <= PATH_ORDERS_A_TICK);
	carry_out(w);
	w->now_ns += SECOND;
}

static void
pass(struct world *w, int seconds)
{
	for (int i = 0; i < seconds; i++) {
		report(w);
		tick(w);
	}
}

static const char *
state_of(const struct world *w, size_t i)
{
	return path_orders_state(w->orders, &w->live[i].flow);
}

/* ---- Tests ----------------------------------------------------------------------- */

static void
flows_take_the_paths_of_their_job(void **state)
{
	struct path_orders_counts counts;
	struct world w;
	size_t there, back;

	(void)state;
	world_init(&w);
	there = connect_hosts(&w, 1, 0, 3, 100);
	back = connect_hosts(&w, 1, 3, 0, 100);
	pass(&w, 1);
	assert_int_equal(w.n_moves, 0);
	add_path(&w, 1, 0, 3, 2);
	add_path(&w, 1, 3, 0, 1);
	w.find_rc = -EAGAIN;
	pass(&w, 2);
	assert_int_equal(w.n_moves, 0);
	assert_string_equal(state_of(&w, there), "probing");
	w.find_rc = 0;
	pass(&w, 1);
	assert_string_equal(state_of(&w, there), "ordered");
	pass(&w, 1);
	assert_int_equal(w.live[there].port % N_SPINES, 2);
	assert_int_equal(w.live[back].port % N_SPINES, 1);
	assert_true(w.live[back].port >= FIRST_WIRE);
	assert_string_equal(state_of(&w, there), "settled");
	/* Nothing more is ordered, nor asked for. */
	w.n_found = 0;
	pass(&w, 100);
	assert_int_equal(w.n_moves, 2);
	assert_int_equal(w.n_found, 0);
	counts = path_orders_counts(w.orders);
	assert_int_equal(counts.n_wanted, 2);
	assert_int_equal(counts.n_settled, 2);
	assert_int_equal(counts.n_orders, 2);
	assert_int_equal(counts.n_failed, 0);
	/* The plan changes for one of them. */
	w.jobs[1].paths[0].number = 3;
	w.jobs[1].revision = ++w.revision;
	pass(&w, 2);
	assert_int_equal(w.n_moves, 3);
	assert_int_equal(w.live[there].port % N_SPINES, 3);
	/* Numbers of another fabric may be the same, and mean other paths. */
	path_orders_set_fabric(w.orders, w.topo);
	pass(&w, 2);
	assert_int_equal(w.n_moves, 3);
	assert_true(w.n_found > 0);
	world_fini(&w);
}

static void
a_flow_on_its_path_gets_no_order(void **state)
{
	struct world w;
	size_t i;

	(void)state;
	world_init(&w);
	i = connect_hosts(&w, 1, 0, 3, 100);
	connect_hosts(&w, 1, 3, 0, 100);
	/* From before a start of the scheduler. */
	w.live[i].port = FIRST_WIRE + 2;
	add_path(&w, 1, 0, 3, 2);
	pass(&w, 3);
	assert_int_equal(w.n_moves, 0);
	assert_string_equal(state_of(&w, i), "settled");
	world_fini(&w);
}

static void
a_flow_whose_own_port_takes_its_path_gets_no_order(void **state)
{
	struct path_switches paths[8];
	struct flow_row row = { .job = "1" };
	struct world w;
	size_t flows[4];

	(void)state;
	world_init(&w);
	w.has_connect_ports = true;
	connect_hosts(&w, 1, 3, 0, 100);
	/* Own ports from OWN + 1 on take the spines 1, 2, 3 and 0. */
	for (int i = 0; i < 4; i++)
		flows[i] = connect_hosts(&w, 1, 0, 3, 100);
	add_path(&w, 1, 0, 3, 3);
	add_path(&w, 1, 0, 3, 1);
	pass(&w, 3);
	/* Those whose port fits a flow of the advice have that one. */
	assert_string_equal(state_of(&w, flows[0]), "settled");
	assert_int_equal(w.live[flows[0]].port, OWN + 1);
	assert_int_equal(w.live[flows[2]].port, OWN + 3);
	assert_true(path_orders_is_settled(w.orders, &w.live[flows[2]].flow));
	/* The others are moved. */
	assert_true(w.live[flows[1]].port >= FIRST_WIRE);
	assert_true(w.live[flows[3]].port >= FIRST_WIRE);
	assert_int_equal(w.n_moves, 2);
	/* The paths of further connections. */
	row.flow = w.live[flows[0]].flow;
	assert_int_equal(
		path_orders_paths(w.orders, w.now_ns, w.flows, "h0", &row, paths, 8),
		2);
	assert_int_equal(paths[0].n, 3);
	assert_int_equal(spine_of(&w, &w.live[flows[0]], paths[0].switches, 3), 3);
	assert_int_equal(spine_of(&w, &w.live[flows[0]], paths[1].switches, 3), 1);
	assert_int_equal(
		path_orders_paths(w.orders, w.now_ns, w.flows, "h0", &row, paths, 1),
		1);
	/* Another plan moves them, too. */
	w.jobs[1].paths[1].number = 2;
	w.jobs[1].revision = ++w.revision;
	pass(&w, 3);
	assert_int_equal(w.live[flows[0]].port % N_SPINES, 2);
	assert_true(w.live[flows[0]].port >= FIRST_WIRE);
	/* Without the advice nothing is left of it. */
	w.jobs[1].wish = PATH_WISH_NONE;
	assert_int_equal(
		path_orders_paths(w.orders, w.now_ns, w.flows, "h0", &row, paths, 8),
		0);
	pass(&w, 3);
	for (int i = 0; i < 4; i++)
		assert_int_equal(w.live[flows[i]].port, OWN + 1 + i);
	world_fini(&w);
}

static void
what_advice_does_not_name_is_left_alone(void **state)
{
	struct world w;
	size_t i;

	(void)state;
	world_init(&w);
	connect_hosts(&w, 1, 0, 3, 100);
	connect_hosts(&w, 1, 3, 0, 100);
	i = connect_hosts(&w, 1, 0, 1, 100);
	connect_hosts(&w, 1, 1, 0, 100);
	connect_hosts(&w, 2, 0, 3, 100);
	w.live[i].port = FIRST_WIRE + 3;
	/* The same leaf, the hashed path, and hosts that have no connection. */
	add_path(&w, 1, 0, 1, 0);
	add_path(&w, 1, 0, 3, WORK_HASHED);
	add_path(&w, 1, 0, 4, 1);
	pass(&w, 5);
	assert_int_equal(w.n_moves, 0);
	/* The other end reports no flows. */
	w.jobs[1].n = 0;
	add_path(&w, 1, 0, 3, 1);
	w.is_silent[3] = true;
	w.now_ns += FLOW_TABLE_KEEP_NS;
	pass(&w, 5);
	assert_int_equal(w.n_moves, 0);
	w.is_silent[3] = false;
	/* The mode is not enforce; or the advice is being computed. */
	w.jobs[1].wish = PATH_WISH_OFF;
	pass(&w, 5);
	w.jobs[1].wish = PATH_WISH_WAIT;
	pass(&w, 5);
	assert_int_equal(w.n_moves, 0);
	w.jobs[1].wish = PATH_WISH_CHOSEN;
	pass(&w, 5);
	assert_int_equal(w.n_moves, 1);
	/* No fabric. */
	path_orders_set_fabric(w.orders, NULL);
	w.jobs[1].paths[0].number = 3;
	w.jobs[1].revision = ++w.revision;
	pass(&w, 5);
	assert_int_equal(w.n_moves, 1);
	world_fini(&w);
}

static void
several_connections_use_several_paths(void **state)
{
	size_t n_on[N_SPINES] = { 0 };
	struct world w;
	size_t heavy[4];

	(void)state;
	world_init(&w);
	connect_hosts(&w, 1, 0, 3, 1);
	for (size_t i = 0; i < 4; i++)
		heavy[i] = connect_hosts(&w, 1, 0, 3, 1000);
	connect_hosts(&w, 1, 3, 0, 100);
	/* The heaviest come first in reports. */
	w.live[0].bytes = 2000;
	for (uint32_t i = 0; i < 4; i++)
		add_path(&w, 1, 0, 3, 3 - i);
	pass(&w, 3);
	for (size_t i = 0; i < 4; i++)
		n_on[w.live[heavy[i]].port % N_SPINES]++;
	/* The first has a path of its own, until one more has to share. */
	assert_int_equal(w.live[0].port % N_SPINES, 3);
	for (size_t i = 0; i < 3; i++)
		assert_true(n_on[i] >= 1);
	assert_int_equal(n_on[3], 0);
	assert_int_equal(w.n_moves, 5);
	/* They keep their slots when others end and come; a new one takes a free slot. */
	w.live[heavy[1]].is_there = false;
	pass(&w, 70);
	assert_int_equal(w.n_moves, 5);
	heavy[1] = connect_hosts(&w, 1, 0, 3, 10);
	pass(&w, 2);
	assert_int_equal(w.n_moves, 6);
	assert_int_equal(w.live[heavy[1]].port % N_SPINES, 1);
	world_fini(&w);
}

/* Two paths, and connections whose ports already take them, in another order. */
static void
after_a_start_connections_stay_on_their_paths(void **state)
{
	struct world w;
	size_t i[3];

	(void)state;
	world_init(&w);
	for (size_t k = 0; k < 3; k++)
		i[k] = connect_hosts(&w, 1, 0, 3, 100);
	connect_hosts(&w, 1, 3, 0, 100);
	w.live[i[0]].port = FIRST_WIRE + 2;
	w.live[i[1]].port = FIRST_WIRE + 1;
	add_path(&w, 1, 0, 3, 1);
	add_path(&w, 1, 0, 3, 2);
	/* The ports are probed; the connection without one does not wait for that. */
	w.takes_rc = -EAGAIN;
	pass(&w, 3);
	assert_string_equal(state_of(&w, i[0]), "probing");
	assert_int_equal(w.n_moves, 1);
	w.takes_rc = 0;
	pass(&w, 3);
	assert_int_equal(w.n_moves, 1);
	for (size_t k = 0; k < 3; k++)
		assert_string_equal(state_of(&w, i[k]), "settled");
	assert_int_equal(w.live[i[0]].port, FIRST_WIRE + 2);
	assert_int_equal(w.live[i[1]].port, FIRST_WIRE + 1);
	world_fini(&w);
	/* Not known, or not a path of the job: as a new connection. */
	for (int k = 0; k < 2; k++) {
		world_init(&w);
		i[0] = connect_hosts(&w, 1, 0, 3, 100);
		connect_hosts(&w, 1, 3, 0, 100);
		w.live[i[0]].port = (uint16_t)(FIRST_WIRE + (k ? 3 : 2));
		w.takes_rc = k ? 0 : -ENOENT;
		add_path(&w, 1, 0, 3, 1);
		add_path(&w, 1, 0, 3, 2);
		pass(&w, 3);
		assert_int_equal(w.n_moves, 1);
		assert_int_equal(w.live[i[0]].port % N_SPINES, 1);
		world_fini(&w);
	}
}

static void
withdrawn_paths_are_undone(void **state)
{
	struct world w;
	size_t i, inherited;

	(void)state;
	world_init(&w);
	i = connect_hosts(&w, 1, 0, 3, 100);
	connect_hosts(&w, 1, 3, 0, 100);
	inherited = connect_hosts(&w, 2, 0, 3, 100);
	w.live[inherited].port = FIRST_WIRE + 1;
	w.jobs[2].wish = PATH_WISH_NONE;
	add_path(&w, 1, 0, 3, 2);
	pass(&w, 3);
	assert_true(w.live[i].port >= FIRST_WIRE);
	w.jobs[1].wish = PATH_WISH_NONE;
	pass(&w, 3);
	assert_int_equal(w.live[i].port, OWN);
	assert_int_equal(w.live[i].given, 0);
	assert_int_equal(w.n_moves, 2);
	assert_int_equal(path_orders_counts(w.orders).n_undone, 1);
	assert_int_equal(path_orders_counts(w.orders).n_wanted, 0);
	/* One that was moved before this start stays until its job has paths. */
	assert_int_equal(w.live[inherited].port, FIRST_WIRE + 1);
	/* While an order is on its way. */
	w.jobs[1].wish = PATH_WISH_CHOSEN;
	report(&w);
	tick(&w);
	assert_int_equal(w.n_moves, 3);
	w.jobs[1].wish = PATH_WISH_NONE;
	tick(&w);
	assert_int_equal(w.n_moves, 4);
	pass(&w, 3);
	assert_int_equal(w.live[i].port, OWN);
	assert_int_equal(w.n_moves, 4);
	world_fini(&w);
}

static void
failed_orders_are_repeated_less_and_less_often(void **state)
{
	int64_t at[16];
	struct world w;
	size_t n = 0, i;

	(void)state;
	world_init(&w);
	i = connect_hosts(&w, 1, 0, 3, 100);
	connect_hosts(&w, 1, 3, 0, 100);
	add_path(&w, 1, 0, 3, 2);
	w.is_lost[i] = true;
	for (int s = 0; s < 400; s++) {
		size_t before = w.n_moves;

		pass(&w, 1);
		if (w.n_moves > before)
			at[n++] = w.now_ns;
		assert_true(n < 16);
	}
	assert_in_range(n, 4, 5);
	for (size_t k = 2; k < n; k++)
		assert_true(at[k] - at[k - 1] > at[k - 1] - at[k - 2]);
	assert_true(at[1] - at[0] >= 2 * PATH_ORDERS_WAIT_NS);
	/* The last one may still have an effect. */
	assert_int_equal(path_orders_counts(w.orders).n_failed, n - 1);
	/* Another path is tried at once. */
	w.is_lost[i] = false;
	w.jobs[1].paths[0].number = 1;
	w.jobs[1].revision = ++w.revision;
	pass(&w, 2);
	assert_string_equal(state_of(&w, i), "settled");
	/* No port takes the path: asked again after a minute. */
	w.jobs[1].paths[0].number = 3;
	w.jobs[1].revision = ++w.revision;
	w.find_rc = -ENOENT;
	w.n_found = 0;
	pass(&w, 60);
	assert_int_equal(w.n_found, 1);
	pass(&w, 60);
	assert_int_equal(w.n_found, 2);
	assert_int_equal(path_orders_counts(w.orders).n_unknown, 2);
	/* The flow stays where it is. */
	assert_int_equal(w.live[i].port % N_SPINES, 1);
	world_fini(&w);
}

static void
orders_are_limited(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	connect_hosts(&w, 1, 3, 0, 100);
	for (int i = 0; i < 250; i++)
		connect_hosts(&w, 1, 0, 3, 100);
	add_path(&w, 1, 0, 3, 2);
	pass(&w, 1);
	assert_int_equal(w.n_moves, 100);
	pass(&w, 1);
	assert_int_equal(w.n_moves, 200);
	pass(&w, 1);
	assert_int_equal(w.n_moves, 250);
	/* Those that are to leave, too. */
	w.jobs[1].wish = PATH_WISH_NONE;
	pass(&w, 1);
	assert_int_equal(w.n_moves, 350);
	pass(&w, 4);
	assert_int_equal(w.n_moves, 500);
	world_fini(&w);
}

static void
ended_connections_release_their_ports(void **state)
{
	struct world w;
	size_t i;

	(void)state;
	world_init(&w);
	i = connect_hosts(&w, 1, 0, 3, 100);
	connect_hosts(&w, 1, 3, 0, 100);
	add_path(&w, 1, 0, 3, 2);
	pass(&w, 3);
	w.live[i].is_there = false;
	pass(&w, 59);
	assert_int_equal(w.n_released, 0);
	pass(&w, 2);
	assert_int_equal(w.n_released, 1);
	assert_int_equal(path_orders_counts(w.orders).n_wanted, 0);
	world_fini(&w);
}

/* ---- Random operations ----------------------------------------------------------- */

/* Whether the flow is where its job's advice wants a flow between these hosts. */
static bool
is_right(const struct world *w, const struct live_flow *f)
{
	bool is_wanted = false, is_there = false;

	if (w->jobs[f->job].wish == PATH_WISH_CHOSEN)
		for (size_t i = 0; i < w->jobs[f->job].n; i++) {
			const struct advice_path *path = &w->jobs[f->job].paths[i];

			if (path->source != w->hosts[f->from] ||
			    path->destination != w->hosts[f->to])
				continue;
			is_wanted = true;
			is_there |= f->port >= FIRST_WIRE &&
				    f->port % N_SPINES == path->number;
		}
	return is_wanted ? is_there : f->port == ntohs(f->flow.source_port);
}

static void
change(struct world *w, struct rng *rng)
{
	uint32_t job = (uint32_t)rng_below(rng, N_JOBS);
	uint32_t from = (uint32_t)rng_below(rng, 3),
		 to = 3 + (uint32_t)rng_below(rng, 3);
	size_t i;

	switch (rng_below(rng, 8)) {
	case 0:
	case 1:
		if (w->n_live < 60) {
			connect_hosts(w, job, from, to, rng_below(rng, 1000));
			connect_hosts(w, job, to, from, rng_below(rng, 1000));
		}
		break;
	case 2:
		if (w->n_live == 0)
			break;
		/* A connection, with both its directions. */
		i = rng_below(rng, w->n_live) & ~(size_t)1;
		w->live[i].is_there = w->live[i + 1].is_there = false;
		break;
	case 3:
		if (w->jobs[job].n < MAX_PATHS) {
			add_path(w, job, from, to, (uint32_t)rng_below(rng, N_SPINES));
			add_path(w, job, to, from, (uint32_t)rng_below(rng, N_SPINES));
		}
		break;
	case 4:
		if (w->jobs[job].n)
			w->jobs[job].paths[rng_below(rng, w->jobs[job].n)].number =
				(uint32_t)rng_below(rng, N_SPINES);
		w->jobs[job].revision = ++w->revision;
		break;
	case 5:
		w->jobs[job].wish = (enum path_wish)rng_below(rng, 4);
		break;
	case 6:
		w->is_lost[rng_below(rng, 60)] ^= true;
		break;
	default:
		w->find_rc = rng_below(rng, 3)   ? 0
			     : rng_below(rng, 2) ? -EAGAIN
						 : -ENOENT;
	}
}

/* Whatever was lost or changed: afterwards all flows are where advice wants them. */
static void
all_flows_arrive_in_the_end(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct rng rng;
		struct world w;
		size_t n_moves;

		rng_init(&rng, seed);
		world_init(&w);
		for (int i = 0; i < 300; i++) {
			change(&w, &rng);
			if (rng_below(&rng, 3))
				report(&w);
			tick(&w);
		}
		memset(w.is_lost, 0, sizeof w.is_lost);
		w.find_rc = 0;
		for (uint32_t job = 0; job < N_JOBS; job++)
			if (w.jobs[job].wish == PATH_WISH_WAIT)
				w.jobs[job].wish = PATH_WISH_CHOSEN;
		for (int i = 0; i < 10 + 2 * PATH_ORDERS_REST_NS / (10 * SECOND); i++) {
			pass(&w, 1);
			w.now_ns += 9 * SECOND;
		}
		for (size_t i = 0; i < w.n_live; i++)
			if (w.live[i].is_there && !is_right(&w, &w.live[i]))
				fail_msg("seed %d: flow %d is not on its path",
					 (int)seed, (int)i);
		/* And nothing goes on. */
		n_moves = w.n_moves;
		pass(&w, 10);
		assert_int_equal(w.n_moves, n_moves);
		world_fini(&w);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flows_take_the_paths_of_their_job),
		cmocka_unit_test(a_flow_on_its_path_gets_no_order),
		cmocka_unit_test(a_flow_whose_own_port_takes_its_path_gets_no_order),
		cmocka_unit_test(what_advice_does_not_name_is_left_alone),
		cmocka_unit_test(several_connections_use_several_paths),
		cmocka_unit_test(after_a_start_connections_stay_on_their_paths),
		cmocka_unit_test(withdrawn_paths_are_undone),
		cmocka_unit_test(failed_orders_are_repeated_less_and_less_often),
		cmocka_unit_test(orders_are_limited),
		cmocka_unit_test(ended_connections_release_their_ports),
		cmocka_unit_test(all_flows_arrive_in_the_end),
	};

	return cmocka_run_group_tests_name("orders of paths", tests, NULL, NULL);
}
