/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_print.h - the links of a flow between two hosts, as 'antiphase path' and
 * 'antiphase topology path' print them.
 */
#ifndef CLI_PATH_PRINT_H
#define CLI_PATH_PRINT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/cli.h"

struct topo;

/* The largest seed: the largest integer that a double holds exactly. */
#define PATH_MAX_SEED 9007199254740992.0

struct path_question {
	int64_t port, seed;
	bool all, json;
};

/* clang-format off */
/* Rows of a verb's table of options that fill 'q'. */
#define PATH_OPTS(q)                                                             \
	CLI_OPT("port", 'p', CLI_INT, &(q)->port, "N",                           \
		"source port of the flow (default: 0)", .max = 65535),           \
	CLI_OPT("seed", 's', CLI_INT, &(q)->seed, "N",                           \
		"seed of the ECMP hash (default: 0)", .max = PATH_MAX_SEED),     \
	CLI_OPT("all", 'a', CLI_FLAG, &(q)->all, NULL,                           \
		"also the other paths that are as short, with their source ports"), \
	CLI_OPT("json", 'j', CLI_FLAG, &(q)->json, NULL, "print JSON")

/* clang-format on */

/*
 * Finds the path between hosts[0] and hosts[1], and prints it to standard output, as
 * text or antiphase.topology_path/2.  Returns the exit status: CLI_OK; CLI_NO if there
 * is no path; or as cli_fail() for an unknown host.
 */
int path_show(struct topo *topo, char **hosts, const struct path_question *question);

#endif
