/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/path_print.h"

#include <errno.h>
#include <stdio.h>

#include "cli/topology_io.h"
#include "lib/base/cli.h"
#include "lib/base/err.h"
#include "lib/base/jsonw.h"
#include "lib/base/table.h"
#include "lib/base/vec.h"
#include "topology/route.h"
#include "topology/topo.h"

/* The name of the hash of topology/route.h; hashes of switches would have others. */
#define HASH_NAME "antiphase"

struct path_link {
	uint32_t link;
	double share; /* Of the flow; 1 unless it is spread over several paths. */
};

/* Paths that are listed, and ports that are tried for each. */
#define MAX_PATHS 256
#define MAX_PORTS 16384

/* One of the equally short paths. */
struct numbered_path {
	uint32_t number, via; /* Its highest switch; TOPO_NONE: none. */
	uint16_t port;        /* Source port that takes it; 0: not found. */
	bool is_taken;        /* By the flow. */
};

struct path {
	const struct topo *topo; /* Borrowed. */
	uint32_t source, destination;
	int64_t port, seed;
	bool has_all; /* 'all' is filled. */
	VEC(struct numbered_path) all;
	VEC(struct path_link) links; /* Source first; none: unreachable, or one host. */
	double n_equal;              /* Equally short paths; 0: unreachable. */
	double n_spread;             /* Paths that the flow uses; 1 unless spread. */
};

static void
add_link(void *ctx, uint32_t link, double share)
{
	struct path *path = ctx;

	vec_push(&path->links, ((struct path_link){ link, share }));
}

