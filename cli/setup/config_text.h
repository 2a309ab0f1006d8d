/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_text.h - the settings that 'antiphase setup' finds right for a host, and a
 * commented settings file with them
 *
 * Pure.
 */
#ifndef CLI_SETUP_CONFIG_TEXT_H
#define CLI_SETUP_CONFIG_TEXT_H

#include <stddef.h>

#include "lib/base/vec.h"

struct survey;

/* More endpoints than this are for proxies: antiphase-proxy(1). */
#define CONFIG_MAX_ENDPOINTS 64

struct config_line {
	const char *section, *key; /* Static. */
	char *value;               /* Owned.  NULL: the default is right. */
	char *why;                 /* Owned.  A sentence. */
};

typedef VEC(struct config_line) config_lines;

/* What suits the host, in the order of the sections of antiphase.conf(5). */
void config_lines_of(const struct survey *survey, config_lines *ret_lines);
void config_lines_fini(config_lines *lines);

/*
 * The file with these lines, each below its comment; those without a value as comments.
 * A new string.
 */
char *config_text(const config_lines *lines, const char *host);

#endif
