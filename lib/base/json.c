/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/json.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/json_priv.h"
#include "lib/base/utf8.h"

/* Deeper documents are refused; ours need six levels. */
#define MAX_DEPTH 32

/* cJSON takes others as 0, so that a text ends there. */
#define HEX_DIGITS "0123456789abcdefABCDEF"

/* The largest integer to which a double rounds no other. */
#define MAX_EXACT 9007199254740991.0

static const cJSON *
to_cjson(const struct json *value)
{
	return (const cJSON *)(const void *)value;
}

static const struct json *
from_cjson(const cJSON *value)
{
	return (const struct json *)(const void *)value;
}

struct json_place
json_place_at(const char *text, size_t offset)
{
	struct json_place place = { 1, 1 };

	for (size_t i = 0; i < offset; i++) {
		if (text[i] == '\n') {
			place.line++;
			place.column = 1;
		} else {
			place.column++;
		}
	}
	return place;
}

/* Length of the number at 'text' by RFC 8259, or 0: cJSON accepts "01". */
static size_t
number_length(const char *text)
{
	static const char digits[] = "0123456789";
	const char *s = text + (*text == '-');
	size_t n = *s == '0' ? 1 : strspn(s, digits);

	if (!n)
		return 0;
	s += n;
	if (*s == '.') {
		n = strspn(s + 1, digits);
		if (!n)
			return 0;
		s += 1 + n;
	}
	if (*s == 'e' || *s == 'E') {
		s++;
		s += *s == '+' || *s == '-';
		n = strspn(s, digits);
		if (!n)
			return 0;
		s += n;
	}
	/* cJSON would take these characters as parts of the number. */
	return strchr("0123456789+-.eE", *s) && *s ? 0 : (size_t)(s - text);
}

/*
 * Checks the string whose first quote is at 'i'.  Returns the offset of its last quote,
 * or of the fault with '*ret_why' set.
 */
static size_t
prescan_string(const char *text, size_t length, size_t i, const char **ret_why)
{
	for (i++; i < length && text[i] != '"';) {
		size_t n = utf8_length(text + i);

		if ((unsigned char)text[i] < 0x20)
			*ret_why = "a control character";
		else if (!n)
			*ret_why = "a byte that is not UTF-8";
		else if (text[i] == '\\' && !strncmp(text + i + 1, "u0000", 5))
			*ret_why = "a NUL character in a string";
		else if (text[i] == '\\' && text[i + 1] == 'u' &&
			 strspn(text + i + 2, HEX_DIGITS) < 4)
			*ret_why = "expected four hexadecimal digits";
		if (*ret_why)
			return i;
		i += text[i] == '\\' && i + 1 < length ? 2 : n;
	}
	return i;
}

/*
 * Checks what cJSON does not, before it allocates: depth, control characters, numbers,
 * and strings that are not UTF-8 or contain NUL.  Returns the offset of the fault with
 * '*ret_why' set, or 'length'.
 */
static size_t
prescan(const char *text, size_t length, const char **ret_why)
{
	unsigned depth = 0;
	size_t n;

	for (size_t i = 0; i < length; i++) {
		char c = text[i];

		if ((unsigned char)c < 0x20 && (!c || !strchr("\t\r\n", c))) {
			*ret_why = "a control character";
		} else if (c == '"') {
			i = prescan_string(text, length, i, ret_why);
		} else if (c == '-' || (c >= '0' && c <= '9')) {
			n = number_length(text + i);
			if (n)
				i += n - 1;
			else
				*ret_why = "expected a number as JSON writes it";
		} else if (c == '{' || c == '[') {
			if (++depth > MAX_DEPTH)
				*ret_why = "nested too deeply";
		} else if ((c == '}' || c == ']') && depth) {
			depth--;
		}
		if (*ret_why)
			return i;
	}
	return length;
}

static bool
is_blank(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!strchr(" \t\r\n", text[i]))
			return false;
	return true;
}

int
json_parse(const char *file, const char *text, size_t length, struct json_doc **ret_doc,
	   struct err *err)
{
	const char *why = NULL;
	const char *end = text;
	struct json_place place;
	struct json_doc *doc;
	cJSON *root = NULL;
	size_t offset;

