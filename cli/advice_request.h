/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advice_request.h - the request that 'advise' and 'explain' share: advice on the jobs
 * of a file or of telemetry, on a fabric, by a policy.
 */
#ifndef CLI_ADVICE_REQUEST_H
#define CLI_ADVICE_REQUEST_H

#include <stdint.h>

#include "cli/inputs.h"
#include "lib/base/cli.h"
#include "scheduler/core/advise/advise.h"
#include "scheduler/core/advise/moves.h"

struct err;

struct advice_request {
	const char *fabric; /* NULL: the fabric that the jobs' file names. */
	const char *jobs;
	struct cli_list from; /* Telemetry of running jobs, instead of 'jobs'. */
	const char *keys;     /* For 'from'; NULL: none. */
	const char *policy;   /* One of advise_policy_names. */
	const char *levers;   /* As advise_levers_read(); NULL: all. */
	int64_t seed;
	double max_slowdown;
	double moves_per_hour; /* Share of the running jobs. */
};

#define ADVICE_REQUEST_DEFAULTS                                        \
	{                                                              \
		.policy = "antiphase", .seed = 1, .max_slowdown = 1.5, \
		.moves_per_hour = MOVES_SHARE_PER_HOUR                 \
	}

/* clang-format off */
/* Rows of a verb's table of options that fill the question 'q'. */
#define ADVICE_REQUEST_OPTS(q)                                                              \
	CLI_OPT("fabric", 'f', CLI_STR, &(q)->fabric, "FILE",                         \
		"the fabric (default: the fabric named in the jobs' file)"),          \
	CLI_OPT("jobs", 'j', CLI_STR, &(q)->jobs, "FILE", "the jobs"),                \
	CLI_OPT("from", 'F', CLI_LIST, &(q)->from, "SOURCE",                          \
		"running jobs instead of --jobs: from a bus or a recording"),         \
	CLI_OPT("keys", 0, CLI_STR, &(q)->keys, "DIR",                                \
		"directory of CURVE keys, for a bus on another machine"),             \
	CLI_OPT("policy", 'p', CLI_WORDS, &(q)->policy, "NAME",                       \
		"policy of the advice (default: antiphase)",                          \
		.words = advise_policy_names),                                        \
	CLI_OPT("levers", 0, CLI_STR, &(q)->levers, "LIST",                           \
		"what antiphase may change: place, path, time, move (default: all)"),       \
	CLI_OPT("moves-per-hour", 0, CLI_NUM, &(q)->moves_per_hour, "SHARE",          \
		"share of the running jobs that may be moved in an hour, of those "   \
		"that are movable (default: 0.1)",                                    \
		.min = 1e-6, .max = 1),                                               \
	CLI_OPT("max-slowdown", 0, CLI_NUM, &(q)->max_slowdown, "X",                  \
		"largest slowdown that any job may get (default: 1.5)", .min = 1,     \
		.max = 1000),                                                         \
	CLI_OPT("seed", 's', CLI_INT, &(q)->seed, "N",                                \
		"seed of the random choices (default: 1)", .max = 9007199254740992.0)

/* clang-format on */

/* An advice and everything that it refers to. */
struct advice_result {
	struct inputs inputs;    /* Owned. */
	struct advise_opts opts; /* Copied from the question. */
	struct advice_set *set;  /* Owned. */
	int status;              /* Exit status of a failure already printed. */
};

/*
 * Checks that the options name the jobs.  Returns CLI_OK, or CLI_USAGE after a
 * message.
 */
int advice_request_check(const struct advice_request *question,
			 const struct cli_verb *verb);

/*
 * Reads the files or the telemetry, and computes the advice.  Returns 0, or a negative
 * errno with 'err' filled.  Release with advice_result_fini(), also after a failure.
 */
int advice_request_run(const struct advice_request *question,
		       const struct cli_verb *verb, struct advice_result *answer,
		       struct err *err);

/* Prints a failure of advice_request_run() and returns the exit status for it. */
int advice_request_fail(const struct advice_result *answer, int error,
			const struct err *err);
void advice_result_fini(struct advice_result *answer); /* Accepts a zeroed one. */

#endif
