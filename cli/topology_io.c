/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/topology_io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/topology_service.h"
#include "lib/base/clk.h"
#include "lib/base/file.h"
#include "lib/base/jsonw.h"
#include "lib/base/strbuf.h"
#include "lib/base/table.h"
#include "lib/base/vec.h"
#include "topology/observed.h"
#include "topology/observed_json.h"
#include "topology/write.h"

#define MAX_SEEN_BYTES ((size_t)256 << 20)

int
topology_load(const char *path, const struct topo_read_opts *opts,
	      struct topo **ret_topo, struct err *err)
{
	char *text;
	size_t length;
	int r;

	if (topology_is_service(path))
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
	jsonw_num(w, "capacity_bps", topo_link(topo, link)->capacity_bps);
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

/* "dir/gpu0.json" is of gpu0. */
static void
name_by_file(const char *path, char ret_node[TOPO_MAX_NAME + 1])
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	size_t n = strlen(base);

	if (n > 5 && strcmp(base + n - 5, ".json") == 0)
		n -= 5;
	if (n > TOPO_MAX_NAME)
		return;
	memcpy(ret_node, base, n);
	ret_node[n] = '\0';
	if (!topo_name_is_valid(ret_node) || strcmp(ret_node, "-") == 0)
		ret_node[0] = '\0';
}

int
topology_read_seen(const char *operand, bool is_named_by_file, struct observed *seen,
		   struct err *err)
{
	const char *equals = strchr(operand, '='), *path = operand;
	char node[TOPO_MAX_NAME + 1] = "";
	char *text;
	size_t n;
	int r;

	if (equals && equals - operand <= TOPO_MAX_NAME) {
		memcpy(node, operand, (size_t)(equals - operand));
		node[equals - operand] = '\0';
		if (topo_name_is_valid(node) && !strchr(node, '/'))
			path = equals + 1;
		else
			node[0] = '\0';
	}
	if (!node[0] && is_named_by_file)
		name_by_file(path, node);
	r = file_read(path, MAX_SEEN_BYTES, &text, &n, err);
	if (r < 0)
		return r;
	r = observed_json_read(path, text, n, node, clk_wall_us(), seen, err);
	free(text);
	return r;
}
