/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topology_show.c - 'antiphase topology show' and 'check': a fabric's content and
 * faults.
 */
#include <string.h>

#include "cli/topology_io.h"
#include "cli/topology_service.h"
#include "cli/topology_verbs.h"
#include "lib/base/hostlist.h"
#include "lib/base/jsonw.h"
#include "lib/base/table.h"
#include "lib/base/words.h"
#include "topology/check.h"
#include "topology/k8s.h"
#include "topology/route.h"
#include "topology/routing.h"
#include "topology/write.h"

/* ---- Shared --------------------------------------------------------------------- */

/* Longer lists of names are cut; the JSON has all names. */
#define MAX_NAMES_LENGTH 40

struct counts {
	uint64_t n_hosts, n_slots, n_switches, n_cables, n_scale_up;
};

static struct counts
count_all(const struct topo *topo)
{
	struct counts c = { 0 };

	for (uint32_t i = 0; i < topo_n_nodes(topo); i++) {
		const struct topo_node *node = topo_node(topo, i);

		c.n_slots += node->n_slots;
		c.n_hosts += node->kind == TOPO_HOST;
		c.n_switches += node->kind == TOPO_SWITCH;
		c.n_scale_up += node->is_scale_up;
	}
	for (uint32_t i = 0; i < topo_n_links(topo); i++) {
		uint32_t reverse = topo_link(topo, i)->reverse;

		c.n_cables += reverse == TOPO_NONE || reverse > i;
	}
	return c;
}

static void
add_names(const struct topo *topo, uint32_t tier, struct strbuf *out)
{
	VEC(const char *) names = VEC_EMPTY;

	for (uint32_t i = 0; i < topo_n_nodes(topo); i++) {
		if (topo_node(topo, i)->tier == tier &&
		    !topo_node(topo, i)->is_scale_up)
			vec_push(&names, topo_node(topo, i)->name);
	}
	hostlist_fold(names.items, names.n, out);
	vec_free(&names);
}

static const char *
tier_balance(const struct topo *topo, uint32_t tier)
{
	return topo_balance_names[topo_balance(topo, tier)];
}

static void
add_ratio_cell(struct table *t, const struct topo_tier *tier)
{
	if (tier->most == 0)
		table_cell(t, "-");
	else if (tier->most > tier->least * (1 + 1e-9))
		table_cell(t, "%.4g:1 to %.4g:1", tier->least, tier->most);
	else
		table_cell(t, "%.4g:1", tier->most);
}

/* Without a tier that sprays or routes adaptively, the column would say nothing. */
static bool
all_tiers_hash(const struct topo *topo)
{
	for (uint32_t tier = 1; tier <= TOPO_MAX_TIER; tier++)
		if (topo_balance(topo, tier) != TOPO_BALANCE_HASH)
			return false;
	return true;
}

static void
print_tiers(const struct topo *topo)
{
	struct topo_tier tiers[TOPO_MAX_TIER + 1];
	size_t n = topo_tiers(topo, tiers);
	bool all_hash = all_tiers_hash(topo);
	struct table t;

	table_init(&t,
		   (const char *const[]){ "%TIER", "%NODES", "%CABLES UP", "%DOWN Gb/s",
					  "%UP Gb/s", "%OVERSUBSCRIPTION",
					  all_hash ? "NAMES" : "BALANCE",
					  all_hash ? NULL : "NAMES", NULL });
	/* The highest tier on top, as in drawings. */
	while (n-- > 0) {
		struct strbuf names = STRBUF_EMPTY;

		add_names(topo, tiers[n].tier, &names);
		table_cell(&t, "%u", tiers[n].tier);
		table_cell(&t, "%u", tiers[n].n_nodes);
		table_cell(&t, "%u", tiers[n].n_cables_up);
		table_cell(&t, "%.10g", tiers[n].down_bps / 1e9);
		table_cell(&t, "%.10g", tiers[n].up_bps / 1e9);
		add_ratio_cell(&t, &tiers[n]);
		if (!all_hash)
			table_cell(&t, "%s",
				   tiers[n].tier ? tier_balance(topo, tiers[n].tier)
						 : "-");
		table_cell(&t, "%.*s%s", MAX_NAMES_LENGTH, names.text,
			   names.length > MAX_NAMES_LENGTH ? "..." : "");
		strbuf_free(&names);
	}
	table_print(&t, stdout);
	table_fini(&t);
}