	if (is_blank(text, length))
		return err_set(err, file, 0, 0, "is empty; expected JSON");
	offset = prescan(text, length, &why);
	if (!why) {
		why = "expected JSON here";
		root = cJSON_ParseWithLengthOpts(text, length + 1, &end, 0);
		offset = (size_t)(end - text);
		if (root && !is_blank(end, length - offset)) {
			cJSON_Delete(root);
			root = NULL;
			why = "unexpected text after the end of the JSON value";
			while (strchr(" \t\r\n", text[offset]))
				offset++;
		}
	}
	if (!root) {
		place = json_place_at(text, offset < length ? offset : length);
		return err_set(err, file, place.line, place.column,
			       "not valid JSON: %s", why);
	}

	doc = xcalloc(1, sizeof *doc);
	doc->root = root;
	doc->file = file;
	doc->text = text;
	doc->length = length;
	*ret_doc = doc;
	return 0;
}

void
json_doc_free(struct json_doc *doc)
{
	if (!doc)
		return;
	cJSON_Delete(doc->root);
	free(doc->places);
	free(doc);
}

const struct json *
json_root(const struct json_doc *doc)
{
	return from_cjson(doc->root);
}

/* ---- Places --------------------------------------------------------------- */

/*
 * cJSON does not keep the places of values.  But a walk of the tree visits them in the
 * order of the (valid) text: the n-th value of the walk is the n-th in the text.
 */
static bool
count_until(const cJSON *at, const cJSON *wanted, size_t *count)
{
	if (at == wanted)
		return true;
	(*count)++;
	for (const cJSON *child = at->child; child; child = child->next)
		if (count_until(child, wanted, count))
			return true;
	return false;
}

static size_t
skip_string(const char *text, size_t length, size_t i)
{
	for (i++; i < length && text[i] != '"'; i++)
		if (text[i] == '\\')
			i++;
	return i + 1;
}

static size_t
skip_blanks(const char *text, size_t length, size_t i)
{
	while (i < length && strchr(" \t\r\n", text[i]))
		i++;
	return i;
}

static size_t
offset_of_value(const char *text, size_t length, size_t nth)
{
	size_t i = 0;

	for (;;) {
		size_t start;

		while (i < length && strchr(" \t\r\n,:]}", text[i]))
			i++;
		if (i >= length)
			return length;
		start = i;
		if (text[i] == '"') {
			i = skip_string(text, length, i);
			/* A string before a colon is a key, not a value. */
			if (text[skip_blanks(text, length, i)] == ':')
				continue;
		} else if (text[i] == '{' || text[i] == '[') {
			i++;
		} else {
			while (i < length && !strchr(" \t\r\n,:]}", text[i]))
				i++;
		}
		if (!nth--)
			return start;
	}
}

static struct json_place
place_of(const struct json_doc *doc, const struct json *value)
{
	size_t nth = 0;

	count_until(doc->root, to_cjson(value), &nth);
	if (doc->places)
		return doc->places[nth];
	return json_place_at(doc->text, offset_of_value(doc->text, doc->length, nth));
}

unsigned
json_line(const struct json_doc *doc, const struct json *value)
{
	return place_of(doc, value).line;
}

int
json_fail(const struct json_doc *doc, const struct json *value, struct err *err,
	  const char *fmt, ...)
{
	struct json_place place;
	char text[sizeof err->text];
	va_list args;

	if (!err)
		return -EINVAL;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);

	place = place_of(doc, value);
	return err_set(err, doc->file, place.line, place.column, "%s", text);
}

/* ---- Getters -------------------------------------------------------------- */

static const char *
type_name(const cJSON *value)
{
	if (cJSON_IsObject(value))
		return "an object";
	if (cJSON_IsArray(value))
		return "an array";
	if (cJSON_IsString(value))
		return "a string";
	if (cJSON_IsNumber(value))
		return "a number";
	if (cJSON_IsBool(value))
		return "true or false";
	return "null";
}

int
json_as_object(const struct json_doc *doc, const struct json *value, struct err *err)
{
	if (!cJSON_IsObject(to_cjson(value)))
		return json_fail(doc, value, err, "expected an object, found %s",
				 type_name(to_cjson(value)));
	return 0;
}

