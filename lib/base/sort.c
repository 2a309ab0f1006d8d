/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/sort.h"

#include <stdint.h>
#include <string.h>

#define ORDER(type, a, b)                            \
	((*(const type *)(a) > *(const type *)(b)) - \
	 (*(const type *)(a) < *(const type *)(b)))

int
sort_by_u32(const void *a, const void *b)
{
	return ORDER(uint32_t, a, b);
}

int
sort_by_u64(const void *a, const void *b)
{
	return ORDER(uint64_t, a, b);
}

int
sort_by_double(const void *a, const void *b)
{
	return ORDER(double, a, b);
}

int
sort_by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}
