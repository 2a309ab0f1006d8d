/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/profile/same_period.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/sort.h"
#include "scheduler/core/profile/profile.h"

static bool
is_within_error(int64_t shorter_us, int64_t longer_us, int64_t error_us,
		int64_t other_error_us)
{
	return (double)(longer_us - shorter_us) <=
	       SAME_PERIOD_SES * hypot((double)error_us, (double)other_error_us);
}

static bool
is_within(int64_t shorter_us, int64_t longer_us, int64_t error_us,
	  int64_t other_error_us)
{
	return is_within_error(shorter_us, longer_us, error_us, other_error_us) &&
	       (double)(longer_us - shorter_us) <=
		       SAME_PERIOD_MAX_FRAC * (double)longer_us;
}

int64_t
same_period(const struct profile *a, const struct profile *b)
{
	const struct profile *shorter = a->period_us < b->period_us ? a : b;
	const struct profile *longer = shorter == a ? b : a;

	if (shorter->period_us == longer->period_us)
		return longer->period_us;
	if (!a->period_error_us || !b->period_error_us)
		return 0;
	return is_within(shorter->period_us, longer->period_us,
			 shorter->period_error_us, longer->period_error_us)
		       ? longer->period_us
		       : 0;
}

bool
same_period_is_unsure(const struct profile *a, const struct profile *b)
{
	bool is_longer = a->period_us > b->period_us;

	return !same_period(a, b) && a->period_error_us && b->period_error_us &&
	       is_within_error(is_longer ? b->period_us : a->period_us,
			       is_longer ? a->period_us : b->period_us,
			       a->period_error_us, b->period_error_us);
}

/* Ascending; of equal periods an exact one comes first. */
static int
compare(const void *a_, const void *b_)
{
	const struct profile *a = *(struct profile *const *)a_;
	const struct profile *b = *(struct profile *const *)b_;

	if (a->period_us != b->period_us)
		return a->period_us < b->period_us ? -1 : 1;
	return (a->period_error_us > b->period_error_us) -
	       (a->period_error_us < b->period_error_us);
}

/*
 * The end of the group that begins with sorted[first].  The distance from the first, with
 * the least error of the group, makes each the same as all others.  An exact period is a
 * group with those that equal it.
 */
static size_t
group_end(struct profile *const *sorted, size_t n, size_t first)
{
	int64_t shortest_us = sorted[first]->period_us;
	int64_t least_us = sorted[first]->period_error_us;
	size_t end = first + 1;

	while (end < n && sorted[end]->period_us == shortest_us)
		end++;
	if (!least_us)
		return end;
	while (end < n && sorted[end]->period_error_us &&
	       is_within(shortest_us, sorted[end]->period_us, least_us,
			 sorted[end]->period_error_us)) {
		if (sorted[end]->period_error_us < least_us)
			least_us = sorted[end]->period_error_us;
		end++;
	}
	return end;
}

static size_t
count_known(const struct profile *const *profiles, size_t n)
{
	size_t n_known = 0;

	for (size_t i = 0; i < n; i++)
		n_known += profiles[i]->period_error_us > 0;
	return n_known;
}

struct profile *
same_period_join(const struct profile *const *profiles, size_t n)
{
	bool has_changed = false;
	struct profile *joined, **sorted;

	if (count_known(profiles, n) < 2)
		return NULL;
	joined = xcalloc(n, sizeof *joined);
	sorted = xcalloc(n, sizeof *sorted);
	for (size_t i = 0; i < n; i++) {
		joined[i] = *profiles[i];
		sorted[i] = &joined[i];
	}
	sort_items(sorted, n, compare);
	for (size_t first = 0, end; first < n; first = end) {
		int64_t longest_us;

		end = group_end(sorted, n, first);
		longest_us = sorted[end - 1]->period_us;
		for (size_t i = first; i < end; i++) {
			has_changed |= sorted[i]->period_us != longest_us;
			sorted[i]->period_us = longest_us;
		}
	}
	free(sorted);
	if (has_changed)
		return joined;
	free(joined);
	return NULL;
}
