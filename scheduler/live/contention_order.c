/*
 * contention_order.c - links by how much they matter.
 */
#include <stdlib.h>
#include <string.h>

#include "scheduler/live/contention.h"

const char *const contention_sort_names[] = { "contention", "peak", "util", NULL };

double
contention_over_frac(const struct contention_link *link)
{
	if (!link->known_ms || !(link->capacity_bps > 0))
		return -1;
	return (double)link->over_ms / link->known_ms;
}

double
contention_peak_frac(const struct contention_link *link)
{
	return link->capacity_bps > 0 && link->peak_bps >= 0
		       ? link->peak_bps / link->capacity_bps
		       : -1;
}

double
contention_now_frac(const struct contention_link *link)
{
	return link->capacity_bps > 0 && link->now_bps >= 0
		       ? link->now_bps / link->capacity_bps
		       : -1;
}

static double
worst_overlap(const struct contention_link *link)
{
	return link->n_pairs && link->known_ms
		       ? (double)link->pairs[0].overlap_ms / link->known_ms
		       : 0;
}

static int
falling(double x, double y)
{
	return (x < y) - (x > y);
}

static int
by_name(const struct contention_link *x, const struct contention_link *y)
{
	int order = strverscmp(x->name, y->name);

	return order ? order : strcmp(x->name, y->name);
}

static int
by_peak(const void *a, const void *b)
{
	const struct contention_link *x = a, *y = b;
	int order = falling(contention_peak_frac(x), contention_peak_frac(y));

	return order ? order : by_name(x, y);
}

static int
by_util(const void *a, const void *b)
{
	const struct contention_link *x = a, *y = b;
	int order = falling(contention_now_frac(x), contention_now_frac(y));

	return order ? order : by_name(x, y);
}

static int
by_contention(const void *a, const void *b)
{
	const struct contention_link *x = a, *y = b;
	int order = falling(contention_over_frac(x), contention_over_frac(y));

	if (!order)
		order = falling(worst_overlap(x), worst_overlap(y));
	return order ? order : by_peak(a, b);
}

void
contention_sort(struct contention *contention, enum contention_sort sort)
{
	int (*const orders[])(const void *, const void *) = {
		[CONTENTION_BY_CONTENTION] = by_contention,
		[CONTENTION_BY_PEAK] = by_peak,
		[CONTENTION_BY_UTIL] = by_util,
	};

	if (contention->n_links)
		qsort(contention->links, contention->n_links, sizeof *contention->links,
		      orders[sort]);
}

const struct contention_job *
contention_find_job(const struct contention_link *link, uint32_t job)
{
	for (size_t i = 0; i < link->n_jobs; i++)
		if (link->jobs[i].job == job)
			return &link->jobs[i];
	return NULL;
}
