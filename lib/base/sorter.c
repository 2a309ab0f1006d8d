/* SPDX-License-Identifier: Apache-2.0 */
/* sorter.c - bottom-up merge sort: merges pairs of runs, which double in length. */
#include "lib/base/sorter.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"

struct sorter {
	sorter_fn *compare;
	void *ctx;
	uint32_t *items, *other; /* Owned.  Source and target. */
	size_t n, width;         /* Of a run. */
	size_t middle, end;      /* Of the current pair: second run, end. */
	size_t i, j, out; /* Next of the first run, of the second, of the output. */
};

static size_t
smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void
begin_pair(struct sorter *s, size_t at)
{
	s->i = s->out = at;
	s->j = s->middle = smaller(at + s->width, s->n);
	s->end = smaller(at + 2 * s->width, s->n);
}

struct sorter *
sorter_new(size_t n, sorter_fn *compare, void *ctx)
{
	struct sorter *s = xcalloc(1, sizeof *s);

	s->compare = compare;
	s->ctx = ctx;
	s->n = n;
	s->items = xcalloc(n + 1, sizeof *s->items);
	s->other = xcalloc(n + 1, sizeof *s->other);
	for (size_t i = 0; i < n; i++)
		s->items[i] = (uint32_t)i;
	s->width = 1;
	begin_pair(s, 0);
	return s;
}

void
sorter_free(struct sorter *s)
{
	if (!s)
		return;
	free(s->items);
	free(s->other);
	free(s);
}

void
sorter_set(struct sorter *s, const uint32_t *items, size_t n)
{
	BUG_ON(n > s->n || s->width > 1 || s->out);
	if (n)
		memcpy(s->items, items, n * sizeof *items);
	s->n = n;
	begin_pair(s, 0);
}

/* Returns true when the pair is merged. */
static bool
merge(struct sorter *s, size_t *n_moves)
{
	while (s->out < s->end && *n_moves) {
		bool is_first =
			s->j == s->end ||
			(s->i < s->middle &&
			 s->compare(s->items[s->i], s->items[s->j], s->ctx) <= 0);

		s->other[s->out++] = s->items[is_first ? s->i++ : s->j++];
		--*n_moves;
	}
	return s->out == s->end;
}

bool
sorter_step(struct sorter *s, size_t n_moves)
{
	while (s->width < s->n && n_moves) {
		uint32_t *sorted;

		if (!merge(s, &n_moves))
			break;
		if (s->end < s->n) {
			begin_pair(s, s->end);
			continue;
		}
		sorted = s->other;
		s->other = s->items;
		s->items = sorted;
		s->width *= 2;
		begin_pair(s, 0);
	}
	return s->width >= s->n;
}

const uint32_t *
sorter_items(const struct sorter *s, size_t *ret_n)
{
	*ret_n = s->n;
	return s->items;
}