static void
write_tiers(const struct topo *topo, struct jsonw *w)
{
	struct topo_tier tiers[TOPO_MAX_TIER + 1];
	size_t n = topo_tiers(topo, tiers);

	jsonw_array(w, "tiers");
	for (size_t i = 0; i < n; i++) {
		struct strbuf names = STRBUF_EMPTY;

		add_names(topo, tiers[i].tier, &names);
		jsonw_flat_object(w, NULL);
		jsonw_int(w, "tier", tiers[i].tier);
		jsonw_int(w, "nodes", tiers[i].n_nodes);
		jsonw_int(w, "cables_up", tiers[i].n_cables_up);
		jsonw_num(w, "down_bps", tiers[i].down_bps);
		jsonw_num(w, "up_bps", tiers[i].up_bps);
		if (tiers[i].most > 0) {
			jsonw_rounded(w, "least_oversubscription", tiers[i].least, 9);
			jsonw_rounded(w, "most_oversubscription", tiers[i].most, 9);
		} else {
			jsonw_null(w, "least_oversubscription");
			jsonw_null(w, "most_oversubscription");
		}
		/* Hosts do not forward. */
		jsonw_str(w, "balance",
			  tiers[i].tier ? tier_balance(topo, tiers[i].tier) : NULL);
		jsonw_str(w, "names", names.text);
		jsonw_end(w);
		strbuf_free(&names);
	}
	jsonw_end(w);
}

/* ---- show ------------------------------------------------------------------------ */

static void
print_links(const struct topo *topo)
{
	struct table t;

	table_init(&t, (const char *const[]){ "LINK", "%Gb/s", "TIERS", NULL });
	for (uint32_t i = 0; i < topo_n_links(topo); i++) {
		const struct topo_link *link = topo_link(topo, i);

		topology_table_link(&t, topo, i);
		table_cell(&t, "%u>%u", topo_node(topo, link->from)->tier,
			   topo_node(topo, link->to)->tier);
	}
	table_print(&t, stdout);
	table_fini(&t);
}

static void
write_links(const struct topo *topo, struct jsonw *w)
{
	jsonw_array(w, "links");
	for (uint32_t i = 0; i < topo_n_links(topo); i++) {
		const struct topo_link *link = topo_link(topo, i);

		topology_json_link(w, topo, i);
		jsonw_int(w, "from_tier", topo_node(topo, link->from)->tier);
		jsonw_int(w, "to_tier", topo_node(topo, link->to)->tier);
		jsonw_end(w);
	}
	jsonw_end(w);
}

static void
show_json(const struct topo *topo, bool with_links)
{
	struct counts c = count_all(topo);
	struct strbuf routing = STRBUF_EMPTY;
	struct jsonw w;

	jsonw_document(&w, stdout, "antiphase.topology_summary/2");
	jsonw_str(&w, "name", topo_name(topo));
	jsonw_int(&w, "hosts", (int64_t)c.n_hosts);
	jsonw_int(&w, "slots", (int64_t)c.n_slots);
	jsonw_int(&w, "switches", (int64_t)c.n_switches);
	jsonw_int(&w, "cables", (int64_t)c.n_cables);
	jsonw_int(&w, "scale_up_domains", (int64_t)c.n_scale_up);
	write_tiers(topo, &w);
	topo_routing_text(topo_routing(topo), &routing);
	jsonw_str(&w, "routing", routing.text);
	strbuf_free(&routing);
	if (with_links)
		write_links(topo, &w);
	jsonw_end(&w);
	jsonw_finish(&w);
}

