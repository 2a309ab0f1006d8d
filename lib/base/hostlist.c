/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/hostlist.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"

#define MAX_GROUPS 2

/* Longer runs of digits are not numbers. */
#define MAX_DIGITS 18

/* "01-16" in "n[01-16,20]". */
struct range {
	uint64_t first, last;
	int width; /* Digits, padded with zeros; 0: not padded. */
};

/* State of an expansion. */
struct expansion {
	size_t max_names, n_names;
	int (*name)(void *ctx, const char *name);
	void *ctx;
	const char **ret_why;
	char text[HOSTLIST_MAX_NAME + 1]; /* The name so far. */
};

static int
refuse(struct expansion *x, const char *why)
{
	*x->ret_why = why;
	return -EINVAL;
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Reads digits at '*text' and advances it. */
static bool
read_number(const char **text, uint64_t *ret_value, size_t *ret_n_digits)
{
	uint64_t value = 0;
	size_t n = 0;

	for (; isdigit((unsigned char)(*text)[n]); n++) {
		if (n == MAX_DIGITS)
			return false;
		value = value * 10 + (uint64_t)((*text)[n] - '0');
	}
	if (!n)
		return false;
	*text += n;
	*ret_value = value;
	*ret_n_digits = n;
	return true;
}

/*
 * Reads a range at '*text' and advances it.  "08-10" is padded to 2 digits, "8-10" is
 * not.
 */
static int
read_range(struct expansion *x, const char **text, struct range *ret)
{
	const char *start = *text;
	size_t n_first, n_last;
	struct range range;

	if (!read_number(text, &range.first, &n_first))
		return refuse(x, "expected a number of at most 18 digits in '[...]'");
	range.last = range.first;
	range.width = n_first > 1 && *start == '0' ? (int)n_first : 0;
	if (**text == '-') {
		const char *second = ++*text;

		if (!read_number(text, &range.last, &n_last))
			return refuse(x, "expected a number of at most 18 digits "
					 "after '-' in '[...]'");
		if (range.last < range.first)
			return refuse(x, "a range in '[...]' runs backwards");
		if (n_last > 1 && *second == '0' && n_last != n_first)
			return refuse(x, "the ends of a range in '[...]' are padded "
					 "to different lengths");
	}
	if (**text != ',' && **text != ']')
		return refuse(x, "expected ',' or ']' after a number in '[...]'");
	*ret = range;
	return 0;
}

static int expand_rest(struct expansion *x, size_t length, const char *rest,
		       unsigned n_groups);

/* Continues after the group for each of its numbers. */
static int
expand_range(struct expansion *x, size_t length, const struct range *range,
	     const char *rest, unsigned n_groups)
{
	for (uint64_t i = range->first; i <= range->last; i++) {
		size_t room = sizeof x->text - length;
		int n = snprintf(x->text + length, room, "%0*llu", range->width,
				 (unsigned long long)i);
		int result;

		if (n < 0 || (size_t)n >= room)
			return refuse(x, "a name is longer than 255 characters");
		result = expand_rest(x, length + (size_t)n, rest, n_groups);
		if (result < 0)
			return result;
	}
	return 0;
}

/* Expands the group whose '[' is just before 'group'. */
static int
expand_group(struct expansion *x, size_t length, const char *group, unsigned n_groups)
{
	const char *close = strchr(group, ']');
	int result = 0;

	if (!close)
		return refuse(x, "a '[' is not closed");
	if (n_groups > MAX_GROUPS)
		return refuse(x, "more than two '[...]' in one name");
	while (group <= close && !result) {
		struct range range;

		result = read_range(x, &group, &range);
		if (result < 0)
			return result;
		group++; /* The ',' or ']'. */
		result = expand_range(x, length, &range, close + 1, n_groups);
	}
	return result;
}

static int
end_name(struct expansion *x, size_t length)
{
	if (!length)
		return refuse(x, "a name is missing");
	if (x->n_names == x->max_names) {
		*x->ret_why = "too many names";
		return -E2BIG;
	}
	x->n_names++;
	x->text[length] = '\0';
	return x->name(x->ctx, x->text);
}

/* Expands the rest of a name, of which 'x->text' has the first 'length' characters. */
static int
expand_rest(struct expansion *x, size_t length, const char *rest, unsigned n_groups)
{
	for (;; rest++) {
		unsigned char c = (unsigned char)*rest;

		if (!c || c == ',' || is_blank(*rest))
			return end_name(x, length);
		if (c == '[')
			return expand_group(x, length, rest + 1, n_groups + 1);
		if (c == ']')
			return refuse(x, "a ']' without '['");
		if (c < 0x20 || c == 0x7f)
			return refuse(x, "a control character in a name");
		if (length == HOSTLIST_MAX_NAME)
			return refuse(x, "a name is longer than 255 characters");
		x->text[length++] = (char)c;
	}
}

/* The end of the name at 'text': a comma outside brackets, a blank or the end. */
static const char *
skip_name(const char *text)
{
	bool is_inside = false;

	for (; *text && !is_blank(*text) && (is_inside || *text != ','); text++) {
		if (*text == '[' || *text == ']')
			is_inside = *text == '[';
	}
	return text;
}

int
hostlist_expand(const char *text, size_t max_names,
		int (*name)(void *ctx, const char *name), void *ctx,
		const char **ret_why)
{
	const char *why = NULL;
	struct expansion x = {
		.max_names = max_names,
		.name = name,
		.ctx = ctx,
		.ret_why = ret_why ? ret_why : &why,
	};

	for (;; text++) {
		int result;

		text += strspn(text, " \t");
		result = expand_rest(&x, 0, text, 0);
		if (result < 0)
			return result;
		text = skip_name(text);
		text += strspn(text, " \t");
		if (!*text)
			return 0;
		if (*text != ',')
			return refuse(&x, "expected ',' between names");
	}
}

/* A name split at its last number: "n" 17 "-ib". */
struct numbered {
	size_t prefix_length, n_digits; /* No digits: no number. */
	uint64_t number;
	const char *suffix;
};

static struct numbered
take_apart(const char *name)
{
	struct numbered it = { .suffix = name + strlen(name) };
	const char *end = it.suffix, *start;

	while (end > name && !isdigit((unsigned char)end[-1]))
		end--;
	start = end;
	while (start > name && isdigit((unsigned char)start[-1]) &&
	       end - start < MAX_DIGITS)
		start--;
	if (start == end) {
		it.prefix_length = (size_t)(it.suffix - name);
		return it;
	}
	it.prefix_length = (size_t)(start - name);
	it.suffix = end;
	read_number(&start, &it.number, &it.n_digits);
	return it;
}

/* True if both names differ only in the digits of their last number. */
static bool
is_same_group(const char *a, const struct numbered *a_it, const char *b,
	      const struct numbered *b_it)
{
	return a_it->n_digits && b_it->n_digits &&
	       a_it->prefix_length == b_it->prefix_length &&
	       !memcmp(a, b, a_it->prefix_length) &&
	       !strcmp(a_it->suffix, b_it->suffix);
}

/* True if a range padded to 'width' writes 'number' as 'digits'. */
static bool
is_written_so(const char *digits, size_t n_digits, uint64_t number, int width)
{
	char text[MAX_DIGITS + 3];
	int n = snprintf(text, sizeof text, "%0*llu", width,
			 (unsigned long long)number);

	return (size_t)n == n_digits && !memcmp(text, digits, n_digits);
}

/* The number of leading names that one range covers. */
static size_t
range_length(const char *const *names, size_t n)
{
	struct numbered first = take_apart(names[0]);
	bool is_padded = first.n_digits > 1 && names[0][first.prefix_length] == '0';
	int width = is_padded ? (int)first.n_digits : 0;
	size_t i;

	for (i = 1; i < n; i++) {
		struct numbered it = take_apart(names[i]);

		if (!is_same_group(names[0], &first, names[i], &it) ||
		    it.number != first.number + i ||
		    !is_written_so(names[i] + it.prefix_length, it.n_digits, it.number,
				   width))
			break;
	}
	return i;
}

/* The number of leading names that differ only in one number. */
static size_t
group_length(const char *const *names, size_t n)
{
	struct numbered first = take_apart(names[0]);
	size_t i;

	for (i = 1; i < n; i++) {
		struct numbered it = take_apart(names[i]);

		if (!is_same_group(names[0], &first, names[i], &it))
			break;
	}
	return i;
}

void
hostlist_fold(const char *const *names, size_t n, struct strbuf *out)
{
	size_t n_group;

	for (size_t i = 0; i < n; i += n_group) {
		struct numbered head = take_apart(names[i]);
		size_t n_range;

		if (i)
			strbuf_putc(out, ',');
		n_group = group_length(names + i, n - i);
		if (n_group == 1) {
			strbuf_puts(out, names[i]);
			continue;
		}
		strbuf_add(out, names[i], head.prefix_length);
		for (size_t j = 0; j < n_group; j += n_range) {
			const char *const *from = names + i + j;
			const char *digits = *from + head.prefix_length;

			n_range = range_length(from, n_group - j);
			strbuf_putc(out, j ? ',' : '[');
			strbuf_add(out, digits, take_apart(*from).n_digits);
			if (n_range > 1) {
				digits = from[n_range - 1] + head.prefix_length;
				strbuf_putc(out, '-');
				strbuf_add(out, digits,
					   take_apart(from[n_range - 1]).n_digits);
			}
		}
		strbuf_putc(out, ']');
		strbuf_puts(out, head.suffix);
	}
}
