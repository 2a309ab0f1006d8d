/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/daemon/settings_opts.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"

size_t
settings_opts(const struct settings_table *table, struct settings_said *said,
	      struct cli_opt opts[SETTINGS_MAX_OPTS])
{
	size_t n = 0;

	*said = (struct settings_said){ .file = NULL };
	for (size_t i = 0; i < table->n; i++) {
		const struct setting *s = &table->items[i];

		if (!s->option)
			continue;
		opts[n++] = (struct cli_opt){
			.name = s->option,
			.letter = s->letter,
			.type = s->argument ? CLI_STR : CLI_FLAG,
			.ret_value = s->argument ? (void *)&said->text[i]
						 : (void *)&said->flag[i],
			.argument = s->argument,
			.help = s->help,
		};
	}
	opts[n++] = (struct cli_opt){ .name = "config",
				      .letter = 'c',
				      .type = CLI_STR,
				      .ret_value = &said->file,
				      .argument = "FILE",
				      .help = "settings (default: " SETTINGS_FILE ")" };
	opts[n] = (struct cli_opt)CLI_OPTS_END;
	return n;
}

int
settings_apply(struct settings *settings, const struct settings_said *said,
	       struct err *err)
{
	const struct settings_table *table = settings_table(settings);

	for (size_t i = 0; i < table->n; i++) {
		const struct setting *s = &table->items[i];
		const char *value = said->text[i];
		char *option;
		int rc;

		if (said->flag[i])
			value = strcmp(s->fallback, "yes") == 0 ? "no" : "yes";
		if (!value)
			continue;
		option = xasprintf("--%s", s->option);
		rc = settings_set(settings, s->section, s->key, value, option, 0, err);
		free(option);
		if (rc < 0)
			return rc;
	}
	return 0;
}
