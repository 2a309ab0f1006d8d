/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli.h - command lines from tables of verbs and options, with help.
 *
 *	static int
 *	run_show(int argc, char **argv)
 *	{
 *		bool json = false;
 *		const struct cli_opt opts[] = {
 *			CLI_OPT("json", 'j', CLI_FLAG, &json, NULL, "machine-readable"),
 *			CLI_OPTS_END,
 *		};
 *		int first = cli_parse(&verb_show, opts, argc, argv);
 *
 *		if (first < 0)
 *			return cli_status(first);
 *		...argv[first] is the first operand...
 *	}
 *
 * Every verb has -h (short help) and --help (with examples).
 */
#ifndef LIB_BASE_CLI_H
#define LIB_BASE_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct err;

/* Exit statuses; each manual page lists them. */
enum cli_exit {
	CLI_OK = 0,
	CLI_NO = 1,          /* Done; the answer is no. */
	CLI_USAGE = 2,       /* Wrong usage or bad input file. */
	CLI_UNREACHABLE = 3, /* Daemon or bus not reachable. */
	CLI_THIN = 4,        /* Too little or too old data for an answer. */
	CLI_DENIED = 5,      /* Not permitted, or not supported by the kernel. */
	CLI_BUG = 70,        /* Internal error. */
	CLI_INTERRUPTED = 130,
};

enum cli_type {
	CLI_FLAG,  /* bool *; no argument. */
	CLI_STR,   /* const char **. */
	CLI_INT,   /* int64_t *; decimal, within min..max. */
	CLI_NUM,   /* double *; within min..max. */
	CLI_RATIO, /* double *; "1.5" or "3:2"; within min..max. */
	CLI_WORDS, /* const char **; one of the NULL-terminated 'words'. */
	CLI_LIST,  /* struct cli_list *; repeatable. */
	CLI_JSON,  /* enum cli_json *; "--json", or "--json=lines" for a stream. */
};

enum cli_json {
	CLI_JSON_NONE,
	CLI_JSON_DOCUMENT,
	CLI_JSON_LINES, /* One document per line. */
};

#define CLI_MAX_LIST 64

/* The values of a repeatable option, in order. */
struct cli_list {
	const char *items[CLI_MAX_LIST]; /* Borrowed from the command line. */
	size_t n;
};

struct cli_opt {
	const char *name; /* Long name without dashes. */
	char letter;      /* Short name; 0: none. */
	enum cli_type type;
	void *ret_value;      /* Set only if the option is given. */
	const char *argument; /* Shown in the help: "GBPS"; NULL for flags. */
	const char *help;     /* One line. */
	double min, max;      /* CLI_INT and CLI_NUM; both 0: any. */
	const char *const *words;
	bool *ret_given; /* May be NULL. */
};

/* A row of a table of options; further fields follow as ".min = 1, .max = 9". */
#define CLI_OPT(name_, letter_, type_, value_, argument_, help_, ...)                 \
	{                                                                             \
		.name = name_, .letter = letter_, .type = type_, .ret_value = value_, \
		.argument = argument_, .help = help_, __VA_ARGS__                     \
	}

#define CLI_OPTS_END                                                  \
	{                                                             \
		NULL, 0, CLI_FLAG, NULL, NULL, NULL, 0, 0, NULL, NULL \
	}

struct cli_verb {
	const char *name;
	const char *summary;  /* One line, for the table of verbs. */
	const char *usage;    /* After the program and verb: "[options] FILE...". */
	const char *examples; /* Lines "  antiphase profile x.csv"; NULL: none. */
	int (*run)(int argc, char **argv); /* argv[0] is the verb. */
	/*
	 * What cli_parse() expects of operands: "one FILE", and how many; or, with
	 * 'max_operands' 0, what it appends to "unexpected operand 'X'".  NULL: anything.
	 */
	const char *operands;
	int min_operands, max_operands;
};

struct cli_program {
	const char *name; /* "antiphase". */
	const char *summary;
	const struct cli_verb *const *verbs; /* NULL-terminated. */
};

/*
 * Runs the verb named by argv[1] and returns the exit status.  Without a verb, or for
 * -h, --help and "help", prints the table of verbs; for --version, the version; for an
 * unknown verb, a suggestion.
 */
int cli_main(const struct cli_program *program, int argc, char **argv);

/*
 * The words typed before the verb, for help and usage errors: the program's name, or,
 * if "antiphase" runs "antiphase-x" with such an argv[0], "antiphase" or "antiphase x".
 */
const char *cli_typed(void);

/* For a program without verbs, such as a daemon: runs 'verb', whose name is "". */
int cli_main_single(const char *name, const struct cli_verb *verb, int argc,
		    char **argv);

/* "antiphase 0.1.0 (a1b2c3d)": the name and version of the running program. */
const char *cli_version(void);

/* Adds the version of libbpf, for programs that link it.  Borrowed. */
void cli_set_libbpf(const char *version);
/* That version, or "". */
const char *cli_libbpf(void);

/*
 * Parses options anywhere before "--".  Returns the index in argv of the first operand
 * (argc if there is none), or, after printing help or an error, a negative number for
 * cli_status().
 */
int cli_parse(const struct cli_verb *verb, const struct cli_opt *opts, int argc,
	      char **argv);

/* The exit status for a negative result of cli_parse(). */
int cli_status(int result);

/*
 * The 'run' of a verb with verbs of its own, such as "antiphase topology show".
 * 'subverbs' ends with NULL; the name of each has both words, and its argv[0] is the
 * second.  Help is their table with the verb's examples.
 */
int cli_subverbs(const struct cli_verb *verb, const struct cli_verb *const *subverbs,
		 int argc, char **argv);

/* Prints the verb's manual page: "antiphase-topology". */
void cli_print_page(const struct cli_verb *verb, FILE *out);

/* Prints "antiphase VERB: ..." with a pointer to the help; returns CLI_USAGE. */
int cli_usage_error(const struct cli_verb *verb, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Prints 'err' on stderr and returns CLI_USAGE; CLI_THIN for -ENODATA, and CLI_NO for what
 * a full or broken disk says.
 */
int cli_fail(int error, const struct err *err);

/* Width of a line: that of the terminal, or CLI_FULL_COLUMNS without one. */
#define CLI_FULL_COLUMNS 80
unsigned cli_columns(void);

/* True if the locale's characters are UTF-8. */
bool cli_utf8(void);

/*
 * Flushes stdout and returns 'status', or CLI_NO with a message if output was lost (a
 * full disk).  A closed pipe is not an error.
 */
int cli_finish(int status);

#endif