int
json_as_str(const struct json_doc *doc, const struct json *value,
	    const char **ret_value, struct err *err)
{
	if (!cJSON_IsString(to_cjson(value)))
		return json_fail(doc, value, err, "expected a string, found %s",
				 type_name(to_cjson(value)));
	*ret_value = to_cjson(value)->valuestring;
	return 0;
}

const struct json *
json_find(const struct json *object, const char *key)
{
	return from_cjson(cJSON_GetObjectItemCaseSensitive(to_cjson(object), key));
}

const struct json *
json_first(const struct json *array)
{
	return from_cjson(to_cjson(array)->child);
}

const struct json *
json_next(const struct json *value)
{
	return from_cjson(to_cjson(value)->next);
}

const char *
json_key(const struct json *value)
{
	return to_cjson(value)->string;
}

enum json_kind
json_kind(const struct json *value)
{
	const cJSON *item = to_cjson(value);

	if (cJSON_IsNumber(item))
		return JSON_NUMBER;
	if (cJSON_IsString(item))
		return JSON_STRING;
	if (cJSON_IsArray(item))
		return JSON_ARRAY;
	return cJSON_IsObject(item) ? JSON_OBJECT : JSON_OTHER;
}

bool
json_is_null(const struct json *value)
{
	return cJSON_IsNull(to_cjson(value));
}

double
json_number(const struct json *value)
{
	return cJSON_GetNumberValue(to_cjson(value));
}

const char *
json_string(const struct json *value)
{
	return cJSON_GetStringValue(to_cjson(value));
}

int
json_check_keys(const struct json_doc *doc, const struct json *object,
		const char *const *keys, struct err *err)
{
	if (json_as_object(doc, object, err) < 0)
		return -EINVAL;
	for (const cJSON *child = to_cjson(object)->child; child; child = child->next) {
		const char *const *key = keys;

		while (*key && strcmp(*key, child->string) != 0)
			key++;
		if (!*key) {
			json_fail(doc, from_cjson(child), err, "unknown key '%s'",
				  child->string);
			err_suggest(err, child->string, keys);
			return -EINVAL;
		}
		/* A duplicate: cJSON uses the first, the author may mean the other. */
		if (json_find(object, child->string) != from_cjson(child))
			return json_fail(doc, from_cjson(child), err,
					 "key '%s' is given twice", child->string);
	}
	return 0;
}

int
json_check_schema(const struct json_doc *doc, const char *name, int version,
		  struct err *err)
{
	const char *schema;
	size_t length = strlen(name);
	char *end;
	long have;

	if (json_as_object(doc, json_root(doc), err) < 0 ||
	    json_get_str(doc, json_root(doc), "schema", &schema, err) < 0)
		return -EINVAL;
	if (strncmp(schema, name, length) != 0 || schema[length] != '/')
		return json_fail(doc, json_find(json_root(doc), "schema"), err,
				 "schema is '%s', expected '%s/%d'", schema, name,
				 version);
	have = strtol(schema + length + 1, &end, 10);
	if (*end || have < 1 || have > version)
		return json_fail(doc, json_find(json_root(doc), "schema"), err,
				 "schema is '%s', but this program reads '%s/%d'",
				 schema, name, version);
	return 0;
}

/* The value of a required 'key'. */
static int
get_value(const struct json_doc *doc, const struct json *object, const char *key,
	  const cJSON **ret_value, struct err *err)
{
	if (json_as_object(doc, object, err) < 0)
		return -EINVAL;
	*ret_value = to_cjson(json_find(object, key));
	if (!*ret_value)
		return json_fail(doc, object, err, "key '%s' is missing here", key);
	return 0;
}

static bool
is_absent(const struct json *object, const char *key)
{
	return cJSON_IsObject(to_cjson(object)) && !json_find(object, key);
}

/* The number of a required 'key'. */
static int
get_number(const struct json_doc *doc, const struct json *object, const char *key,
	   const cJSON **ret_value, struct err *err)
{
	if (get_value(doc, object, key, ret_value, err) < 0)
		return -EINVAL;
	if (!cJSON_IsNumber(*ret_value))
		return json_fail(doc, from_cjson(*ret_value), err,
				 "'%s' has to be a number, found %s", key,
				 type_name(*ret_value));
	return 0;
}

