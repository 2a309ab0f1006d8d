/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings_priv.h - shared by settings_table.c (tables), settings.c (values) and
 * settings_load.c (files and environment).
 */
#ifndef LIB_DAEMON_SETTINGS_PRIV_H
#define LIB_DAEMON_SETTINGS_PRIV_H

#include "lib/daemon/settings.h"

/* The setting's index in the table, or the table's 'n'. */
size_t settings_index(const struct settings_table *table, const char *section,
		      const char *key);
bool settings_has_section(const struct settings_table *table, const char *section);

/* Whether it is a named section: "partition train". */
bool settings_is_named(const struct settings_table *table, const char *section);
/* "train" of "partition train"; "" without one. */
const char *settings_name_of(const char *section);
/* 0, or -EINVAL if the name in [partition NAME] is missing or invalid. */
int settings_check_name(const struct settings_table *table, const char *section,
			struct err *err);
/* The key of a named section, or NULL. */
const struct setting *settings_named_key(const struct settings_table *table,
					 const char *section, const char *key);
void settings_drop_named(struct settings *settings);

/* The table that has the section, or NULL. */
const struct settings_table *
settings_table_of(const struct settings_table *const *tables, const char *section);
/*
 * A section that the table lacks belongs to another daemon: 0.  If it looks like a
 * misspelling of a section of the table: -EINVAL with 'err' filled.
 */
int settings_check_foreign(const struct settings_table *table, const char *section,
			   struct err *err);

/*
 * Fills 'err' about a section (if 'key' is NULL or the section is not there) or a key
 * that none of the NULL-terminated 'tables' has; returns -EINVAL.
 */
int settings_unknown(const struct settings_table *const *tables, const char *section,
		     const char *key, struct err *err);

/* Adds the place to an error without one. */
void settings_place(struct err *err, const char *origin, unsigned line);

/* Sets what settings_has_changed() returns: of a setting, or of named sections. */
void settings_note_changed(struct settings *settings, size_t i, bool has_changed);
void settings_note_named_changed(struct settings *settings, bool has_changed);

void settings_note_origin(struct settings *settings, size_t i, const char *origin,
			  unsigned line);

#endif
