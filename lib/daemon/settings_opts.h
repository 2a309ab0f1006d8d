/* SPDX-License-Identifier: Apache-2.0 */
/* settings_opts.h - command-line options from a table of settings. */
#ifndef LIB_DAEMON_SETTINGS_OPTS_H
#define LIB_DAEMON_SETTINGS_OPTS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/cli.h"
#include "lib/daemon/settings.h"

/* Room for all settings, --config, three more, and the end. */
#define SETTINGS_MAX_OPTS (SETTINGS_MAX + 5)

/* The options' values, by setting: text or flag. */
struct settings_said {
	const char *text[SETTINGS_MAX];
	bool flag[SETTINGS_MAX];
	const char *file; /* --config; NULL: not given. */
};

/*
 * Fills 'opts' with the options of the settings, --config and the end; they store their
 * values in 'said'.  Returns the index of the end, where the caller may add options.
 */
size_t settings_opts(const struct settings_table *table, struct settings_said *said,
		     struct cli_opt opts[SETTINGS_MAX_OPTS]);

/* Applies the options' values.  0, or -EINVAL with 'err' filled. */
int settings_apply(struct settings *settings, const struct settings_said *said,
		   struct err *err);

#endif
