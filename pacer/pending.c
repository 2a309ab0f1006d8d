/* SPDX-License-Identifier: Apache-2.0 */
#include "pacer/pending.h"

int pending_n;

void
pending_add(void)
{
	int have = __atomic_load_n(&pending_n, __ATOMIC_RELAXED);

	while (have < PENDING_MAX &&
	       !__atomic_compare_exchange_n(&pending_n, &have, have + 1, true,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

bool
pending_take(int n)
{
	int have = __atomic_load_n(&pending_n, __ATOMIC_RELAXED);

	do {
		if (have <= 0 || n <= 0)
			return false;
	} while (!__atomic_compare_exchange_n(&pending_n, &have,
					      have > n ? have - n : 0, true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return true;
}
