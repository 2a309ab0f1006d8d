/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/workload/segment_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/strtab.h"
#include "scheduler/core/workload/workload.h"

#define BLANKS   " \t"
#define MAX_NAME 63
#define START    "start" /* No segment, but the start of the iteration. */

void
segment_names_fini(struct segment_names *names)
{
	for (size_t i = 0; i < names->items.n; i++) {
		free(names->items.items[i].name);
		free(names->items.items[i].needs);
	}
	vec_free(&names->items);
}

/* ------ Off the text ------ */

/* The word "needs" in 'text', or NULL. */
static const char *
find_needs(const char *text)
{
	for (const char *s = text; *s; s += strcspn(s, BLANKS)) {
		size_t length;

		s += strspn(s, BLANKS);
		length = strcspn(s, BLANKS);
		if (length == strlen("needs") && !strncmp(s, "needs", length))
			return s;
	}
	return NULL;
}

static int
check_name(const char *file, unsigned line, const char *name, struct err *err)
{
	if (!*name || strlen(name) > MAX_NAME ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyz"
			 "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			 "0123456789._-") != strlen(name))
		return err_set(err, file, line, 0,
			       "a segment's name has up to %d letters, digits or "
			       "'._-'; '%s' has not",
			       MAX_NAME, name);
	if (!strcmp(name, START))
		return err_set(err, file, line, 0,
			       "no segment can have the name '" START
			       "': it is the start of the iteration");
	return 0;
}

int
segment_names_add(struct segment_names *names, const char *file, unsigned line,
		  const char *text, char **ret_rest, struct err *err)
{
	struct segment_name item = { .line = line };
	size_t length;
	const char *needs;

	text += strspn(text, BLANKS);
	length = strcspn(text, BLANKS ":");
	if (text[length] == ':') {
		item.name = xasprintf("%.*s", (int)length, text);
		if (check_name(file, line, item.name, err) < 0) {
			free(item.name);
			return -EINVAL;
		}
		text += length + 1;
	}
	needs = find_needs(text);
	if (needs)
		item.needs = xstrdup(needs + strlen("needs"));
	*ret_rest =
		needs ? xasprintf("%.*s", (int)(needs - text), text) : xstrdup(text);
	vec_push(&names->items, item);
	return 0;
}

/* ------ Names to numbers ------ */

struct resolver {
	const struct segment_names *names;
	const char *file;
	struct err *err;
	struct strtab *tab;   /* Of the names; */
	uint32_t *segment_of; /* Owned.  by their numbers: the segment. */
	uint32_t *stamp;      /* Owned.  By segment: 1 + the last that needs it. */
	VEC(struct work_need) needs;
};

static int
number_names(struct resolver *r)
{
	for (size_t i = 0; i < r->names->items.n; i++) {
		const struct segment_name *item = &r->names->items.items[i];
		uint32_t id;

		if (!item->name)
			continue;
		id = strtab_find(r->tab, item->name);
		if (id != STRTAB_NONE)
			return err_set(r->err, r->file, item->line, 0,
				       "there is a segment '%s' already, on line %u",
				       item->name,
				       r->names->items.items[r->segment_of[id]].line);
		r->segment_of[strtab_intern(r->tab, item->name)] = (uint32_t)i;
	}
	return 0;
}

static int
add_need(struct resolver *r, uint32_t segment, const char *name)
{
	unsigned line = r->names->items.items[segment].line;
	uint32_t id = strtab_find(r->tab, name), after;

	if (id == STRTAB_NONE)
		return err_set(r->err, r->file, line, 0,
			       "the job has no segment '%s'; a segment gets a name by "
			       "'segment = NAME: ...'",
			       name);
	after = r->segment_of[id];
	if (after == segment)
		return err_set(r->err, r->file, line, 0, "segment '%s' needs itself",
			       name);
	if (after > segment)
		return err_set(r->err, r->file, line, 0,
			       "segment '%s' comes later, on line %u; a segment can "
			       "need earlier ones only",
			       name, r->names->items.items[after].line);
	if (r->stamp[after] == segment + 1)
		return err_set(r->err, r->file, line, 0,
			       "'%s' is here twice after 'needs'", name);
	r->stamp[after] = segment + 1;
	vec_push(&r->needs, ((struct work_need){ segment, after }));
	return 0;
}

/* Reads "A, B" or "start". */
static int
read_needs(struct resolver *r, uint32_t segment, bool *ret_from_start)
{
	const struct segment_name *item = &r->names->items.items[segment];
	const char *s = item->needs;
	size_t n = 0;

	for (;; s++) {
		char name[MAX_NAME + 2];
		size_t length;

		s += strspn(s, BLANKS);
		length = strcspn(s, BLANKS ",");
		snprintf(name, sizeof name, "%.*s",
			 (int)(length < sizeof name ? length : sizeof name - 1), s);
		s += length;
		s += strspn(s, BLANKS);
		if (!length || (*s && *s != ','))
			return err_set(r->err, r->file, item->line, 0,
				       "expected names of segments with commas between "
				       "them, or '" START "', after 'needs'");
		if (!strcmp(name, START)) {
			if (n || *s)
				return err_set(r->err, r->file, item->line, 0,
					       "expected '" START
					       "' alone after 'needs': every segment "
					       "comes after it");
			*ret_from_start = true;
			return 0;
		}
		if (add_need(r, segment, name) < 0)
			return -EINVAL;
		n++;
		if (!*s)
			return 0;
	}
}

int
segment_names_resolve(const struct segment_names *names, const char *file,
		      struct work_job *job, struct err *err)
{
	size_t n = names->items.n;
	struct resolver r = { .names = names, .file = file, .err = err };
	int error;

	r.tab = strtab_new();
	r.segment_of = xcalloc(n + 1, sizeof *r.segment_of);
	r.stamp = xcalloc(n + 1, sizeof *r.stamp);
	error = number_names(&r);
	for (uint32_t i = 0; i < n && error == 0; i++)
		if (names->items.items[i].needs)
			error = read_needs(&r, i, &job->segments[i].from_start);
	strtab_free(r.tab);
	free(r.segment_of);
	free(r.stamp);
	if (error < 0) {
		vec_free(&r.needs);
		return error;
	}
	job->needs = r.needs.items;
	job->n_needs = r.needs.n;
	return 0;
}
