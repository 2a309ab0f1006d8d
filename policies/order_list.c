/* SPDX-License-Identifier: Apache-2.0 */
/* order_list.c - a list of jobs, and a stable merge sort. */
#include "policies/order_list.h"

#include <string.h>

void
order_list_fini(struct order_list *list)
{
	vec_free(&list->ids);
	vec_free(&list->keys);
	vec_free(&list->scratch);
}

void
order_list_event(struct order_list *list, enum pol_event event, uint32_t id)
{
	if (event == POL_ARRIVED) {
		vec_push(&list->ids, id);
		return;
	}
	if (event != POL_DONE)
		return;
	for (size_t i = 0; i < list->ids.n; i++) {
		if (list->ids.items[i] != id)
			continue;
		memmove(list->ids.items + i, list->ids.items + i + 1,
			(list->ids.n - i - 1) * sizeof *list->ids.items);
		list->ids.n--;
		return;
	}
}

void
order_list_on_event(void *state, const struct pol_view *view, enum pol_event event,
		    const struct pol_job *job)
{
	(void)view;
	order_list_event(state, event, job->id);
}

double *
order_list_keys(struct order_list *list, const struct pol_view *view)
{
	if (list->keys.n < view->n_ids) {
		vec_reserve(&list->keys, view->n_ids - list->keys.n);
		list->keys.n = view->n_ids;
	}
	return list->keys.items;
}

void
order_list_sort_ids(struct order_list *list, uint32_t *ids, uint32_t n)
{
	vec_reserve(&list->scratch, n);
	order_sort(ids, n, list->keys.items, list->scratch.items);
}

void
order_list_sort(struct order_list *list)
{
	order_list_sort_ids(list, list->ids.items, (uint32_t)list->ids.n);
}

uint32_t
order_list_copy(const struct order_list *list, uint32_t *ret_ids)
{
	if (list->ids.n)
		memcpy(ret_ids, list->ids.items, list->ids.n * sizeof *ret_ids);
	return (uint32_t)list->ids.n;
}

/* The end of the run that begins at 'from'. */
static uint32_t
run_end(const uint32_t *ids, uint32_t n, const double *keys, uint32_t from)
{
	uint32_t to = from + 1;

	while (to < n && !(keys[ids[to]] < keys[ids[to - 1]]))
		to++;
	return to;
}

static void
merge(const uint32_t *a, uint32_t n_a, const uint32_t *b, uint32_t n_b,
      const double *keys, uint32_t *out)
{
	while (n_a && n_b) {
		if (keys[*b] < keys[*a]) {
			*out++ = *b++;
			n_b--;
		} else {
			*out++ = *a++;
			n_a--;
		}
	}
	memcpy(out, n_a ? a : b, (n_a ? n_a : n_b) * sizeof *out);
}

/* Natural merge sort: neighboring runs are merged until there is one. */
void
order_sort(uint32_t *ids, uint32_t n, const double *keys, uint32_t *scratch)
{
	uint32_t *from = ids, *to = scratch;

	while (n && run_end(from, n, keys, 0) < n) {
		uint32_t at = 0, *swap;

		while (at < n) {
			uint32_t middle = run_end(from, n, keys, at);
			uint32_t end = middle < n ? run_end(from, n, keys, middle) : n;

			merge(from + at, middle - at, from + middle, end - middle, keys,
			      to + at);
			at = end;
		}
		swap = from;
		from = to;
		to = swap;
	}
	if (from != ids)
		memcpy(ids, from, n * sizeof *ids);
}
