/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_print.h - the links of a flow between two hosts, as 'antiphase path' and
 * 'antiphase topology path' print them.
 */
#ifndef CLI_PATH_PRINT_H
#define CLI_PATH_PRINT_H

#include <stdbool.h>
#include <stdint.h>

struct topo;

/* The largest seed: the largest integer that a double holds exactly. */
#define PATH_MAX_SEED 9007199254740992.0

/*
 * Finds the path between hosts[0] and hosts[1], and prints it to standard output, as
 * text or antiphase.topology_path/1.  Returns the exit status: CLI_OK; CLI_NO if there
 * is no path; or as cli_fail() for an unknown host.
 */
int path_show(struct topo *topo, char **hosts, int64_t port, int64_t seed, bool json);

#endif
