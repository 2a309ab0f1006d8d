/* SPDX-License-Identifier: Apache-2.0 */
/* cli_opts.c - command-line options and their help. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cli.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/base/units.h"
#include "lib/base/words.h"

#define MAX_OPTS 56

/* getopt_long()'s codes of long options: beyond any character. */
#define FIRST_CODE 1000
#define CODE_HELP  999

/* Results of cli_parse(); see cli_status(). */
#define RESULT_HELP  (-1)
#define RESULT_USAGE (-2)

/* ---- Help ------------------------------------------------------------------- */

/* Writes 'text' and a newline in the right column of the options. */
static void
print_wrapped(const char *text, FILE *out)
{
	const size_t width = 80 - 29;

	while (strlen(text) > width) {
		size_t length = width;

		while (length && text[length] != ' ')
			length--;
		if (!length)
			break; /* One word, longer than a line. */
		fprintf(out, "%.*s\n%29s", (int)length, text, "");
		text += length + 1;
	}
	fprintf(out, "%s\n", text);
}

static void
print_opts(const struct cli_opt *opts, FILE *out)
{
	fputs("\nOptions:\n", out);
	for (const struct cli_opt *opt = opts; opt->name; opt++) {
		char left[64];
		int length = 0;

		if (opt->letter)
			length = snprintf(left, sizeof left, "-%c, ", opt->letter);
		snprintf(left + length, sizeof left - (size_t)length, "--%s%s%s",
			 opt->name,
			 opt->type == CLI_JSON ? "[=lines]"
			 : opt->argument       ? " "
					       : "",
			 opt->argument ? opt->argument : "");
		fprintf(out, "  %-26s ", left);
		print_wrapped(opt->help, out);
		if (!opt->words)
			continue;
		fprintf(out, "  %-26s one of:", "");
		for (const char *const *word = opt->words; *word; word++)
			fprintf(out, " %s", *word);
		fputc('\n', out);
	}
	fprintf(out, "  %-26s %s\n", "-h, --help", "this text");
}

static void
print_help(const struct cli_verb *verb, const struct cli_opt *opts)
{
	const char *blank = *verb->name ? " " : "", *program = cli_typed();

	printf("%s%s%s - %s\n\nUsage: %s%s%s %s\n", program, blank, verb->name,
	       verb->summary, program, blank, verb->name, verb->usage);
	print_opts(opts, stdout);
	if (verb->examples)
		printf("\nExamples:\n%s", verb->examples);
	fputs("\nThe manual page: man ", stdout);
	cli_print_page(verb, stdout);
	fputc('\n', stdout);
}

/* ---- Values ------------------------------------------------------------------ */

/* Whether 'word' abbreviates several names; lists them if so. */
static bool
is_ambiguous(const struct cli_verb *verb, const char *const *names, const char *word)
{
	struct strbuf matches = STRBUF_EMPTY;
	size_t length = strlen(word), n_matches = 0;

	for (const char *const *name = names; length && *name; name++) {
		if (strncmp(*name, word, length) == 0)
			strbuf_printf(&matches, "%s--%s", n_matches++ ? ", " : "",
				      *name);
	}
	if (n_matches > 1)
		cli_usage_error(verb, "option '--%s' is ambiguous: %s", word,
				matches.text);
	strbuf_free(&matches);
	return n_matches > 1;
}

/* Reports an option that getopt_long() does not know. */
static int
unknown_option(const struct cli_verb *verb, const struct cli_opt *opts,
	       const char *given)
{
	const char *names[MAX_OPTS + 2];
	char word[64];
	size_t n = 0;
	const char *meant;

	for (const struct cli_opt *opt = opts; opt->name; opt++)
		names[n++] = opt->name;
	names[n++] = "help";
	names[n] = NULL;
	snprintf(word, sizeof word, "%s", given + strspn(given, "-"));
	word[strcspn(word, "=")] = '\0';
	if (strncmp(given, "--", 2) == 0 && is_ambiguous(verb, names, word))
		return RESULT_USAGE;
	meant = err_did_you_mean(word, names);
	if (words_index(word, names) >= 0)
		cli_usage_error(verb, "--%s takes no value", word);
	else if (meant)
		cli_usage_error(verb, "unknown option '%s' (did you mean '--%s'?)",
				given, meant);
	else
		cli_usage_error(verb, "unknown option '%s'", given);
	return RESULT_USAGE;
}

