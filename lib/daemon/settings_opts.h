/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings_opts.h - a table of settings as options of a command line.
 */
#ifndef LIB_DAEMON_SETTINGS_OPTS_H
#define LIB_DAEMON_SETTINGS_OPTS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/cli.h"
#include "lib/daemon/settings.h"

/* Room for all settings, --config, three more, and the end. */
#define SETTINGS_MAX_OPTS (SETTINGS_MAX + 5)

/* What the options said, by setting: text, or the flag. */
struct settings_said {
	const char *text[SETTINGS_MAX];
	bool flag[SETTINGS_MAX];
	const char *file; /* --config; NULL: not said. */
};

/*
 * Fills 'opts' with an option for each setting that has one, --config and the end, with
 * 'said' as the place of the values.  Returns the number before the end, where the
 * caller may add others.
 */
size_t settings_opts(const struct settings_table *table, struct settings_said *said,
		     struct cli_opt opts[SETTINGS_MAX_OPTS]);

/* Sets what the options said.  0, or -EINVAL with 'err' filled. */
int settings_apply(struct settings *settings, const struct settings_said *said,
		   struct err *err);

#endif