static bool
is_taken(const struct path *p, const uint32_t *links, size_t n)
{
	if (n != p->links.n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (links[i] != p->links.items[i].link)
			return false;
	return true;
}

/* Lists all paths by number; there is nothing to choose where a tier spreads flows. */
static void
find_all(struct path *p, struct routes *routes)
{
	uint32_t links[ROUTE_MAX_HOPS], n_paths = 1;
	size_t n;

	for (uint32_t i = 0; i < n_paths && i < MAX_PATHS; i++) {
		struct numbered_path path = { .number = i };

		if (routes_numbered_path(routes, p->source, p->destination,
					 (uint16_t)p->port, i, links, &n, &n_paths) < 0)
			return;
		path.via = routes_top_switch(routes, links, n);
		path.is_taken = is_taken(p, links, n);
		path.port = (uint16_t)p->port;
		if (!path.is_taken &&
		    routes_port_of_path(routes, p->source, p->destination,
					(uint16_t)(p->port + 1), i, MAX_PORTS, 1,
					&path.port) < 0)
			path.port = 0;
		vec_push(&p->all, path);
	}
}

/* Returns 0; -EINVAL, with 'err' filled, if there is no such host; or -EHOSTUNREACH. */
static int
find_path(struct path *p, struct topo *topo, const char *source,
	  const char *destination, struct err *err)
{
	struct routes *routes;
	int r;

	p->source = topology_find_host(topo, source, err);
	if (p->source == TOPO_NONE)
		return -EINVAL;
	p->destination = topology_find_host(topo, destination, err);
	if (p->destination == TOPO_NONE)
		return -EINVAL;
	routes = routes_new(topo, (uint64_t)p->seed);
	r = routes_spread(routes, p->source, p->destination, (uint16_t)p->port,
			  add_link, p, &p->n_spread);
	p->n_equal = p->source == p->destination
			     ? 1
			     : routes_n_paths(routes, p->source, p->destination);
	if (p->has_all && r == 0 && p->links.n && routes_all_hash(routes))
		find_all(p, routes);
	routes_free(routes);
	return r;
}

/* Paths that are as short, and that the flow does not use. */
static double
count_alternatives(const struct path *p)
{
	return p->n_equal - p->n_spread;
}

static const char *
name_of(const struct path *p, uint32_t node)
{
	return node == TOPO_NONE ? NULL : topo_node(p->topo, node)->name;
}

static void
json_all(const struct path *p, struct jsonw *w)
{
	jsonw_array(w, "paths");
	for (size_t i = 0; i < p->all.n; i++) {
		const struct numbered_path *path = &p->all.items[i];

		jsonw_flat_object(w, NULL);
		jsonw_int(w, "path", path->number);
		jsonw_str(w, "via", name_of(p, path->via));
		jsonw_int(w, "port", path->port);
		jsonw_bool(w, "is_taken", path->is_taken);
		jsonw_end(w);
	}
	jsonw_end(w);
}

static void
print_json(const struct path *p)
{
	struct jsonw w;

	jsonw_document(&w, stdout, "antiphase.topology_path/2");
	jsonw_str(&w, "source", topo_node(p->topo, p->source)->name);
	jsonw_str(&w, "destination", topo_node(p->topo, p->destination)->name);
	jsonw_int(&w, "port", p->port);
	jsonw_int(&w, "seed", p->seed);
	jsonw_str(&w, "hash", count_alternatives(p) > 0 ? HASH_NAME : NULL);
	jsonw_str(&w, "basis", "computed");
	jsonw_num(&w, "equal_paths", p->n_equal);
	jsonw_num(&w, "spread_paths", p->n_spread);
	jsonw_num(&w, "alternatives", count_alternatives(p));
	jsonw_array(&w, "links");
	for (size_t i = 0; i < p->links.n; i++) {
		topology_json_link(&w, p->topo, p->links.items[i].link);
		jsonw_rounded(&w, "share", p->links.items[i].share, 9);
		jsonw_end(&w);
	}
	jsonw_end(&w);
	if (p->has_all)
		json_all(p, &w);
	jsonw_end(&w);
	jsonw_finish(&w);
}

/* "4 links, one of 2 shortest paths, chosen by antiphase's hash with seed 0". */
static void
print_choice(const struct path *p)
{
	/* Those over a third group are of different lengths. */
	const char *shortest = topo_routing(p->topo)->is_valiant ? "" : "shortest ";

	printf("%zu link%s, ", p->links.n, p->links.n == 1 ? "" : "s");
	if (p->n_equal <= 1)
		fputs("the only shortest path", stdout);
	else if (p->n_spread <= 1)
		printf("one of %.10g %spaths", p->n_equal, shortest);
	else if (p->n_spread < p->n_equal)
		printf("spread over %.10g of %.10g shortest paths", p->n_spread,
		       p->n_equal);
	else
		printf("spread over %.10g shortest paths", p->n_spread);
	if (count_alternatives(p) > 0)
		printf(", chosen by " HASH_NAME "'s hash with seed %lld",
		       (long long)p->seed);
	fputs("\n\n", stdout);
}

static void
print_all(const struct path *p)
{
	struct table t;

	if (!p->all.n) {
		puts(p->n_spread < p->n_equal
			     ? "\nSwitches of some tiers spread flows, so antiphase "
			       "chooses no paths here."
			     : "\nSwitches spread flows over all paths; there is none to "
			       "choose.");
		return;
	}
	putchar('\n');
	table_init(&t,
		   (const char *const[]){ "%PATH", "VIA", "%SOURCE PORT", "", NULL });
	for (size_t i = 0; i < p->all.n; i++) {
		const struct numbered_path *path = &p->all.items[i];
		const char *via = name_of(p, path->via);

		table_cell(&t, "%u", path->number);
		table_cell(&t, "%s", via ? via : "-");
		if (path->port || path->is_taken)
			table_cell(&t, "%u", path->port);
		else
			table_cell(&t, "-");
		table_cell(&t, "%s", path->is_taken ? "taken" : "");
	}
	table_print(&t, stdout);
	table_fini(&t);
	if (p->n_equal > MAX_PATHS)
		printf("%d of %.10g paths shown\n", MAX_PATHS, p->n_equal);
}

static void
print_text(const struct path *p)
{
	bool is_spread = p->n_spread > 1;
	struct table t;

	printf("%s to %s, source port %lld: ", topo_node(p->topo, p->source)->name,
	       topo_node(p->topo, p->destination)->name, (long long)p->port);
	if (!p->links.n) {
		puts("same host, no links");
		return;
	}
	print_choice(p);
	table_init(&t, (const char *const[]){ "LINK", "%Gb/s",
					      is_spread ? "%SHARE" : NULL, NULL });
	for (size_t i = 0; i < p->links.n; i++) {
		topology_table_link(&t, p->topo, p->links.items[i].link);
		if (is_spread)
			table_cell(&t, "%.4g", p->links.items[i].share);
	}
	table_print(&t, stdout);
	table_fini(&t);
	if (p->has_all)
		print_all(p);
}

int
path_show(struct topo *topo, char **hosts, const struct path_question *question)
{
	struct path p = {
		.topo = topo,
		.port = question->port,
		.seed = question->seed,
		.has_all = question->all,
		.all = VEC_EMPTY,
		.links = VEC_EMPTY,
	};
	struct err err = { 0 };
	int r = find_path(&p, topo, hosts[0], hosts[1], &err);

	if (r == -EINVAL)
		return cli_fail(r, &err);
	if (question->json)
		print_json(&p);
	else if (r == 0)
		print_text(&p);
	else
		fprintf(stderr,
			"antiphase: no path from %s to %s; run 'antiphase "
			"topology check'\n",
			hosts[0], hosts[1]);
	vec_free(&p.all);
	vec_free(&p.links);
	return r == 0 ? CLI_OK : CLI_NO;
}
