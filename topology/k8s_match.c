/* SPDX-License-Identifier: Apache-2.0 */
/*
 * k8s_match.c - the nodes that a selector of HyperNodes matches.
 *
 * Volcano uses regular expressions of Go (RE2), which must match anywhere in the name.
 * POSIX differs, so only expressions that both read alike are accepted, as follows; all
 * others are refused:
 *
 *	expression   branches with '|', none of them empty
 *	branch       pieces: an atom, with one of * + ? {N} {N,M} behind it, or none
 *	atom         a letter, digit, '-' or '_'; "\."; '.'; '^'; '$' (these two without
 *	             a count); '[...]' of letters, digits, "._-", ranges, '^' as the
 *	             first; '(' expression ')' (not with {})
 *
 * Counts are small.  An expression is compiled again from time to time, because
 * matching keeps a cache of names.
 */
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/strtab.h"
#include "topology/read_priv.h"

#define MAX_PATTERN 128
#define MAX_COUNT   63 /* Limit of the sum of a pattern's counts. */
#define MAX_NESTED  8
#define MATCHES     256 /* Matches before a pattern is compiled again. */

#define ALNUM                        \
	"abcdefghijklmnopqrstuvwxyz" \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"0123456789"

/* ---- Regular expressions --------------------------------------------------------- */

/* The kind of the previous item. */
enum before {
	NOTHING, /* At the beginning of a branch. */
	ANCHOR,
	ATOM,
	GROUP,
	COUNT,
};

struct scan {
	const char *at;
	enum before before;
	unsigned n_open, n_count;
};

/* Length of '[...]', or 0. */
static size_t
class_length(const char *at)
{
	size_t n = 1 + (at[1] == '^');
	size_t inside = strspn(at + n, ALNUM "._-");

	return inside && at[n + inside] == ']' ? n + inside + 1 : 0;
}

/* Skips '{N}' or '{N,M}'; false if it is neither, or too large. */
static bool
scan_count(struct scan *scan)
{
	char *end;
	unsigned long n, m;

	if (scan->at[1] < '0' || scan->at[1] > '9')
		return false;
	n = m = strtoul(scan->at + 1, &end, 10);
	if (*end == ',') {
		if (end[1] < '0' || end[1] > '9')
			return false;
		m = strtoul(end + 1, &end, 10);
	}
	if (*end != '}' || m < n || m < 1 || m > MAX_COUNT)
		return false;
	scan->n_count += (unsigned)m;
	scan->at = end;
	return scan->n_count <= MAX_COUNT;
}

/* Checks the operators of an expression; NULL, or the fault. */
static const char *
scan_operator(struct scan *scan)
{
	static const char *const empty = "a branch, or a group, with nothing in it";

	switch (*scan->at) {
	case '*':
	case '+':
	case '?':
		if (scan->before != ATOM && scan->before != GROUP)
			return "'*', '+' or '?' where nothing is to be repeated";
		scan->before = COUNT;
		return NULL;
	case '{':
		if (scan->before != ATOM || !scan_count(scan))
			return "a count '{...}' that is not {N} or {N,M} of one "
			       "character, and small";
		scan->before = COUNT;
		return NULL;
	case '(':
		if (++scan->n_open > MAX_NESTED)
			return "too many groups in each other";
		scan->before = NOTHING;
		return NULL;
	case ')':
		if (!scan->n_open--)
			return "a ')' without its '('";
		if (scan->before == NOTHING)
			return empty;
		scan->before = GROUP;
		return NULL;
	case '|':
		if (scan->before == NOTHING)
			return empty;
		scan->before = NOTHING;
		return NULL;
	default:
		return "a character that this reader does not take";
	}
}

const char *
k8s_pattern_why_not(const char *pattern)
{
	struct scan scan = { .at = pattern };

	if (strlen(pattern) > MAX_PATTERN)
		return "more than 128 characters";
	for (; *scan.at; scan.at++) {
		const char *why;

		if (strchr(ALNUM "_-.", *scan.at)) {
			scan.before = ATOM;
		} else if (*scan.at == '^' || *scan.at == '$') {
			scan.before = ANCHOR;
		} else if (*scan.at == '\\') {
			if (*++scan.at != '.')
				return "a '\\' that does not precede a '.'";
			scan.before = ATOM;
		} else if (*scan.at == '[') {
			size_t n = class_length(scan.at);

			if (!n)
				return "a '[...]' of other than letters, digits and "
				       "\"._-\"";
			scan.at += n - 1;
			scan.before = ATOM;
		} else {
			why = scan_operator(&scan);
			if (why)
				return why;
		}
	}
	if (scan.n_open)
		return "a '(' without its ')'";
	return scan.before == NOTHING ? "a branch with nothing in it" : NULL;
}

