/* SPDX-License-Identifier: Apache-2.0 */
/*
 * in_lingjun.c - topo.csv of Alibaba's Lingjun dataset (2023): a host per line, with the
 * switches of three tiers above it
 *
 *	ip,DSW,PSW,ASW
 *	0c9d9de1,G6,P10,S14
 *
 * A name of an ASW (rack) repeats in every PSW (pod), and that of a PSW may in every DSW
 * (core), so switches are named by their path: "G6-P10-S14".  A name stands for all
 * parallel switches of its place: the fabric is a tree, and a switch's uplink has their
 * capacity in all.  Hosts are hashes of 64 letters, of which 16 are the name.  The text becomes a topology.conf (in_slurm.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/strtab.h"
#include "lib/base/words.h"
#include "topology/read_priv.h"
#include "topology/topo.h"

#define N_TIERS  3
#define N_FIELDS (1 + N_TIERS)
#define HEADER   "ip,DSW,PSW,ASW"
#define MAX_HASH 64
#define N_HASH   16 /* Letters of a hash in a name. */

/* Switches of a tier, the highest tier first; members by number of the name. */
struct tier {
	struct strtab *names;
	VEC(struct strbuf) members;
};

struct lingjun {
	const char *file;
	struct err *err;
	struct strtab *hosts;
	struct tier tiers[N_TIERS];
};

/* Adds a member to a switch, which may be new: then returns true. */
static bool
add_member(struct tier *tier, const char *name, const char *member)
{
	uint32_t id = strtab_intern(tier->names, name);
	bool is_new = id == tier->members.n;
	struct strbuf none = STRBUF_EMPTY, *members;

	if (is_new)
		vec_push(&tier->members, none);
	members = &tier->members.items[id];
	if (!is_new)
		strbuf_putc(members, ',');
	strbuf_puts(members, member);
	return is_new;
}

/* Splits a line in place at commas; returns the number of fields, at most N_FIELDS + 1. */
static int
split(char *line, char **ret_fields)
{
	int n = 0;

	for (char *at = line; n <= N_FIELDS; at++) {
		ret_fields[n++] = at;
		at += strcspn(at, ",");
		if (!*at)
			break;
		*at = '\0';
	}
	return n;
}

static int
read_host(struct lingjun *l, char *line, unsigned number)
{
	char path[N_TIERS][N_TIERS * (MAX_HASH + 1)], *fields[N_FIELDS + 1];
	uint32_t n_hosts = strtab_n(l->hosts);
	const char *member;

	if (split(line, fields) != N_FIELDS)
		return err_set(l->err, l->file, number, 0, "expected " HEADER);
	for (int i = 0; i < N_FIELDS; i++)
		if (!words_is_name(fields[i], MAX_HASH))
			return err_set(l->err, l->file, number, 0,
				       "'%.40s': expected a name of 1 to %d letters, "
				       "digits, '.', '_' and '-'",
				       fields[i], MAX_HASH);
	if (strlen(fields[0]) > N_HASH)
		fields[0][N_HASH] = '\0';
	if (strtab_intern(l->hosts, fields[0]) < n_hosts)
		return err_set(l->err, l->file, number, 0,
			       "host '%.40s' is listed twice", fields[0]);
	for (int t = 0; t < N_TIERS; t++)
		snprintf(path[t], sizeof path[t], "%s%s%s", t ? path[t - 1] : "",
			 t ? "-" : "", fields[1 + t]);
	if (strlen(path[N_TIERS - 1]) > TOPO_MAX_NAME)
		return err_set(l->err, l->file, number, 0,
			       "the names of the switches have more than %d letters",
			       TOPO_MAX_NAME);
	/* From below: a new switch is a member of the one above. */
	member = fields[0];
	for (int t = N_TIERS; t-- > 0; member = path[t])
		if (!add_member(&l->tiers[t], path[t], member))
			break;
	return 0;
}

static int
read_lines(struct lingjun *l, char *text)
{
	unsigned number = 0;
	char *rest = NULL;
	int r = 0;

	for (char *line = text; line && r == 0; line = rest) {
		rest = strchr(line, '\n');
		if (rest)
			*rest++ = '\0';
		number++;
		line[strcspn(line, "\r")] = '\0';
		if (number == 1) {
			if (strcmp(line, HEADER) != 0)
				r = err_set(l->err, l->file, 1, 0, "expected " HEADER);
		} else if (*line) {
			r = read_host(l, line, number);
		}
	}
	if (r == 0 && !strtab_n(l->hosts))
		r = err_set(l->err, l->file, 0, 0, "has no hosts");
	return r;
}

/* The switches as topology.conf. */
static void
put_switches(const struct lingjun *l, struct strbuf *out)
{
	for (int t = N_TIERS; t-- > 0;) {
		const struct tier *tier = &l->tiers[t];

		for (uint32_t i = 0; i < tier->members.n; i++)
			strbuf_printf(out, "SwitchName=%s %s=%s\n",
				      strtab_name(tier->names, i),
				      t == N_TIERS - 1 ? "Nodes" : "Switches",
				      tier->members.items[i].text);
	}
}

int
topo_lingjun_read(const char *file, const char *text, size_t length,
		  const struct topo_read_opts *opts, struct topo **ret_topo,
		  struct err *err)
{
	const struct topo_tree_opts tree = { .name = "lingjun" };
	struct lingjun l = { .file = file, .err = err, .hosts = strtab_new() };
	char *copy = xstrndup(text, length);
	struct strbuf conf = STRBUF_EMPTY;
	int r;

	for (int t = 0; t < N_TIERS; t++)
		l.tiers[t] = (struct tier){ strtab_new(), VEC_EMPTY };
	r = memchr(text, '\0', length) ? err_set(err, file, 0, 0, "is not a text")
				       : read_lines(&l, copy);
	if (r == 0) {
		put_switches(&l, &conf);
		r = topo_tree_read(file, conf.text, conf.length, opts, &tree, ret_topo,
				   err);
		/* Its lines are not those of the file. */
		if (r < 0)
			err->line = 0;
	}
	for (int t = 0; t < N_TIERS; t++) {
		for (size_t i = 0; i < l.tiers[t].members.n; i++)
			strbuf_free(&l.tiers[t].members.items[i]);
		vec_free(&l.tiers[t].members);
		strtab_free(l.tiers[t].names);
	}
	strtab_free(l.hosts);
	strbuf_free(&conf);
	free(copy);
	return r;
}