static bool
in_range(const struct cli_opt *opt, double value)
{
	if (opt->min == 0 && opt->max == 0)
		return isfinite(value);
	return value >= opt->min && value <= opt->max;
}

static int
bad_number(const struct cli_verb *verb, const struct cli_opt *opt, const char *text)
{
	const char *what = opt->type == CLI_INT ? "a whole number" : "a number";

	if (opt->min == 0 && opt->max == 0)
		cli_usage_error(verb, "--%s is '%s', expected %s", opt->name, text,
				what);
	else
		cli_usage_error(verb, "--%s is '%s', expected %s from %.15g to %.15g",
				opt->name, text, what, opt->min, opt->max);
	return RESULT_USAGE;
}

static int
set_word(const struct cli_verb *verb, const struct cli_opt *opt, const char *text)
{
	const char *meant = err_did_you_mean(text, opt->words);

	for (const char *const *word = opt->words; *word; word++) {
		if (strcmp(*word, text) == 0) {
			*(const char **)opt->ret_value = *word;
			return 0;
		}
	}
	if (meant)
		cli_usage_error(verb, "--%s has no choice '%s' (did you mean '%s'?)",
				opt->name, text, meant);
	else
		cli_usage_error(verb, "--%s has no choice '%s'", opt->name, text);
	return RESULT_USAGE;
}

static int
add_to_list(const struct cli_verb *verb, const struct cli_opt *opt, const char *text)
{
	struct cli_list *list = opt->ret_value;

	if (list->n == CLI_MAX_LIST) {
		cli_usage_error(verb, "--%s is given more than %d times", opt->name,
				CLI_MAX_LIST);
		return RESULT_USAGE;
	}
	list->items[list->n++] = text;
	return 0;
}

static int
set_json(const struct cli_verb *verb, const struct cli_opt *opt, const char *text)
{
	if (text && strcmp(text, "lines") != 0) {
		cli_usage_error(verb, "--%s takes no value but 'lines', not '%s'",
				opt->name, text);
		return RESULT_USAGE;
	}
	*(enum cli_json *)opt->ret_value = text ? CLI_JSON_LINES : CLI_JSON_DOCUMENT;
	return 0;
}

static int
set_option(const struct cli_verb *verb, const struct cli_opt *opt, const char *text)
{
	char *end;

	errno = 0;
	switch (opt->type) {
	case CLI_FLAG:
		*(bool *)opt->ret_value = true;
		break;
	case CLI_STR:
		*(const char **)opt->ret_value = text;
		break;
	case CLI_INT: {
		long long value = strtoll(text, &end, 10);

		if (end == text || *end || errno || !in_range(opt, (double)value))
			return bad_number(verb, opt, text);
		*(int64_t *)opt->ret_value = value;
		break;
	}
	case CLI_NUM: {
		double value = strtod(text, &end);

		if (end == text || *end || !in_range(opt, value))
			return bad_number(verb, opt, text);
		*(double *)opt->ret_value = value;
		break;
	}
	case CLI_RATIO: {
		double value;

		if (units_parse_ratio(text, &value) < 0 || !in_range(opt, value))
			return bad_number(verb, opt, text);
		*(double *)opt->ret_value = value;
		break;
	}
	case CLI_JSON:
		if (set_json(verb, opt, text) < 0)
			return RESULT_USAGE;
		break;
	case CLI_LIST:
		if (add_to_list(verb, opt, text) < 0)
			return RESULT_USAGE;
		break;
	case CLI_WORDS:
		if (set_word(verb, opt, text) < 0)
			return RESULT_USAGE;
		break;
	}
	if (opt->ret_given)
		*opt->ret_given = true;
	return 0;
}

