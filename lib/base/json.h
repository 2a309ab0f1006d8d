/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - JSON reader with checked getters and errors that name line and column.
 *
 * cJSON parses; this module adds limits, the place of every value in the text, and
 * getters whose errors name what was expected.  Documents are read-only.
 *
 *	if (json_parse("fabric.json", text, length, &doc, err) < 0 ||
 *	    json_get_int(doc, json_root(doc), "slots", 1, 64, &slots, err) < 0)
 *		goto out;
 *
 * Getters return 0, or -EINVAL with 'err' filled and the output unchanged.  The opt_
 * forms also leave the output unchanged if the key is missing.
 */
#ifndef LIB_BASE_JSON_H
#define LIB_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct json; /* One value; borrowed from its document. */
struct json_doc;

/*
 * Parses NUL-terminated text of 'length' characters.  Borrows 'file' and 'text' until
 * json_doc_free().
 */
int json_parse(const char *file, const char *text, size_t length,
	       struct json_doc **ret_doc, struct err *err);
void json_doc_free(struct json_doc *doc); /* Accepts NULL. */

const struct json *json_root(const struct json_doc *doc);

/*
 * Checks that the root is an object whose "schema" is "NAME/V" with V at most
 * 'version'.
 */
int json_check_schema(const struct json_doc *doc, const char *name, int version,
		      struct err *err);

/* Fails at the first key of 'object' that is not in the NULL-terminated list. */
int json_check_keys(const struct json_doc *doc, const struct json *object,
		    const char *const *keys, struct err *err);

/* Refuses integers of +-2^53 and beyond, since cJSON keeps doubles. */
int json_get_int(const struct json_doc *doc, const struct json *object, const char *key,
		 int64_t min, int64_t max, int64_t *ret_value, struct err *err);
int json_get_num(const struct json_doc *doc, const struct json *object, const char *key,
		 double min, double max, double *ret_value, struct err *err);
int json_get_str(const struct json_doc *doc, const struct json *object, const char *key,
		 const char **ret_value, struct err *err);
/* 'key' NULL: 'object' itself is to be an array. */
int json_get_array(const struct json_doc *doc, const struct json *object,
		   const char *key, const struct json **ret_array, size_t *ret_n,
		   struct err *err);
int json_opt_int(const struct json_doc *doc, const struct json *object, const char *key,
		 int64_t min, int64_t max, int64_t *ret_value, struct err *err);
int json_opt_num(const struct json_doc *doc, const struct json *object, const char *key,
		 double min, double max, double *ret_value, struct err *err);
int json_opt_str(const struct json_doc *doc, const struct json *object, const char *key,
		 const char **ret_value, struct err *err);
int json_opt_bool(const struct json_doc *doc, const struct json *object,
		  const char *key, bool *ret_value, struct err *err);
int json_opt_array(const struct json_doc *doc, const struct json *object,
		   const char *key, const struct json **ret_array, size_t *ret_n,
		   struct err *err);

/* For a value itself, such as an element of an array. */
int json_as_str(const struct json_doc *doc, const struct json *value,
		const char **ret_value, struct err *err);
int json_as_object(const struct json_doc *doc, const struct json *value,
		   struct err *err);

/* Walk an array or object; NULL at the end. */
const struct json *json_first(const struct json *array);
const struct json *json_next(const struct json *value);

/* The key of a value in an object; NULL in an array. */
const char *json_key(const struct json *value);

/* For documents of any shape. */
enum json_kind {
	JSON_OTHER, /* null, true or false. */
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
};

enum json_kind json_kind(const struct json *value);
bool json_is_null(const struct json *value);
double json_number(const struct json *value);      /* NaN for another kind. */
const char *json_string(const struct json *value); /* NULL for another kind. */

/* The value of 'key', or NULL. */
const struct json *json_find(const struct json *object, const char *key);

/* The line of a value; 0 if unknown.  O(document). */
unsigned json_line(const struct json_doc *doc, const struct json *value);

/* Fills 'err' with the place of 'value' and a text; returns -EINVAL.  O(document). */
int json_fail(const struct json_doc *doc, const struct json *value, struct err *err,
	      const char *fmt, ...) __attribute__((format(printf, 4, 5)));

#endif
