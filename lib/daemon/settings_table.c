/* SPDX-License-Identifier: Apache-2.0 */
/* settings_table.c - look-ups in tables of settings, and errors about unknown names. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/vec.h"
#include "lib/base/words.h"
#include "lib/daemon/settings_priv.h"

size_t
settings_index(const struct settings_table *table, const char *section, const char *key)
{
	size_t i = 0;

	while (i < table->n && (strcmp(table->items[i].section, section) != 0 ||
				strcmp(table->items[i].key, key) != 0))
		i++;
	return i;
}

/* The first of the table's keys in [partition ...], or NULL. */
static const struct setting *
first_named(const struct settings_table *table, const char *section)
{
	for (size_t i = 0; i < table->n_named; i++) {
		size_t n = strlen(table->named[i].section);

		if (strncmp(table->named[i].section, section, n) == 0 &&
		    (!section[n] || strchr(" \t", section[n])))
			return &table->named[i];
	}
	return NULL;
}

bool
settings_is_named(const struct settings_table *table, const char *section)
{
	return first_named(table, section) != NULL;
}

const char *
settings_name_of(const char *section)
{
	section += strcspn(section, " \t");
	return section + strspn(section, " \t");
}

int
settings_check_name(const struct settings_table *table, const char *section,
		    struct err *err)
{
	const struct setting *first = first_named(table, section);
	const char *name = settings_name_of(section);

	if (!first || words_is_name(name, SETTINGS_MAX_NAME))
		return 0;
	if (!*name)
		return err_set(err, NULL, 0, 0, "[%s] needs a name: [%s train]",
			       first->section, first->section);
	return err_set(err, NULL, 0, 0, "'%s' is not a valid name of a %s", name,
		       first->section);
}

const struct setting *
settings_named_key(const struct settings_table *table, const char *section,
		   const char *key)
{
	const struct setting *first = first_named(table, section);

	for (size_t i = 0; first && i < table->n_named; i++)
		if (strcmp(table->named[i].section, first->section) == 0 &&
		    strcmp(table->named[i].key, key) == 0)
			return &table->named[i];
	return NULL;
}

bool
settings_has_section(const struct settings_table *table, const char *section)
{
	for (size_t i = 0; i < table->n; i++)
		if (strcmp(table->items[i].section, section) == 0)
			return true;
	return strcmp(table->section, section) == 0 ||
	       settings_is_named(table, section);
}

const struct settings_table *
settings_table_of(const struct settings_table *const *tables, const char *section)
{
	for (; *tables; tables++)
		if (settings_has_section(*tables, section))
			return *tables;
	return NULL;
}

struct names {
	VEC(const char *) list;
};

static void
add_sections(const struct settings_table *table, struct names *names)
{
	vec_push(&names->list, table->section);
	for (size_t i = 0; i < table->n; i++)
		vec_push(&names->list, table->items[i].section);
	for (size_t i = 0; i < table->n_named; i++)
		vec_push(&names->list, table->named[i].section);
}

static void
add_keys(const struct settings_table *table, const char *section, struct names *names)
{
	for (size_t i = 0; i < table->n; i++)
		if (strcmp(table->items[i].section, section) == 0)
			vec_push(&names->list, table->items[i].key);
	for (size_t i = 0; i < table->n_named; i++)
		if (settings_is_named(table, section))
			vec_push(&names->list, table->named[i].key);
}

/* The section that has the key, or NULL. */
static const char *
home_of(const struct settings_table *table, const char *key)
{
	const char *home = NULL;

	for (size_t i = 0; i < table->n; i++)
		if (strcmp(table->items[i].key, key) == 0)
			home = table->items[i].section;
	return home;
}

int
settings_unknown(const struct settings_table *const *tables, const char *section,
		 const char *key, struct err *err)
{
	struct names names = { VEC_EMPTY };
	const char *home = NULL;

	if (key && !settings_table_of(tables, section))
		key = NULL;
	for (; *tables; tables++) {
		if (key)
			add_keys(*tables, section, &names);
		else
			add_sections(*tables, &names);
		if (key && home_of(*tables, key))
			home = home_of(*tables, key);
	}
	vec_push(&names.list, NULL);
	if (key)
		err_set(err, NULL, 0, 0, "unknown key '%s' in [%s]", key, section);
	else
		err_set(err, NULL, 0, 0, "unknown section [%s]", section);
	if (home)
		err_append(err, "; it belongs to [%s]", home);
	else
		err_suggest(err, key ? key : section, names.list.items);
	vec_free(&names.list);
	return -EINVAL;
}

int
settings_check_foreign(const struct settings_table *table, const char *section,
		       struct err *err)
{
	const struct settings_table *const one[] = { table, NULL };
	struct names names = { VEC_EMPTY };
	int rc = 0;

	add_sections(table, &names);
	vec_push(&names.list, NULL);
	if (err_did_you_mean(section, names.list.items))
		rc = settings_unknown(one, section, NULL, err);
	vec_free(&names.list);
	return rc;
}

void
settings_place(struct err *err, const char *origin, unsigned line)
{
	if (!err)
		return;
	snprintf(err->file, sizeof err->file, "%s", origin ? origin : "");
	err->line = line;
}