/* The scale-up domains, one line for each size and speed that follow each other. */
static void
print_scale_up(const struct topo *topo)
{
	size_t n_hosts = 0, n_domains = 0, n_out;
	double bps = 0;

	for (uint32_t i = 0; i <= topo_n_nodes(topo); i++) {
		const uint32_t *out = NULL;
		double here_bps = 0;

		if (i < topo_n_nodes(topo) && !topo_node(topo, i)->is_scale_up)
			continue;
		n_out = 0;
		if (i < topo_n_nodes(topo))
			out = topo_links_out(topo, i, &n_out);
		if (n_out)
			here_bps = topo_link(topo, out[0])->capacity_bps;
		if (n_domains &&
		    (n_out != n_hosts || here_bps < bps || here_bps > bps)) {
			printf("\nScale-up: %zu domain%s of %zu hosts, %.10g Gb/s a "
			       "host\n",
			       n_domains, words_plural(n_domains), n_hosts, bps / 1e9);
			n_domains = 0;
		}
		n_hosts = n_out;
		bps = here_bps;
		n_domains++;
	}
}

static void
show_text(const struct topo *topo, bool with_links)
{
	struct counts c = count_all(topo);

	printf("%s: %llu host%s with %llu slot%s, %llu switch%s, %llu cable%s\n\n",
	       topo_name(topo), (unsigned long long)c.n_hosts, words_plural(c.n_hosts),
	       (unsigned long long)c.n_slots, words_plural(c.n_slots),
	       (unsigned long long)c.n_switches, c.n_switches == 1 ? "" : "es",
	       (unsigned long long)c.n_cables, words_plural(c.n_cables));
	print_tiers(topo);
	print_scale_up(topo);
	if (topo_routing(topo)->method != TOPO_UP_DOWN) {
		struct strbuf routing = STRBUF_EMPTY;

		topo_routing_text(topo_routing(topo), &routing);
		printf("\nRouting: %s%s\n", routing.text,
		       topo_routing(topo)->method == TOPO_TORUS ? ", in dimension order"
								: "");
		strbuf_free(&routing);
	}
	if (with_links) {
		putchar('\n');
		print_links(topo);
	}
}

static const char *const show_formats[] = { "hypernodes", "k8s-nodes",  "k8s-labels",
					    "slurm-yaml", "slurm-conf", NULL };

/* The formats of others. */
static int
show_format(const struct topo *topo, const char *format, const char *keys)
{
	struct err err = { 0 };
	int r;

	if (!keys)
		keys = K8S_LABEL_KEYS;
	if (strcmp(format, "hypernodes") == 0)
		r = topo_hypernodes_write(topo, stdout, &err);
	else if (strcmp(format, "k8s-nodes") == 0)
		r = topo_k8s_nodes_write(topo, keys, stdout, &err);
	else if (strcmp(format, "k8s-labels") == 0)
		r = topo_k8s_labels_write(topo, keys, stdout, &err);
	else if (strcmp(format, "slurm-yaml") == 0)
		r = topo_slurm_yaml_write(topo, stdout, &err);
	else
		r = topo_slurm_conf_write(topo, stdout, &err);
	return r < 0 ? cli_fail(r, &err) : CLI_OK;
}

static int
run_show(int argc, char **argv)
{
	bool json = false, dot = false, links = false;
	const char *format = NULL, *keys = NULL;
	const struct cli_opt opts[] = {
		CLI_OPT("links", 'l', CLI_FLAG, &links, NULL, "also list every link"),
		CLI_OPT("json", 'j', CLI_FLAG, &json, NULL, "print JSON"),
		CLI_OPT("dot", 0, CLI_FLAG, &dot, NULL,
			"print for Graphviz (... | dot -Tsvg)"),
		CLI_OPT("format", 0, CLI_WORDS, &format, "FORMAT",
			"print for Kubernetes or Slurm", .words = show_formats),
		CLI_OPT("labels", 0, CLI_STR, &keys, "KEYS",
			"keys of the labels, closest switch first (default: " K8S_LABEL_KEYS
			")"),
		CLI_OPTS_END,
	};
	struct topo *topo;
	struct err err = { 0 };
	int first = cli_parse(&verb_topology_show, opts, argc, argv);
	int r, status = CLI_OK;

	if (first < 0)
		return cli_status(first);
	if (json + dot + !!format > 1)
		return cli_usage_error(&verb_topology_show,
				       "--json, --dot and --format exclude each other");
	r = topology_load(argv[first], NULL, &topo, &err);
	if (r < 0)
		return topology_fail(r, &err);
	if (format)
		status = show_format(topo, format, keys);
	else if (dot)
		topo_dot_write(topo, stdout);
	else if (json)
		show_json(topo, links);
	else
		show_text(topo, links);
	topo_unref(topo);
	return status;
}

