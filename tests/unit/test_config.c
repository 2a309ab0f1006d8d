/* The collector's settings: where they come from, and what they may be. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/config.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/strbuf.h"
#include "tests/unit/test.h"

static int
parse(struct config *config, const char *text, struct err *err)
{
	*err = (struct err){ 0 };
	return config_parse(config, "a.conf", text, strlen(text), err);
}

static void
refused(const char *text, unsigned line, const char *part)
{
	struct config config;
	struct err err;

	config_init(&config);
	assert_int_equal(parse(&config, text, &err), -EINVAL);
	assert_string_equal(err.file, "a.conf");
	assert_int_equal(err.line, line);
	if (!strstr(err.text, part))
		fail_msg("'%s' does not say '%s'", err.text, part);
	config_fini(&config);
}

static void
defaults_are_those_of_the_manual(void **state)
{
	struct config config;

	(void)state;
	config_init(&config);
	assert_int_equal(config.sources, CONFIG_AUTO);
	assert_string_equal(config.runtime_dir, "/run/antiphase");
	assert_string_equal(config.endpoint, "tcp://127.0.0.1:7461");
	assert_string_equal(config.metrics, "127.0.0.1:9471");
	assert_int_equal(config.raw_ms, 250);
	assert_false(config.is_link_only);
	assert_string_equal(config_origin(&config, 0), "default");
	config_fini(&config);
}

static void
values_are_taken_with_their_place(void **state)
{
	struct config config;
	struct err err;

	(void)state;
	config_init(&config);
	assert_int_equal(parse(&config,
			       "[collector]\nhost = n1\ninterval_ms = 20\n"
			       "[source]\nsource = bpf, rdma\nlink_only = yes\n"
			       "[topology]\nwhatever = theirs\n"
			       "[metrics]\naddress = none\n",
			       &err),
			 0);
	assert_string_equal(config.host, "n1");
	assert_int_equal(config.interval_ms, 20);
	assert_int_equal(config.sources, CONFIG_BPF | CONFIG_RDMA);
	assert_true(config.is_link_only);
	assert_string_equal(config.metrics, "none");
	assert_true(config_is_none(config.metrics) && config_is_none("off"));
	assert_false(config_is_none(config.endpoint));
	assert_string_equal(config_origin(&config, 0), "a.conf");
	assert_string_equal(config_origin(&config, 1), "default");
	config_fini(&config);
}

static void
what_is_wrong_is_said_with_the_line_and_what_was_meant(void **state)
{
	(void)state;
	refused("[collector]\nintervall_ms = 3\n", 2, "did you mean 'interval_ms'?");
	refused("[colector]\n", 1, "did you mean 'collector'?");
	refused("[collector]\nendpoint = x\n", 2, "it belongs to [bus]");
	refused("[collector]\ninterval_ms = 1001\n", 2, "from 0 to 1000, not '1001'");
	refused("[collector]\ninterval_ms = ten\n", 2, "not 'ten'");
	refused("[collector]\ninterval_ms = 99999999999999999999\n", 2,
		"from 0 to 1000");
	refused("[source]\nlink_only = maybe\n", 2, "yes or no, not 'maybe'");
	refused("[source]\nsource = bpf,netlnk\n", 2, "did you mean 'netlink'?");
	refused("[source]\nsource = ,\n", 2, "no source is named");
	refused("[source]\nsource = replay,bpf\n", 2, "cannot be mixed");
	refused("[source]\nclsact = never\n", 2, "auto, yes, no");
	refused("[bus]\nendpoint =\n", 2, "endpoint has no value");
	refused("host = x\n", 1, "is in no section");
}

/* Without its '#'s the shipped file sets every key, each to its default. */
static void
the_shipped_file_has_every_key_with_its_default(void **state)
{
	struct strbuf bare = STRBUF_EMPTY;
	struct config config, defaults;
	struct err err = { 0 };
	char *text, *rest = NULL;
	size_t length;

	(void)state;
	assert_int_equal(
		file_read("collector/antiphase.conf", 1 << 20, &text, &length, &err),
		0);
	for (char *line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		if (line[0] == '#' && line[1] != ' ' && line[1])
			line++;
		strbuf_printf(&bare, "%s\n", line);
	}
	config_init(&config);
	config_init(&defaults);
	for (size_t i = 0; i < config_n(); i++) {
		const struct config_setting *s = config_setting(i);
		struct strbuf part = STRBUF_EMPTY;

		/* Keys that may not be empty are not: the rest is by parse(). */
		strbuf_printf(&part, "\n%s =", s->key);
		if (!strstr(bare.text, part.text))
			fail_msg("[%s] %s is not in the shipped file", s->section,
				 s->key);
		strbuf_free(&part);
	}
	if (parse(&config, bare.text, &err) < 0)
		fail_msg("line %u: %s", err.line, err.text);
	for (size_t i = 0; i < config_n(); i++) {
		char *there = config_text(&config, i),
		     *here = config_text(&defaults, i);

		assert_string_equal(there, here);
		assert_string_equal(config_origin(&config, i), "a.conf");
		free(there);
		free(here);
	}
	config_fini(&config);
	config_fini(&defaults);
	strbuf_free(&bare);
	free(text);
}

