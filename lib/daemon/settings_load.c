/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings_load.c - settings from files and the environment, checks of files, and
 * reloading at SIGHUP.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cfg.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/log.h"
#include "lib/base/vec.h"
#include "lib/base/words.h"
#include "lib/daemon/settings_priv.h"

#define MAX_FILE_BYTES (1 << 20)

/* ---- One file -------------------------------------------------------------------- */

struct reading {
	struct settings *settings;
	const char *file;
};

static int
no_section(const struct cfg_entry *entry, const struct settings_table *table,
	   struct err *err)
{
	return err_set(err, NULL, 0, 0,
		       "'%s' is in no section; expected a line such as [%s] before it",
		       entry->key, table->section);
}

static int
on_entry(void *ctx, const struct cfg_entry *entry, struct err *err)
{
	const struct reading *reading = ctx;
	const struct settings_table *table = settings_table(reading->settings);
	const char *section = entry->section;
	int rc;

	if (entry->key && !*section)
		rc = no_section(entry, table, err);
	else if (!settings_has_section(table, section))
		rc = settings_check_foreign(table, section, err);
	else if (!entry->key)
		rc = settings_check_name(table, section, err);
	else if (table->is_partial &&
		 settings_index(table, section, entry->key) == table->n)
		rc = 0;
	else
		return settings_set(reading->settings, section, entry->key,
				    entry->value, reading->file, entry->line, err);
	if (rc < 0)
		settings_place(err, reading->file, entry->line);
	return rc;
}

int
settings_parse(struct settings *settings, const char *file, const char *text,
	       size_t length, struct err *err)
{
	struct reading reading = { settings, file };

	return cfg_parse(file, text, length, on_entry, &reading, err);
}

static int
read_one(struct settings *settings, const char *file, struct err *err)
{
	char *text;
	size_t length;
	int rc = file_read(file, MAX_FILE_BYTES, &text, &length, err);

	if (rc < 0)
		return rc;
	rc = settings_parse(settings, file, text, length, err);
	free(text);
	return rc;
}

/* ---- Files and environment ------------------------------------------------------- */

static int
is_conf(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && dot != entry->d_name && strcmp(dot, ".conf") == 0;
}

static int
by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Reads conf.d/NAME.conf beside 'file'. */
static int
read_directory(struct settings *settings, const char *file, struct err *err)
{
	const char *slash = strrchr(file, '/');
	char *directory = slash ? xasprintf("%.*s/conf.d", (int)(slash - file), file)
				: xstrdup("conf.d");
	struct dirent **found = NULL;
	int n = scandir(directory, &found, is_conf, by_name), rc = 0;

	for (int i = 0; i < n; i++) {
		if (rc == 0) {
			char *path = xasprintf("%s/%s", directory, found[i]->d_name);

			rc = read_one(settings, path, err);
			free(path);
		}
		free(found[i]);
	}
	free(found);
	free(directory);
	return rc;
}

