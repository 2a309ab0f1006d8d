/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/strtab.h"
#include "topology/in_ibnet_priv.h"
#include "topology/topo.h"

void
ibnet_node_fini(struct ibnet_node *node)
{
	free(node->description);
	free(node->name);
	free(node->device);
}

bool
ibnet_is_host(const struct ibnet_node *node)
{
	return node->kind == IBNET_CA &&
	       !(node->description && strstr(node->description, "Aggregation Node"));
}

/* A new name of the first 'length' characters, with '_' for invalid ones. */
static char *
make_name(const char *text, size_t length)
{
	char *name = xstrndup(text, length < TOPO_MAX_NAME ? length : TOPO_MAX_NAME);

	for (char *c = name; *c; c++) {
		const char one[] = { *c, '\0' };

		if (!topo_name_is_valid(one))
			*c = '_';
	}
	return name;
}

/* "mlx5_0", "HCA-1": what follows the host's name in a description. */
static bool
is_device(const char *word)
{
	static const char *const prefixes[] = { "mlx",   "HCA",   "hca",  "hfi",
						"mthca", "qib",   "ib",   "cxi",
						"bnxt",  "irdma", "rocep" };

	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
		if (strncmp(word, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	}
	return false;
}

static void
name_host(struct ibnet_node *node)
{
	const char *text = node->description + strspn(node->description, " ");
	size_t length = strcspn(text, " ");
	const char *device = text + length + strspn(text + length, " ");
	size_t device_length = strcspn(device, " ");

	/*
	 * More than two words, or a second word that is not a device: not a host name.
	 */
	if (!length || device[device_length + strspn(device + device_length, " ")] ||
	    (device_length && !is_device(device)))
		return;
	node->name = make_name(text, length);
	node->device = device_length ? make_name(device, device_length) : xstrdup("ca");
}

static void
name_switch(struct ibnet_node *node)
{
	const char *text = node->description;
	const char *model, *part;

	if (strncmp(text, "MF0;", 4) == 0) {
		text += 4;
		model = strchr(text, ':');
		part = model ? strchr(model, '/') : NULL;
		if (model == text || !*text)
			return;
		if (part && strcmp(part, "/U1") != 0) {
			char *whole =
				xasprintf("%.*s%s", (int)(model - text), text, part);

			node->name = make_name(whole, strlen(whole));
			free(whole);
		} else {
			node->name = make_name(text, model ? (size_t)(model - text)
							   : strlen(text));
		}
	} else if (*text && !strchr(text, ' ')) {
		node->name = make_name(text, strlen(text));
	}
}

void
ibnet_name_nodes(struct ibnet_node *nodes, size_t n)
{
	struct strtab *names = strtab_new();
	uint32_t *n_uses = xcalloc(n + 1, sizeof *n_uses); /* By name. */
	uint32_t *ids = xcalloc(n + 1, sizeof *ids);       /* Of name, by node. */

	for (size_t i = 0; i < n; i++) {
		struct ibnet_node *node = &nodes[i];
		char *key;

		if (node->description && ibnet_is_host(node))
			name_host(node);
		else if (node->description && node->kind == IBNET_SWITCH)
			name_switch(node);
		if (!node->name)
			continue;
		/* Adapters of a host differ in the device. */
		key = xasprintf("%d %s %s", (int)node->kind, node->name,
				node->device ? node->device : "");
		ids[i] = strtab_intern(names, key);
		n_uses[ids[i]]++;
		free(key);
	}
	for (size_t i = 0; i < n; i++) {
		struct ibnet_node *node = &nodes[i];

		if (node->name && n_uses[ids[i]] == 1)
			continue;
		free(node->name);
		free(node->device);
		node->device = NULL;
		node->name = xstrdup(node->token);
	}
	free(ids);
	free(n_uses);
	strtab_free(names);
}

void
ibnet_add_hosts(struct ibnet_node *nodes, size_t n, uint32_t n_slots,
		struct topo_builder *b)
{
	for (size_t i = 0; i < n; i++) {
		nodes[i].id = TOPO_NONE;
		if (!ibnet_is_host(&nodes[i]))
			continue;
		nodes[i].id = topo_builder_find(b, nodes[i].name);
		if (nodes[i].id == TOPO_NONE)
			BUG_ON(topo_builder_host(b, nodes[i].name, n_slots,
						 &nodes[i].id) < 0);
	}
}
