/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cli.h"
#include "lib/base/err.h"
#include "tests/unit/capture.h"
#include "tests/unit/test.h"

/* ---- A verb with an option of each type ---------------------------------------- */

static const char *const words[] = { "exact", "cassini", NULL };

static struct {
	bool json, json_given;
	const char *job, *solver;
	int64_t seed;
	double gbps;
	bool is_verbose;
	enum cli_json told;
} got;

static const struct cli_opt opts[] = {
	{ "json", 'j', CLI_FLAG, &got.json, NULL, "machine-readable", 0, 0, NULL,
	  &got.json_given },
	{ "job", 0, CLI_STR, &got.job, "NAME", "only this job", 0, 0, NULL, NULL },
	{ "seed", 's', CLI_INT, &got.seed, "N", "start of the random numbers", 0, 1000,
	  NULL, NULL },
	{ "capacity-gbps", 'c', CLI_NUM, &got.gbps, "GBPS", "capacity", 0.5, 1e6, NULL,
	  NULL },
	{ "solver", 0, CLI_WORDS, &got.solver, "WHICH", "how to solve", 0, 0, words,
	  NULL },
	{ "verbose", 0, CLI_FLAG, &got.is_verbose, NULL, "talk", 0, 0, NULL, NULL },
	{ "tell", 't', CLI_JSON, &got.told, NULL, "as JSON", 0, 0, NULL, NULL },
	CLI_OPTS_END,
};

static int run_show(int argc, char **argv);

static const struct cli_verb verb_show = {
	.name = "show",
	.summary = "show a thing",
	.usage = "[options] FILE...",
	.examples = "  antiphase show x.csv\n",
	.run = run_show,
};

static int
run_show(int argc, char **argv)
{
	int first = cli_parse(&verb_show, opts, argc, argv);

	if (first < 0)
		return cli_status(first);
	printf("operands:");
	for (; first < argc; first++)
		printf(" %s", argv[first]);
	printf("\n");
	return CLI_OK;
}

static int
run_no(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return CLI_NO;
}

static const struct cli_verb verb_check = {
	.name = "check", .summary = "check a thing", .usage = "", .run = run_no
};

/* Prints the number of its operands. */
static int
run_count(const struct cli_verb *verb, int argc, char **argv)
{
	static const struct cli_opt none[] = { CLI_OPTS_END };
	int first = cli_parse(verb, none, argc, argv);

	return first < 0 ? cli_status(first) : (printf("%d\n", argc - first), CLI_OK);
}

static int run_none(int argc, char **argv), run_pair(int argc, char **argv);

static const struct cli_verb verb_none = { .name = "none",
					   .summary = "no operand",
					   .usage = "",
					   .run = run_none,
					   .operands = "; name it with --job" };

static const struct cli_verb verb_pair = { .name = "pair",
					   .summary = "one or two operands",
					   .usage = "FILE [FILE]",
					   .run = run_pair,
					   .operands = "one or two FILEs",
					   .min_operands = 1,
					   .max_operands = 2 };

static int
run_none(int argc, char **argv)
{
	return run_count(&verb_none, argc, argv);
}

static int
run_pair(int argc, char **argv)
{
	return run_count(&verb_pair, argc, argv);
}

/* The help has more words than fit on a line. */
static int
run_long(int argc, char **argv)
{
	static const char *value;
	static const struct cli_opt long_opts[] = {
		{ "output", 'o', CLI_STR, &value, "FILE",
		  "where to write what was found out, and what was not; with all that "
		  "belongs to it, so that the line is too long",
		  0, 0, NULL, NULL },
		CLI_OPTS_END,
	};
	static const struct cli_verb verb = {
		.name = "long", .summary = "", .usage = "", .run = run_long
	};
	int first = cli_parse(&verb, long_opts, argc, argv);

	return first < 0 ? cli_status(first) : (printf("%s\n", value), CLI_OK);
}

static const struct cli_verb verb_long = {
	.name = "long", .summary = "a long thing", .usage = "", .run = run_long
};
static const struct cli_verb *const verbs[] = { &verb_show, &verb_check, &verb_long,
						&verb_none, &verb_pair,  NULL };

/* Runs a command line; 'out' and 'talk' are its stdout and stderr. */
static char *out, *talk;

static int
run_as(const char *name, const char *typed, const char *line)
{
	const struct cli_program program = { name, "tests itself", verbs };
	static char copy[512];
	struct capture for_out, for_talk;
	char *argv[32];
	int argc = 0, status;

	snprintf(copy, sizeof copy, "%s", line);
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	argv[0] = (char *)typed;
	memset(&got, 0, sizeof got);
	free(out);
	free(talk);
	capture_begin(&for_out, STDOUT_FILENO);
	capture_begin(&for_talk, STDERR_FILENO);
	status = cli_main(&program, argc, argv);
	talk = capture_end(&for_talk);
	out = capture_end(&for_out);
	return status;
}

