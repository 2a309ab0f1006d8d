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
#include <unistd.h>

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

char **
settings_files(const char *file, size_t *ret_n)
{
	const char *path = file ? file : SETTINGS_FILE, *slash = strrchr(path, '/');
	char *directory = slash ? xasprintf("%.*s/conf.d", (int)(slash - path), path)
				: xstrdup("conf.d");
	VEC(char *) files = VEC_EMPTY;
	struct dirent **found = NULL;
	int n = scandir(directory, &found, is_conf, by_name);

	if (file || access(path, F_OK) == 0)
		vec_push(&files, xstrdup(path));
	for (int i = 0; i < n; i++) {
		vec_push(&files, xasprintf("%s/%s", directory, found[i]->d_name));
		free(found[i]);
	}
	free(found);
	free(directory);
	*ret_n = files.n;
	return files.items;
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
	size_t n;
	char **files = settings_files(file, &n);
	int rc = 0;

	for (size_t i = 0; i < n; i++) {
		if (rc == 0)
			rc = read_one(settings, files[i], err);
		free(files[i]);
	}
	free(files);
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

/* The value for a log: a URL without its user and password. */
static char *
shown(const char *value)
{
	const char *scheme = strstr(value, "://"), *at = strrchr(value, '@');

	if (!*value)
		return xstrdup("(empty)");
	if (scheme && at && at > scheme)
		return xasprintf("%.*s://[removed]%s", (int)(scheme - value), value,
				 at);
	return xstrdup(value);
}

/* Logs "[SECTION] KEY: BEFORE -> NOW"; NULL: the named section does not set it. */
static void
log_difference(const char *token, const char *section, const char *name,
	       const char *key, const char *before, const char *now, const char *more)
{
	char *old = before ? shown(before) : xstrdup("(none)");
	char *new = now ? shown(now) : xstrdup("(none)");

	log_info(token, "[%s%s%s] %s: %s -> %s%s", section, *name ? " " : "", name, key,
		 old, new, more);
	free(old);
	free(new);
}

static void
take_up(struct settings *settings, const struct settings *fresh, size_t i,
	const char *token)
{
	const struct setting *setting = &settings_table(settings)->items[i];
	struct err err;

	log_difference(token, setting->section, "", setting->key,
		       settings_value(settings, i), settings_value(fresh, i),
		       setting->is_live ? "" : "; it needs a restart");
	if (!setting->is_live)
		return;
	settings_set(settings, setting->section, setting->key, settings_value(fresh, i),
		     settings_origin(fresh, i), settings_line(fresh, i), &err);
	if (strcmp(settings_origin(fresh, i), "default") == 0)
		settings_note_origin(settings, i, NULL, 0);
	settings_note_changed(settings, i, true);
}

/* The order in which settings keep values of named sections. */
static int
by_setting_and_name(const struct settings_named *a, const struct settings_named *b)
{
	return a->setting != b->setting
		       ? (a->setting > b->setting) - (a->setting < b->setting)
		       : strcmp(a->name, b->name);
}

/* Logs how the values of named sections differ; returns how many do. */
static int
log_named(const struct settings *settings, const struct settings *fresh,
	  const char *token)
{
	size_t n_old = settings_n_named(settings), n_new = settings_n_named(fresh);
	int n = 0;

	for (size_t i = 0, k = 0; i < n_old || k < n_new;) {
		struct settings_named old = { 0 }, new = { 0 };
		int order;

		if (i < n_old)
			old = settings_named(settings, i);
		if (k < n_new)
			new = settings_named(fresh, k);
		order = i == n_old   ? 1
			: k == n_new ? -1
				     : by_setting_and_name(&old, &new);
		i += order <= 0;
		k += order >= 0;
		if (order == 0 && strcmp(old.value, new.value) == 0)
			continue;
		if (order > 0)
			old = (struct settings_named){ .setting = new.setting,
						       .name = new.name };
		log_difference(token, old.setting->section, old.name, old.setting->key,
			       old.value, order < 0 ? NULL : new.value, "");
		n++;
	}
	return n;
}

/* Replaces all values of named sections; all are live. */
static int
take_up_named(struct settings *settings, const struct settings *fresh,
	      const char *token)
{
	int n = log_named(settings, fresh, token);
	struct err err;

	settings_note_named_changed(settings, n > 0);
	if (!n)
		return 0;
	settings_drop_named(settings);
	for (size_t i = 0; i < settings_n_named(fresh); i++) {
		struct settings_named now = settings_named(fresh, i);
		char *section = xasprintf("%s %s", now.setting->section, now.name);

		settings_set(settings, section, now.setting->key, now.value, now.origin,
			     now.line, &err);
		free(section);
	}
	return n;
}

int
settings_reload(struct settings *settings, const char *file, const char *token)
{
	struct settings *fresh = settings_new(settings_table(settings));
	struct err err = { 0 };
	int rc = settings_load(fresh, file, &err);

	if (rc < 0) {
		char *line = err_line(&err);

		log_err(token, "%s; the settings are unchanged", line);
		free(line);
	}
	for (size_t i = 0; rc >= 0 && i < settings_table(settings)->n; i++) {
		settings_note_changed(settings, i, false);
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
