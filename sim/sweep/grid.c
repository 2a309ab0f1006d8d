/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sweep/grid.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cfg.h"
#include "lib/base/err.h"
#include "lib/base/units.h"
#include "lib/base/vec.h"
#include "lib/base/words.h"

#define MAX_AXES   32
#define MAX_VALUES 10000
#define MAX_SEEDS  100000

static const char *const verbs[] = { "run", "compare", "replay", NULL };
static const char *const sections[] = { "sweep", "axes", "slurm", NULL };
static const char *const keys[] = { "command", "seeds", "output",
				    "inputs",  "limit", NULL };
/* Options that the sweep sets, or that would make cells write to one file. */
static const char *const reserved[] = { "seed",  "seeds",   "json", "csv",
					"trace", "publish", "help", NULL };

static const struct {
	char letter;
	const char *name;
} reserved_letters[] = {
	{ 's', "seed" }, { 'j', "json" }, { 'h', "help" }, { 0, NULL }
};

static const char *const reserved_sbatch[] = { "array",    "output", "error",
					       "parsable", "wrap",   NULL };

/* ---- Words ----------------------------------------------------------------------- */

/*
 * Appends the words of 'text'; "a b" is one.  Returns false if a quote is not closed.
 */
static bool
split_words(const char *text, struct sweep_words *words)
{
	for (;;) {
		size_t n;

		text += strspn(text, " \t");
		if (!*text)
			return true;
		if (*text == '"') {
			text++;
			n = strcspn(text, "\"");
			if (!text[n])
				return false;
			vec_push(words, xstrndup(text, n));
			text += n + 1;
			continue;
		}
		n = strcspn(text, " \t");
		vec_push(words, xstrndup(text, n));
		text += n;
	}
}

void
sweep_words_fini(struct sweep_words *words)
{
	for (size_t i = 0; i < words->n; i++)
		free(words->items[i]);
	vec_free(words);
}

/* ---- Reading --------------------------------------------------------------------- */

struct reader {
	struct sweep *sweep;
};

static int
at_line(const struct cfg_entry *entry, const struct reader *reader, struct err *err)
{
	if (err) {
		snprintf(err->file, sizeof err->file, "%s", reader->sweep->file);
		err->line = entry->line;
	}
	return -EINVAL;
}

static int
split_value(const struct reader *reader, const struct cfg_entry *entry,
	    struct sweep_words *words, struct err *err)
{
	if (words->n)
		return err_set(err, reader->sweep->file, entry->line, 0,
			       "'%s' appears twice", entry->key);
	if (!split_words(entry->value, words))
		return err_set(err, reader->sweep->file, entry->line, 0,
			       "a '\"' is not closed");
	if (!words->n)
		return err_set(err, reader->sweep->file, entry->line, 0,
			       "'%s' has no value", entry->key);
	return 0;
}

static int
check_option(const struct reader *reader, unsigned line, const char *name, size_t n,
	     struct err *err)
{
	/* getopt_long() takes abbreviations, too. */
	for (size_t i = 0; n && reserved[i]; i++)
		if (!strncmp(name, reserved[i], n))
			return err_set(err, reader->sweep->file, line, 0,
				       "cells cannot have '--%s'; set seeds with "
				       "the key 'seeds' of [sweep]",
				       reserved[i]);
	return 0;
}

/* As check_option(), for the first letter of a word. */
static int
check_letter(const struct reader *reader, unsigned line, char letter, struct err *err)
{
	for (size_t i = 0; reserved_letters[i].name; i++)
		if (letter == reserved_letters[i].letter)
			return err_set(err, reader->sweep->file, line, 0,
				       "cells cannot have '-%c' (--%s); set seeds "
				       "with the key 'seeds' of [sweep]",
				       letter, reserved_letters[i].name);
	return 0;
}

