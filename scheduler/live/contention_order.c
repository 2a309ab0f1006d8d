/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contention_order.c - the order of links by severity of contention.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/sorter.h"
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

/* ---- Sorting -------------------------------------------------------------------- */

#define N_KEYS 3
/* Work of one step: comparisons, or moved links. */
#define MOVES_A_STEP 8192
#define LINKS_A_STEP 2048

/* The keys, larger first; then the name. */
struct keys {
	double of[N_KEYS];
};

struct contention_sorter {
	struct contention *contention; /* Borrowed. */
	struct keys *keys;             /* Owned. */
	struct sorter *sorter;         /* Owned. */
	struct contention_link *links; /* Owned.  In the new order. */
	size_t n_moved;
	bool is_over;
};

static struct keys
keys_of(const struct contention_link *link, enum contention_sort sort)
{
	struct keys keys = { .of = { 0 } };

	switch (sort) {
	case CONTENTION_BY_CONTENTION:
		keys.of[0] = contention_over_frac(link);
		keys.of[1] = worst_overlap(link);
		keys.of[2] = contention_peak_frac(link);
		break;
	case CONTENTION_BY_PEAK:
		keys.of[0] = contention_peak_frac(link);
		break;
	case CONTENTION_BY_UTIL:
		keys.of[0] = contention_now_frac(link);
		break;
	}
	return keys;
}

static int
compare(uint32_t a, uint32_t b, void *ctx)
{
	const struct contention_sorter *s = ctx;
	const struct keys *x = &s->keys[a], *y = &s->keys[b];

	for (int i = 0; i < N_KEYS; i++)
		if (falling(x->of[i], y->of[i]))
			return falling(x->of[i], y->of[i]);
	return by_name(&s->contention->links[a], &s->contention->links[b]);
}

struct contention_sorter *
contention_sort_begin(struct contention *contention, enum contention_sort sort)
{
	struct contention_sorter *s = xcalloc(1, sizeof *s);
	size_t n = contention->n_links;

	s->contention = contention;
	s->keys = xcalloc(n + 1, sizeof *s->keys);
	for (size_t i = 0; i < n; i++)
		s->keys[i] = keys_of(&contention->links[i], sort);
	s->sorter = sorter_new(n, compare, s);
	return s;
}

bool
contention_sort_step(struct contention_sorter *s)
{
	struct contention *contention = s->contention;
	const uint32_t *order;
	size_t n;

	if (s->is_over || !sorter_step(s->sorter, MOVES_A_STEP))
		return s->is_over;
	order = sorter_items(s->sorter, &n);
	if (!s->links)
		s->links = xcalloc(n + 1, sizeof *s->links);
	for (size_t i = 0; i < LINKS_A_STEP && s->n_moved < n; i++, s->n_moved++)
		s->links[s->n_moved] = contention->links[order[s->n_moved]];
	if (s->n_moved < n)
		return false;
	free(contention->links);
	contention->links = s->links;
	s->links = NULL;
	s->is_over = true;
	return true;
}

void
contention_sort_end(struct contention_sorter *s)
{
	if (!s)
		return;
	sorter_free(s->sorter);
	free(s->keys);
	free(s->links);
	free(s);
}

void
contention_sort(struct contention *contention, enum contention_sort sort)
{
	struct contention_sorter *s = contention_sort_begin(contention, sort);

	while (!contention_sort_step(s))
		continue;
	contention_sort_end(s);
}

const struct contention_job *
contention_find_job(const struct contention_link *link, uint32_t job)
{
	for (size_t i = 0; i < link->n_jobs; i++)
		if (link->jobs[i].job == job)
			return &link->jobs[i];
	return NULL;
}

/* ---- By job ---------------------------------------------------------------------- */

/* A counting sort. */
void
contention_by_job_init(struct contention_by_job *by_job, const struct contention *found,
		       uint32_t n_jobs)
{
	size_t *first = xcalloc((size_t)n_jobs + 2, sizeof *first), n = 0;

	for (size_t i = 0; i < found->n_links; n += found->links[i++].n_jobs)
		for (size_t k = 0; k < found->links[i].n_jobs; k++)
			first[found->links[i].jobs[k].job + 2]++;
	for (uint32_t j = 1; j < n_jobs + 2; j++)
		first[j] += first[j - 1];
	by_job->items = xcalloc(n + 1, sizeof *by_job->items);
	for (uint32_t i = 0; i < found->n_links; i++)
		for (uint32_t k = 0; k < found->links[i].n_jobs; k++)
			by_job->items[first[found->links[i].jobs[k].job + 1]++] =
				(struct contention_place){ i, k };
	by_job->first = first;
}

void
contention_by_job_fini(struct contention_by_job *by_job)
{
	free(by_job->first);
	free(by_job->items);
	*by_job = (struct contention_by_job){ 0 };
}
