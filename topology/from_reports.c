/* SPDX-License-Identifier: Apache-2.0 */
#include "topology/from_reports.h"

#include <errno.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/hostlist.h"
#include "lib/base/strbuf.h"
#include "lib/base/strtab.h"
#include "topology/in_ibnet_priv.h"
#include "topology/observed.h"
#include "topology/read_priv.h"
#include "topology/topo.h"

#define N_NAMED 3 /* Cables or nodes in a note. */

/* A port with a cable. */
struct end {
	uint32_t node;
	char port[TOPO_MAX_NAME + 1];
	uint32_t cable; /* TOPO_NONE: none yet. */
};

struct cable {
	uint32_t a, b;      /* Ends; the first report is of the node of 'a'. */
	size_t said_by;     /* The first report. */
	bool is_said_twice; /* Both ends report it. */
	bool is_uneven;     /* Its ends report different rates. */
	double bps;         /* 0: unknown. */
};

struct maker {
	const struct topo_report *reports;
	size_t n_reports;
	const struct topo_read_opts *opts;
	struct strtab *names;         /* Of nodes; the reporting ones first. */
	struct strtab *full_names;    /* Names with a domain, of nodes known without. */
	VEC(uint32_t) full_of_node;   /* By reporting node; TOPO_NONE: none. */
	VEC(struct ibnet_node) nodes; /* Of them, kind and tier. */
	VEC(enum observed_role) roles; /* By node; the most that any neighbor heard. */
	struct strtab *end_names;      /* "NODE PORT". */
	VEC(struct end) ends;
	VEC(struct cable) cables;
	struct err *err;
};

/* Copies a name; a character that names of fabrics cannot have becomes '-'. */
static void
copy_name(char to[TOPO_MAX_NAME + 1], const char *from)
{
	size_t n = strnlen(from, TOPO_MAX_NAME);

	for (size_t i = 0; i < n; i++) {
		const char one[] = { from[i], '\0' };

		to[i] = topo_name_is_valid(one) ? from[i] : '-';
	}
	to[n] = '\0';
}

/* Number of a node; adds a new one. */
static uint32_t
intern_node(struct maker *m, const char *name)
{
	const struct ibnet_node none = { .kind = IBNET_SWITCH, .id = TOPO_NONE };
	char valid[TOPO_MAX_NAME + 1];
	uint32_t node;

	copy_name(valid, name);
	node = strtab_intern(m->names, valid);
	if (node == m->nodes.n) {
		vec_push(&m->nodes, none);
		vec_push(&m->roles, OBSERVED_ROLE_UNKNOWN);
	}
	return node;
}

static int
add_reporters(struct maker *m)
{
	for (size_t i = 0; i < m->n_reports; i++) {
		uint32_t node = intern_node(m, m->reports[i].node->name);

		if (node < i)
			return err_set(m->err, m->reports[i].file, 0, 0,
				       "reports for '%s', as does %s",
				       strtab_name(m->names, node),
				       m->reports[node].file);
		vec_push(&m->full_of_node, TOPO_NONE);
	}
	return 0;
}

/* Number of the node that a report names: "gpu0.example.org" may report as "gpu0". */
static int
find_peer(struct maker *m, const char *file, const char *name, uint32_t *ret_node)
{
	char label[TOPO_MAX_NAME + 1];
	uint32_t node, full;

	copy_name(label, name);
	if (strtab_find(m->names, label) == STRTAB_NONE)
		label[strcspn(label, ".")] = '\0';
	node = strtab_find(m->names, label);
	if (node == STRTAB_NONE || node >= m->n_reports) {
		*ret_node = intern_node(m, name);
		return 0;
	}
	*ret_node = node;
	if (!strchr(name, '.') || strchr(label, '.'))
		return 0;
	full = strtab_intern(m->full_names, name);
	if (m->full_of_node.items[node] == TOPO_NONE)
		m->full_of_node.items[node] = full;
	if (m->full_of_node.items[node] == full)
		return 0;
	return err_set(m->err, file, 0, 0, "'%s' and '%s' may both be '%s' of %s", name,
		       strtab_name(m->full_names, m->full_of_node.items[node]), label,
		       m->reports[node].file);
}

