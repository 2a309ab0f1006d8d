/*
 * bus_opts.h - what the verbs that use the bus have in common: keys from a directory,
 * exit statuses, the one SIGINT.
 */
#ifndef CLI_BUS_OPTS_H
#define CLI_BUS_OPTS_H

#include <stdbool.h>

struct bus_keys;
struct err;

/* Loads the keys of 'directory'; none for NULL.  Returns 0 or -errno with 'err'. */
int bus_opts_keys(const char *directory, struct bus_keys **ret_keys, struct err *err);

/* As cli_fail(), with CLI_DENIED for what keys or permissions do not allow. */
int bus_opts_fail(int error, const struct err *err);

/* From now on SIGINT and SIGTERM end what is under way, and are remembered. */
void bus_opts_catch_signals(void);
/* The signal that came, or 0. */
int bus_opts_signal(void);

#endif
