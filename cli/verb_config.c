/*
 * verb_config.c - 'antiphase config': values of settings, their origin, and faults in
 * files.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/verbs.h"
#include "collector/config.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/jsonw.h"
#include "lib/base/table.h"
#include "lib/base/vec.h"
#include "lib/daemon/settings.h"
#include "scheduler/daemon/settings.h"
#include "topology/settings.h"

#define MAX_FILE_BYTES (1 << 20)

static const struct cli_verb verb_config_show, verb_config_check;

/* The tables of all daemons that share the file. */
static const struct settings_table *const tables[] = { &settings_collector,
						       &settings_topology,
						       &settings_scheduler, NULL };

/* ---- show ------------------------------------------------------------------------- */

/* Whether a word is the setting's section or "section.key", or there is no word. */
static bool
is_wanted(const struct setting *setting, char *const *words, int n)
{
	size_t length = strlen(setting->section);

	for (int i = 0; i < n; i++)
		if (strncmp(words[i], setting->section, length) == 0 &&
		    (!words[i][length] ||
		     (words[i][length] == '.' &&
		      strcmp(words[i] + length + 1, setting->key) == 0)))
			return true;
	return n == 0;
}

/* Whether 'word' is "partition", "partition.train" or "partition.train.mode". */
static bool
is_named_wanted(const struct settings_named *at, char *const *words, int n)
{
	for (int i = 0; i < n; i++) {
		const char *parts[] = { at->setting->section, at->name,
					at->setting->key };
		const char *word = words[i];
		bool is_it = true;

		for (int k = 0; k < 3 && is_it && *word; k++) {
			size_t length = strlen(parts[k]);

			is_it = strncmp(word, parts[k], length) == 0 &&
				(!word[length] || (word[length] == '.' && k < 2));
			word += is_it ? length + (word[length] == '.') : 0;
		}
		if (is_it && !*word)
			return true;
	}
	return n == 0;
}

/* Named sections are valid words even if no file has one. */
static bool
is_kind_of_section(const char *word)
{
	for (size_t t = 0; tables[t]; t++)
		for (size_t k = 0; k < tables[t]->n_named; k++) {
			const char *section = tables[t]->named[k].section;
			size_t length = strlen(section);

			if (strncmp(word, section, length) == 0 &&
			    (!word[length] || word[length] == '.'))
				return true;
		}
	return false;
}

/* 0, or -EINVAL for the first word that names no setting. */
static int
check_words(char *const *words, int n, struct err *err)
{
	VEC(const char *) sections = VEC_EMPTY;
	int rc = 0;

	for (int i = 0; i < n && rc == 0; i++) {
		bool is_known = is_kind_of_section(words[i]);

		for (size_t t = 0; tables[t]; t++)
			for (size_t k = 0; k < tables[t]->n; k++)
				is_known |=
					is_wanted(&tables[t]->items[k], &words[i], 1);
		if (is_known)
			continue;
		for (size_t t = 0; tables[t]; t++)
			for (size_t k = 0; k < tables[t]->n; k++)
				vec_push(&sections, tables[t]->items[k].section);
		vec_push(&sections, NULL);
		rc = err_set(err, NULL, 0, 0, "no section and no SECTION.KEY '%s'",
			     words[i]);
		err_suggest(err, words[i], sections.items);
	}
	vec_free(&sections);
	return rc;
}

/* "/etc/antiphase/antiphase.conf:3" */
static void
add_origin(const char *origin, unsigned line, struct table *t)
{
	if (line)
		table_cell(t, "%s:%u", origin, line);
	else
		table_cell(t, "%s", origin);
}

static void
add_rows(const struct settings *settings, char *const *words, int n, bool with_origin,
	 struct table *t)
{
	const struct settings_table *table = settings_table(settings);

