/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings.h - settings of daemons: their tables, values and origins.
 *
 * Each daemon has a table with the section, key, option, default and bounds of every
 * setting.  The file, the environment, the options, the help, 'antiphase config' and
 * the manual all follow the table, so they cannot disagree.  A setting takes its value
 * from the last of these that has it:
 *
 *	the default
 *	/etc/antiphase/antiphase.conf, or another FILE
 *	conf.d/NAME.conf beside it, in the order of their names
 *	the environment: ANTIPHASE_SECTION_KEY
 *	options
 *
 * All daemons share the file.  Each reads the sections of its own table and skips the
 * others, except those that look like a misspelling of its own.  'antiphase config
 * check' knows all tables and reports every fault.
 */
#ifndef LIB_DAEMON_SETTINGS_H
#define LIB_DAEMON_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define SETTINGS_FILE "/etc/antiphase/antiphase.conf"
#define SETTINGS_MAX  48 /* In a table. */

#define SETTINGS_MAX_NAMED 256 /* Values of sections with a name. */
#define SETTINGS_MAX_NAME  128

enum setting_kind {
	SETTING_TEXT,    /* Anything. */
	SETTING_PATH,    /* Not empty. */
	SETTING_INTEGER, /* From 'min' to 'max'. */
	SETTING_BOOLEAN, /* yes or no. */
	SETTING_WORD,    /* One of 'words'. */
	SETTING_WORDS,   /* At least one of 'words', separated by commas. */
};

struct setting {
	const char *section, *key; /* "collector", "interval_ms". */
	const char *option;        /* "interval-ms"; NULL: no option. */
	const char *argument;      /* "MS"; NULL: a flag, which inverts the default. */
	const char *fallback;      /* The default, as text. */
	const char *help;          /* One line. */
	enum setting_kind kind;
	int64_t min, max;
	const char *const *words; /* NULL-terminated. */
	unsigned exclusive;       /* Bit mask of words that cannot be combined. */
	/* Of a text with a form of its own: 0, or -EINVAL with 'err' filled. */
	int (*check)(const char *value, struct err *err);
	char letter;  /* Of the option; 0: none. */
	bool is_live; /* Applied at SIGHUP. */
};

struct settings_table {
	const char *daemon;  /* "antiphase-collector". */
	const char *section; /* "collector": its main section, also without items. */
	const struct setting *items;
	size_t n;
	/*
	 * Keys of repeated sections with names, such as [partition train].  They have
	 * no option, no variable and no default.
	 */
	const struct setting *named;
	size_t n_named;
	bool is_partial; /* Unknown keys in its sections are skipped, not faults. */
};

/* ---- Values ---------------------------------------------------------------------- */

struct settings;

struct settings *settings_new(const struct settings_table *table); /* The defaults. */
void settings_free(struct settings *settings);                     /* Accepts NULL. */
const struct settings_table *settings_table(const struct settings *settings);

/*
 * Sets a value.  'origin' is a file (with 'line'), an environment variable or
 * "--option".  0, or -EINVAL with 'err' filled.
 */
int settings_set(struct settings *settings, const char *section, const char *key,
		 const char *value, const char *origin, unsigned line, struct err *err);

/*
 * Values; the table must have the setting, with this kind.  A text is valid until the
 * setting is set again; numbers, flags and words have their canonical text.
 */
const char *settings_text(const struct settings *settings, const char *section,
			  const char *key);
int64_t settings_integer(const struct settings *settings, const char *section,
			 const char *key);
bool settings_is_on(const struct settings *settings, const char *section,
		    const char *key);
/* A bit mask, in the order of the setting's words. */
unsigned settings_words(const struct settings *settings, const char *section,
			const char *key);

/* The value of the table's i-th setting as text, and its origin ("default"). */
const char *settings_value(const struct settings *settings, size_t i);
const char *settings_origin(const struct settings *settings, size_t i);
/* The line in the file; 0: no file. */
unsigned settings_line(const struct settings *settings, size_t i);

/* A value of a named section; borrowed until another one is set. */
struct settings_named {
	const struct setting *setting;
	const char *name; /* "train" of [partition train]. */
	const char *value, *origin;
	unsigned line;
};

/* All values of named sections, in the order of section, key and name. */
size_t settings_n_named(const struct settings *settings);
struct settings_named settings_named(const struct settings *settings, size_t i);

/* True if the text is "none" or "off" instead of an endpoint or address. */
bool settings_is_none(const char *address);

/* "ANTIPHASE_COLLECTOR_INTERVAL_MS"; free with free(). */
char *settings_variable(const struct setting *setting);

/* ---- Files, environment, options ------------------------------------------------- */

/* Reads INI text.  0, or -errno with 'err' filled. */
int settings_parse(struct settings *settings, const char *file, const char *text,
		   size_t length, struct err *err);
/*
 * The files that settings_load() reads, in its order, the first whether or not it is
 * there if 'file' is given; free each and the array with free().
 */
char **settings_files(const char *file, size_t *ret_n);
/*
 * Reads the file, conf.d beside it and the environment.  'file' NULL: SETTINGS_FILE,
 * which may then be missing.  0, or -errno with 'err' filled.
 */
int settings_load(struct settings *settings, const char *file, struct err *err);

/*
 * Checks INI text against the NULL-terminated 'tables' and reports every fault.
 * Returns the number of faults.
 */
size_t settings_check(const struct settings_table *const *tables, const char *file,
		      const char *text, size_t length,
		      void (*fault)(void *ctx, const struct err *err), void *ctx);

/*
 * Loads the settings again, as for SIGHUP, and logs each that differs under 'token':
 * "[scheduler] mode: observe -> enforce".  Live settings are applied; for the others the
 * log says that they need a restart, at each call.  Options keep precedence.  Returns the
 * number of settings that differ.  All files are checked before anything changes: if they
 * have a fault, logs it with its place, changes nothing and returns -errno.
 */
int settings_reload(struct settings *settings, const char *file, const char *token);
/* Whether the last reload applied another value, to a setting or to a named section. */
bool settings_has_changed(const struct settings *settings, const char *section,
			  const char *key);
bool settings_has_named_changed(const struct settings *settings);

#endif