/* True if the page has a line that begins with 'start'. */
static bool
has_line(const char *page, const char *start)
{
	char *line = NULL, *at;
	bool so;

	assert_true(asprintf(&line, "\n%s", start) > 0);
	at = strstr(page, line);
	so = at != NULL;
	free(line);
	return so;
}

static void
the_manual_has_every_option_and_key(void **state)
{
	char *options, *keys;
	size_t length;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(file_read("docs/man/antiphase-collector.8.scd", 1 << 20,
				   &options, &length, &err),
			 0);
	assert_int_equal(file_read("docs/man/antiphase.conf.5.scd", 1 << 20, &keys,
				   &length, &err),
			 0);
	for (size_t i = 0; i < config_n(); i++) {
		const struct config_setting *s = config_setting(i);
		struct strbuf option = STRBUF_EMPTY, key = STRBUF_EMPTY;

		strbuf_printf(&option, "*--%s*", s->option);
		strbuf_putc(&key, '*');
		for (const char *c = s->key; *c; c++)
			strbuf_printf(&key, "%s%c", *c == '_' ? "\\" : "", *c);
		strbuf_puts(&key, "* = ");
		if (!has_line(options, option.text))
			fail_msg("%s is not in antiphase-collector(8)", option.text);
		if (!has_line(keys, key.text))
			fail_msg("%s is not in antiphase.conf(5)", key.text);
		strbuf_free(&option);
		strbuf_free(&key);
	}
	free(options);
	free(keys);
}

static void
write_file(const char *directory, const char *name, const char *text)
{
	char path[128];
	struct err err;

	snprintf(path, sizeof path, "%s/%s", directory, name);
	assert_int_equal(file_write(path, text, strlen(text), &err), 0);
}

static void
files_in_order_then_the_environment_then_options(void **state)
{
	char directory[] = "/tmp/ap-config-XXXXXX", file[64], command[64];
	struct config config;
	struct err err = { 0 };

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(file, sizeof file, "%s/conf.d", directory);
	assert_int_equal(mkdir(file, 0755), 0);
	write_file(directory, "a.conf",
		   "[collector]\nhost = a\nuser = a\nlog = dbg\ninterval_ms = 1\n");
	write_file(directory, "conf.d/20.conf", "[collector]\nuser = twenty\n");
	write_file(directory, "conf.d/10.conf",
		   "[collector]\nuser = ten\nhost = ten\n");
	write_file(directory, "conf.d/30.conf.bak", "[collector]\nuser = thirty\n");
	setenv("ANTIPHASE_COLLECTOR_LOG", "err", 1);
	setenv("ANTIPHASE_COLLECTOR_INTERVAL_MS", "5", 1);
	snprintf(file, sizeof file, "%s/a.conf", directory);
	config_init(&config);
	assert_int_equal(config_load(&config, file, &err), 0);
	assert_int_equal(config_set(&config, "collector", "interval_ms", "9",
				    "--interval-ms", 0, &err),
			 0);
	assert_string_equal(config.host, "ten");
	assert_string_equal(config.user, "twenty");
	assert_string_equal(config.log, "err");
	assert_int_equal(config.interval_ms, 9);
	assert_non_null(strstr(config_origin(&config, 1), "conf.d/20.conf"));
	assert_string_equal(config_origin(&config, 3), "ANTIPHASE_COLLECTOR_LOG");
	assert_string_equal(config_origin(&config, 4), "--interval-ms");
	setenv("ANTIPHASE_COLLECTOR_LOG", "loud", 1);
	assert_int_equal(config_load(&config, file, &err), -EINVAL);
	assert_string_equal(err.file, "ANTIPHASE_COLLECTOR_LOG");
	unsetenv("ANTIPHASE_COLLECTOR_LOG");
	unsetenv("ANTIPHASE_COLLECTOR_INTERVAL_MS");
	/* One that was named has to be there. */
	assert_int_equal(config_load(&config, "/no/such.conf", &err), -ENOENT);
	config_fini(&config);
	snprintf(command, sizeof command, "rm -r %s", directory);
	assert_int_equal(system(command), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_those_of_the_manual),
		cmocka_unit_test(values_are_taken_with_their_place),
		cmocka_unit_test(
			what_is_wrong_is_said_with_the_line_and_what_was_meant),
		cmocka_unit_test(the_shipped_file_has_every_key_with_its_default),
		cmocka_unit_test(the_manual_has_every_option_and_key),
		cmocka_unit_test(files_in_order_then_the_environment_then_options),
	};

	return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
