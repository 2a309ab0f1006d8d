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

struct path {
	const struct topo *topo; /* Borrowed. */
	uint32_t source, destination;
	int64_t port, seed;
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
	routes_free(routes);
	return r;
}

/* Paths that are as short, and that the flow does not use. */
static double
count_alternatives(const struct path *p)
{
	return p->n_equal - p->n_spread;
}

static void
print_json(const struct path *p)
{
	struct jsonw w;

	jsonw_document(&w, stdout, "antiphase.topology_path/1");
	jsonw_str(&w, "source", topo_node(p->topo, p->source)->name);
	jsonw_str(&w, "destination", topo_node(p->topo, p->destination)->name);
	jsonw_int(&w, "port", p->port);
	jsonw_int(&w, "seed", p->seed);
	jsonw_str(&w, "hash", count_alternatives(p) > 0 ? HASH_NAME : NULL);
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
	jsonw_end(&w);
	jsonw_finish(&w);
}

/* "4 links, one of 2 shortest paths, chosen by antiphase's hash with seed 0". */
static void
print_choice(const struct path *p)
{
	printf("%zu link%s, ", p->links.n, p->links.n == 1 ? "" : "s");
	if (p->n_equal <= 1)
		fputs("the only shortest path", stdout);
	else if (p->n_spread <= 1)
		printf("one of %.10g shortest paths", p->n_equal);
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
}

int
path_show(struct topo *topo, char **hosts, int64_t port, int64_t seed, bool json)
{
	struct path p = {
		.topo = topo, .port = port, .seed = seed, .links = VEC_EMPTY
	};
	struct err err = { 0 };
	int r = find_path(&p, topo, hosts[0], hosts[1], &err);

	if (r == -EINVAL)
		return cli_fail(r, &err);
	if (json)
		print_json(&p);
	else if (r == 0)
		print_text(&p);
	else
		fprintf(stderr,
			"antiphase: no up-down path from %s to %s; run 'antiphase "
			"topology check'\n",
			hosts[0], hosts[1]);
	vec_free(&p.links);
	return r == 0 ? CLI_OK : CLI_NO;
}
