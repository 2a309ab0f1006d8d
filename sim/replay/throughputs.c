/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/replay/throughputs.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"
#include "sim/trace/lines.h"

#define MAX_BYTES  (64u << 20)
#define MAX_TYPES  64
#define MOST_STEPS 1e9 /* Per second. */

struct throughputs {
	struct strtab *types, *keys;
	/*
	 * [MAX_TYPES] Steps per second, by key; shorter if the last are not measured.
	 */
	VEC(double) steps_s[MAX_TYPES];
};

/* ---- Reading --------------------------------------------------------------------- */

typedef VEC(char) text_vec;

static int
read_text(const char *path, text_vec *ret_text, struct err *err)
{
	struct lines *lines;
	char *line;
	size_t n;
	int r = lines_open(path, &lines, err);

	if (r < 0)
		return r;
	while ((r = lines_next(lines, &line, &n, err)) > 0) {
		if (ret_text->n + n > MAX_BYTES) {
			r = err_set(err, path, 0, 0, "is larger than %u MiB",
				    MAX_BYTES >> 20);
			break;
		}
		vec_reserve(ret_text, n + 1);
		memcpy(ret_text->items + ret_text->n, line, n);
		ret_text->n += n;
		ret_text->items[ret_text->n++] = '\n';
	}
	vec_push(ret_text, '\0');
	lines_close(lines);
	return r;
}

static int
add_type(struct throughputs *speeds, const struct json_doc *doc,
	 const struct json *type, struct err *err)
{
	uint32_t t;

	if (json_kind(type) != JSON_OBJECT || !json_key(type))
		return json_fail(doc, type, err, "expected the models of a GPU type");
	t = strtab_intern(speeds->types, json_key(type));
	if (t >= MAX_TYPES)
		return json_fail(doc, type, err, "more than %d types", MAX_TYPES);
	for (const struct json *it = json_first(type); it; it = json_next(it)) {
		const struct json *isolated = json_find(it, "null");
		double steps_s;
		uint32_t key;

		if (json_kind(it) != JSON_OBJECT || !json_key(it))
			return json_fail(doc, it, err,
					 "expected a model's throughputs");
		if (!isolated)
			continue;
		steps_s = json_number(isolated);
		if (!(steps_s >= 0 && steps_s <= MOST_STEPS))
			return json_fail(doc, isolated, err,
					 "expected steps per second");
		key = strtab_intern(speeds->keys, json_key(it));
		while (speeds->steps_s[t].n <= key)
			vec_push(&speeds->steps_s[t], 0);
		speeds->steps_s[t].items[key] = steps_s;
	}
	return 0;
}

int
throughputs_load(const char *path, struct throughputs **ret_speeds, struct err *err)
{
	struct throughputs *speeds = xcalloc(1, sizeof *speeds);
	text_vec text = VEC_EMPTY;
	struct json_doc *doc = NULL;
	const struct json *type = NULL;
	int r = read_text(path, &text, err);

	speeds->types = strtab_new();
	speeds->keys = strtab_new();
	if (r == 0)
		r = json_parse(path, text.items, text.n - 1, &doc, err);
	if (r == 0 && json_kind(json_root(doc)) != JSON_OBJECT)
		r = json_fail(doc, json_root(doc), err, "expected GPU types");
	if (r == 0)
		type = json_first(json_root(doc));
	for (; r == 0 && type; type = json_next(type))
		r = add_type(speeds, doc, type, err);
	json_doc_free(doc);
	vec_free(&text);
	if (r < 0) {
		throughputs_free(speeds);
		return r;
	}
	*ret_speeds = speeds;
	return 0;
}

void
throughputs_free(struct throughputs *speeds)
{
	if (!speeds)
		return;
	strtab_free(speeds->types);
	strtab_free(speeds->keys);
	for (size_t i = 0; i < MAX_TYPES; i++)
		vec_free(&speeds->steps_s[i]);
	free(speeds);
}

/* ---- Looking up ------------------------------------------------------------------ */

uint32_t
throughputs_type(const struct throughputs *speeds, const char *name)
{
	return strtab_find(speeds->types, name);
}

uint32_t
throughputs_key(const struct throughputs *speeds, const char *model, uint32_t batch,
		uint32_t n_gpus)
{
	char key[256];
	int n;

	if (batch)
		n = snprintf(key, sizeof key, "('%s (batch size %u)', %u)", model,
			     batch, n_gpus);
	else
		n = snprintf(key, sizeof key, "('%s', %u)", model, n_gpus);
	return n < (int)sizeof key ? strtab_find(speeds->keys, key) : THROUGHPUTS_NONE;
}

double
throughputs_of(const struct throughputs *speeds, uint32_t type, uint32_t key)
{
	if (type >= strtab_n(speeds->types) || key >= speeds->steps_s[type].n)
		return 0;
	return speeds->steps_s[type].items[key];
}
