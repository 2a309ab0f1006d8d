/* SPDX-License-Identifier: Apache-2.0 */
/*
 * out_k8s.c - the fabric for Kubernetes: HyperNodes, and labels of Nodes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/jsonw.h"
#include "lib/base/strbuf.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"
#include "topology/domains.h"
#include "topology/k8s.h"
#include "topology/topo.h"

/* Every host needs a name that a Node can have. */
static int
check_hosts(const struct topo *topo, struct err *err)
{
	size_t n;
	const uint32_t *hosts = topo_hosts(topo, &n);

	for (size_t i = 0; i < n; i++) {
		const char *name = topo_node(topo, hosts[i])->name;

		if (!k8s_name_is_valid(name))
			return err_set(
				err, NULL, 0, 0,
				"host '%s' has a name that no Node of Kubernetes "
				"has: small letters, digits, '-' and '.'",
				name);
	}
	return 0;
}

/* ---- HyperNodes ------------------------------------------------------------------ */

/* Appends a valid Kubernetes name: the same, or a shortened one with a hash. */
static void
add_object_name(const char *name, struct strbuf *out)
{
	struct strbuf hash = STRBUF_EMPTY;

	if (k8s_name_is_valid(name)) {
		strbuf_puts(out, name);
		return;
	}
	for (const char *c = name; *c; c++) {
		if (*c >= 'A' && *c <= 'Z')
			strbuf_putc(out, (char)(*c - 'A' + 'a'));
		else if ((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9'))
			strbuf_putc(out, *c);
		else if (out->length)
			strbuf_putc(out, '-');
	}
	k8s_label_hash(name, &hash);
	strbuf_printf(out, "%s%s", out->length ? "-" : "", hash.text);
	strbuf_free(&hash);
}

/* The names of the domains' HyperNodes, by number, all different. */
static int
name_domains(const struct topo *topo, const struct topo_domains *domains,
	     struct strtab *names, struct err *err)
{
	struct strbuf name = STRBUF_EMPTY;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < domains->n; i++) {
		const char *text = topo_node(topo, domains->items[i].node)->name;

		strbuf_clear(&name);
		add_object_name(text, &name);
		if (strtab_intern(names, name.text) != i)
			r = err_set(err, NULL, 0, 0,
				    "switch '%s' would be HyperNode '%s', as another "
				    "one is",
				    text, name.text);
	}
	strbuf_free(&name);
	return r;
}

static void
write_member(FILE *out, const char *type, const char *name)
{
	fprintf(out,
		"  - type: %s\n"
		"    selector:\n"
		"      exactMatch:\n"
		"        name: \"%s\"\n",
		type, name);
}

static void
write_hypernode(const struct topo *topo, const struct topo_domain *domain,
		const char *name, const struct topo_members *inside,
		const struct strtab *names, FILE *out)
{
	const char *text = topo_node(topo, domain->node)->name;
	size_t n;
	const uint32_t *hosts = topo_hosts(topo, &n);

	if (domain->n_switches > 1)
		fprintf(out, "# %u switches of this tier\n", domain->n_switches);
	fprintf(out,
		"apiVersion: topology.volcano.sh/v1alpha1\n"
		"kind: HyperNode\n"
		"metadata:\n"
		"  name: \"%s\"\n",
		name);
	if (strcmp(name, text) != 0)
		fprintf(out, "  annotations:\n    %s: \"%s\"\n", K8S_SWITCH, text);
	fprintf(out, "spec:\n  tier: %u\n  members:\n", domain->tier);
	for (size_t i = 0; i < inside->hosts.n; i++)
		write_member(out, "Node",
			     topo_node(topo, hosts[inside->hosts.items[i]])->name);
	for (size_t i = 0; i < inside->domains.n; i++)
		write_member(out, "HyperNode",
			     strtab_name(names, inside->domains.items[i]));
}

static void
write_hypernodes(const struct topo *topo, const struct topo_domains *domains,
		 const struct strtab *names, FILE *out)
{
	struct topo_members *members = topo_members_new(topo, domains);
	bool is_first = true;

	for (uint32_t i = 0; i < domains->n; i++) {
		/* Domains without hosts are left out. */
		if (!members[i].hosts.n && !members[i].domains.n)
			continue;
		if (!is_first)
			fputs("---\n", out);
		is_first = false;
		write_hypernode(topo, &domains->items[i], strtab_name(names, i),
				&members[i], names, out);
	}
	topo_members_free(members, domains->n);
}

int
topo_hypernodes_write(const struct topo *topo, FILE *out, struct err *err)
{
	struct topo_domains domains;
	struct strtab *names = strtab_new();
	int r;

	topo_domains_init(&domains, topo);
	r = check_hosts(topo, err);
	if (r == 0)
		r = name_domains(topo, &domains, names, err);
	if (r == 0)
		write_hypernodes(topo, &domains, names, out);
	topo_domains_fini(&domains);
	strtab_free(names);
	return r;
}

/* ---- Labels ---------------------------------------------------------------------- */

/* Checks that labels can express the fabric.  Returns 0 or -EINVAL. */
static int
check_labels(const struct topo *topo, const struct topo_domains *domains,
	     const char *keys, struct err *err)
{
	struct strbuf key = STRBUF_EMPTY;
	int r = k8s_label_keys_check(keys, err);

	if (r == 0)
		r = check_hosts(topo, err);
	for (size_t i = 0; r == 0 && i < domains->n; i++)
		if (!k8s_label_key(keys, domains->items[i].tier - 1, &key))
			r = err_set(err, NULL, 0, 0,
				    "there is no key for tier %u; name more keys",
				    domains->items[i].tier);
	strbuf_free(&key);
	return r;
}

/* Calls 'label' for each label of the host, closest first. */
static void
for_labels(const struct topo *topo, const struct topo_domains *domains,
	   const char *keys, uint32_t host,
	   void (*label)(void *ctx, const char *key, const char *value), void *ctx)
{
	struct strbuf key = STRBUF_EMPTY, value = STRBUF_EMPTY;

	for (uint32_t d = domains->of_host[host]; d != TOPO_NONE;
	     d = domains->items[d].parent) {
		const char *name = topo_node(topo, domains->items[d].node)->name;

		strbuf_clear(&key);
		strbuf_clear(&value);
		k8s_label_key(keys, domains->items[d].tier - 1, &key);
		if (k8s_label_is_valid(name))
			strbuf_puts(&value, name);
		else
			k8s_label_hash(name, &value);
		label(ctx, key.text, value.text);
	}
	strbuf_free(&key);
	strbuf_free(&value);
}

static void
add_json(void *ctx, const char *key, const char *value)
{
	jsonw_str(ctx, key, value);
}

int
topo_k8s_nodes_write(const struct topo *topo, const char *keys, FILE *out,
		     struct err *err)
{
	struct topo_domains domains;
	struct jsonw w;
	size_t n;
	const uint32_t *hosts = topo_hosts(topo, &n);
	int r;

	topo_domains_init(&domains, topo);
	r = check_labels(topo, &domains, keys, err);
	if (r == 0) {
		jsonw_init(&w, out);
		jsonw_object(&w, NULL);
		jsonw_str(&w, "apiVersion", "v1");
		jsonw_str(&w, "kind", "List");
		jsonw_array(&w, "items");
		for (uint32_t i = 0; i < n; i++) {
			jsonw_flat_object(&w, NULL);
			jsonw_str(&w, "apiVersion", "v1");
			jsonw_str(&w, "kind", "Node");
			jsonw_object(&w, "metadata");
			jsonw_str(&w, "name", topo_node(topo, hosts[i])->name);
			jsonw_object(&w, "labels");
			for_labels(topo, &domains, keys, i, add_json, &w);
			jsonw_end(&w);
			jsonw_end(&w);
			jsonw_end(&w);
		}
		jsonw_end(&w);
		jsonw_end(&w);
		jsonw_finish(&w);
	}
	topo_domains_fini(&domains);
	return r;
}

static void
add_word(void *ctx, const char *key, const char *value)
{
	fprintf(ctx, " %s=%s", key, value);
}

int
topo_k8s_labels_write(const struct topo *topo, const char *keys, FILE *out,
		      struct err *err)
{
	struct topo_domains domains;
	size_t n;
	const uint32_t *hosts = topo_hosts(topo, &n);
	int r;

	topo_domains_init(&domains, topo);
	r = check_labels(topo, &domains, keys, err);
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		if (domains.of_host[i] == TOPO_NONE)
			continue;
		fprintf(out, "kubectl label --overwrite node %s",
			topo_node(topo, hosts[i])->name);
		for_labels(topo, &domains, keys, i, add_word, out);
		fputc('\n', out);
	}
	topo_domains_fini(&domains);
	return r;
}
