/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/daemon/settings.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"
#include "lib/base/words.h"
#include "lib/daemon/settings_priv.h"

static const char *const boolean_words[] = { "no", "yes", "false", "true", NULL };

struct value {
	char *text;     /* Owned; canonical. */
	int64_t number; /* Of integers, flags and words. */
	char *origin;   /* Owned; NULL: the default. */
	unsigned line;
	bool has_changed; /* By the last reload. */
};

struct named_value {
	const struct setting *setting;
	char *name; /* Owned. */
	struct value value;
};

struct settings {
	const struct settings_table *table;
	struct value values[SETTINGS_MAX];
	VEC(struct named_value) named; /* By setting, then by name. */
	bool has_named_changed;        /* By the last reload. */
};

/* ---- Checks ---------------------------------------------------------------------- */

static int
read_integer(const struct setting *setting, const char *value, int64_t *ret_number,
	     struct err *err)
{
	char *end;
	long long number;

	errno = 0;
	number = strtoll(value, &end, 10);
	if (end == value || *end || errno || number < setting->min ||
	    number > setting->max)
		return err_set(err, NULL, 0, 0,
			       "%s is a whole number from %" PRId64 " to %" PRId64
			       ", not '%s'",
			       setting->key, setting->min, setting->max, value);
	*ret_number = number;
	return 0;
}

static int
read_word(const struct setting *setting, const char *value, struct err *err)
{
	if (words_index(value, setting->words) >= 0)
		return 0;
	err_set(err, NULL, 0, 0, "%s cannot be '%s'; it is one of", setting->key,
		value);
	for (size_t i = 0; setting->words[i]; i++)
		err_append(err, "%s %s", i ? "," : "", setting->words[i]);
	return -EINVAL;
}

static int
read_words(const struct setting *setting, const char *value, int64_t *ret_bits,
	   struct err *err)
{
	char *list = xstrdup(value), *rest = NULL;
	unsigned bits = 0;
	int rc = 0;

	for (char *word = strtok_r(list, ", ", &rest); word && rc == 0;
	     word = strtok_r(NULL, ", ", &rest)) {
		int i = words_index(word, setting->words);

		if (i < 0) {
			rc = err_set(err, NULL, 0, 0, "there is no %s '%s'",
				     setting->key, word);
			err_suggest(err, word, setting->words);
		} else {
			bits |= 1u << i;
		}
	}
	if (rc == 0 && !bits)
		rc = err_set(err, NULL, 0, 0, "no %s is named", setting->key);
	for (unsigned i = 0; rc == 0 && setting->words[i]; i++)
		if (bits & setting->exclusive & 1u << i && bits != 1u << i)
			rc = err_set(err, NULL, 0, 0,
				     "the %s %s cannot be combined with others",
				     setting->key, setting->words[i]);
	*ret_bits = bits;
	free(list);
	return rc;
}

/* The number of a value of any kind; 0 for a text. */
static int
read_value(const struct setting *setting, const char *value, int64_t *ret_number,
	   struct err *err)
{
	int i;

	*ret_number = 0;
	switch (setting->kind) {
	case SETTING_INTEGER:
		return read_integer(setting, value, ret_number, err);
	case SETTING_WORDS:
		return read_words(setting, value, ret_number, err);
	case SETTING_WORD:
		return read_word(setting, value, err);
	case SETTING_BOOLEAN:
		i = words_index(value, boolean_words);
		if (i < 0)
			return err_set(err, NULL, 0, 0, "%s is yes or no, not '%s'",
				       setting->key, value);
		*ret_number = i & 1;
		return 0;
	case SETTING_PATH:
		if (!*value)
			return err_set(err, NULL, 0, 0, "%s has no value",
				       setting->key);
		return 0;
	case SETTING_TEXT:
		return setting->check ? setting->check(value, err) : 0;
	}
	return 0;
}

/* The canonical text of a value. */
static char *
text_of(const struct setting *setting, const char *value, int64_t number)
{
	struct strbuf text = STRBUF_EMPTY;

	switch (setting->kind) {
	case SETTING_INTEGER:
		return xasprintf("%" PRId64, number);
	case SETTING_BOOLEAN:
		return xstrdup(boolean_words[number]);
	case SETTING_WORDS:
		for (unsigned i = 0; setting->words[i]; i++)
			if (number >> i & 1)
				strbuf_printf(&text, "%s%s", text.length ? "," : "",
					      setting->words[i]);
		return strbuf_steal(&text);
	default:
		return xstrdup(value);
	}
}

static int
put(struct value *to, const struct setting *setting, const char *value, struct err *err)
{
	int64_t number;
	int rc = read_value(setting, value, &number, err);
	char *text;

	if (rc < 0)
		return rc;
	text = text_of(setting, value, number);
	free(to->text);
	to->text = text;
	to->number = number;
	return 0;
}

/* ---- Creation and end ------------------------------------------------------------ */

struct settings *
settings_new(const struct settings_table *table)
{
	struct settings *settings = xcalloc(1, sizeof *settings);

	BUG_ON(table->n > SETTINGS_MAX);
	settings->table = table;
	for (size_t i = 0; i < table->n; i++) {
		struct err err;

		if (put(&settings->values[i], &table->items[i],
			table->items[i].fallback, &err) < 0)
			BUG("default of %s: %s", table->items[i].key, err.text);
	}
	return settings;
}

static void
named_fini(struct named_value *named)
{
	free(named->name);
	free(named->value.text);
	free(named->value.origin);
}

void
settings_free(struct settings *settings)
{
	if (!settings)
		return;
	settings_drop_named(settings);
	for (size_t i = 0; i < settings->table->n; i++) {
		free(settings->values[i].text);
		free(settings->values[i].origin);
	}
	vec_free(&settings->named);
	free(settings);
}