static int
read_environment(struct settings *settings, struct err *err)
{
	const struct settings_table *table = settings_table(settings);

	for (size_t i = 0; i < table->n; i++) {
		const struct setting *setting = &table->items[i];
		char *name = settings_variable(setting);
		const char *value = getenv(name);
		int rc = value ? settings_set(settings, setting->section, setting->key,
					      value, name, 0, err)
			       : 0;

		free(name);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int
settings_load(struct settings *settings, const char *file, struct err *err)
{
	const char *path = file ? file : SETTINGS_FILE;
	int rc = read_one(settings, path, err);

	if (rc == -ENOENT && !file)
		rc = 0;
	if (rc == 0)
		rc = read_directory(settings, path, err);
	if (rc == 0)
		rc = read_environment(settings, err);
	return rc;
}

/* ---- Checking -------------------------------------------------------------------- */

struct checking {
	const char *file;
	void (*fault)(void *ctx, const struct err *err);
	void *ctx;
	size_t n_faults;
	const struct settings_table *const *tables;
	VEC(struct settings *) scratch; /* Owned; in the order of 'tables'. */
};

static int
check_heading(const struct settings_table *const *tables, const char *section,
	      struct err *err)
{
	const struct settings_table *table = settings_table_of(tables, section);

	return table ? settings_check_name(table, section, err)
		     : settings_unknown(tables, section, NULL, err);
}

static int
check_entry(void *ctx, const struct cfg_entry *entry, struct err *unused)
{
	struct checking *c = ctx;
	struct err err = { 0 };
	int heading = check_heading(c->tables, entry->section, &err), rc = 0;

	(void)unused;
	if (entry->key && !*entry->section)
		rc = no_section(entry, c->tables[0], &err);
	else if (!entry->key)
		rc = heading;
	/* A wrong heading is one fault; the keys below it are not checked. */
	for (size_t i = 0; entry->key && heading == 0 && rc == 0 && i < c->scratch.n;
	     i++)
		if (settings_has_section(c->tables[i], entry->section))
			rc = settings_set(c->scratch.items[i], entry->section,
					  entry->key, entry->value, c->file,
					  entry->line, &err);
	if (rc == 0)
		return 0;
	settings_place(&err, c->file, entry->line);
	c->fault(c->ctx, &err);
	c->n_faults++;
	return 0;
}

size_t
settings_check(const struct settings_table *const *tables, const char *file,
	       const char *text, size_t length,
	       void (*fault)(void *ctx, const struct err *err), void *ctx)
{
	struct checking checking = { file, fault, ctx, 0, tables, VEC_EMPTY };
	struct err err = { 0 };

	for (size_t i = 0; tables[i]; i++)
		vec_push(&checking.scratch, settings_new(tables[i]));
	if (cfg_parse(file, text, length, check_entry, &checking, &err) < 0) {
		fault(ctx, &err);
		checking.n_faults++;
	}
	for (size_t i = 0; i < checking.scratch.n; i++)
		settings_free(checking.scratch.items[i]);
	vec_free(&checking.scratch);
	return checking.n_faults;
}

/* ---- SIGHUP ---------------------------------------------------------------------- */

static bool
is_option(const struct settings *settings, size_t i)
{
	return strncmp(settings_origin(settings, i), "--", 2) == 0;
}

static void
take_up(struct settings *settings, const struct settings *fresh, size_t i,
	const char *token)
{
	const struct setting *setting = &settings_table(settings)->items[i];
	struct err err;

	log_info(token, "[%s] %s is now '%s', was '%s'%s", setting->section,
		 setting->key, settings_value(fresh, i), settings_value(settings, i),
		 setting->is_live ? "" : "; it takes effect at the next start");
	if (!setting->is_live)
		return;
	settings_set(settings, setting->section, setting->key, settings_value(fresh, i),
		     settings_origin(fresh, i), settings_line(fresh, i), &err);
	if (strcmp(settings_origin(fresh, i), "default") == 0)
		settings_note_origin(settings, i, NULL, 0);
}

static bool
is_same_named(const struct settings *a, const struct settings *b)
{
	bool is_same = settings_n_named(a) == settings_n_named(b);

	for (size_t i = 0; is_same && i < settings_n_named(a); i++) {
		struct settings_named x = settings_named(a, i),
				      y = settings_named(b, i);

		is_same = x.setting == y.setting && strcmp(x.name, y.name) == 0 &&
			  strcmp(x.value, y.value) == 0;
	}
	return is_same;
}

/* Replaces all values of named sections; all are live. */
static int
take_up_named(struct settings *settings, const struct settings *fresh,
	      const char *token)
{
	struct err err;

	if (is_same_named(settings, fresh))
		return 0;
	settings_drop_named(settings);
	for (size_t i = 0; i < settings_n_named(fresh); i++) {
		struct settings_named now = settings_named(fresh, i);
		char *section = xasprintf("%s %s", now.setting->section, now.name);

		log_info(token, "[%s] %s is now '%s'", section, now.setting->key,
			 now.value);
		settings_set(settings, section, now.setting->key, now.value, now.origin,
			     now.line, &err);
		free(section);
	}
	if (!settings_n_named(fresh))
		log_info(token, "all named sections are gone");
	return 1;
}

int
settings_reload(struct settings *settings, const char *file, const char *token)
{
	struct settings *fresh = settings_new(settings_table(settings));
	struct err err = { 0 };
	int rc = settings_load(fresh, file, &err);

	if (rc < 0) {
		char *place = err.line ? xasprintf("%s:%u", err.file, err.line)
				       : xstrdup(*err.file ? err.file : "settings");

		log_err(token, "%s: %s; the settings are unchanged", place, err.text);
		free(place);
	}
	for (size_t i = 0; rc >= 0 && i < settings_table(settings)->n; i++) {
		if (is_option(settings, i) ||
		    strcmp(settings_value(settings, i), settings_value(fresh, i)) == 0)
			continue;
		take_up(settings, fresh, i, token);
		rc++;
	}
	if (rc >= 0)
		rc += take_up_named(settings, fresh, token);
	if (rc == 0)
		log_info(token, "the settings are unchanged");
	settings_free(fresh);
	return rc;
}
