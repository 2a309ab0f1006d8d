/*
 * settings_priv.h - settings.h between its files: settings.c has the values,
 * settings_load.c what is read.
 */
#ifndef LIB_DAEMON_SETTINGS_PRIV_H
#define LIB_DAEMON_SETTINGS_PRIV_H

#include "lib/daemon/settings.h"

/* The setting's number in the table, or the table's 'n'. */
size_t settings_index(const struct settings_table *table, const char *section,
		      const char *key);
bool settings_has_section(const struct settings_table *table, const char *section);

/*
 * Fills 'err' about a section (if 'key' is NULL or the section is not there) or a key
 * that none of the NULL-terminated 'tables' has; returns -EINVAL.
 */
int settings_unknown(const struct settings_table *const *tables, const char *section,
		     const char *key, struct err *err);

/* Puts the place into an error that has none. */
void settings_place(struct err *err, const char *origin, unsigned line);

void settings_note_origin(struct settings *settings, size_t i, const char *origin,
			  unsigned line);

#endif