const struct cli_verb verb_topology_show = {
	.name = "topology show",
	.summary =
		"show a fabric as a table, JSON, drawing, or for Kubernetes or Slurm",
	.usage = "[options] FILE",
	.examples =
		"  antiphase topology show fabric.json\n"
		"  antiphase topology show --dot fabric.json | dot -Tsvg >fabric.svg\n"
		"  antiphase topology show --format hypernodes fabric.json\n"
		"  antiphase topology show --format slurm-yaml fabric.json\n",
	.run = run_show,
	.operands = "one FILE",
	.min_operands = 1,
	.max_operands = 1,
};

/* ---- check ---------------------------------------------------------------------- */

static void
note_duplicate(void *ctx, const struct err *err)
{
	topo_faults_add(ctx, TOPO_FAULT_DUPLICATE, "%s:%u: %s", err->file, err->line,
			err->text);
}

static void
check_json(const struct topo *topo, const struct topo_faults *faults)
{
	struct jsonw w;

	jsonw_document(&w, stdout, "antiphase.topology_check/2");
	jsonw_str(&w, "name", topo_name(topo));
	write_tiers(topo, &w);
	jsonw_array(&w, "faults");
	for (size_t i = 0; i < faults->list.n; i++) {
		jsonw_flat_object(&w, NULL);
		jsonw_str(&w, "kind", topo_fault_names[faults->list.items[i].kind]);
		jsonw_str(&w, "text", faults->list.items[i].text);
		jsonw_end(&w);
	}
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_finish(&w);
}

static void
check_text(const struct topo *topo, const struct topo_faults *faults)
{
	print_tiers(topo);
	putchar('\n');
	for (size_t i = 0; i < faults->list.n; i++)
		printf("%s: %s\n", topo_fault_names[faults->list.items[i].kind],
		       faults->list.items[i].text);
	if (faults->list.n)
		printf("%zu fault%s\n", faults->list.n, faults->list.n > 1 ? "s" : "");
	else
		puts("no faults");
}

static int
run_check(int argc, char **argv)
{
	bool json = false;
	const struct cli_opt opts[] = {
		CLI_OPT("json", 'j', CLI_FLAG, &json, NULL, "print JSON"),
		CLI_OPTS_END,
	};
	struct topo_faults faults = { VEC_EMPTY };
	const struct topo_read_opts read_opts = { .on_duplicate = note_duplicate,
						  .ctx = &faults };
	struct topo *topo;
	struct err err = { 0 };
	int first = cli_parse(&verb_topology_check, opts, argc, argv);
	int r;

	if (first < 0)
		return cli_status(first);
	r = topology_load(argv[first], &read_opts, &topo, &err);
	if (r < 0) {
		r = topology_fail(r, &err);
	} else {
		struct routes *routes = routes_new(topo, 0);

		topo_check(topo, routes, &faults);
		routes_free(routes);
		if (json)
			check_json(topo, &faults);
		else
			check_text(topo, &faults);
		topo_unref(topo);
		r = faults.list.n ? CLI_NO : CLI_OK;
	}
	topo_faults_fini(&faults);
	return r;
}

const struct cli_verb verb_topology_check = {
	.name = "topology check",
	.summary = "find faults: unreachable hosts, one-way links, uneven uplinks",
	.usage = "[options] FILE",
	.examples = "  antiphase topology check fabric.json\n",
	.run = run_check,
	.operands = "one FILE",
	.min_operands = 1,
	.max_operands = 1,
};
