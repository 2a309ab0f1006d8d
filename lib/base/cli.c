/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/cli.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/vec.h"

/* ---- Typed words ------------------------------------------------------------- */

static const char *typed;        /* NULL: the name of the program. */
static const char *program_name; /* As installed. */

/* argv[0], if it is "antiphase" or "antiphase sim" where 'program' is antiphase-sim. */
static const char *
as_typed(const char *program, const char *argv_0)
{
	size_t n = strcspn(program, "-");

	if (!program[n] || strncmp(argv_0, program, n) != 0)
		return NULL;
	return !argv_0[n] || (argv_0[n] == ' ' &&
			      strcmp(argv_0 + n + 1, program + n + 1) == 0)
		       ? argv_0
		       : NULL;
}

/* Also for programs that set their name for the log only. */
static const char *
installed_name(void)
{
	return program_name ? program_name : log_program();
}

const char *
cli_typed(void)
{
	return typed ? typed : installed_name();
}

/*
 * Sets the names.  Diagnostics begin with the first word typed: all of 'antiphase sim'
 * with "antiphase".
 */
static void
set_names(const char *name, int argc, char **argv)
{
	static char first_word[32];

	program_name = name;
	typed = argc ? as_typed(name, argv[0]) : NULL;
	snprintf(first_word, sizeof first_word, "%.*s", (int)strcspn(name, "-"), name);
	log_set_program(typed ? first_word : name);
}

/* ---- Help ------------------------------------------------------------------- */

static void
print_verbs(const struct cli_program *program, FILE *out)
{
	fprintf(out, "%s - %s\n\nUsage: %s VERB [options] ...\n\n", cli_typed(),
		program->summary, cli_typed());
	for (const struct cli_verb *const *verb = program->verbs; *verb; verb++)
		fprintf(out, "  %-12s %s\n", (*verb)->name, (*verb)->summary);
	fprintf(out,
		"\nRun '%s VERB --help' for its options; see also the manual pages.\n",
		cli_typed());
}

/* A verb of two words has the page of its first word; all verbs of sim share a page. */
void
cli_print_page(const struct cli_verb *verb, FILE *out)
{
	if (!*verb->name)
		fprintf(out, "8 %s", installed_name());
	else if (strcmp(cli_typed(), "antiphase") == 0)
		fprintf(out, "antiphase-%.*s", (int)strcspn(verb->name, " "),
			verb->name);
	else
		fputs(installed_name(), out);
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
	fprintf(stderr, "%s: there is no verb '%s'", cli_typed(), name);
	if (meant)
		fprintf(stderr, " (did you mean '%s'?)", meant);
	fprintf(stderr, "; '%s --help' lists them\n", cli_typed());
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

	snprintf(version, sizeof version, "%s %s (%s)", installed_name(),
		 ANTIPHASE_VERSION, ANTIPHASE_REVISION);
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

/* Programs parse the first line; the second is for bug reports. */
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

	setlocale(LC_CTYPE, ""); /* For the terminal's character set. */
	set_names(program->name, argc, argv);
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
	set_names(name, 0, NULL);
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
			log_program(), strerror(errno));
	/* Prevents a second report: verbs and main() both finish. */
	__fpurge(stdout);
	clearerr(stdout);
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
	fprintf(out, "%s %s - %s\n\nUsage: %s %s VERB [options] ...\n\n", cli_typed(),
		verb->name, verb->summary, cli_typed(), verb->name);
	for (; *subverbs; subverbs++)
		fprintf(out, "  %-12s %s\n", second_word(*subverbs),
			(*subverbs)->summary);
	if (verb->examples)
		fprintf(out, "\nExamples:\n%s", verb->examples);
	fprintf(out,
		"\nRun '%s %s VERB --help' for its options.\nThe manual page: man ",
		cli_typed(), verb->name);
	cli_print_page(verb, out);
	fputc('\n', out);
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

/* ---- Errors --------------------------------------------------------------------- */

int
cli_usage_error(const struct cli_verb *verb, const char *fmt, ...)
{
	const char *blank = *verb->name ? " " : "";
	va_list args;

	fprintf(stderr, "%s%s%s: ", cli_typed(), blank, verb->name);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fprintf(stderr, "; see '%s%s%s --help'\n", cli_typed(), blank, verb->name);
	return CLI_USAGE;
}

int
cli_fail(int error, const struct err *err)
{
	fprintf(stderr, "%s: ", log_program());
	err_write(err, stderr);
	switch (error) {
	case -ENODATA:
		return CLI_THIN;
	/* Output that is lost, to a file as to stdout in cli_finish(). */
	case -ENOSPC:
	case -EDQUOT:
	case -EFBIG:
	case -EIO:
		return CLI_NO;
	default:
		return CLI_USAGE;
	}
}

/* ---- The terminal --------------------------------------------------------------- */

unsigned
cli_columns(void)
{
	struct winsize size;

	if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
	    size.ws_col >= 20)
		return size.ws_col;
	return CLI_FULL_COLUMNS;
}

bool
cli_utf8(void)
{
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}