static uint32_t
intern_end(struct maker *m, uint32_t node, const char *port)
{
	struct end end = { .node = node, .cable = TOPO_NONE };
	struct strbuf name = STRBUF_EMPTY;
	uint32_t id;

	copy_name(end.port, port);
	strbuf_printf(&name, "%s %s", strtab_name(m->names, node), end.port);
	id = strtab_intern(m->end_names, name.text);
	if (id == m->ends.n)
		vec_push(&m->ends, end);
	strbuf_free(&name);
	return id;
}

static const char *
node_name(const struct maker *m, uint32_t end)
{
	return strtab_name(m->names, m->ends.items[end].node);
}

/* The report says that there is a cable between a and b, and 'known' denies it. */
static int
contradict(const struct maker *m, size_t report, uint32_t a, uint32_t b, uint32_t known)
{
	const struct cable *c = &m->cables.items[known];

	return err_set(m->err, m->reports[report].file, 0, 0,
		       "a cable from %s:%s to %s:%s, but by %s there is one from %s:%s "
		       "to %s:%s",
		       node_name(m, a), m->ends.items[a].port, node_name(m, b),
		       m->ends.items[b].port, m->reports[c->said_by].file,
		       node_name(m, c->a), m->ends.items[c->a].port, node_name(m, c->b),
		       m->ends.items[c->b].port);
}

/* The lower of two rates, of which 0 is unknown. */
static double
lower(double a, double b, bool *is_uneven)
{
	if (!(a > 0) || !(b > 0))
		return a > 0 ? a : b;
	*is_uneven |= a < b || a > b;
	return a < b ? a : b;
}

static int
add_cable(struct maker *m, size_t report, uint32_t a, uint32_t b, double own_bps,
	  double peer_bps)
{
	struct end *from = &m->ends.items[a], *to = &m->ends.items[b];
	struct cable *known;

	if (from->node == to->node)
		return err_set(m->err, m->reports[report].file, 0, 0,
			       "a cable from %s:%s to itself (%s)", node_name(m, a),
			       from->port, to->port);
	if (from->cable == TOPO_NONE && to->cable == TOPO_NONE) {
		struct cable c = { .a = a, .b = b, .said_by = report };

		c.bps = lower(own_bps, peer_bps, &c.is_uneven);

		from->cable = to->cable = (uint32_t)m->cables.n;
		vec_push(&m->cables, c);
		return 0;
	}
	if (from->cable != to->cable)
		return contradict(m, report, a, b,
				  from->cable != TOPO_NONE ? from->cable : to->cable);
	known = &m->cables.items[from->cable];
	known->is_said_twice |= known->said_by != report;
	known->bps = lower(known->bps, lower(own_bps, peer_bps, &known->is_uneven),
			   &known->is_uneven);
	return 0;
}