int
k8s_match_pattern(const struct json_doc *doc, const struct json *pattern,
		  const struct strtab *names, void (*found)(void *ctx, uint32_t number),
		  void *ctx, struct err *err)
{
	const char *text, *why;
	regex_t regex;

	if (json_as_str(doc, pattern, &text, err) < 0)
		return -EINVAL;
	why = k8s_pattern_why_not(text);
	if (why)
		return json_fail(doc, pattern, err,
				 "the pattern '%.128s' has %s; name the members with "
				 "exactMatch or labelMatch",
				 text, why);
	for (uint32_t i = 0; i < strtab_n(names); i++) {
		if (i % MATCHES == 0) {
			if (i)
				regfree(&regex);
			if (regcomp(&regex, text, REG_EXTENDED | REG_NOSUB) != 0)
				return json_fail(doc, pattern, err,
						 "the pattern '%.128s' is none", text);
		}
		if (regexec(&regex, strtab_name(names, i), 0, NULL, 0) == 0)
			found(ctx, i);
	}
	if (strtab_n(names))
		regfree(&regex);
	return 0;
}

/* ---- Labels ---------------------------------------------------------------------- */

/* 1 if a Node's labels have all of 'wanted', 0 if not, -EINVAL. */
static int
has_labels(const struct json_doc *doc, const struct json *wanted,
	   const struct k8s_nodes *nodes, const struct k8s_node *node, struct err *err)
{
	for (const struct json *value = json_first(wanted); value;
	     value = json_next(value)) {
		const char *text, *actual;

		if (json_as_str(doc, value, &text, err) < 0)
			return -EINVAL;
		actual = k8s_node_label(nodes, node, json_key(value));
		if (!actual || strcmp(actual, text) != 0)
			return 0;
	}
	return 1;
}

static int
is_in(const struct json_doc *doc, const struct json *values, const char *actual,
      struct err *err)
{
	for (const struct json *value = values ? json_first(values) : NULL; value;
	     value = json_next(value)) {
		const char *text;

		if (json_as_str(doc, value, &text, err) < 0)
			return -EINVAL;
		if (actual && strcmp(text, actual) == 0)
			return 1;
	}
	return 0;
}

/* 1 if an expression {key, operator, values} is true of the Node, 0 if not, -EINVAL. */
static int
is_true(const struct json_doc *doc, const struct json *expression,
	const struct k8s_nodes *nodes, const struct k8s_node *node, struct err *err)
{
	const char *key, *operator, * actual;
	const struct json *values = NULL;
	size_t n = 0;
	bool is_wanted;
	int r;

	if (json_as_object(doc, expression, err) < 0 ||
	    json_get_str(doc, expression, "key", &key, err) < 0 ||
	    json_get_str(doc, expression, "operator", &operator, err) < 0 ||
	    json_opt_array(doc, expression, "values", &values, &n, err) < 0)
		return -EINVAL;
	actual = k8s_node_label(nodes, node, key);
	if (strcmp(operator, "Exists") == 0)
		return actual != NULL;
	if (strcmp(operator, "DoesNotExist") == 0)
		return actual == NULL;
	is_wanted = strcmp(operator, "In") == 0;
	if (!is_wanted && strcmp(operator, "NotIn") != 0)
		return json_fail(doc, expression, err,
				 "operator '%.40s', expected In, NotIn, Exists or "
				 "DoesNotExist",
				 operator);
	if (!n)
		return json_fail(doc, expression, err,
				 "operator %s without values", operator);
	r = is_in(doc, values, actual, err);
	return r < 0 ? r : (r == 1) == is_wanted;
}

int
k8s_match_labels(const struct json_doc *doc, const struct json *selector,
		 const struct k8s_nodes *nodes,
		 void (*found)(void *ctx, uint32_t number), void *ctx, struct err *err)
{
	const struct json *labels, *expressions = NULL;
	size_t n = 0;

	if (json_as_object(doc, selector, err) < 0)
		return -EINVAL;
	labels = json_find(selector, "matchLabels");
	if ((labels && json_as_object(doc, labels, err) < 0) ||
	    json_opt_array(doc, selector, "matchExpressions", &expressions, &n, err) <
		    0)
		return -EINVAL;
	if ((!labels || !json_first(labels)) && !n)
		return json_fail(doc, selector, err, "a labelMatch that says nothing");
	for (uint32_t i = 0; i < nodes->list.n; i++) {
		const struct k8s_node *node = &nodes->list.items[i];
		int r = labels ? has_labels(doc, labels, nodes, node, err) : 1;

		for (const struct json *e = n ? json_first(expressions) : NULL;
		     r == 1 && e; e = json_next(e))
			r = is_true(doc, e, nodes, node, err);
		if (r < 0)
			return r;
		if (r)
			found(ctx, i);
	}
	return 0;
}
