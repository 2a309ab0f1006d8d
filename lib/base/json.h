/*
 * json.h - JSON in, checked against what we expect, errors with line and column.
 *
 * cJSON parses; this module adds what it lacks: limits, the place of every
 * value in the text, and getters that say what was expected.  A document is
 * read-only.
 *
 *	if (json_parse("fabric.json", text, length, &doc, err) < 0 ||
 *	    json_get_int(doc, json_root(doc), "slots", 1, 64, &slots, err) < 0)
 *		goto out;
 *
 * Getters return 0, or -EINVAL with 'err' filled and the output left alone.
 * The opt_ forms leave the output alone, too, if there is no such key.
 */
#ifndef LIB_BASE_JSON_H
#define LIB_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct json; /* One value; borrowed from its document. */
struct json_doc;

/* Parses terminated text of 'length' characters.  Copies nothing: 'file' and 'text'
 * must stay until json_doc_free(). */
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

/* Integers from +-2^53 on are refused, as cJSON keeps doubles. */
int json_get_int(const struct json_doc *doc, const struct json *object, const char *key,
		 int64_t min, int64_t max, int64_t *ret_value, struct err *err);
int json_get_num(const struct json_doc *doc, const struct json *object, const char *key,
		 double min, double max, double *ret_value, struct err *err);
int json_get_str(const struct json_doc *doc, const struct json *object, const char *key,
		 const char **ret_value, struct err *err);
/* 'key' NULL: 'object' itself has to be an array. */
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

/* The string that a value itself is (an array's element), or -EINVAL. */
int json_as_str(const struct json_doc *doc, const struct json *value,
		const char **ret_value, struct err *err);
int json_as_object(const struct json_doc *doc, const struct json *value,
		   struct err *err);

/* Walk an array: first element or NULL; the one after 'value' or NULL. */
const struct json *json_first(const struct json *array);
const struct json *json_next(const struct json *value);

/* The key of a value of an object, walked as an array is; NULL for an array's. */
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
double json_number(const struct json *value);      /* NaN if it is none. */
const char *json_string(const struct json *value); /* NULL if it is none. */

/* The value of 'key', or NULL. */
const struct json *json_find(const struct json *object, const char *key);

/* The line in which a value stands; 0 if unknown.  O(document). */
unsigned json_line(const struct json_doc *doc, const struct json *value);

/* Fills 'err' with the place of 'value' and the text; returns -EINVAL.  O(document). */
int json_fail(const struct json_doc *doc, const struct json *value, struct err *err,
	      const char *fmt, ...) __attribute__((format(printf, 4, 5)));

#endif
