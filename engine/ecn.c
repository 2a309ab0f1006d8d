/* SPDX-License-Identifier: Apache-2.0 */
/* ecn.c - the fits of ecn.h. */
#include "engine/ecn.h"

double
ecn_marked_frac(uint32_t n)
{
	double frac = 0.03 + 0.031 * n;

	if (n < 2)
		return 0;
	return frac < 1 ? frac : 1;
}

double
ecn_queue_bytes(uint32_t n)
{
	double bytes = 45e3 * n;

	if (n < 2)
		return 0;
	return bytes > 300e3 ? bytes : 300e3;
}