void
settings_drop_named(struct settings *settings)
{
	for (size_t i = 0; i < settings->named.n; i++)
		named_fini(&settings->named.items[i]);
	settings->named.n = 0;
}

const struct settings_table *
settings_table(const struct settings *settings)
{
	return settings->table;
}

/* ---- Named sections -------------------------------------------------------------- */

/* Finds or adds the value; NULL: there are too many. */
static struct value *
named_value(struct settings *settings, const struct setting *setting, const char *name)
{
	size_t i = 0;

	for (; i < settings->named.n; i++) {
		struct named_value *at = &settings->named.items[i];
		int order = at->setting == setting ? strcmp(at->name, name) : 0;

		if (at->setting == setting && order == 0)
			return &at->value;
		if (at->setting > setting || order > 0)
			break;
	}
	if (settings->named.n == SETTINGS_MAX_NAMED)
		return NULL;
	vec_push(&settings->named, ((struct named_value){ .name = NULL }));
	memmove(&settings->named.items[i + 1], &settings->named.items[i],
		(settings->named.n - 1 - i) * sizeof *settings->named.items);
	settings->named.items[i] =
		(struct named_value){ setting, xstrdup(name), { .text = NULL } };
	return &settings->named.items[i].value;
}

static int
set_named(struct settings *settings, const char *section, const char *key,
	  const char *value, const char *origin, unsigned line, struct err *err)
{
	const struct settings_table *const one[] = { settings->table, NULL };
	const struct setting *setting =
		settings_named_key(settings->table, section, key);
	struct value checked = { .text = NULL }, *to;
	int rc = settings_check_name(settings->table, section, err);

	if (rc == 0 && !setting)
		rc = settings_unknown(one, section, key, err);
	if (rc == 0)
		rc = put(&checked, setting, value, err);
	if (rc < 0)
		return rc;
	to = named_value(settings, setting, settings_name_of(section));
	if (!to) {
		free(checked.text);
		return err_set(err, NULL, 0, 0, "there are more than %d sections [%s]",
			       SETTINGS_MAX_NAMED, setting->section);
	}
	free(to->text);
	free(to->origin);
	checked.origin = xstrdup(origin);
	checked.line = line;
	*to = checked;
	return 0;
}

size_t
settings_n_named(const struct settings *settings)
{
	return settings->named.n;
}

struct settings_named
settings_named(const struct settings *settings, size_t i)
{
	const struct named_value *at = &settings->named.items[i];

	return (struct settings_named){ at->setting, at->name, at->value.text,
					at->value.origin, at->value.line };
}

/* ---- Values ---------------------------------------------------------------------- */

int
settings_set(struct settings *settings, const char *section, const char *key,
	     const char *value, const char *origin, unsigned line, struct err *err)
{
	const struct settings_table *const one[] = { settings->table, NULL };
	size_t i = settings_index(settings->table, section, key);
	int rc;

	if (settings_is_named(settings->table, section)) {
		rc = set_named(settings, section, key, value, origin, line, err);
	} else if (i == settings->table->n) {
		rc = settings_unknown(one, section, key, err);
	} else {
		rc = put(&settings->values[i], &settings->table->items[i], value, err);
		if (rc == 0)
			settings_note_origin(settings, i, origin, line);
	}
	if (rc < 0)
		settings_place(err, origin, line);
	return rc;
}

void
settings_note_origin(struct settings *settings, size_t i, const char *origin,
		     unsigned line)
{
	struct value *value = &settings->values[i];
	char *copy = origin ? xstrdup(origin) : NULL; /* 'origin' may be the old one. */

	free(value->origin);
	value->origin = copy;
	value->line = line;
}

void
settings_note_changed(struct settings *settings, size_t i, bool has_changed)
{
	settings->values[i].has_changed = has_changed;
}

void
settings_note_named_changed(struct settings *settings, bool has_changed)
{
	settings->has_named_changed = has_changed;
}

static const struct value *
value_of(const struct settings *settings, const char *section, const char *key)
{
	size_t i = settings_index(settings->table, section, key);

	if (i == settings->table->n)
		BUG("%s has no setting %s in [%s]", settings->table->daemon, key,
		    section);
	return &settings->values[i];
}

const char *
settings_text(const struct settings *settings, const char *section, const char *key)
{
	return value_of(settings, section, key)->text;
}

int64_t
settings_integer(const struct settings *settings, const char *section, const char *key)
{
	return value_of(settings, section, key)->number;
}

bool
settings_is_on(const struct settings *settings, const char *section, const char *key)
{
	return value_of(settings, section, key)->number != 0;
}

unsigned
settings_words(const struct settings *settings, const char *section, const char *key)
{
	return (unsigned)value_of(settings, section, key)->number;
}

bool
settings_has_changed(const struct settings *settings, const char *section,
		     const char *key)
{
	return value_of(settings, section, key)->has_changed;
}

bool
settings_has_named_changed(const struct settings *settings)
{
	return settings->has_named_changed;
}

const char *
settings_value(const struct settings *settings, size_t i)
{
	return settings->values[i].text;
}

const char *
settings_origin(const struct settings *settings, size_t i)
{
	return settings->values[i].origin ? settings->values[i].origin : "default";
}

unsigned
settings_line(const struct settings *settings, size_t i)
{
	return settings->values[i].line;
}

bool
settings_is_none(const char *address)
{
	return strcmp(address, "none") == 0 || strcmp(address, "off") == 0;
}

char *
settings_variable(const struct setting *setting)
{
	char *name = xasprintf("ANTIPHASE_%s_%s", setting->section, setting->key);

	for (char *c = name; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	return name;
}
