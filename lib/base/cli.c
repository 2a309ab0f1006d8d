#include "lib/base/cli.h"

#include <errno.h>
#include <getopt.h>
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/units.h"
#include "lib/base/vec.h"
#include "lib/base/words.h"

#define MAX_OPTS 40

/* getopt_long()'s codes of long options: beyond any character. */
#define FIRST_CODE 1000
#define CODE_HELP  999

/* Results of cli_parse(); see cli_status(). */
#define RESULT_HELP  (-1)
#define RESULT_USAGE (-2)

/* The program that cli_main() runs, for messages; set once, at the start. */
static const char *program_name = "antiphase";

/* ---- Help ------------------------------------------------------------------- */

static void
print_verbs(const struct cli_program *program, FILE *out)
{
	fprintf(out, "%s - %s\n\nUsage: %s VERB [options] ...\n\n", program->name,
		program->summary, program->name);
	for (const struct cli_verb *const *verb = program->verbs; *verb; verb++)
		fprintf(out, "  %-12s %s\n", (*verb)->name, (*verb)->summary);
	fprintf(out, "\n'%s VERB --help' tells more; the manual pages tell all.\n",
		program->name);
}

/* 'text' and a newline, in the right-hand column of the options. */
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
			 opt->name, opt->argument ? " " : "",
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
	const char *blank = *verb->name ? " " : "";

	printf("%s%s%s - %s\n\nUsage: %s%s%s %s\n", program_name, blank, verb->name,
	       verb->summary, program_name, blank, verb->name, verb->usage);
	print_opts(opts, stdout);
	if (verb->examples)
		printf("\nExamples:\n%s", verb->examples);
	/* Verbs of two words have the page of the first, those of sim one for all. */
	if (!*verb->name)
		printf("\nThe manual page: man 8 %s\n", program_name);
	else if (strcmp(program_name, "antiphase") != 0)
		printf("\nThe manual page: man %s\n", program_name);
	else
		printf("\nThe manual page: man antiphase-%.*s\n",
		       (int)strcspn(verb->name, " "), verb->name);
}

/* ---- Programs and their verbs ------------------------------------------------ */

static const struct cli_verb *
find_verb(const struct cli_program *program, const char *name)
{
	for (const struct cli_verb *const *verb = program->verbs; *verb; verb++)
		if (strcmp((*verb)->name, name) == 0)
			return *verb;
	return NULL;
}

static int
unknown_verb(const struct cli_program *program, const char *name)
{
	VEC(const char *) names = VEC_EMPTY;
	const char *meant;

	for (const struct cli_verb *const *verb = program->verbs; *verb; verb++)
		vec_push(&names, (*verb)->name);
	vec_push(&names, NULL);
	meant = err_did_you_mean(name, names.items);
	fprintf(stderr, "%s: there is no verb '%s'", program->name, name);
	if (meant)
		fprintf(stderr, " (did you mean '%s'?)", meant);
	fprintf(stderr, "; '%s --help' lists them\n", program->name);
	vec_free(&names);
	return CLI_USAGE;
}

static int
help_topic(const struct cli_program *program, const char *topic)
{
	const struct cli_verb *verb = find_verb(program, topic);
	char *argv[] = { (char *)topic, (char *)"--help", NULL };

	return verb ? verb->run(2, argv) : unknown_verb(program, topic);
}

const char *
cli_version(void)
{
	static char version[128];

	snprintf(version, sizeof version, "%s %s (%s)", program_name, ANTIPHASE_VERSION,
		 ANTIPHASE_REVISION);
	return version;
}

static const char *libbpf_version = "";

void
cli_set_libbpf(const char *version)
{
	libbpf_version = version;
}

const char *
cli_libbpf(void)
{
	return libbpf_version;
}

/* The first line is for machines, too; the second is for reports of what went wrong. */
static void
print_version(void)
{
	struct utsname host;

	puts(cli_version());
	if (uname(&host) == 0)
		printf("%s %s %s%s%s\n", host.sysname, host.release, host.machine,
		       *libbpf_version ? ", libbpf " : "", libbpf_version);
}

int
cli_main(const struct cli_program *program, int argc, char **argv)
{
	const struct cli_verb *verb;

	setlocale(LC_CTYPE, ""); /* Only to know the terminal's characters. */
	program_name = program->name;
	if (argc < 2) {
		print_verbs(program, stderr);
		return CLI_USAGE;
	}
	if (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0 ||
	    (strcmp(argv[1], "help") == 0 && argc < 3)) {
		print_verbs(program, stdout);
		return cli_finish(CLI_OK);
	}
	if (strcmp(argv[1], "help") == 0)
		return cli_finish(help_topic(program, argv[2]));
	if (strcmp(argv[1], "--version") == 0) {
		print_version();
		return cli_finish(CLI_OK);
	}
	verb = find_verb(program, argv[1]);
	if (!verb)
		return unknown_verb(program, argv[1]);
	return cli_finish(verb->run(argc - 1, argv + 1));
}