static int
run(const char *line)
{
	return run_as("antiphase", "antiphase", line);
}

static void
assert_refused(const char *line, const char *part)
{
	int status = run(line);

	if (status != CLI_USAGE || *out || !strstr(talk, part))
		fail_msg("'%s': %d, '%s', '%s'", line, status, out, talk);
	/* Exactly one line on stderr. */
	assert_ptr_equal(strchr(talk, '\n'), talk + strlen(talk) - 1);
}

/* ---- The tests ------------------------------------------------------------------- */

static void
options_set_their_values(void **state)
{
	(void)state;
	assert_int_equal(
		run("antiphase show -j --job vgg --seed=7 -c 2.5 --solver cassini a b"),
		CLI_OK);
	assert_string_equal(out, "operands: a b\n");
	assert_string_equal(talk, "");
	assert_true(got.json && got.json_given);
	assert_string_equal(got.job, "vgg");
	assert_int_equal(got.seed, 7);
	assert_near(got.gbps, 2.5, 0);
	assert_ptr_equal(got.solver, words[1]);
	assert_false(got.is_verbose);
}

static void
options_may_stand_anywhere_before_two_dashes(void **state)
{
	(void)state;
	assert_int_equal(run("antiphase show a --seed 3 b -j -- --job -c"), CLI_OK);
	assert_string_equal(out, "operands: a b --job -c\n");
	assert_int_equal(got.seed, 3);
	assert_true(got.json);
	assert_int_equal(run("antiphase show"), CLI_OK);
	assert_string_equal(out, "operands:\n");
	assert_int_equal(run("antiphase show -"), CLI_OK);
	assert_string_equal(out, "operands: -\n");
}

static void
unique_beginnings_are_enough(void **state)
{
	(void)state;
	assert_int_equal(run("antiphase show --cap 4 --verb"), CLI_OK);
	assert_near(got.gbps, 4, 0);
	assert_true(got.is_verbose);
	/* --job is exact; --j is ambiguous between --json and --job. */
	assert_int_equal(run("antiphase show --job x"), CLI_OK);
	assert_refused("antiphase show --s 3",
		       "option '--s' is ambiguous: --seed, --solver; see");
	assert_refused("antiphase show --j 3", "--json, --job");
	assert_refused("antiphase show --json=1", "--json takes no value");
}

static void
unknown_options_are_named_with_what_was_probably_meant(void **state)
{
	(void)state;
	assert_refused("antiphase show --sede 3", "'--sede' (did you mean '--seed'?)");
	assert_refused("antiphase show a --jsno b",
		       "'--jsno' (did you mean '--json'?)");
	assert_refused("antiphase show a b --capcity-gbps=3",
		       "(did you mean '--capacity-gbps'?)");
	assert_refused("antiphase show --xyzzy", "unknown option '--xyzzy'; see");
	assert_refused("antiphase show a -x b", "unknown option '-x'");
	assert_refused("antiphase show -jx", "unknown option");
	assert_null(strstr(talk, "mean"));
}

static void
json_may_be_asked_for_by_lines(void **state)
{
	(void)state;
	assert_int_equal(run("antiphase show --tell a"), CLI_OK);
	assert_string_equal(out, "operands: a\n");
	assert_int_equal(got.told, CLI_JSON_DOCUMENT);
	assert_int_equal(run("antiphase show -tj lines"), CLI_OK);
	assert_string_equal(out, "operands: lines\n");
	assert_int_equal(got.told, CLI_JSON_DOCUMENT);
	assert_int_equal(run("antiphase show --tell=lines"), CLI_OK);
	assert_int_equal(got.told, CLI_JSON_LINES);
	assert_refused("antiphase show --tell=line",
		       "--tell takes no value but 'lines', not 'line'");
	assert_int_equal(run("antiphase show --help"), CLI_OK);
	assert_non_null(strstr(out, "-t, --tell[=lines]"));
}

static void
a_missing_argument_is_named(void **state)
{
	(void)state;
	assert_refused("antiphase show a --seed", "--seed needs N");
	assert_refused("antiphase show -c", "--capacity-gbps needs GBPS");
}