	for (size_t i = 0; i < table->n; i++) {
		const struct setting *setting = &table->items[i];
		const char *value = settings_value(settings, i);

		if (!is_wanted(setting, words, n))
			continue;
		table_cell(t, "%s.%s", setting->section, setting->key);
		table_cell(t, "%s", *value ? value : "-");
		if (with_origin)
			add_origin(settings_origin(settings, i),
				   settings_line(settings, i), t);
	}
	for (size_t i = 0; i < settings_n_named(settings); i++) {
		struct settings_named at = settings_named(settings, i);

		if (!is_named_wanted(&at, words, n))
			continue;
		table_cell(t, "%s.%s.%s", at.setting->section, at.name,
			   at.setting->key);
		table_cell(t, "%s", at.value);
		if (with_origin)
			add_origin(at.origin, at.line, t);
	}
}

static void
write_named_json(const struct settings *settings, char *const *words, int n,
		 struct jsonw *w)
{
	for (size_t i = 0; i < settings_n_named(settings); i++) {
		struct settings_named at = settings_named(settings, i);
		char *name;

		if (!is_named_wanted(&at, words, n))
			continue;
		name = xasprintf("%s.%s.%s", at.setting->section, at.name,
				 at.setting->key);
		jsonw_flat_object(w, NULL);
		jsonw_str(w, "setting", name);
		jsonw_str(w, "daemon", settings_table(settings)->daemon);
		jsonw_str(w, "value", at.value);
		jsonw_str(w, "default", at.setting->fallback);
		jsonw_str(w, "origin", at.origin);
		jsonw_int(w, "line", at.line);
		jsonw_null(w, "variable");
		jsonw_null(w, "option");
		jsonw_bool(w, "live", at.setting->is_live);
		jsonw_end(w);
		free(name);
	}
}

static void
write_json(const struct settings *settings, char *const *words, int n, struct jsonw *w)
{
	const struct settings_table *table = settings_table(settings);

	for (size_t i = 0; i < table->n; i++) {
		const struct setting *setting = &table->items[i];
		char *name = xasprintf("%s.%s", setting->section, setting->key);
		char *variable = settings_variable(setting);

		if (is_wanted(setting, words, n)) {
			jsonw_flat_object(w, NULL);
			jsonw_str(w, "setting", name);
			jsonw_str(w, "daemon", table->daemon);
			jsonw_str(w, "value", settings_value(settings, i));
			jsonw_str(w, "default", setting->fallback);
			jsonw_str(w, "origin", settings_origin(settings, i));
			if (settings_line(settings, i))
				jsonw_int(w, "line", settings_line(settings, i));
			else
				jsonw_null(w, "line");
			jsonw_str(w, "variable", variable);
			jsonw_str(w, "option", setting->option);
			jsonw_bool(w, "live", setting->is_live);
			jsonw_end(w);
		}
		free(name);
		free(variable);
	}
	write_named_json(settings, words, n, w);
}

/* Loads the settings of all daemons; 0 or -errno. */
static int
load_all(const char *file, struct settings **ret_all, struct err *err)
{
	int rc = 0;

	for (size_t t = 0; tables[t] && rc == 0; t++) {
		ret_all[t] = settings_new(tables[t]);
		rc = settings_load(ret_all[t], file, err);
	}
	return rc;
}

static void
print(struct settings *const *all, char *const *words, int n, bool with_origin,
      bool is_json)
{
	struct table table;
	struct jsonw w;

	if (is_json) {
		jsonw_document(&w, stdout, "antiphase.config/1");
		jsonw_array(&w, "settings");
		for (; *all; all++)
			write_json(*all, words, n, &w);
		jsonw_end(&w);
		jsonw_end(&w);
		jsonw_finish(&w);
		return;
	}
	table_init(&table,
		   (const char *const[]){ "SETTING", "VALUE",
					  with_origin ? "ORIGIN" : NULL, NULL });
	for (; *all; all++)
		add_rows(*all, words, n, with_origin, &table);
	table_print(&table, stdout);
	table_fini(&table);
}

