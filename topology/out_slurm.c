/* SPDX-License-Identifier: Apache-2.0 */
/*
 * out_slurm.c - the fabric for Slurm: topology.yaml and topology.conf, both of the
 * plug-in topology/tree.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/hostlist.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"
#include "topology/domains.h"
#include "topology/topo.h"
#include "topology/write.h"

/* Of the name of a switch (topology.yaml(5)); other names here are shorter. */
#define SLURM_MAX_NAME 64

struct writer {
	const struct topo *topo;
	const uint32_t *hosts;
	struct topo_domains domains;
	bool is_yaml;
	FILE *out;
};

static const char *
domain_name(const struct writer *w, uint32_t i)
{
	return topo_node(w->topo, w->domains.items[i].node)->name;
}

/* Appends the names of hosts or of domains, folded into ranges. */
static void
fold(const struct writer *w, const uint32_t *numbers, size_t n, bool are_hosts,
     struct strbuf *list)
{
	VEC(const char *) names = VEC_EMPTY;

	for (size_t i = 0; i < n; i++)
		vec_push(&names,
			 are_hosts ? topo_node(w->topo, w->hosts[numbers[i]])->name
				   : domain_name(w, numbers[i]));
	strbuf_clear(list);
	hostlist_fold(names.items, n, list);
	vec_free(&names);
}

/*
 * A switch of Slurm has nodes or switches.  The hosts of a domain that has domains,
 * too, come into a switch of their own.
 */
static void
write_switch(const struct writer *w, uint32_t i, const struct topo_members *inside)
{
	const char *name = domain_name(w, i);
	bool has_both = inside->hosts.n && inside->domains.n;
	struct strbuf list = STRBUF_EMPTY;

	if (inside->hosts.n) {
		fold(w, inside->hosts.items, inside->hosts.n, true, &list);
		if (w->is_yaml)
			fprintf(w->out,
				"      - switch: \"%s%s\"\n        nodes: \"%s\"\n",
				name, has_both ? ".hosts" : "", list.text);
		else
			fprintf(w->out, "SwitchName=%s%s Nodes=%s\n", name,
				has_both ? ".hosts" : "", list.text);
	}
	if (inside->domains.n) {
		fold(w, inside->domains.items, inside->domains.n, false, &list);
		if (has_both)
			strbuf_printf(&list, ",%s.hosts", name);
		if (w->is_yaml)
			fprintf(w->out,
				"      - switch: \"%s\"\n        children: \"%s\"\n",
				name, list.text);
		else
			fprintf(w->out, "SwitchName=%s Switches=%s\n", name, list.text);
	}
	strbuf_free(&list);
}

static int
check_switches(const struct writer *w, const struct topo_members *members,
	       struct err *err)
{
	struct strbuf made = STRBUF_EMPTY;
	bool has_switch = false;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < w->domains.n; i++) {
		const char *name = domain_name(w, i);

		has_switch |= members[i].hosts.n > 0;
		if (!members[i].hosts.n || !members[i].domains.n)
			continue;
		strbuf_clear(&made);
		strbuf_printf(&made, "%s.hosts", name);
		if (made.length > SLURM_MAX_NAME)
			r = err_set(err, NULL, 0, 0,
				    "the hosts at switch '%s' would be at '%s', which "
				    "is longer than Slurm's %d characters",
				    name, made.text, SLURM_MAX_NAME);
		else if (topo_find_node(w->topo, made.text) != TOPO_NONE)
			r = err_set(err, NULL, 0, 0,
				    "the hosts at switch '%s' would be at '%s', which "
				    "is another node",
				    name, made.text);
	}
	strbuf_free(&made);
	if (r == 0 && !has_switch)
		r = err_set(err, NULL, 0, 0,
			    "no host is connected to a switch; Slurm expects one");
	return r;
}

/* Comments: the hosts that are left out, and switches that are one here. */
static void
write_comments(const struct writer *w, const struct topo_members *members, size_t n)
{
	VEC(uint32_t) alone = VEC_EMPTY;
	struct strbuf list = STRBUF_EMPTY;

	for (uint32_t i = 0; i < n; i++)
		if (w->domains.of_host[i] == TOPO_NONE)
			vec_push(&alone, i);
	if (alone.n) {
		fold(w, alone.items, alone.n, true, &list);
		fprintf(w->out, "# Without a switch: %s\n", list.text);
	}
	for (uint32_t i = 0; i < w->domains.n; i++)
		if (w->domains.items[i].n_switches > 1 &&
		    (members[i].hosts.n || members[i].domains.n))
			fprintf(w->out, "# %s: %u switches of this tier\n",
				domain_name(w, i), w->domains.items[i].n_switches);
	vec_free(&alone);
	strbuf_free(&list);
}

/* The fabric's name, if it can be that of a topology in Slurm's other files. */
static const char *
topology_name(const struct topo *topo)
{
	return topo_name_is_valid(topo_name(topo)) ? topo_name(topo) : "fabric";
}

static int
write_slurm(const struct topo *topo, bool is_yaml, FILE *out, struct err *err)
{
	struct writer w = { .topo = topo, .is_yaml = is_yaml, .out = out };
	struct topo_members *members;
	size_t n_hosts;
	int r;

	w.hosts = topo_hosts(topo, &n_hosts);
	topo_domains_init(&w.domains, topo);
	members = topo_members_new(topo, &w.domains);
	r = check_switches(&w, members, err);
	if (r == 0) {
		write_comments(&w, members, n_hosts);
		if (is_yaml)
			fprintf(out,
				"- topology: \"%s\"\n"
				"  cluster_default: true\n"
				"  tree:\n"
				"    switches:\n",
				topology_name(topo));
		for (uint32_t i = 0; i < w.domains.n; i++)
			write_switch(&w, i, &members[i]);
	}
	topo_members_free(members, w.domains.n);
	topo_domains_fini(&w.domains);
	return r;
}

int
topo_slurm_yaml_write(const struct topo *topo, FILE *out, struct err *err)
{
	return write_slurm(topo, true, out, err);
}

int
topo_slurm_conf_write(const struct topo *topo, FILE *out, struct err *err)
{
	return write_slurm(topo, false, out, err);
}
