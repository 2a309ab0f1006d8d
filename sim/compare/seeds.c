/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/compare/seeds.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/sort.h"
#include "lib/base/vec.h"

/* Reads "7" or "1..10" at '*text', and moves '*text' past it. */
static bool
read_range(const char **text, uint64_t *ret_first, uint64_t *ret_last)
{
	size_t n_digits = strspn(*text, "0123456789");

	if (!n_digits || n_digits > 15)
		return false;
	*ret_first = *ret_last = strtoull(*text, NULL, 10);
	*text += n_digits;
	if (strncmp(*text, "..", 2))
		return true;
	*text += 2;
	n_digits = strspn(*text, "0123456789");
	if (!n_digits || n_digits > 15)
		return false;
	*ret_last = strtoull(*text, NULL, 10);
	*text += n_digits;
	return *ret_last >= *ret_first;
}

static int
check_once(const struct seeds *seeds, const char *what, struct err *err)
{
	uint64_t *sorted = xmemdup(seeds->items, seeds->n, sizeof *sorted);
	int r = 0;

	sort_items(sorted, seeds->n, sort_by_u64);
	for (size_t i = 1; i < seeds->n && r == 0; i++)
		if (sorted[i] == sorted[i - 1])
			r = err_set(err, NULL, 0, 0, "%s %llu is listed twice", what,
				    (unsigned long long)sorted[i]);
	free(sorted);
	return r;
}

int
seeds_read(const char *text, const char *what, size_t max, struct seeds *ret_seeds,
	   struct err *err)
{
	const char *s = text;

	for (;;) {
		uint64_t first, last;

		if (!read_range(&s, &first, &last) || (*s && *s != ','))
			return err_set(
				err, NULL, 0, 0,
				"expected %ss such as '1..10' or '1,2,5', not '%s'",
				what, text);
		if (last - first >= max || ret_seeds->n + last - first >= max)
			return err_set(err, NULL, 0, 0, "more than %zu %ss", max, what);
		for (uint64_t seed = first; seed <= last; seed++)
			vec_push(ret_seeds, seed);
		if (!*s)
			return check_once(ret_seeds, what, err);
		s++;
	}
}
