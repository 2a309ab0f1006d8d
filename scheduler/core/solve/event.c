/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/solve/event.h"

#include <stdbool.h>
#include <string.h>

/* Up to this number insertion is faster than counting digits. */
#define INSERTION_MAX   24
#define MAX_DIGIT_BITS  11
#define MAX_BUCKET_BITS 12

void
event_list_fini(struct event_list *list)
{
	free(list->items);
	free(list->spare);
	memset(list, 0, sizeof *list);
}

void
event_list_reserve(struct event_list *list, size_t more)
{
	size_t want = list->capacity * 2 + 32;

	if (list->n + more <= list->capacity)
		return;
	if (want < list->n + more)
		want = list->n + more;
	list->items = xreallocarray(list->items, want, sizeof *list->items);
	list->capacity = want;
}

static void
sort_by_insertion(struct event *items, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct event x = items[i];
		size_t k = i;

		for (; k > 0 && items[k - 1].at_us > x.at_us; k--)
			items[k] = items[k - 1];
		items[k] = x;
	}
}

/* One pass of a least-significant-digit radix sort. */
static void
sort_by_digit(const struct event *from, struct event *to, size_t n, unsigned shift,
	      unsigned bits)
{
	uint32_t first[1u << MAX_DIGIT_BITS];
	uint64_t mask = (UINT64_C(1) << bits) - 1;
	uint32_t sum = 0;

	memset(first, 0, sizeof first[0] << bits);
	for (size_t i = 0; i < n; i++)
		first[(uint64_t)from[i].at_us >> shift & mask]++;
	for (size_t d = 0; d <= mask; d++) {
		uint32_t count = first[d];

		first[d] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[first[(uint64_t)from[i].at_us >> shift & mask]++] = from[i];
}

/* Makes the sorted copy in 'spare' the list. */
static void
exchange(struct event_list *list)
{
	struct event *sorted = list->spare;
	size_t capacity = list->spare_capacity;

	list->spare = list->items;
	list->spare_capacity = list->capacity;
	list->items = sorted;
	list->capacity = capacity;
}

/*
 * Distributes the events over about as many buckets as there are events, then repairs
 * the order.  Returns false without changes if they cluster, since that would take
 * quadratic time.
 */
static bool
sort_by_bucket(struct event_list *list, unsigned bits)
{
	uint16_t first[1u << MAX_BUCKET_BITS];
	unsigned bucket_bits = 6, shift;
	uint16_t sum = 0;
	size_t n_buckets;

	while (bucket_bits < MAX_BUCKET_BITS && list->n > UINT64_C(1) << bucket_bits)
		bucket_bits++;
	if (list->n > UINT16_MAX)
		return false;
	shift = bits > bucket_bits ? bits - bucket_bits : 0;
	n_buckets = (size_t)1 << bucket_bits;
	memset(first, 0, n_buckets * sizeof first[0]);
	for (size_t i = 0; i < list->n; i++)
		first[list->items[i].at_us >> shift]++;
	for (size_t b = 0; b < n_buckets; b++) {
		uint16_t count = first[b];

		if (count > INSERTION_MAX)
			return false;
		first[b] = sum;
		sum = (uint16_t)(sum + count);
	}
	for (size_t i = 0; i < list->n; i++)
		list->spare[first[list->items[i].at_us >> shift]++] = list->items[i];
	exchange(list);
	sort_by_insertion(list->items, list->n);
	return true;
}

void
event_list_sort(struct event_list *list, int64_t bound_us)
{
	unsigned bits = 1, digit_bits, n_passes;

	if (list->n <= INSERTION_MAX) {
		sort_by_insertion(list->items, list->n);
		return;
	}
	BUG_ON(list->n > UINT32_MAX);
	if (list->spare_capacity < list->capacity) {
		list->spare =
			xreallocarray(list->spare, list->capacity, sizeof *list->spare);
		list->spare_capacity = list->capacity;
	}
	while (bits < 63 && bound_us > INT64_C(1) << bits)
		bits++;
	if (sort_by_bucket(list, bits))
		return;
	n_passes = (bits + MAX_DIGIT_BITS - 1) / MAX_DIGIT_BITS;
	digit_bits = (bits + n_passes - 1) / n_passes;
	for (unsigned shift = 0; shift < bits; shift += digit_bits) {
		sort_by_digit(list->items, list->spare, list->n, shift, digit_bits);
		exchange(list);
	}
}
