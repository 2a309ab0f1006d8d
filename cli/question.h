/*
 * question.h - what 'advise' and 'explain' ask alike: advice on the jobs of a
 * file, on a fabric, by a policy.
 */
#ifndef CLI_QUESTION_H
#define CLI_QUESTION_H

#include <stdint.h>

#include "cli/load.h"
#include "lib/base/cli.h"
#include "scheduler/core/advise/advise.h"

struct err;

struct question {
	const char *fabric; /* NULL: the one that the jobs' file names. */
	const char *jobs;
	struct cli_list from; /* Telemetry of running jobs, in place of 'jobs'. */
	const char *keys;     /* For that; NULL: none. */
	const char *policy;   /* One of advise_policy_names. */
	int64_t seed;
	double max_slowdown;
};

#define QUESTION_DEFAULTS                                             \
	{                                                             \
		.policy = "antiphase", .seed = 1, .max_slowdown = 1.5 \
	}

/* clang-format off */
/* Rows of a verb's table of options that fill the question 'q'. */
#define QUESTION_OPTS(q)                                                        \
	{ "fabric", 'f', CLI_STR, &(q)->fabric, "FILE",                         \
	  "the fabric (default: the one that the jobs' file names)",            \
	  0, 0, NULL, NULL },                                                   \
	{ "jobs", 'j', CLI_STR, &(q)->jobs, "FILE", "the jobs",                 \
	  0, 0, NULL, NULL },                                                   \
	{ "from", 'F', CLI_LIST, &(q)->from, "SOURCE",                          \
	  "in place of --jobs: those that run, by a bus or a recording",        \
	  0, 0, NULL, NULL },                                                   \
	{ "keys", 0, CLI_STR, &(q)->keys, "DIR",                                \
	  "keys for a bus on another machine", 0, 0, NULL, NULL },              \
	{ "policy", 'p', CLI_WORDS, &(q)->policy, "NAME",                       \
	  "antiphase (default), cassini or fair",                               \
	  0, 0, advise_policy_names, NULL },                                    \
	{ "max-slowdown", 0, CLI_NUM, &(q)->max_slowdown, "X",                  \
	  "cap on any one job's slowdown (default 1.5)",                        \
	  1, 1000, NULL, NULL },                                                \
	{ "seed", 's', CLI_INT, &(q)->seed, "N", "of all random choices (1)",   \
	  0, 9007199254740992.0, NULL, NULL }

/* clang-format on */

/* An answer, with all that it speaks of. */
struct answer {
	struct loaded loaded;    /* Owned. */
	struct advise_opts opts; /* As asked. */
	struct advice_set *set;  /* Owned. */
	int status;              /* Of a failure that has been said. */
};

/*
 * Checks that it is said which jobs.  Returns CLI_OK, or CLI_USAGE after a message.
 */
int question_check(const struct question *question, const struct cli_verb *verb);

/*
 * Reads the files, or the telemetry, and advises.  Returns 0, or a negative errno
 * with 'err' filled.  Release with answer_fini(), also after a failure.
 */
int question_ask(const struct question *question, const struct cli_verb *verb,
		 struct answer *answer, struct err *err);

/* The exit status for a failure of question_ask(), which it prints. */
int question_fail(const struct answer *answer, int error, const struct err *err);
void answer_fini(struct answer *answer); /* Accepts a zeroed one. */

#endif