int
json_get_num(const struct json_doc *doc, const struct json *object, const char *key,
	     double min, double max, double *ret_value, struct err *err)
{
	const cJSON *value;

	if (get_number(doc, object, key, &value, err) < 0)
		return -EINVAL;
	if (!(value->valuedouble >= min && value->valuedouble <= max))
		return json_fail(doc, from_cjson(value), err,
				 "'%s' is %.15g, expected %g to %g", key,
				 value->valuedouble, min, max);
	*ret_value = value->valuedouble;
	return 0;
}

int
json_get_int(const struct json_doc *doc, const struct json *object, const char *key,
	     int64_t min, int64_t max, int64_t *ret_value, struct err *err)
{
	const cJSON *found;
	double value;

	if (get_number(doc, object, key, &found, err) < 0)
		return -EINVAL;
	value = found->valuedouble;
	/* Beyond these limits a double is not exact. */
	if (min < -(int64_t)MAX_EXACT)
		min = -(int64_t)MAX_EXACT;
	if (max > (int64_t)MAX_EXACT)
		max = (int64_t)MAX_EXACT;
	if (!(value >= (double)min && value <= (double)max))
		return json_fail(doc, from_cjson(found), err,
				 "'%s' is %.16g, expected %lld to %lld", key, value,
				 (long long)min, (long long)max);
	if (value != floor(value))
		return json_fail(doc, from_cjson(found), err,
				 "'%s' is %.15g, expected a whole number", key, value);
	*ret_value = (int64_t)value;
	return 0;
}

int
json_get_str(const struct json_doc *doc, const struct json *object, const char *key,
	     const char **ret_value, struct err *err)
{
	const cJSON *value;

	if (get_value(doc, object, key, &value, err) < 0)
		return -EINVAL;
	if (!cJSON_IsString(value))
		return json_fail(doc, from_cjson(value), err,
				 "'%s' has to be a string, found %s", key,
				 type_name(value));
	*ret_value = value->valuestring;
	return 0;
}

int
json_get_array(const struct json_doc *doc, const struct json *object, const char *key,
	       const struct json **ret_array, size_t *ret_n, struct err *err)
{
	const cJSON *value = to_cjson(object);

	if (key && get_value(doc, object, key, &value, err) < 0)
		return -EINVAL;
	if (!cJSON_IsArray(value))
		return json_fail(doc, from_cjson(value), err,
				 "%s%s%s has to be an array, found %s", key ? "'" : "",
				 key ? key : "this", key ? "'" : "", type_name(value));
	*ret_array = from_cjson(value);
	*ret_n = 0;
	for (const cJSON *child = value->child; child; child = child->next)
		(*ret_n)++;
	return 0;
}

int
json_opt_int(const struct json_doc *doc, const struct json *object, const char *key,
	     int64_t min, int64_t max, int64_t *ret_value, struct err *err)
{
	if (is_absent(object, key))
		return 0;
	return json_get_int(doc, object, key, min, max, ret_value, err);
}

int
json_opt_num(const struct json_doc *doc, const struct json *object, const char *key,
	     double min, double max, double *ret_value, struct err *err)
{
	if (is_absent(object, key))
		return 0;
	return json_get_num(doc, object, key, min, max, ret_value, err);
}

int
json_opt_str(const struct json_doc *doc, const struct json *object, const char *key,
	     const char **ret_value, struct err *err)
{
	if (is_absent(object, key))
		return 0;
	return json_get_str(doc, object, key, ret_value, err);
}

int
json_opt_bool(const struct json_doc *doc, const struct json *object, const char *key,
	      bool *ret_value, struct err *err)
{
	const cJSON *value;

	if (is_absent(object, key))
		return 0;
	if (get_value(doc, object, key, &value, err) < 0)
		return -EINVAL;
	if (!cJSON_IsBool(value))
		return json_fail(doc, from_cjson(value), err,
				 "'%s' has to be true or false, found %s", key,
				 type_name(value));
	*ret_value = cJSON_IsTrue(value);
	return 0;
}

int
json_opt_array(const struct json_doc *doc, const struct json *object, const char *key,
	       const struct json **ret_array, size_t *ret_n, struct err *err)
{
	if (is_absent(object, key))
		return 0;
	return json_get_array(doc, object, key, ret_array, ret_n, err);
}
