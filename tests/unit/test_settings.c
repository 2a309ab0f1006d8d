/* SPDX-License-Identifier: Apache-2.0 */
/* test_settings.c - settings of all daemons: tables, files, manual, and SIGHUP */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/config.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/daemon/settings.h"
#include "lib/daemon/settings_opts.h"
#include "scheduler/daemon/settings.h"
#include "tests/unit/capture.h"
#include "tests/unit/test.h"
#include "topology/settings.h"

static const struct settings_table *const tables[] = { &settings_collector,
						       &settings_topology,
						       &settings_scheduler, NULL };

static char *
read_text(const char *path)
{
	struct err err = { 0 };
	size_t length;
	char *text;

	assert_int_equal(file_read(path, 1 << 20, &text, &length, &err), 0);
	return text;
}

/* The shipped file with its settings uncommented. */
static char *
shipped(void)
{
	struct strbuf bare = STRBUF_EMPTY;
	char *text = read_text("collector/antiphase.conf"), *rest = NULL;

	for (char *line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		if (line[0] == '#' && line[1] != ' ' && line[1])
			line++;
		strbuf_printf(&bare, "%s\n", line);
	}
	free(text);
	return strbuf_steal(&bare);
}

static void
the_shipped_file_has_every_key_with_its_default(void **state)
{
	char *text = shipped();
	struct err err = { 0 };

	(void)state;
	for (size_t t = 0; tables[t]; t++) {
		struct settings *read = settings_new(tables[t]);
		struct settings *defaults = settings_new(tables[t]);

		if (settings_parse(read, "a.conf", text, strlen(text), &err) < 0)
			fail_msg("line %u: %s", err.line, err.text);
		for (size_t i = 0; i < tables[t]->n; i++) {
			if (strcmp(settings_origin(read, i), "a.conf") != 0)
				fail_msg("[%s] %s is not in the shipped file",
					 tables[t]->items[i].section,
					 tables[t]->items[i].key);
			assert_string_equal(settings_value(read, i),
					    settings_value(defaults, i));
		}
		settings_free(read);
		settings_free(defaults);
	}
	free(text);
}

static void
the_manual_has_every_option_and_key(void **state)
{
	char *keys = read_text("docs/man/antiphase.conf.5.scd");

	(void)state;
	for (size_t t = 0; tables[t]; t++) {
		const struct settings_table *table = tables[t];
		char *path = xasprintf("docs/man/%s.8.scd", table->daemon);
		char *options = table->n ? read_text(path) : xstrdup("");

		for (size_t i = 0; i < table->n; i++) {
			const struct setting *s = &table->items[i];
			struct strbuf key = STRBUF_EMPTY;
			char *option = xasprintf("*--%s*", s->option ? s->option : "");
			const char *section;

			strbuf_printf(&key, "\n## [%s]\n", s->section);
			section = strstr(keys, key.text);
			strbuf_clear(&key);
			strbuf_puts(&key, "\n*");
			for (const char *c = s->key; *c; c++)
				strbuf_printf(&key, "%s%c", *c == '_' ? "\\" : "", *c);
			strbuf_printf(&key, "* = _%s_\n",
				      *s->fallback ? s->fallback : "(empty)");
			if (!section || !strstr(section, key.text))
				fail_msg("%s is not in antiphase.conf(5)", key.text);
			if (s->option && !strstr(options, option))
				fail_msg("%s is not in %s", option, path);
			strbuf_free(&key);
			free(option);
		}
		free(options);
		free(path);
	}
	free(keys);
}

/* Whether a daemon applies a setting of this key at SIGHUP. */
static bool
is_live(const char *key)
{
	for (size_t t = 0; tables[t]; t++)
		for (size_t i = 0; i < tables[t]->n; i++)
			if (tables[t]->items[i].is_live &&
			    strcmp(tables[t]->items[i].key, key) == 0)
				return true;
	return false;
}

static void
the_manual_says_which_settings_a_reload_applies(void **state)
{
	char *manual = read_text("docs/man/antiphase.conf.5.scd");
	const char *signals = strstr(manual, "\n# SIGNALS\n");

	(void)state;
	assert_non_null(signals);
	for (size_t t = 0; tables[t]; t++) {
		for (size_t i = 0; i < tables[t]->n; i++) {
			const char *key = tables[t]->items[i].key;
			struct strbuf name = STRBUF_EMPTY;

			strbuf_puts(&name, "*");
			for (const char *c = key; *c; c++)
				strbuf_printf(&name, "%s%c", *c == '_' ? "\\" : "", *c);
			strbuf_puts(&name, "*");
			if (is_live(key) != !!strstr(signals, name.text))
				fail_msg("%s: SIGNALS is wrong", name.text);
			strbuf_free(&name);
		}
	}
	free(manual);
}

