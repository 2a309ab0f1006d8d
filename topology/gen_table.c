/* SPDX-License-Identifier: Apache-2.0 */
/* gen_table.c - kinds by name, and fabrics from a line of words. */
#include "topology/gen_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"

const struct gen_kind *
gen_find_kind(const char *name, struct err *err)
{
	const char *names[GEN_N_KINDS + 1] = { NULL };

	for (size_t i = 0; i < GEN_N_KINDS; i++) {
		if (strcmp(gen_kinds[i].name, name) == 0)
			return &gen_kinds[i];
		names[i] = gen_kinds[i].name;
	}
	err_set(err, NULL, 0, 0,
		"unknown kind '%s', expected leaf-spine, fat-tree, rail-optimized, "
		"three-tier, torus, ring or dragonfly",
		name);
	if (err)
		err_suggest(err, name, names);
	return NULL;
}

static int
unknown_option(const struct gen_kind *kind, const char *word, struct err *err)
{
	const char *names[GEN_MAX_OPTIONS + 1] = { NULL };
	const char *meant;

	for (size_t i = 0; i < kind->n_options; i++)
		names[i] = kind->options[i].name;
	meant = err_did_you_mean(word + strspn(word, "-"), names);
	err_set(err, NULL, 0, 0, "a %s has no option '%s'", kind->name, word);
	if (meant)
		err_append(err, " (did you mean '--%s'?)", meant);
	return -EINVAL;
}

/*
 * Finds the option 'word' and its value, which may follow after "="; further words come
 * from strtok_r() with 'words'.
 */
static int
take_option(const struct gen_kind *kind, char *word, char **words, const char **texts,
	    struct err *err)
{
	char *text = strchr(word, '=');
	size_t i = 0;

	if (text)
		*text++ = '\0';
	while (i < kind->n_options && (strncmp(word, "--", 2) != 0 ||
				       strcmp(word + 2, kind->options[i].name) != 0))
		i++;
	if (i == kind->n_options)
		return unknown_option(kind, word, err);
	if (!text)
		text = strtok_r(NULL, " \t", words);
	if (!text)
		return err_set(err, NULL, 0, 0, "%s has no value", word);
	if (texts[i])
		return err_set(err, NULL, 0, 0, "%s is given twice", word);
	texts[i] = text;
	return 0;
}

int
gen_text(const char *text, struct topo **ret_topo, struct err *err)
{
	char *copy = xstrdup(text), *words;
	char *word = strtok_r(copy, " \t", &words);
	const char *texts[GEN_MAX_OPTIONS] = { NULL };
	const struct gen_kind *kind;
	int r;

	kind = gen_find_kind(word ? word : "", err);
	r = kind ? 0 : -EINVAL;
	while (r == 0 && (word = strtok_r(NULL, " \t", &words)))
		r = take_option(kind, word, &words, texts, err);
	if (r == 0)
		r = gen_build(kind, texts, ret_topo, err);
	free(copy);
	return r;
}
