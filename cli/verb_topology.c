/*
 * verb_topology.c - 'antiphase topology': fabrics made, shown, checked, converted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/topology_service.h"
#include "cli/topology_verbs.h"
#include "cli/verbs.h"
#include "lib/base/file.h"
#include "lib/base/jsonw.h"
#include "lib/base/strbuf.h"
#include "lib/base/table.h"
#include "lib/base/vec.h"
#include "topology/write.h"

static const struct cli_verb *const subverbs[] = {
	&verb_topology_generate, &verb_topology_show,
	&verb_topology_check,    &verb_topology_import,
	&verb_topology_path,     &verb_topology_links_of,
	&verb_topology_diff,     &verb_topology_report,
	&verb_topology_watch,    NULL,
};

int
topology_load(const char *path, const struct topo_read_opts *opts,
	      struct topo **ret_topo, struct err *err)
{
	char *text;
	size_t length;
	int r;

	if (topology_is_endpoint(path))
		return topology_ask_plan(path, ret_topo, err);
	r = file_read(path, TOPO_MAX_FILE_BYTES, &text, &length, err);
	if (r < 0)
		return r;
	r = topo_read(strcmp(path, "-") == 0 ? "standard input" : path, text, length,
		      opts, ret_topo, err);
	free(text);
	return r;
}

uint32_t
topology_find_host(const struct topo *topo, const char *name, struct err *err)
{
	uint32_t node = topo_find_node(topo, name);
	VEC(const char *) names = VEC_EMPTY;
	size_t n;
	const uint32_t *hosts = topo_hosts(topo, &n);

	if (topo_host_number(topo, node) != TOPO_NONE)
		return node;
	for (size_t i = 0; i < n; i++)
		vec_push(&names, topo_node(topo, hosts[i])->name);
	vec_push(&names, NULL);
	err_set(err, NULL, 0, 0, "the fabric has no host '%s'%s", name,
		node != TOPO_NONE ? ": that is a switch" : "");
	if (err && node == TOPO_NONE)
		err_suggest(err, name, names.items);
	vec_free(&names);
	return TOPO_NONE;
}

void
topology_json_link(struct jsonw *w, const struct topo *topo, uint32_t link)
{
	struct strbuf name = STRBUF_EMPTY;

	topo_link_name(topo, link, &name);
	jsonw_flat_object(w, NULL);
	jsonw_str(w, "link", name.text);
	jsonw_num(w, "gbps", topo_link(topo, link)->capacity_bps / 1e9);
	strbuf_free(&name);
}

void
topology_table_link(struct table *t, const struct topo *topo, uint32_t link)
{
	struct strbuf name = STRBUF_EMPTY;

	topo_link_name(topo, link, &name);
	table_cell(t, "%s", name.text);
	table_cell(t, "%.10g", topo_link(topo, link)->capacity_bps / 1e9);
	strbuf_free(&name);
}

int
topology_save(const struct topo *topo, const char *path, struct err *err)
{
	char *text;
	size_t length;
	FILE *out;
	int r;

	if (!path) {
		topo_json_write(topo, stdout);
		return 0;
	}
	out = open_memstream(&text, &length);
	BUG_ON(!out);
	topo_json_write(topo, out);
	BUG_ON(fclose(out) != 0);
	r = file_write(path, text, length, err);
	free(text);
	return r;
}

static int
run_topology(int argc, char **argv)
{
	return cli_subverbs(&verb_topology, subverbs, argc, argv);
}

const struct cli_verb verb_topology = {
	.name = "topology",
	.summary = "make, show, check, import and compare fabrics",
	.usage = "VERB [options] ...",
	.examples =
		"  antiphase topology generate leaf-spine --leaves 6 --hosts-per-leaf 4 "
		"-o fabric.json\n"
		"  antiphase topology show fabric.json\n"
		"  antiphase topology check fabric.json\n",
	.run = run_topology,
};