static void
no_two_settings_go_by_one_name(void **state)
{
	(void)state;
	for (size_t t = 0; tables[t]; t++) {
		const struct settings_table *a = tables[t];

		for (size_t i = 0; i < a->n; i++) {
			for (size_t k = 0; k < i; k++) {
				assert_false(strcmp(a->items[i].section,
						    a->items[k].section) == 0 &&
					     strcmp(a->items[i].key, a->items[k].key) ==
						     0);
				assert_false(a->items[i].option && a->items[k].option &&
					     strcmp(a->items[i].option,
						    a->items[k].option) == 0);
			}
			/* Each section belongs to one daemon. */
			for (size_t u = 0; u < t; u++)
				for (size_t k = 0; k < tables[u]->n; k++)
					assert_string_not_equal(
						a->items[i].section,
						tables[u]->items[k].section);
		}
	}
}

static void
a_daemon_skips_sections_of_others_but_refuses_misspelled_ones(void **state)
{
	static const struct setting item = {
		.section = "scheduler",
		.key = "http",
		.fallback = "default",
		.kind = SETTING_PATH,
	};
	static const struct settings_table view = {
		.section = "scheduler", .items = &item, .n = 1, .is_partial = true
	};
	static const char text[] = "[web]\nport = 1\n[scheduler]\nmode = advise\n"
				   "http = here\n";
	struct settings *s = settings_new(&settings_collector);
	struct settings *part = settings_new(&view);
	char *all = shipped();
	struct err err = { 0 };

	(void)state;
	assert_int_equal(settings_parse(s, "a.conf", text, strlen(text), &err), 0);
	assert_int_equal(settings_parse(s, "a.conf", "[bsu]\n", 6, &err), -EINVAL);
	assert_non_null(strstr(err.text, "did you mean 'bus'?"));
	/* A partial table skips the other keys of its section. */
	assert_int_equal(settings_parse(part, "a.conf", text, strlen(text), &err), 0);
	assert_string_equal(settings_text(part, "scheduler", "http"), "here");
	/* A daemon does not take another daemon's section for a misspelling. */
	for (size_t t = 0; tables[t]; t++) {
		struct settings *own = settings_new(tables[t]);

		assert_int_equal(settings_parse(own, "a.conf", all, strlen(all), &err),
				 0);
		settings_free(own);
	}
	settings_free(part);
	settings_free(s);
	free(all);
}

static void
ignore_fault(void *ctx, const struct err *err)
{
	(void)ctx;
	(void)err;
}

static void
sections_with_a_name_have_values_of_their_own(void **state)
{
	static const char text[] = "[partition train]\nmode = enforce\n"
				   "[scheduler]\nmode = advise\n"
				   "[partition  debug-2.x]\nmode = observe\n"
				   "[partition train]\nmode = advise\n";

	static const struct {
		const char *text, *why;
		unsigned line;
	} faults[] = {
		{ "[partition]\nmode = advise\n", "needs a name: [partition train]",
		  1 },
		{ "\n[partition a b]\nmode = advise\n", "'a b' is not a valid name",
		  2 },
		{ "[partition a,b]\n", "'a,b' is not a valid name", 1 },
		{ "[partition a]\nmode = enforced\n", "one of observe, advise", 2 },
		{ "[partition a]\nmod = enforce\n", "did you mean 'mode'?", 2 },
		{ "[partitions a]\nmode = advise\n", "unknown section", 1 },
	};
	struct settings *s = settings_new(&settings_scheduler);
	struct settings *other = settings_new(&settings_topology);
	struct err err = { 0 };
	struct settings_named at;

	(void)state;
	assert_int_equal(settings_parse(s, "a.conf", text, strlen(text), &err), 0);
	assert_string_equal(settings_text(s, "scheduler", "mode"), "advise");
	assert_int_equal(settings_n_named(s), 2);
	at = settings_named(s, 0);
	assert_string_equal(at.name, "debug-2.x");
	assert_string_equal(at.value, "observe");
	at = settings_named(s, 1);
	assert_string_equal(at.name, "train");
	assert_string_equal(at.value, "advise");
	assert_string_equal(at.origin, "a.conf");
	assert_int_equal(at.line, 8);
	/* The other daemons skip it. */
	assert_int_equal(settings_parse(other, "a.conf", text, strlen(text), &err), 0);
	assert_int_equal(settings_n_named(other), 0);
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
		err = (struct err){ 0 };
		assert_int_equal(settings_parse(s, "a.conf", faults[i].text,
						strlen(faults[i].text), &err),
				 -EINVAL);
		assert_int_equal(err.line, faults[i].line);
		assert_string_equal(err.file, "a.conf");
		if (!strstr(err.text, faults[i].why))
			fail_msg("'%s' has no word of '%s'", err.text, faults[i].why);
		/* Each fault is reported once. */
		assert_int_equal(settings_check(tables, "a.conf", faults[i].text,
						strlen(faults[i].text), ignore_fault,
						NULL),
				 1);
	}
	for (int i = 0; i < 2 * SETTINGS_MAX_NAMED; i++) {
		char *section = xasprintf("partition p%d", i);
		int rc = settings_set(s, section, "mode", "advise", "x", 1, &err);

		assert_int_equal(rc, i + 2 < SETTINGS_MAX_NAMED ? 0 : -EINVAL);
		free(section);
	}
	settings_free(s);
	settings_free(other);
}