int
cli_main_single(const char *name, const struct cli_verb *verb, int argc, char **argv)
{
	BUG_ON(*verb->name);
	setlocale(LC_CTYPE, "");
	program_name = name;
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		print_version();
		return cli_finish(CLI_OK);
	}
	return cli_finish(verb->run(argc, argv));
}

int
cli_finish(int status)
{
	bool was_bad = ferror(stdout);

	if (fflush(stdout) == 0 && !was_bad)
		return status;
	if (errno != EPIPE)
		fprintf(stderr, "%s: cannot write all of the output: %s\n",
			program_name, strerror(errno));
	return status ? status : CLI_NO;
}

/* ---- Verbs of a verb ------------------------------------------------------------ */

/* "show" of "topology show". */
static const char *
second_word(const struct cli_verb *verb)
{
	return strchr(verb->name, ' ') + 1;
}

static void
print_subverbs(const struct cli_verb *verb, const struct cli_verb *const *subverbs,
	       FILE *out)
{
	fprintf(out, "%s %s - %s\n\nUsage: %s %s VERB [options] ...\n\n", program_name,
		verb->name, verb->summary, program_name, verb->name);
	for (; *subverbs; subverbs++)
		fprintf(out, "  %-12s %s\n", second_word(*subverbs),
			(*subverbs)->summary);
	if (verb->examples)
		fprintf(out, "\nExamples:\n%s", verb->examples);
	fprintf(out, "\n'%s %s VERB --help' tells more; man %s-%s tells all.\n",
		program_name, verb->name, program_name, verb->name);
}

int
cli_subverbs(const struct cli_verb *verb, const struct cli_verb *const *subverbs,
	     int argc, char **argv)
{
	VEC(const char *) names = VEC_EMPTY;
	const char *meant;

	if (argc < 2) {
		print_subverbs(verb, subverbs, stderr);
		return CLI_USAGE;
	}
	if (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0) {
		print_subverbs(verb, subverbs, stdout);
		return CLI_OK;
	}
	for (size_t i = 0; subverbs[i]; i++)
		if (strcmp(argv[1], second_word(subverbs[i])) == 0)
			return subverbs[i]->run(argc - 1, argv + 1);

	for (size_t i = 0; subverbs[i]; i++)
		vec_push(&names, second_word(subverbs[i]));
	vec_push(&names, NULL);
	meant = err_did_you_mean(argv[1], names.items);
	vec_free(&names);
	if (meant)
		return cli_usage_error(verb,
				       "there is no verb '%s' (did you mean '%s'?)",
				       argv[1], meant);
	return cli_usage_error(verb, "there is no verb '%s'", argv[1]);
}

/* ---- Options ------------------------------------------------------------------ */

int
cli_usage_error(const struct cli_verb *verb, const char *fmt, ...)
{
	const char *blank = *verb->name ? " " : "";
	va_list args;

	fprintf(stderr, "%s%s%s: ", program_name, blank, verb->name);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, "; see '%s%s%s --help'\n", program_name, blank, verb->name);
	return CLI_USAGE;
}

/* Whether 'word' is the beginning of several names: says of which. */
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

/* An option that getopt_long() did not understand. */
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

	*letters++ = ':'; /* Tell a missing argument from an unknown option. */
	for (; opts[n].name; n++) {
		bool has_argument = opts[n].type != CLI_FLAG;

		BUG_ON(n == MAX_OPTS);
		longs[n] =
			(struct option){ opts[n].name,
					 has_argument ? required_argument : no_argument,
					 NULL, FIRST_CODE + (int)n };
		if (opts[n].letter)
			*letters++ = opts[n].letter;
		if (opts[n].letter && has_argument)
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
 * True if the 'value' of an option, a word of its own, is one of the long options: it
 * was forgotten then.  Who means it writes "--output=--json".
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

int
cli_parse(const struct cli_verb *verb, const struct cli_opt *opts, int argc,
	  char **argv)
{
	struct option longs[MAX_OPTS + 2];
	char letters[2 * MAX_OPTS + 4];
	size_t n = make_tables(opts, longs, letters);
	int code;

	optind = 0; /* Start afresh: there may have been a parse before. */
	opterr = 0;
	for (;;) {
		int at = optind ? optind : 1;
		const struct cli_opt *opt;

		code = getopt_long(argc, argv, letters, longs, NULL);
		if (code < 0)
			return optind;
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

int
cli_fail(int error, const struct err *err)
{
	fprintf(stderr, "%s: ", program_name);
	err_write(err, stderr);
	return error == -ENODATA ? CLI_THIN : CLI_USAGE;
}

/* ---- The terminal --------------------------------------------------------------- */

bool
cli_colour(FILE *out)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (no_color && *no_color)
		return false;
	return isatty(fileno(out)) && term && strcmp(term, "dumb") != 0;
}

bool
cli_utf8(void)
{
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}
