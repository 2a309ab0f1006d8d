/*
 * cli.h - command lines: tables of verbs and options that print their own help.
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
 * -h (short) and --help (with examples) are understood everywhere.
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
	CLI_THIN = 4,        /* Not enough or too old data: we do not guess. */
	CLI_DENIED = 5,      /* Not permitted, or the kernel cannot. */
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
	CLI_LIST,  /* struct cli_list *; may be given several times. */
	CLI_JSON,  /* enum cli_json *; "--json", or "--json=lines" of a stream. */
};

enum cli_json {
	CLI_JSON_NONE,
	CLI_JSON_DOCUMENT,
	CLI_JSON_LINES, /* A document a line. */
};

#define CLI_MAX_LIST 64

/* The values of an option that may be given several times, in their order. */
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
};

struct cli_program {
	const char *name; /* "antiphase". */
	const char *summary;
	const struct cli_verb *const *verbs; /* NULL-terminated. */
};

/*
 * Runs the verb named by argv[1]: prints the table for none, -h, --help or
 * "help"; the version for --version; suggests for an unknown one.  Returns
 * the exit status.
 */
int cli_main(const struct cli_program *program, int argc, char **argv);

/*
 * What was typed ahead of the verb, for help and wrong use: the name of the program; or,
 * where "antiphase" runs "antiphase-x", "antiphase" or "antiphase x", which then is
 * argv[0] of that.
 */
const char *cli_typed(void);

/*
 * The same for a program without verbs, such as a daemon: runs 'verb', whose own name is
 * empty, with all of argv.
 */
int cli_main_single(const char *name, const struct cli_verb *verb, int argc,
		    char **argv);

/* "antiphase 0.1.0 (a1b2c3d)": the program that cli_main() runs, its version. */
const char *cli_version(void);

/* The version of libbpf, of a program that has it: said beside its own.  Borrowed. */
void cli_set_libbpf(const char *version);
/* "" if there is none. */
const char *cli_libbpf(void);

/*
 * Parses options anywhere before "--".  Returns the index in argv of the first operand
 * (argc if there is none), or a negative number for cli_status() after having
 * printed help or an error.
 */
int cli_parse(const struct cli_verb *verb, const struct cli_opt *opts, int argc,
	      char **argv);

/* The exit status for a negative result of cli_parse(). */
int cli_status(int result);

/*
 * The 'run' of a verb that has verbs itself, as "antiphase topology show".  'subverbs'
 * ends with NULL; the name of each has both words, and its argv[0] is the second.  Help
 * is their table with the verb's examples.
 */
int cli_subverbs(const struct cli_verb *verb, const struct cli_verb *const *subverbs,
		 int argc, char **argv);

/* What is behind "man" for the page of the verb: "antiphase-topology". */
void cli_print_page(const struct cli_verb *verb, FILE *out);

/* Prints "antiphase VERB: ..." and how to get help; returns CLI_USAGE. */
int cli_usage_error(const struct cli_verb *verb, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Prints 'err' on stderr and returns CLI_USAGE, or CLI_THIN for -ENODATA. */
int cli_fail(int error, const struct err *err);

/* True if the locale's characters are UTF-8. */
bool cli_utf8(void);

/*
 * Flushes stdout and returns 'status', or 1 with a message if what was written
 * did not all get there (a full disk); quiet for a closed pipe.
 */
int cli_finish(int status);

#endif