static void
options_are_made_of_the_table_and_turn_flags_round(void **state)
{
	struct settings *s = settings_new(&settings_topology);
	struct settings_said said;
	struct cli_opt opts[SETTINGS_MAX_OPTS];
	struct err err = { 0 };
	size_t n = settings_opts(&settings_topology, &said, opts);

	(void)state;
	assert_string_equal(opts[n - 1].name, "config");
	assert_null(opts[n].name);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(opts[i].name, "no-lldp") == 0)
			*(bool *)opts[i].ret_value = true;
		if (strcmp(opts[i].name, "every") == 0)
			*(const char **)opts[i].ret_value = "7";
		if (strcmp(opts[i].name, "listen") == 0)
			assert_int_equal(opts[i].letter, 'l');
	}
	assert_int_equal(settings_apply(s, &said, &err), 0);
	assert_false(settings_is_on(s, "topology", "lldp"));
	assert_true(settings_is_on(s, "topology", "links"));
	assert_int_equal(settings_integer(s, "topology", "every_s"), 7);
	for (size_t i = 0; i < settings_topology.n; i++)
		if (strcmp(settings_topology.items[i].key, "every_s") == 0)
			assert_string_equal(settings_origin(s, i), "--every");
	settings_free(s);
}

struct faults {
	struct err items[16];
	size_t n;
};

static void
note(void *ctx, const struct err *err)
{
	struct faults *faults = ctx;

	assert_true(faults->n < 16);
	faults->items[faults->n++] = *err;
}

static void
a_check_tells_every_fault_of_every_daemon(void **state)
{
	static const char text[] = "x = 1\n"
				   "[collector]\n"
				   "intervall_ms = 1\n"
				   "interval_ms = 1\n"
				   "[topologie]\n"
				   "its = keys\n"
				   "[topology]\n"
				   "every_s = 0\n"
				   "log = loud\n"
				   "this is no line\n";

	static const struct {
		unsigned line;
		const char *part;
	} want[] = {
		{ 1, "is in no section" },         { 3, "did you mean 'interval_ms'?" },
		{ 5, "did you mean 'topology'?" }, { 8, "from 1 to 3600, not '0'" },
		{ 9, "err, warn, info, dbg" },     { 10, "expected 'key = value'" },
	};
	struct faults faults = { .n = 0 };
	char *all = shipped();

	(void)state;
	assert_int_equal(
		settings_check(tables, "a.conf", text, sizeof text - 1, note, &faults),
		6);
	for (size_t i = 0; i < 6; i++) {
		assert_string_equal(faults.items[i].file, "a.conf");
		assert_int_equal(faults.items[i].line, want[i].line);
		if (!strstr(faults.items[i].text, want[i].part))
			fail_msg("'%s' does not say '%s'", faults.items[i].text,
				 want[i].part);
	}
	assert_int_equal(
		settings_check(tables, "b.conf", all, strlen(all), note, &faults), 0);
	free(all);
}

