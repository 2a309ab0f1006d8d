/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segment_text.c - the grammar
 *
 *	SEGMENT := PART | PART + PART          one computes, the other sends
 *	PART    := compute TIME | OPERATION SIZE OPTION...
 *	OPTION  := at RATE | after TIME | over GROUP | ALGORITHM | RANK->RANK
 *
 * call_text.c knows operations, groups and algorithms.
 */
#include "scheduler/core/workload/segment_text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/units.h"
#include "lib/base/words.h"
#include "scheduler/core/workload/call_text.h"

/* Longest text of one quantity. */
#define MAX_QUANTITY 63

struct place {
	const char *file;
	unsigned line;
	struct err *err;
};

/* Words that begin a part or an option; all others belong to a quantity. */
static const char *const keywords[] = { "compute", "at", "after", "+", NULL };

static const char *
skip_blanks(const char *s)
{
	return s + strspn(s, " \t");
}

/* Copies the word at 's' and returns the rest. */
static const char *
take_word(const char *s, char *word, size_t size)
{
	size_t length;

	s = skip_blanks(s);
	length = strcspn(s, " \t");
	snprintf(word, size, "%.*s", (int)(length < size ? length : size - 1), s);
	return s + length;
}

/*
 * Copies the words up to the next keyword, such as "125 MB", and returns the rest.  A
 * longer text is cut, and then is no quantity.
 */
static const char *
take_quantity(const char *s, char quantity[MAX_QUANTITY + 1])
{
	size_t length = 0;

	quantity[0] = '\0';
	for (;;) {
		char word[MAX_QUANTITY + 1];
		const char *after = take_word(s, word, sizeof word);

		if (!*word || words_index(word, keywords) >= 0 ||
		    call_text_kind(word) != CALL_TEXT_OTHER)
			return s;
		if (length < MAX_QUANTITY)
			length += (size_t)snprintf(quantity + length,
						   MAX_QUANTITY + 1 - length, "%s%s",
						   length ? " " : "", word);
		s = after;
	}
}

static int
bad_quantity(const struct place *place, const char *word, const char *want,
	     const char *quantity)
{
	if (!*quantity)
		return err_set(place->err, place->file, place->line, 0,
			       "expected %s after '%s'", want, word);
	return err_set(place->err, place->file, place->line, 0,
		       "expected %s after '%s', not '%s'", want, word, quantity);
}

static int
read_time(const struct place *place, const char *word, const char *quantity,
	  int64_t *ret_ns)
{
	int64_t ns;

	if (units_parse_ns(quantity, &ns) < 0)
		return bad_quantity(place, word, UNITS_WANT_TIME, quantity);
	if (ns > PROFILE_MAX_PERIOD_US * 1000)
		return bad_quantity(place, word, "at most an hour", quantity);
	*ret_ns = ns;
	return 0;
}

static int
read_bytes(const struct place *place, const char *word, const char *quantity,
	   double *ret_bytes)
{
	double bytes;

	if (units_parse_bytes(quantity, &bytes) < 0)
		return bad_quantity(place, word, UNITS_WANT_BYTES, quantity);
	if (!(bytes > 0) || bytes > WORK_MAX_BYTES)
		return bad_quantity(place, word, "more than 0 B and at most 1000 TB",
				    quantity);
	*ret_bytes = bytes;
	return 0;
}

static int
read_rate(const struct place *place, const char *word, const char *quantity,
	  double *ret_bps)
{
	double bps;

	if (units_parse_bps(quantity, &bps) < 0)
		return bad_quantity(place, word, UNITS_WANT_RATE, quantity);
	if (!(bps >= 1) || bps > PROFILE_MAX_BPS)
		return bad_quantity(place, word, "at least 1 b/s and at most 1000 Tb/s",
				    quantity);
	*ret_bps = bps;
	return 0;
}

/* The words read so far; each may occur once. */
struct seen {
	bool compute, send, at, after;
	bool call[N_CALL_TEXTS]; /* By kind of the word. */
	bool plus;               /* The last word was a plus. */
};

static int
twice(const struct place *place, const char *word)
{
	return err_set(place->err, place->file, place->line, 0,
		       "'%s' is here twice in one segment", word);
}