static int
add_port(struct maker *m, size_t report, const struct observed_port *port)
{
	const char *file = m->reports[report].file;

	for (size_t i = 0; i < port->neighbours.n; i++) {
		const struct observed_neighbour *peer = &port->neighbours.items[i];
		const char *there;
		uint32_t node, a, b;
		int r = find_peer(m, file, peer->node, &node);

		if (r < 0)
			return r;
		if (peer->role > m->roles.items[node])
			m->roles.items[node] = peer->role;
		there = observed_peer_port(
			peer, node < m->n_reports ? m->reports[node].node : NULL);
		if (!*there)
			return err_set(m->err, file, 0, 0,
				       "the neighbor '%s' at '%s' names no port",
				       peer->node, port->name);
		a = intern_end(m, (uint32_t)report, port->name);
		b = intern_end(m, node, there);
		r = add_cable(m, report, a, b, port->bps, peer->bps);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- Hosts and tiers ------------------------------------------------------------- */

static int
name_host(void *ctx, const char *name)
{
	struct maker *m = ctx;
	uint32_t node = strtab_find(m->names, name);

	if (node == STRTAB_NONE)
		return err_set(m->err, NULL, 0, 0, "no report has the host '%s'", name);
	m->nodes.items[node].kind = IBNET_CA;
	return 0;
}

static int
name_hosts(struct maker *m, const char *hosts)
{
	const char *why = NULL;
	int r = hostlist_expand(hosts, TOPO_MAX_NODES, name_host, m, &why);

	if (r == -E2BIG)
		why = "too many names";
	return r < 0 && why
		       ? err_set(m->err, NULL, 0, 0, "hosts '%.80s': %s", hosts, why)
		       : r;
}

/*
 * A node whose cables all go to one other node is a host; and, if any node says that it
 * bridges, one that says that it does not.
 */
static void
guess_hosts(struct maker *m)
{
	uint32_t *peer = xcalloc(m->nodes.n + 1, sizeof *peer); /* 1 + its number. */
	bool *has_many = xcalloc(m->nodes.n + 1, sizeof *has_many), has_bridge = false;

	for (size_t i = 0; i < m->cables.n; i++) {
		uint32_t a = m->ends.items[m->cables.items[i].a].node;
		uint32_t b = m->ends.items[m->cables.items[i].b].node;

		has_many[a] |= peer[a] && peer[a] != b + 1;
		has_many[b] |= peer[b] && peer[b] != a + 1;
		peer[a] = b + 1;
		peer[b] = a + 1;
	}
	for (size_t i = 0; i < m->nodes.n; i++)
		has_bridge |= m->roles.items[i] == OBSERVED_ROLE_BRIDGE;
	for (size_t i = 0; i < m->nodes.n; i++)
		if (peer[i] && (!has_many[i] ||
				(has_bridge && m->roles.items[i] == OBSERVED_ROLE_END)))
			m->nodes.items[i].kind = IBNET_CA;
	free(peer);
	free(has_many);
}

static int
check_hosts(const struct maker *m)
{
	size_t n_hosts = 0;

	for (size_t i = 0; i < m->nodes.n; i++)
		n_hosts += m->nodes.items[i].kind == IBNET_CA;
	if (!n_hosts)
		return err_set(
			m->err, NULL, 0, 0,
			"no node is known as a host: none has just one neighbor, or says that it bridges nothing; name the hosts with --hosts");
	for (size_t i = 0; i < m->cables.n; i++) {
		const struct cable *c = &m->cables.items[i];

		if (m->nodes.items[m->ends.items[c->a].node].kind == IBNET_CA &&
		    m->nodes.items[m->ends.items[c->b].node].kind == IBNET_CA)
			return err_set(
				m->err, m->reports[c->said_by].file, 0, 0,
				"a cable from %s to %s, which would both be hosts; name the hosts with --hosts",
				node_name(m, c->a), node_name(m, c->b));
	}
	return 0;
}

static void
find_tiers(struct maker *m)
{
	VEC(struct ibnet_cable) cables = VEC_EMPTY;

	for (size_t i = 0; i < m->cables.n; i++) {
		const struct cable *c = &m->cables.items[i];

		vec_push(&cables,
			 ((struct ibnet_cable){ .from = m->ends.items[c->a].node,
						.to = m->ends.items[c->b].node }));
	}
	ibnet_find_tiers(m->nodes.items, m->nodes.n, cables.items, cables.n);
	vec_free(&cables);
}

/* ---- The fabric ------------------------------------------------------------------ */

static void
note_cables(const struct maker *m, double default_bps)
{
	struct strbuf names = STRBUF_EMPTY;
	size_t n_once = 0, n_unknown = 0, n_uneven = 0;

	for (size_t i = 0; i < m->cables.n; i++) {
		const struct cable *c = &m->cables.items[i];

		n_unknown += !(c->bps > 0);
		n_uneven += c->is_uneven;
		if (c->is_said_twice || n_once++ >= N_NAMED)
			continue;
		strbuf_printf(&names, "%s%s:%s>%s:%s", names.length ? ", " : "",
			      node_name(m, c->a), m->ends.items[c->a].port,
			      node_name(m, c->b), m->ends.items[c->b].port);
	}
	if (n_once)
		topo_note(m->opts, "cables reported by one end only: %zu of %zu (%s%s)",
			  n_once, m->cables.n, names.text,
			  n_once > N_NAMED ? ", ..." : "");
	if (n_unknown)
		topo_note(
			m->opts,
			"cables without a reported rate: %zu of %zu; %g Gb/s assumed (--gbps)",
			n_unknown, m->cables.n, default_bps / 1e9);
	if (n_uneven)
		topo_note(
			m->opts,
			"cables with different rates at their ends: %zu of %zu; the lower rate is taken",
			n_uneven, m->cables.n);
	strbuf_free(&names);
}

static void
note_nodes(const struct maker *m, bool has_names)
{
	size_t n_hosts = 0, n_switches = 0, n_alone = 0;

	for (size_t i = 0; i < m->nodes.n; i++) {
		if (m->nodes.items[i].id == TOPO_NONE)
			n_alone++;
		else if (m->nodes.items[i].kind == IBNET_CA)
			n_hosts++;
		else
			n_switches++;
	}
	if (n_alone)
		topo_note(m->opts, "nodes without a neighbor, left out: %zu of %zu",
			  n_alone, m->nodes.n);
	if (!has_names)
		topo_note(
			m->opts,
			"hosts: %zu; switches: %zu; name the hosts with --hosts if this is wrong",
			n_hosts, n_switches);
}

/* Adds the nodes of one kind that have cables. */
static int
add_nodes(struct maker *m, struct topo_builder *b, const bool *has_cable,
	  enum ibnet_kind kind)
{
	uint32_t n_slots = m->opts && m->opts->n_slots ? m->opts->n_slots : 1;

	for (uint32_t i = 0; i < m->nodes.n; i++) {
		struct ibnet_node *node = &m->nodes.items[i];
		const char *name = strtab_name(m->names, i);
		int r;

		if (node->kind != kind || !has_cable[i])
			continue;
		r = kind == IBNET_CA
			    ? topo_builder_host(b, name, n_slots, &node->id)
			    : topo_builder_switch(b, name, node->tier, &node->id);
		if (r < 0)
			return err_set(
				m->err, NULL, 0, 0,
				"cannot add '%s': more than %d nodes or %d tiers", name,
				TOPO_MAX_NODES, TOPO_MAX_TIER);
	}
	return 0;
}

static int
build(struct maker *m, double default_bps, struct topo **ret_topo)
{
	struct topo_builder *b = topo_builder_new("lldp");
	bool *has_cable = xcalloc(m->nodes.n + 1, sizeof *has_cable);
	int r;

	for (size_t i = 0; i < m->ends.n; i++)
		has_cable[m->ends.items[i].node] = true;
	r = add_nodes(m, b, has_cable, IBNET_CA);
	if (r == 0)
		r = add_nodes(m, b, has_cable, IBNET_SWITCH);
	for (size_t i = 0; r == 0 && i < m->cables.n; i++) {
		const struct cable *c = &m->cables.items[i];
		const struct end *from = &m->ends.items[c->a];
		const struct end *to = &m->ends.items[c->b];
		double bps = c->bps > 0 ? c->bps : default_bps;

		if (topo_builder_cable(b, m->nodes.items[from->node].id, from->port,
				       m->nodes.items[to->node].id, to->port, bps,
				       bps) < 0)
			r = err_set(m->err, m->reports[c->said_by].file, 0, 0,
				    "cannot add the cable from %s:%s",
				    node_name(m, c->a), from->port);
	}
	free(has_cable);
	if (r == 0)
		*ret_topo = topo_builder_finish(b);
	else
		topo_builder_free(b);
	return r;
}

int
topo_from_reports(const struct topo_report *reports, size_t n, const char *hosts,
		  const struct topo_read_opts *opts, struct topo **ret_topo,
		  struct err *err)
{
	struct maker m = { .reports = reports,
			   .n_reports = n,
			   .opts = opts,
			   .names = strtab_new(),
			   .full_names = strtab_new(),
			   .end_names = strtab_new(),
			   .err = err };
	double bps = opts && opts->default_bps > 0 ? opts->default_bps : 100e9;
	int r = add_reporters(&m);

	for (size_t i = 0; r == 0 && i < n; i++)
		for (size_t k = 0; r == 0 && k < reports[i].node->ports.n; k++)
			r = add_port(&m, i, &reports[i].node->ports.items[k]);
	if (r == 0 && !m.cables.n)
		r = err_set(err, n ? reports[0].file : NULL, 0, 0,
			    "no report has a neighbor");
	if (r == 0 && hosts)
		r = name_hosts(&m, hosts);
	else if (r == 0)
		guess_hosts(&m);
	if (r == 0)
		r = check_hosts(&m);
	if (r == 0) {
		find_tiers(&m);
		r = build(&m, bps, ret_topo);
	}
	if (r == 0) {
		note_nodes(&m, hosts != NULL);
		note_cables(&m, bps);
	}
	strtab_free(m.names);
	strtab_free(m.full_names);
	strtab_free(m.end_names);
	vec_free(&m.full_of_node);
	vec_free(&m.nodes);
	vec_free(&m.roles);
	vec_free(&m.ends);
	vec_free(&m.cables);
	return r;
}