static int
take_command(struct reader *reader, const struct cfg_entry *entry, struct err *err)
{
	struct sweep_words *words = &reader->sweep->command;
	int r = split_value(reader, entry, words, err);

	if (r < 0)
		return r;
	/* As typed by users: "sim run x.ini". */
	if (!strcmp(words->items[0], "sim") && words->n > 1) {
		free(words->items[0]);
		memmove(words->items, words->items + 1,
			--words->n * sizeof *words->items);
	}
	if (words_index(words->items[0], verbs) < 0) {
		err_set(err, reader->sweep->file, entry->line, 0,
			"expected a command 'run', 'compare' or 'replay', not '%s'",
			words->items[0]);
		err_suggest(err, words->items[0], verbs);
		return -EINVAL;
	}
	for (size_t i = 1; i < words->n; i++) {
		const char *word = words->items[i];

		if (!strncmp(word, "--", 2))
			r = check_option(reader, entry->line, word + 2,
					 strcspn(word + 2, "="), err);
		else if (*word == '-')
			r = check_letter(reader, entry->line, word[1], err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int
take_sweep_key(struct reader *reader, const struct cfg_entry *entry, struct err *err)
{
	struct sweep *sweep = reader->sweep;

	switch (words_index(entry->key, keys)) {
	case 0:
		return take_command(reader, entry, err);
	case 1:
		if (sweep->seeds.n)
			return err_set(err, sweep->file, entry->line, 0,
				       "'seeds' appears twice");
		return seeds_read(entry->value, "seed", MAX_SEEDS, &sweep->seeds, err) <
				       0
			       ? at_line(entry, reader, err)
			       : 0;
	case 2:
		if (!*entry->value)
			return err_set(err, sweep->file, entry->line, 0,
				       "'output' has no value");
		free(sweep->out);
		sweep->out = xstrdup(entry->value);
		return 0;
	case 3:
		return split_value(reader, entry, &sweep->inputs, err);
	case 4:
		if (units_parse_ns(entry->value, &sweep->limit_ns) < 0)
			return err_set(err, sweep->file, entry->line, 0,
				       "expected " UNITS_WANT_TIME);
		return 0;
	default:
		err_set(err, sweep->file, entry->line, 0, "unknown key '%s'",
			entry->key);
		err_suggest(err, entry->key, keys);
		return -EINVAL;
	}
}

static int
take_axis(struct reader *reader, const struct cfg_entry *entry, struct err *err)
{
	struct sweep *sweep = reader->sweep;
	struct sweep_axis *axis;
	int r = check_option(reader, entry->line, entry->key, strlen(entry->key), err);

	if (r < 0)
		return r;
	if (!words_is_name(entry->key, 100) || *entry->key == '-')
		return err_set(err, sweep->file, entry->line, 0,
			       "expected the long name of an option, without dashes, "
			       "'set.PARAMETER' or 'operand'");
	for (size_t i = 0; i < sweep->axes.n; i++)
		if (!strcmp(sweep->axes.items[i].name, entry->key))
			return err_set(err, sweep->file, entry->line, 0,
				       "'%s' appears twice", entry->key);
	if (sweep->axes.n == MAX_AXES)
		return err_set(err, sweep->file, entry->line, 0, "more than %d axes",
			       MAX_AXES);
	vec_push(&sweep->axes, ((struct sweep_axis){ .name = xstrdup(entry->key) }));
	axis = &sweep->axes.items[sweep->axes.n - 1];
	r = split_value(reader, entry, &axis->values, err);
	if (r < 0)
		return r;
	if (axis->values.n > MAX_VALUES)
		return err_set(err, sweep->file, entry->line, 0, "more than %d values",
			       MAX_VALUES);
	for (size_t i = 0; i < axis->values.n; i++)
		for (size_t k = 0; k < i; k++)
			if (!strcmp(axis->values.items[i], axis->values.items[k]))
				return err_set(err, sweep->file, entry->line, 0,
					       "the value '%s' appears twice",
					       axis->values.items[i]);
	return 0;
}

int
sweep_check_sbatch(const char *text, struct err *err)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz-");

	if (!n || *text == '-' || (text[n] && text[n] != '='))
		return err_set(err, NULL, 0, 0,
			       "expected an option of sbatch such as 'partition=long', "
			       "not '%s'",
			       text);
	for (const char *s = text; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return err_set(err, NULL, 0, 0,
				       "an option of sbatch is one line of text");
	for (size_t i = 0; reserved_sbatch[i]; i++)
		if (strlen(reserved_sbatch[i]) == n &&
		    !strncmp(text, reserved_sbatch[i], n))
			return err_set(err, NULL, 0, 0,
				       "the sweep sets sbatch's '--%s' itself",
				       reserved_sbatch[i]);
	return 0;
}

static int
take_entry(void *ctx, const struct cfg_entry *entry, struct err *err)
{
	struct reader *reader = ctx;
	struct sweep *sweep = reader->sweep;
	char *text;
	int section = words_index(entry->section, sections);

	if (section < 0) {
		err_set(err, sweep->file, entry->line, 0,
			"expected [sweep], [axes] or [slurm]");
		err_suggest(err, entry->section, sections);
		return -EINVAL;
	}
	if (!entry->key)
		return 0;
	if (section == 0)
		return take_sweep_key(reader, entry, err);
	if (section == 1)
		return take_axis(reader, entry, err);
	text = xasprintf("%s%s%s", entry->key, *entry->value ? "=" : "", entry->value);
	vec_push(&sweep->sbatch, text);
	return sweep_check_sbatch(text, err) < 0 ? at_line(entry, reader, err) : 0;
}

static int
count_cells(struct sweep *sweep, struct err *err)
{
	size_t n = sweep->seeds.n;

	for (size_t i = 0; i < sweep->axes.n; i++) {
		n *= sweep->axes.items[i].values.n; /* At most 10^10. */
		if (n > SWEEP_MAX_CELLS)
			break;
	}
	if (n > SWEEP_MAX_CELLS)
		return err_set(err, sweep->file, 0, 0, "more than %d cells",
			       SWEEP_MAX_CELLS);
	sweep->n_cells = n;
	return 0;
}

int
sweep_parse(const char *file, const char *text, size_t length, struct sweep *ret_sweep,
	    struct err *err)
{
	struct sweep sweep = { .file = xstrdup(file) };
	struct reader reader = { .sweep = &sweep };
	const char *slash = strrchr(file, '/');
	const char *name = slash ? slash + 1 : file;
	size_t n = strlen(name);
	int r;

	sweep.dir = slash ? xstrndup(file, (size_t)(slash + 1 - file)) : xstrdup("./");
	if (n > 4 && !strcmp(name + n - 4, ".ini"))
		n -= 4;
	sweep.out = xasprintf("%.*s.sweep", (int)n, name);
	r = cfg_parse(file, text, length, take_entry, &reader, err);
	if (r == 0 && !sweep.command.n)
		r = err_set(err, file, 0, 0, "[sweep] has no 'command'");
	if (r == 0 && !sweep.seeds.n)
		vec_push(&sweep.seeds, 1);
	if (r == 0)
		r = count_cells(&sweep, err);
	if (r == 0)
		*ret_sweep = sweep;
	else
		sweep_fini(&sweep);
	return r;
}

void
sweep_fini(struct sweep *sweep)
{
	free(sweep->file);
	free(sweep->dir);
	free(sweep->out);
	sweep_words_fini(&sweep->command);
	sweep_words_fini(&sweep->inputs);
	sweep_words_fini(&sweep->sbatch);
	for (size_t i = 0; i < sweep->axes.n; i++) {
		free(sweep->axes.items[i].name);
		sweep_words_fini(&sweep->axes.items[i].values);
	}
	vec_free(&sweep->axes);
	vec_free(&sweep->seeds);
	*sweep = (struct sweep){ 0 };
}

/* ---- Cells ----------------------------------------------------------------------- */

const char *
sweep_value(const struct sweep *sweep, size_t cell, size_t axis)
{
	size_t i = cell / sweep->seeds.n;

	for (size_t later = sweep->axes.n - 1; later > axis; later--)
		i /= sweep->axes.items[later].values.n;
	return sweep->axes.items[axis]
		.values.items[i % sweep->axes.items[axis].values.n];
}

uint64_t
sweep_seed(const struct sweep *sweep, size_t cell)
{
	return sweep->seeds.items[cell % sweep->seeds.n];
}

void
sweep_command(const struct sweep *sweep, size_t cell, struct sweep_words *ret_words)
{
	struct sweep_words words = { 0 };
	const char *operand = NULL;
	bool is_compare = !strcmp(sweep->command.items[0], "compare");

	for (size_t i = 0; i < sweep->command.n; i++)
		vec_push(&words, xstrdup(sweep->command.items[i]));
	for (size_t i = 0; i < sweep->axes.n; i++) {
		const char *name = sweep->axes.items[i].name;
		const char *value = sweep_value(sweep, cell, i);

		if (!strcmp(name, "operand"))
			operand = value;
		else if (!strncmp(name, "set.", 4))
			vec_push(&words, xasprintf("--set=%s=%s", name + 4, value));
		else
			vec_push(&words, xasprintf("--%s=%s", name, value));
	}
	vec_push(&words, xasprintf("--%s=%llu", is_compare ? "seeds" : "seed",
				   (unsigned long long)sweep_seed(sweep, cell)));
	vec_push(&words, xstrdup("--json"));
	if (operand)
		vec_push(&words, xstrdup(operand));
	vec_push(&words, NULL);
	words.n--;
	*ret_words = words;
}