static void
put(const char *path, const char *text)
{
	struct err err;

	assert_int_equal(file_write(path, text, strlen(text), &err), 0);
}

/* Reloads, and returns the log; free with free(). */
static char *
log_of_reload(struct settings *settings, const char *file, int want)
{
	struct capture capture;
	char *text;
	int rc;

	log_set_level(LOG_LEVEL_INFO);
	capture_begin(&capture, 2);
	rc = settings_reload(settings, file, "test");
	text = capture_end(&capture);
	log_set_level(LOG_LEVEL_WARN);
	assert_int_equal(rc, want);
	return text;
}

static void
assert_logs(struct settings *settings, const char *file, int want, const char *lines)
{
	char *text = log_of_reload(settings, file, want);

	assert_string_equal(text, lines);
	free(text);
}

static void
a_reload_logs_each_difference_in_one_line(void **state)
{
	char directory[] = "/tmp/ap-settings-XXXXXX", file[64];
	struct settings *s = settings_new(&settings_scheduler);
	struct err err = { 0 };
	char *fault, *want;

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(file, sizeof file, "%s/a.conf", directory);
	put(file, "[scheduler]\nmode = advise\n[partition b]\nmode = advise\n"
		  "[partition a]\nmove = yes\n");
	assert_int_equal(settings_load(s, file, &err), 0);
	assert_logs(s, file, 0, "antiphase: info: test: the settings are unchanged\n");
	put(file, "[scheduler]\nmode = enforce\nkeys = /etc/keys\n"
		  "topology = http://me:secret@here\n"
		  "[partition b]\nmode = enforce\n[partition c]\nmode = observe\n");
	assert_logs(
		s, file, 6,
		"antiphase: info: test: [scheduler] keys: (empty) -> /etc/keys; "
		"it needs a restart\n"
		"antiphase: info: test: [scheduler] topology: http://127.0.0.1:7462 -> "
		"http://[removed]@here; it needs a restart\n"
		"antiphase: info: test: [scheduler] mode: advise -> enforce\n"
		"antiphase: info: test: [partition b] mode: advise -> enforce\n"
		"antiphase: info: test: [partition c] mode: (none) -> observe\n"
		"antiphase: info: test: [partition a] move: yes -> (none)\n");
	assert_true(settings_has_changed(s, "scheduler", "mode"));
	assert_false(settings_has_changed(s, "scheduler", "keys"));
	assert_true(settings_has_named_changed(s));
	/* What needs a restart is named until then. */
	put(file, "[scheduler]\nmode = enforce\nkeys = /etc/keys\n"
		  "[partition b]\nmode = enforce\n[partition c]\nmode = observe\n");
	assert_logs(s, file, 1,
		    "antiphase: info: test: [scheduler] keys: (empty) -> /etc/keys; "
		    "it needs a restart\n");
	assert_false(settings_has_changed(s, "scheduler", "mode"));
	assert_false(settings_has_named_changed(s));
	/* A fault in the last line keeps what the first ones would change. */
	put(file, "[scheduler]\nmode = observe\n[partition b]\nmode = observe\n"
		  "[scheduler]\nlevers = place,speed\n");
	fault = log_of_reload(s, file, -EINVAL);
	want = xasprintf(
		"antiphase: error: test: %s:6: there is no lever 'speed'; expected a "
		"list of place, path, time and move; the settings are "
		"unchanged\n",
		file);
	assert_string_equal(fault, want);
	assert_string_equal(settings_text(s, "scheduler", "mode"), "enforce");
	assert_string_equal(settings_named(s, 0).value, "enforce");
	free(fault);
	free(want);
	settings_free(s);
	unlink(file);
	rmdir(directory);
}

static void
texts_with_a_form_are_checked(void **state)
{
	static const struct {
		const struct settings_table *table;
		const char *section, *key, *good, *bad;
	} cases[] = {
		{ &settings_collector, "paths", "wire_ports", "61000-61999", "ports" },
		{ &settings_collector, "paths", "wire_ports", "none", "80-90" },
		{ &settings_scheduler, "scheduler", "partition_modes", "", "a=b" },
		{ &settings_scheduler, "scheduler", "levers", "time", "" },
	};
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct settings *s = settings_new(cases[i].table);

		assert_int_equal(settings_set(s, cases[i].section, cases[i].key,
					      cases[i].good, "x.conf", 3, &err),
				 0);
		assert_int_equal(settings_set(s, cases[i].section, cases[i].key,
					      cases[i].bad, "x.conf", 3, &err),
				 -EINVAL);
		assert_int_equal(err.line, 3);
		assert_string_equal(settings_text(s, cases[i].section, cases[i].key),
				    cases[i].good);
		settings_free(s);
	}
}