static int
run_show(int argc, char **argv)
{
	bool is_json = false, with_origin = false;
	const char *file = NULL;
	const struct cli_opt opts[] = {
		CLI_OPT("config", 'c', CLI_STR, &file, "FILE",
			"settings file (default: " SETTINGS_FILE ")"),
		CLI_OPT("origin", 'o', CLI_FLAG, &with_origin, NULL,
			"show the origin of each: file and line, environment variable"),
		CLI_OPT("json", 'j', CLI_FLAG, &is_json, NULL,
			"print antiphase.config/1"),
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_config_show, opts, argc, argv), rc;
	struct settings *all[sizeof tables / sizeof *tables] = { NULL };
	struct err err = { 0 };

	if (first < 0)
		return cli_status(first);
	rc = check_words(argv + first, argc - first, &err);
	if (rc == 0)
		rc = load_all(file, all, &err);
	if (rc == 0)
		print(all, argv + first, argc - first, with_origin, is_json);
	for (size_t t = 0; all[t]; t++)
		settings_free(all[t]);
	return rc < 0 ? cli_fail(-EINVAL, &err) : cli_finish(CLI_OK);
}

static const struct cli_verb verb_config_show = {
	.name = "config show",
	.summary = "show the settings of this host's daemons, and their origin",
	.usage = "[options] [SECTION[.KEY]...]",
	.examples = "  antiphase config show --origin\n"
		    "  antiphase config show bus collector.log\n",
	.run = run_show,
};

/* ---- check ------------------------------------------------------------------------ */

/* Prints faults as lines, or as items of an array. */
struct telling {
	struct jsonw *w; /* NULL: lines. */
};

static void
tell(void *ctx, const struct err *err)
{
	const struct telling *telling = ctx;

	if (!telling->w) {
		err_write(err, stdout);
		return;
	}
	jsonw_flat_object(telling->w, NULL);
	jsonw_str(telling->w, "file", err->file);
	jsonw_int(telling->w, "line", err->line);
	jsonw_str(telling->w, "text", err->text);
	jsonw_end(telling->w);
}

/* Checks all files: the number of faults, or -errno if one cannot be read. */
static int
check_files(char *const *files, int n, struct telling *telling, struct err *err)
{
	size_t n_faults = 0;

	for (int i = 0; i < n; i++) {
		size_t length;
		char *text;
		int rc = file_read(files[i], MAX_FILE_BYTES, &text, &length, err);

		if (rc < 0)
			return rc;
		n_faults +=
			settings_check(tables, files[i], text, length, tell, telling);
		free(text);
	}
	return (int)n_faults;
}

static int
run_check(int argc, char **argv)
{
	bool is_json = false;
	const struct cli_opt opts[] = {
		CLI_OPT("json", 'j', CLI_FLAG, &is_json, NULL,
			"print antiphase.config_check/1"),
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_config_check, opts, argc, argv), n;
	struct telling telling = { NULL };
	struct err err = { 0 };
	struct jsonw w;

	if (first < 0)
		return cli_status(first);
	if (first == argc)
		return cli_usage_error(&verb_config_check,
				       "expected a FILE, such as " SETTINGS_FILE);
	if (is_json) {
		telling.w = &w;
		jsonw_document(&w, stdout, "antiphase.config_check/1");
		jsonw_array(&w, "faults");
	}
	n = check_files(argv + first, argc - first, &telling, &err);
	if (is_json) {
		jsonw_end(&w);
		jsonw_end(&w);
		jsonw_finish(&w);
	} else if (n == 0) {
		puts("no faults");
	}
	if (n < 0)
		return cli_fail(-EINVAL, &err);
	return cli_finish(n ? CLI_NO : CLI_OK);
}

static const struct cli_verb verb_config_check = {
	.name = "config check",
	.summary = "check settings files, without starting a daemon",
	.usage = "[options] FILE...",
	.examples = "  antiphase config check /etc/antiphase/antiphase.conf\n",
	.run = run_check,
};

/* ---- config ------------------------------------------------------------------------ */

static const struct cli_verb *const subverbs[] = { &verb_config_show,
						   &verb_config_check, NULL };

static int
run_config(int argc, char **argv)
{
	return cli_subverbs(&verb_config, subverbs, argc, argv);
}

const struct cli_verb verb_config = {
	.name = "config",
	.summary = "show and check the settings of the daemons",
	.usage = "VERB [options] ...",
	.examples = "  antiphase config show --origin\n"
		    "  antiphase config check /etc/antiphase/antiphase.conf\n",
	.run = run_config,
};