static void
numbers_have_to_be_whole_and_in_range(void **state)
{
	(void)state;
	assert_refused("antiphase show --seed 1001", "a whole number from 0 to 1000");
	assert_refused("antiphase show --seed -1", "'-1'");
	assert_refused("antiphase show --seed 1.5", "'1.5', expected a whole number");
	assert_refused("antiphase show --seed 7x", "'7x'");
	assert_refused("antiphase show --seed=", "''");
	assert_refused("antiphase show --seed 99999999999999999999", "from 0 to 1000");
	assert_refused("antiphase show -c 0.4", "a number from 0.5 to 1000000");
	assert_refused("antiphase show -c nan", "'nan'");
	assert_refused("antiphase show -c inf", "'inf'");
	assert_refused("antiphase show -c 1e400", "'1e400'");
	assert_int_equal(got.gbps != 0, 0);
}

static void
a_choice_has_to_be_one_of_the_words(void **state)
{
	(void)state;
	assert_refused("antiphase show --solver casini", "(did you mean 'cassini'?)");
	assert_refused("antiphase show --solver best", "'best'");
	assert_null(got.solver);
}

static void
help_goes_to_stdout_with_status_0(void **state)
{
	static const char *const ways[] = { "antiphase show --help",
					    "antiphase show -h", "antiphase help show",
					    "antiphase show x --seed 3 --help",
					    "antiphase show --hel" };

	(void)state;
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		assert_int_equal(run(ways[i]), CLI_OK);
		assert_string_equal(talk, "");
		assert_non_null(strstr(out, "Usage: antiphase show [options] FILE..."));
		assert_non_null(strstr(out, "show a thing"));
		assert_non_null(strstr(out, "antiphase show x.csv"));
		for (const struct cli_opt *opt = opts; opt->name; opt++) {
			assert_non_null(strstr(out, opt->name));
			assert_non_null(strstr(out, opt->help));
		}
		assert_non_null(strstr(out, "exact cassini"));
	}
}

