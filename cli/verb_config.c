/* SPDX-License-Identifier: Apache-2.0 */
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

/* ---- show ------------------------------------------------------------------------ */

/* One value of a daemon's settings, of a plain section or of one with a name. */
struct value {
	const struct setting *setting;
	char *name; /* Owned: "collector.log", "partition.train.mode". */
	const char *value, *origin;
	unsigned line;
	bool is_named;
};

/* Number of values of a daemon, and the i-th one; free its name with free(). */
static size_t
n_values(const struct settings *settings)
{
	return settings_table(settings)->n + settings_n_named(settings);
}

static struct value
get_value(const struct settings *settings, size_t i)
{
	const struct settings_table *table = settings_table(settings);
	struct settings_named at;

	if (i < table->n) {
		const struct setting *setting = &table->items[i];

		return (struct value){
			setting,
			xasprintf("%s.%s", setting->section, setting->key),
			settings_value(settings, i),
			settings_origin(settings, i),
			settings_line(settings, i),
			false,
		};
	}
	at = settings_named(settings, i - table->n);
	return (struct value){
		at.setting,
		xasprintf("%s.%s.%s", at.setting->section, at.name, at.setting->key),
		at.value,
		at.origin,
		at.line,
		true,
	};
}

/* Whether a word is 'name' or a prefix of it up to a dot, or there are no words. */
static bool
is_wanted(const char *name, char *const *words, int n)
{
	for (int i = 0; i < n; i++) {
		size_t length = strlen(words[i]);

		if (length && strncmp(words[i], name, length) == 0 &&
		    (!name[length] || name[length] == '.'))
			return true;
	}
	return n == 0;
}

/* Named sections are valid words even if no file has them. */
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

static bool
is_known(const char *word)
{
	char *const words[] = { (char *)word };
	bool found = is_kind_of_section(word);

	for (size_t t = 0; tables[t]; t++)
		for (size_t k = 0; k < tables[t]->n && !found; k++) {
			const struct setting *setting = &tables[t]->items[k];
			char *name = xasprintf("%s.%s", setting->section, setting->key);

			found = is_wanted(name, words, 1);
			free(name);
		}
	return found;
}

/* 0, or -EINVAL for the first word that names no setting. */
static int
check_words(char *const *words, int n, struct err *err)
{
	VEC(const char *) sections = VEC_EMPTY;

	for (int i = 0; i < n; i++) {
		if (is_known(words[i]))
			continue;
		for (size_t t = 0; tables[t]; t++)
			for (size_t k = 0; k < tables[t]->n; k++)
				vec_push(&sections, tables[t]->items[k].section);
		vec_push(&sections, NULL);
		err_set(err, NULL, 0, 0, "no section and no SECTION.KEY '%s'",
			words[i]);
		err_suggest(err, words[i], sections.items);
		vec_free(&sections);
		return -EINVAL;
	}
	return 0;
}

static void
add_row(const struct value *value, bool with_origin, struct table *t)
{
	table_cell(t, "%s", value->name);
	table_cell(t, "%s", *value->value ? value->value : "-");
	if (with_origin && value->line)
		table_cell(t, "%s:%u", value->origin, value->line);
	else if (with_origin)
		table_cell(t, "%s", value->origin);
}

static void
write_json(const struct value *value, const char *daemon, struct jsonw *w)
{
	const struct setting *setting = value->setting;
	char *variable = value->is_named ? NULL : settings_variable(setting);

	jsonw_flat_object(w, NULL);
	jsonw_str(w, "setting", value->name);
	jsonw_str(w, "daemon", daemon);
	jsonw_str(w, "value", value->value);
	jsonw_str(w, "default", setting->fallback);
	jsonw_str(w, "origin", value->origin);
	if (value->line)
		jsonw_int(w, "line", value->line);
	else
		jsonw_null(w, "line");
	jsonw_str(w, "variable", variable);
	jsonw_str(w, "option", value->is_named ? NULL : setting->option);
	jsonw_bool(w, "live", setting->is_live);
	jsonw_end(w);
	free(variable);
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

	table_init(&table,
		   (const char *const[]){ "SETTING", "VALUE",
					  with_origin ? "ORIGIN" : NULL, NULL });
	if (is_json) {
		jsonw_document(&w, stdout, "antiphase.config/1");
		jsonw_array(&w, "settings");
	}
	for (; *all; all++)
		for (size_t i = 0; i < n_values(*all); i++) {
			struct value value = get_value(*all, i);

			if (is_wanted(value.name, words, n) && is_json)
				write_json(&value, settings_table(*all)->daemon, &w);
			else if (is_wanted(value.name, words, n))
				add_row(&value, with_origin, &table);
			free(value.name);
		}
	if (is_json) {
		jsonw_end(&w);
		jsonw_end(&w);
		jsonw_finish(&w);
	} else {
		table_print(&table, stdout);
	}
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

/* ---- check ----------------------------------------------------------------------- */

/* Prints faults as lines, or as items of an array. */
struct fault_output {
	struct jsonw *w; /* NULL: lines. */
};

static void
print_fault(void *ctx, const struct err *err)
{
	const struct fault_output *fault_output = ctx;

	if (!fault_output->w) {
		err_write(err, stdout);
		return;
	}
	jsonw_flat_object(fault_output->w, NULL);
	jsonw_str(fault_output->w, "file", err->file);
	jsonw_int(fault_output->w, "line", err->line);
	jsonw_str(fault_output->w, "text", err->text);
	jsonw_end(fault_output->w);
}

/* Checks all files: the number of faults, or -errno if one cannot be read. */
static int
check_files(char *const *files, int n, struct fault_output *fault_output,
	    struct err *err)
{
	size_t n_faults = 0;

	for (int i = 0; i < n; i++) {
		size_t length;
		char *text;
		int rc = file_read(files[i], MAX_FILE_BYTES, &text, &length, err);

		if (rc < 0)
			return rc;
		n_faults += settings_check(tables, files[i], text, length, print_fault,
					   fault_output);
		free(text);
	}
	return (int)n_faults;
}

static int
run_check(int argc, char **argv)
{
	bool is_json = false;
	const char *file = NULL;
	const struct cli_opt opts[] = {
		CLI_OPT("config", 'c', CLI_STR, &file, "FILE",
			"settings file (default: " SETTINGS_FILE
			"), with conf.d beside it"),
		CLI_OPT("json", 'j', CLI_FLAG, &is_json, NULL,
			"print antiphase.config_check/1"),
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_config_check, opts, argc, argv), n;
	struct fault_output fault_output = { NULL };
	struct err err = { 0 };
	struct jsonw w;
	char **files;
	size_t n_files;

	if (first < 0)
		return cli_status(first);
	if (first < argc && file)
		return cli_usage_error(&verb_config_check,
				       "--config excludes operands");
	files = settings_files(file, &n_files);
	if (is_json) {
		fault_output.w = &w;
		jsonw_document(&w, stdout, "antiphase.config_check/1");
		jsonw_array(&w, "faults");
	}
	n = first < argc ? check_files(argv + first, argc - first, &fault_output, &err)
			 : check_files(files, (int)n_files, &fault_output, &err);
	for (size_t i = 0; i < n_files; i++)
		free(files[i]);
	free(files);
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
	.usage = "[options] [FILE...]",
	.examples = "  antiphase config check\n"
		    "  antiphase config check /etc/antiphase/antiphase.conf\n",
	.run = run_check,
};

/* ---- config ---------------------------------------------------------------------- */

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