/* getopt_long()'s own tables for 'opts'. */
static size_t
make_tables(const struct cli_opt *opts, struct option *longs, char *letters)
{
	size_t n = 0;

	*letters++ = ':'; /* Distinguishes a missing argument from an unknown option. */
	for (; opts[n].name; n++) {
		int argument = opts[n].type == CLI_FLAG   ? no_argument
			       : opts[n].type == CLI_JSON ? optional_argument
							  : required_argument;

		BUG_ON(n == MAX_OPTS);
		longs[n] = (struct option){ opts[n].name, argument, NULL,
					    FIRST_CODE + (int)n };
		if (opts[n].letter)
			*letters++ = opts[n].letter;
		if (opts[n].letter && argument == required_argument)
			*letters++ = ':';
	}
	longs[n] = (struct option){ "help", no_argument, NULL, CODE_HELP };
	longs[n + 1] = (struct option){ 0 };
	*letters++ = 'h';
	*letters = '\0';
	return n;
}

static const struct cli_opt *
find_opt(const struct cli_opt *opts, size_t n, int code)
{
	if (code >= FIRST_CODE)
		return &opts[code - FIRST_CODE];
	for (size_t i = 0; i < n; i++)
		if (opts[i].letter && opts[i].letter == code)
			return &opts[i];
	return NULL;
}

/*
 * True if an option's 'value', in a word of its own, is a long option: the value was
 * probably forgotten.  "--output=--json" is still possible.
 */
static bool
is_option(const struct option *longs, const char *word, const char *value)
{
	if (!value || word != value || strncmp(value, "--", 2) != 0)
		return false;
	for (; longs->name; longs++)
		if (strcmp(longs->name, value + 2) == 0)
			return true;
	return false;
}

/* The index of the first operand, or RESULT_USAGE if the verb takes other operands. */
static int
check_operands(const struct cli_verb *verb, int argc, char **argv)
{
	int n = argc - optind;

	if (!verb->operands || (n >= verb->min_operands && n <= verb->max_operands))
		return optind;
	if (verb->max_operands == 0)
		cli_usage_error(verb, "unexpected operand '%s'%s", argv[optind],
				verb->operands);
	else
		cli_usage_error(verb, "expected %s", verb->operands);
	return RESULT_USAGE;
}

int
cli_parse(const struct cli_verb *verb, const struct cli_opt *opts, int argc,
	  char **argv)
{
	struct option longs[MAX_OPTS + 2];
	char letters[2 * MAX_OPTS + 4];
	size_t n = make_tables(opts, longs, letters);
	int code;

	optind = 0; /* Resets getopt_long(). */
	opterr = 0;
	for (;;) {
		int at = optind ? optind : 1;
		const struct cli_opt *opt;

		code = getopt_long(argc, argv, letters, longs, NULL);
		if (code < 0)
			return check_operands(verb, argc, argv);
		if (code == 'h' || code == CODE_HELP) {
			print_help(verb, opts);
			return RESULT_HELP;
		}
		if (code == '?')
			return unknown_option(verb, opts,
					      argv[optind > at ? optind - 1 : at]);
		if (code == ':') {
			opt = find_opt(opts, n, optopt);
			cli_usage_error(verb, "--%s needs %s", opt ? opt->name : "",
					opt ? opt->argument : "a value");
			return RESULT_USAGE;
		}
		opt = find_opt(opts, n, code);
		if (is_option(longs, argv[optind - 1], optarg)) {
			cli_usage_error(verb, "--%s needs %s, not '%s'", opt->name,
					opt->argument, optarg);
			return RESULT_USAGE;
		}
		if (set_option(verb, opt, optarg) < 0)
			return RESULT_USAGE;
	}
}

int
cli_status(int result)
{
	return result == RESULT_HELP ? CLI_OK : CLI_USAGE;
}