#define PARTS "'compute TIME', 'send SIZE' or 'allreduce SIZE'"

static int
bad_word(const struct place *place, const char *word)
{
	const char *words[sizeof keywords / sizeof *keywords + N_COLLECTIVE_OPS];
	size_t n = 0;

	for (size_t i = 0; keywords[i]; i++)
		words[n++] = keywords[i];
	for (size_t i = 0; collective_op_names[i]; i++)
		words[n++] = collective_op_names[i];
	words[n] = NULL;
	if (!*word)
		return err_set(place->err, place->file, place->line, 0,
			       "expected " PARTS " at the end");
	err_set(place->err, place->file, place->line, 0, "expected " PARTS ", not '%s'",
		word);
	err_suggest(place->err, word, words);
	return -EINVAL;
}

/* Reads one keyword and its quantity at '*s' and moves '*s' past them. */
static int
read_item(const struct place *place, const char **s, struct seen *seen,
	  struct work_segment *segment, bool *is_message)
{
	char word[MAX_QUANTITY + 1], quantity[MAX_QUANTITY + 1];
	bool *is_seen, is_option;
	enum call_text kind;

	*s = take_quantity(take_word(*s, word, sizeof word), quantity);
	kind = call_text_kind(word);
	if (!strcmp(word, "compute"))
		is_seen = &seen->compute;
	else if (kind == CALL_TEXT_OP)
		is_seen = &seen->send;
	else if (kind != CALL_TEXT_OTHER)
		is_seen = &seen->call[kind];
	else if (!strcmp(word, "at"))
		is_seen = &seen->at;
	else if (!strcmp(word, "after"))
		is_seen = &seen->after;
	else
		return bad_word(place, word);
	if (*is_seen)
		return twice(place, word);
	is_option = is_seen != &seen->compute && is_seen != &seen->send;
	if (is_option && !seen->send)
		return err_set(
			place->err, place->file, place->line, 0,
			"'%s' belongs to 'send' or 'allreduce', and has to follow it",
			word);
	if (is_option && seen->plus)
		return err_set(place->err, place->file, place->line, 0,
			       "no '+' before '%s'", word);
	*is_seen = true;
	if (is_seen == &seen->compute)
		return read_time(place, word, quantity, &segment->compute_ns);
	if (is_seen == &seen->at)
		return read_rate(place, word, quantity, &segment->cap_bps);
	if (is_seen == &seen->after)
		return read_time(place, word, quantity, &segment->send_offset_ns);
	if (is_option)
		return call_text_read(place->file, place->line, kind, word, quantity,
				      &segment->call, place->err);
	*is_message = strcmp(word, "send") != 0;
	segment->call.op = call_text_op(word);
	return read_bytes(place, word, quantity, &segment->nic_bytes);
}

int
segment_text_parse(const char *file, unsigned line, const char *text,
		   struct work_segment *ret_segment, bool *ret_is_message,
		   struct err *err)
{
	const struct place place = { file, line, err };
	struct work_segment segment = { .call = { .over = WORK_OVER_HOSTS } };
	struct seen seen = { 0 };
	bool is_message = false, may_end = false;
	const char *s = text;

	do {
		const char *after;
		char word[MAX_QUANTITY + 1];

		if (read_item(&place, &s, &seen, &segment, &is_message) < 0)
			return -EINVAL;
		/* "at" and "after" follow without a plus, all others with one. */
		after = take_word(s, word, sizeof word);
		may_end = !*word;
		seen.plus = !strcmp(word, "+");
		if (seen.plus)
			s = after;
		else if (!may_end && strcmp(word, "at") && strcmp(word, "after") &&
			 call_text_kind(word) <= CALL_TEXT_OP)
			return err_set(err, file, line, 0, "expected '+' before '%s'",
				       word);
	} while (!may_end);
	if (seen.send && call_text_finish(file, line, seen.call, seen.compute,
					  &segment.call, err) < 0)
		return -EINVAL;
	if (!seen.send)
		segment.call = (struct work_call){ .op = COLLECTIVE_OP_NONE };
	is_message |= segment.call.op != COLLECTIVE_OP_NONE;
	*ret_segment = segment;
	*ret_is_message = is_message;
	return 0;
}
