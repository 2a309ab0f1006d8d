/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml.c - reader of YAML as a JSON document.
 *
 * libyaml turns the text into events; each adds one value to a tree of cJSON.
 */
#include "lib/base/yaml.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <yaml.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/json_priv.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"

/* A mapping or sequence that has not ended. */
struct level {
	cJSON *value;        /* Borrowed. */
	struct strtab *keys; /* Owned.  Keys of a mapping so far; else NULL. */
	uint32_t key;        /* The key that awaits its value, or STRTAB_NONE. */
	struct json_place key_place;
};

struct reader {
	const char *file;
	const char *text;
	yaml_parser_t parser;
	VEC(struct json_place) places;
	struct level levels[YAML_MAX_DEPTH + 1]; /* The first holds the documents. */
	unsigned depth;                          /* The index of the innermost level. */
	struct err *err;
};

static int
fail_at(struct reader *rd, struct json_place place, const char *what)
{
	return err_set(rd->err, rd->file, place.line, place.column, "%s", what);
}

static struct json_place
place_of(yaml_mark_t mark)
{
	return (struct json_place){ (unsigned)mark.line + 1,
				    (unsigned)mark.column + 1 };
}

/* Fills 'err' with libyaml's error. */
static int
fail_syntax(struct reader *rd)
{
	const yaml_parser_t *parser = &rd->parser;
	struct json_place place = place_of(parser->problem_mark);

	BUG_ON(parser->error == YAML_MEMORY_ERROR);
	/* For invalid characters libyaml has only the offset. */
	if (parser->error == YAML_READER_ERROR)
		place = json_place_at(rd->text, parser->problem_offset);
	return err_set(rd->err, rd->file, place.line, place.column,
		       "not valid YAML: %s%s%s", parser->problem,
		       parser->context ? " " : "",
		       parser->context ? parser->context : "");
}

static void
open_level(struct reader *rd, cJSON *value)
{
	rd->levels[rd->depth] = (struct level){
		.value = value,
		.keys = cJSON_IsObject(value) ? strtab_new() : NULL,
		.key = STRTAB_NONE,
	};
}

/* Adds 'value', whose ownership it takes, to the innermost level. */
static int
add_value(struct reader *rd, cJSON *value, struct json_place place)
{
	struct level *in = &rd->levels[rd->depth];

	BUG_ON(!value); /* No memory. */
	if (in->keys) {
		cJSON_AddItemToObject(in->value, strtab_name(in->keys, in->key), value);
		in->key = STRTAB_NONE;
		place = in->key_place;
	} else {
		cJSON_AddItemToArray(in->value, value);
	}
	if (rd->places.n == YAML_MAX_VALUES) {
		fail_at(rd, place, "the document is too large");
		return -E2BIG;
	}
	vec_push(&rd->places, place);
	return 0;
}

static int
begin(struct reader *rd, cJSON *value, struct json_place place)
{
	struct level *in = &rd->levels[rd->depth];
	int r;

	if (in->keys && in->key == STRTAB_NONE) {
		cJSON_Delete(value);
		return fail_at(rd, place, "expected a name as the key");
	}
	r = add_value(rd, value, place);
	if (r < 0)
		return r;
	if (rd->depth == YAML_MAX_DEPTH)
		return fail_at(rd, place, "nested too deeply");
	rd->depth++;
	open_level(rd, value);
	return 0;
}

static int
add_scalar(struct reader *rd, const char *text, size_t length, struct json_place place)
{
	struct level *in = &rd->levels[rd->depth];
	uint32_t n;

	if (memchr(text, '\0', length))
		return fail_at(rd, place, "a NUL character");
	if (!in->keys || in->key != STRTAB_NONE) {
		/* An empty document is one empty scalar. */
		if (rd->depth == 0 && !length)
			return 0;
		return add_value(rd, cJSON_CreateString(text), place);
	}
	n = strtab_n(in->keys);
	in->key = strtab_intern(in->keys, text);
	in->key_place = place;
	return in->key == n ? 0
			    : err_set(rd->err, rd->file, place.line, place.column,
				      "key '%.64s' is given twice", text);
}

/* True if the event names something (an anchor) or has a type (a tag). */
static bool
is_labelled(const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_ALIAS_EVENT:
		return true;
	case YAML_SCALAR_EVENT:
		return event->data.scalar.anchor || event->data.scalar.tag;
	case YAML_SEQUENCE_START_EVENT:
		return event->data.sequence_start.anchor ||
		       event->data.sequence_start.tag;
	case YAML_MAPPING_START_EVENT:
		return event->data.mapping_start.anchor ||
		       event->data.mapping_start.tag;
	default:
		return false;
	}
}

static int
read_event(struct reader *rd, const yaml_event_t *event)
{
	struct json_place place = place_of(event->start_mark);

	if (is_labelled(event))
		return fail_at(rd, place,
			       "an anchor, alias or tag, none of which is read");
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return add_scalar(rd, (const char *)event->data.scalar.value,
				  event->data.scalar.length, place);
	case YAML_SEQUENCE_START_EVENT:
		return begin(rd, cJSON_CreateArray(), place);
	case YAML_MAPPING_START_EVENT:
		return begin(rd, cJSON_CreateObject(), place);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		strtab_free(rd->levels[rd->depth--].keys);
		return 0;
	default: /* Where the stream and documents start and end. */
		return 0;
	}
}

static int
read_events(struct reader *rd)
{
	bool is_end;
	int r;

	do {
		yaml_event_t event;

		if (!yaml_parser_parse(&rd->parser, &event))
			return fail_syntax(rd);
		is_end = event.type == YAML_STREAM_END_EVENT;
		r = read_event(rd, &event);
		yaml_event_delete(&event);
	} while (r == 0 && !is_end);
	return r;
}

int
yaml_parse(const char *file, const char *text, size_t length, struct json_doc **ret_doc,
	   struct err *err)
{
	struct reader rd = { .file = file, .text = text, .err = err };
	cJSON *root = cJSON_CreateArray();
	int r;

	BUG_ON(!root || !yaml_parser_initialize(&rd.parser)); /* No memory. */
	yaml_parser_set_encoding(&rd.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&rd.parser, (const unsigned char *)text, length);
	vec_push(&rd.places, (struct json_place){ 0 });
	open_level(&rd, root);
	r = read_events(&rd);
	if (r == 0 && !root->child)
		r = err_set(err, file, 0, 0, "is empty");
	for (unsigned i = 0; i <= rd.depth; i++)
		strtab_free(rd.levels[i].keys);
	yaml_parser_delete(&rd.parser);
	if (r < 0) {
		cJSON_Delete(root);
		vec_free(&rd.places);
		return r;
	}
	*ret_doc = xcalloc(1, sizeof **ret_doc);
	**ret_doc = (struct json_doc){
		.root = root,
		.file = file,
		.places = rd.places.items,
	};
	return 0;
}
