/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bus_opts.h - shared parts of the verbs that use the bus: keys from a directory, exit
 * statuses, handling of SIGINT.
 */
#ifndef CLI_BUS_OPTS_H
#define CLI_BUS_OPTS_H

#include <stdbool.h>

struct bus_keys;
struct err;

/*
 * Loads the keys of 'directory'; NULL: no keys.  Returns 0 or -errno with 'err'
 * filled.
 */
int bus_opts_keys(const char *directory, struct bus_keys **ret_keys, struct err *err);

/* As cli_fail(), but CLI_DENIED if keys or permissions forbid the access. */
int bus_opts_fail(int error, const struct err *err);

/* From now on SIGINT and SIGTERM end the current operation and are recorded. */
void bus_opts_catch_signals(void);
/* The recorded signal, or 0. */
int bus_opts_signal(void);

#endif
