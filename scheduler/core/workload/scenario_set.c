/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scenario_set.c - values that override those of a scenario's file: they replace the
 * key's value, or are added at the end of a section without the key.
 */
#include <errno.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "scheduler/core/workload/scenario_reader.h"

#define WANTED                                                                       \
	"expected SECTION.KEY=VALUE, the section being sim, fabric, job.NAME, jobs " \
	"or event.NAME"

static bool
is_section(const char *text, size_t n)
{
	static const char *const sections[] = { "sim", "fabric", "jobs" };

	for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
		if (strlen(sections[i]) == n && !strncmp(text, sections[i], n))
			return true;
	return (n > 4 && !strncmp(text, "job.", 4)) ||
	       (n > 6 && !strncmp(text, "event.", 6));
}

int
scenario_set_begin(struct scenario_reader *r, const char *const *texts, size_t n)
{
	r->sets = xcalloc(n + 1, sizeof *r->sets);
	for (size_t i = 0; i < n; i++) {
		const char *text = texts[i], *equal = strchr(text, '='), *dot = equal;

		/* Names of jobs may have dots. */
		while (dot && dot > text && *dot != '.')
			dot--;
		if (!dot || dot == text || dot + 1 == equal ||
		    !is_section(text, (size_t)(dot - text)))
			return err_set(r->err, NULL, 0, 0, WANTED ", not '%s'", text);
		r->sets[r->n_sets++] = (struct scenario_setting){
			.text = text,
			.section = xstrndup(text, (size_t)(dot - text)),
			.key = xstrndup(dot + 1, (size_t)(equal - dot - 1)),
			.value = equal + 1,
		};
	}
	return 0;
}

void
scenario_set_fini(struct scenario_reader *r)
{
	for (size_t i = 0; i < r->n_sets; i++) {
		free(r->sets[i].section);
		free(r->sets[i].key);
	}
	free(r->sets);
}

/* Whether the setting is for the section being read. */
static bool
is_here(const struct scenario_reader *r, const struct scenario_setting *set)
{
	if (r->in_job)
		return !strcmp(set->section, "jobs") ||
		       (!strncmp(set->section, "job.", 4) &&
			!strcmp(set->section + 4, r->draft.job.name));
	if (r->keys == scenario_event_keys)
		return !strncmp(set->section, "event.", 6) &&
		       !strcmp(set->section + 6, scenario_event_now(r)->name);
	return !strcmp(set->section, r->keys == scenario_sim_keys ? "sim" : "fabric");
}

/* The last setting of the key; marks all overridden ones as used. */
static struct scenario_setting *
find(struct scenario_reader *r, const char *key)
{
	struct scenario_setting *found = NULL;

	for (size_t i = 0; i < r->n_sets; i++)
		if (is_here(r, &r->sets[i]) && !strcmp(r->sets[i].key, key)) {
			found = &r->sets[i];
			found->is_used = true;
		}
	return found;
}

static int
said_by(struct scenario_reader *r, const struct scenario_setting *set, int error)
{
	if (error < 0)
		err_append(r->err, "; as '--set %s' says", set->text);
	return error;
}

bool
scenario_set_is_instead(struct scenario_reader *r, const char *key)
{
	/* A fabric has only one of the two keys. */
	if (r->keys != scenario_fabric_keys)
		return false;
	return (!strcmp(key, "file") && find(r, "generate")) ||
	       (!strcmp(key, "generate") && find(r, "file"));
}

int
scenario_set_key(struct scenario_reader *r, const struct scenario_key *key,
		 const char *value)
{
	const struct scenario_setting *set = find(r, key->name);

	if (!set)
		return key->set(r, value);
	if (key->may_repeat) {
		scenario_fail(r, "'%s' may be there several times, and cannot be set",
			      key->name);
		return said_by(r, set, -EINVAL);
	}
	return said_by(r, set, key->set(r, set->value));
}

/* Replaces an option of the generator: "--KEY VALUE". */
static int
set_option(struct scenario_reader *r, const struct scenario_setting *set)
{
	struct scenario_fabric *fabric = &r->scenario->fabric;
	struct strbuf text = STRBUF_EMPTY;
	const char *at = fabric->generate;
	size_t n_key = strlen(set->key);

	if (!*set->value || set->value[strcspn(set->value, " \t")])
		return scenario_fail(r, "expected one word for '%s'", set->key);
	while (*at) {
		size_t n_blanks = strspn(at, " \t"), n = strcspn(at + n_blanks, " \t");
		const char *word = at + n_blanks;

		at = word + n;
		if (n < n_key + 2 || strncmp(word, "--", 2) != 0 ||
		    strncmp(word + 2, set->key, n_key) != 0 ||
		    (n > n_key + 2 && word[n_key + 2] != '=')) {
			strbuf_add(&text, word - n_blanks, n_blanks + n);
			continue;
		}
		if (n == n_key + 2) {
			at += strspn(at, " \t");
			at += strcspn(at, " \t");
		}
	}
	strbuf_printf(&text, " --%s %s", set->key, set->value);
	free(fabric->generate);
	fabric->generate = strbuf_steal(&text);
	return 0;
}

static const struct scenario_key *
key_of(const struct scenario_reader *r, const char *name, size_t *ret_i)
{
	for (*ret_i = 0; r->keys[*ret_i].name; ++*ret_i)
		if (!strcmp(r->keys[*ret_i].name, name))
			return &r->keys[*ret_i];
	return NULL;
}

int
scenario_set_rest(struct scenario_reader *r)
{
	unsigned line = r->line;
	int error = 0;

	if (!r->keys)
		return 0;
	/* The last setting counts; then the key exists. */
	for (size_t i = r->n_sets; error == 0 && i > 0; i--) {
		struct scenario_setting *set = &r->sets[i - 1];
		const struct scenario_key *key;
		size_t k;

		if (!is_here(r, set))
			continue;
		key = key_of(r, set->key, &k);
		if (key ? r->seen[k] || r->is_set[k] : set->is_used && !r->in_job)
			continue;
		r->line = 0;
		find(r, set->key);
		if (key) {
			r->is_set[k] = true;
			error = scenario_set_key(r, key, NULL);
			continue;
		}
		if (r->keys == scenario_fabric_keys && r->scenario->fabric.generate)
			error = set_option(r, set);
		else
			error = scenario_fail(r, "there is no key '%s'", set->key);
		said_by(r, set, error);
	}
	r->line = line;
	return error;
}

int
scenario_set_end(struct scenario_reader *r)
{
	for (size_t i = 0; i < r->n_sets; i++)
		if (!r->sets[i].is_used) {
			r->line = 0;
			return said_by(
				r, &r->sets[i],
				scenario_fail(r, "there is no such job or event"));
		}
	return 0;
}