static void
a_reload_takes_up_what_it_can_and_keeps_the_rest(void **state)
{
	char directory[] = "/tmp/ap-settings-XXXXXX", file[64];
	struct settings *s = settings_new(&settings_topology);
	struct err err = { 0 };

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(file, sizeof file, "%s/a.conf", directory);
	put(file, "[topology]\nevery_s = 5\nhost = a\nmax_age_s = 9\n");
	assert_int_equal(settings_load(s, file, &err), 0);
	assert_int_equal(
		settings_set(s, "topology", "max_age_s", "60", "--max-age", 0, &err),
		0);
	assert_int_equal(settings_reload(s, file, "test"), 0);
	put(file, "[topology]\nevery_s = 6\nhost = b\nmax_age_s = 10\n");
	assert_int_equal(settings_reload(s, file, "test"), 2);
	assert_int_equal(settings_integer(s, "topology", "every_s"), 6);
	assert_string_equal(settings_text(s, "topology", "host"), "a");
	assert_int_equal(settings_integer(s, "topology", "max_age_s"), 60);
	/* A file with an error changes nothing; missing keys get their defaults. */
	put(file, "[topology]\nevery_s = 7\nhosts = b\n");
	assert_int_equal(settings_reload(s, file, "test"), -EINVAL);
	assert_int_equal(settings_integer(s, "topology", "every_s"), 6);
	put(file, "[topology]\nhost = a\n");
	assert_int_equal(settings_reload(s, file, "test"), 1);
	assert_int_equal(settings_integer(s, "topology", "every_s"), 30);
	for (size_t i = 0; i < settings_topology.n; i++)
		if (strcmp(settings_topology.items[i].key, "every_s") == 0)
			assert_string_equal(settings_origin(s, i), "default");
	settings_free(s);
	unlink(file);
	rmdir(directory);
}

static void
a_reload_takes_up_sections_with_a_name(void **state)
{
	char directory[] = "/tmp/ap-settings-XXXXXX", file[64];
	struct settings *s = settings_new(&settings_scheduler);
	struct err err = { 0 };

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(file, sizeof file, "%s/a.conf", directory);
	put(file, "[partition a]\nmode = advise\n[partition b]\nmode = advise\n");
	assert_int_equal(settings_load(s, file, &err), 0);
	assert_int_equal(settings_reload(s, file, "test"), 0);
	put(file, "[partition b]\nmode = enforce\n");
	assert_int_equal(settings_reload(s, file, "test"), 2);
	assert_int_equal(settings_n_named(s), 1);
	assert_string_equal(settings_named(s, 0).name, "b");
	assert_string_equal(settings_named(s, 0).value, "enforce");
	put(file, "[partition b]\nmode = never\n");
	assert_int_equal(settings_reload(s, file, "test"), -EINVAL);
	assert_int_equal(settings_n_named(s), 1);
	put(file, "");
	assert_int_equal(settings_reload(s, file, "test"), 1);
	assert_int_equal(settings_n_named(s), 0);
	settings_free(s);
	unlink(file);
	rmdir(directory);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_shipped_file_has_every_key_with_its_default),
		cmocka_unit_test(the_manual_has_every_option_and_key),
		cmocka_unit_test(the_manual_says_which_settings_a_reload_applies),
		cmocka_unit_test(no_two_settings_go_by_one_name),
		cmocka_unit_test(
			a_daemon_skips_sections_of_others_but_refuses_misspelled_ones),
		cmocka_unit_test(sections_with_a_name_have_values_of_their_own),
		cmocka_unit_test(options_are_made_of_the_table_and_turn_flags_round),
		cmocka_unit_test(a_check_tells_every_fault_of_every_daemon),
		cmocka_unit_test(a_reload_takes_up_sections_with_a_name),
		cmocka_unit_test(a_reload_logs_each_difference_in_one_line),
		cmocka_unit_test(texts_with_a_form_are_checked),
		cmocka_unit_test(a_reload_takes_up_what_it_can_and_keeps_the_rest),
	};

	return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