/* "antiphase" may run this program; argv[0] tells what was typed. */
static void
help_and_wrong_use_name_what_was_typed(void **state)
{
	static const struct {
		const char *typed, *name, *page;
	} cases[] = {
		{ "antiphase", "antiphase", "antiphase-show" },
		{ "antiphase sim", "antiphase sim", "antiphase-sim" },
		{ "antiphase-sim", "antiphase-sim", "antiphase-sim" },
		{ "/usr/bin/antiphase-sim", "antiphase-sim", "antiphase-sim" },
		{ "antiphase simulate", "antiphase-sim", "antiphase-sim" },
		{ "antiphases", "antiphase-sim", "antiphase-sim" },
		{ "", "antiphase-sim", "antiphase-sim" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *typed = cases[i].typed, *name = cases[i].name;
		char wanted[160];

		assert_int_equal(run_as("antiphase-sim", typed, "sim show -h"), CLI_OK);
		snprintf(wanted, sizeof wanted, "Usage: %s show [options] FILE...\n",
			 name);
		assert_non_null(strstr(out, wanted));
		snprintf(wanted, sizeof wanted, "\nThe manual page: man %s\n",
			 cases[i].page);
		assert_non_null(strstr(out, wanted));
		assert_int_equal(run_as("antiphase-sim", typed, "sim -h"), CLI_OK);
		snprintf(wanted, sizeof wanted, "\nUsage: %s VERB [options] ...\n",
			 name);
		assert_non_null(strstr(out, wanted));
		assert_int_equal(run_as("antiphase-sim", typed, "sim show --bad"),
				 CLI_USAGE);
		snprintf(wanted, sizeof wanted,
			 "%s show: unknown option '--bad'; see '%s show --help'\n",
			 name, name);
		assert_string_equal(talk, wanted);
		assert_int_equal(run_as("antiphase-sim", typed, "sim shwo"), CLI_USAGE);
		snprintf(wanted, sizeof wanted,
			 "%s: there is no verb 'shwo' (did you mean 'show'?); "
			 "'%s --help' lists them\n",
			 name, name);
		assert_string_equal(talk, wanted);
		/* The version is that of this program, whatever was typed. */
		assert_int_equal(run_as("antiphase-sim", typed, "sim --version"),
				 CLI_OK);
		assert_memory_equal(out, "antiphase-sim ", 14);
	}
}

static void
the_program_lists_its_verbs(void **state)
{
	(void)state;
	assert_int_equal(run("antiphase --help"), CLI_OK);
	assert_non_null(strstr(out, "show a thing"));
	assert_non_null(strstr(out, "check a thing"));
	assert_int_equal(run("antiphase help"), CLI_OK);
	assert_non_null(strstr(out, "check a thing"));
	assert_int_equal(run("antiphase -h"), CLI_OK);
	assert_non_null(strstr(out, "check a thing"));
	/* A missing verb is wrong usage, reported on stderr. */
	assert_int_equal(run("antiphase"), CLI_USAGE);
	assert_string_equal(out, "");
	assert_non_null(strstr(talk, "check a thing"));
}

static void
unknown_verbs_are_named_with_what_was_probably_meant(void **state)
{
	(void)state;
	assert_refused("antiphase shwo", "'shwo'");
	assert_refused("antiphase chek", "(did you mean 'check'?)");
	assert_refused("antiphase help chek", "(did you mean 'check'?)");
	assert_refused("antiphase --frobnicate", "'--frobnicate'");
}

static void
the_version_is_printed(void **state)
{
	(void)state;
	assert_int_equal(run("antiphase --version"), CLI_OK);
	assert_memory_equal(out, "antiphase ", 10);
	assert_true(out[10] >= '0' && out[10] <= '9');
}

static void
the_verbs_status_is_the_programs(void **state)
{
	(void)state;
	assert_int_equal(run("antiphase check"), CLI_NO);
}

static void
failures_have_their_status(void **state)
{
	struct capture capture;
	struct err err = { 0 };
	char *text;

	(void)state;
	err_set(&err, "f", 2, 0, "bad");
	capture_begin(&capture, STDERR_FILENO);
	assert_int_equal(cli_fail(-EINVAL, &err), CLI_USAGE);
	assert_int_equal(cli_fail(-ENODATA, &err), CLI_THIN);
	text = capture_end(&capture);
	assert_string_equal(text, "antiphase: f:2: bad\nantiphase: f:2: bad\n");
	free(text);
}

static void
a_full_disk_is_no_success(void **state)
{
	struct capture capture;
	int saved = dup(STDOUT_FILENO);
	FILE *full = fopen("/dev/full", "w");
	int status;
	char *text;

	(void)state;
	if (!full)
		skip();
	fflush(stdout);
	capture_begin(&capture, STDERR_FILENO);
	dup2(fileno(full), STDOUT_FILENO);
	printf("data\n");
	status = cli_finish(CLI_OK);
	clearerr(stdout);
	dup2(saved, STDOUT_FILENO);
	text = capture_end(&capture);
	close(saved);
	fclose(full);
	assert_int_equal(status, CLI_NO);
	assert_non_null(strstr(text, "No space left"));
	free(text);
}

static void
help_fits_80_columns(void **state)
{
	(void)state;
	assert_int_equal(run("antiphase long --help"), CLI_OK);
	assert_non_null(strstr(out, " and what was\n"));
	for (char *line = strtok(out, "\n"); line; line = strtok(NULL, "\n"))
		assert_true(strlen(line) <= 80);
}

static void
an_option_is_no_value_of_another(void **state)
{
	(void)state;
	assert_refused("antiphase show --job --json x",
		       "--job needs NAME, not '--json'");
	assert_refused("antiphase long -o --help", "--output needs FILE, not '--help'");
	assert_int_equal(run("antiphase long --output=--help"), CLI_OK);
	assert_string_equal(out, "--help\n");
	assert_int_equal(run("antiphase long -o -j"), CLI_OK);
	assert_string_equal(out, "-j\n");
}

static void
operands_are_counted(void **state)
{
	(void)state;
	assert_int_equal(run("antiphase none"), CLI_OK);
	assert_refused("antiphase none x",
		       "unexpected operand 'x'; name it with --job");
	assert_refused("antiphase pair", "expected one or two FILEs");
	assert_refused("antiphase pair a b c", "expected one or two FILEs");
	assert_int_equal(run("antiphase pair a -- -b"), CLI_OK);
	assert_string_equal(out, "2\n");
	assert_int_equal(run("antiphase pair --help"), CLI_OK);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_set_their_values),
		cmocka_unit_test(options_may_stand_anywhere_before_two_dashes),
		cmocka_unit_test(unique_beginnings_are_enough),
		cmocka_unit_test(
			unknown_options_are_named_with_what_was_probably_meant),
		cmocka_unit_test(json_may_be_asked_for_by_lines),
		cmocka_unit_test(a_missing_argument_is_named),
		cmocka_unit_test(numbers_have_to_be_whole_and_in_range),
		cmocka_unit_test(a_choice_has_to_be_one_of_the_words),
		cmocka_unit_test(help_goes_to_stdout_with_status_0),
		cmocka_unit_test(help_fits_80_columns),
		cmocka_unit_test(an_option_is_no_value_of_another),
		cmocka_unit_test(operands_are_counted),
		cmocka_unit_test(help_and_wrong_use_name_what_was_typed),
		cmocka_unit_test(the_program_lists_its_verbs),
		cmocka_unit_test(unknown_verbs_are_named_with_what_was_probably_meant),
		cmocka_unit_test(the_version_is_printed),
		cmocka_unit_test(the_verbs_status_is_the_programs),
		cmocka_unit_test(failures_have_their_status),
		cmocka_unit_test(a_full_disk_is_no_success),
	};

	return cmocka_run_group_tests_name("cli", tests, NULL, NULL);
}
