/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/utf8.h"

#include <string.h>

size_t
utf8_length(const char *s)
{
	const unsigned char *u = (const unsigned char *)s;
	size_t n;

	if (u[0] < 0x80)
		return 1;
	if (u[0] < 0xc2 || u[0] > 0xf4)
		return 0;
	n = u[0] < 0xe0 ? 2 : u[0] < 0xf0 ? 3 : 4;
	for (size_t i = 1; i < n; i++) {
		if ((u[i] & 0xc0) != 0x80)
			return 0;
	}
	/* Overlong forms, surrogates and what lies beyond U+10FFFF. */
	if ((u[0] == 0xe0 && u[1] < 0xa0) || (u[0] == 0xed && u[1] > 0x9f) ||
	    (u[0] == 0xf0 && u[1] < 0x90) || (u[0] == 0xf4 && u[1] > 0x8f))
		return 0;
	return n;
}

size_t
utf8_control(const char *s)
{
	const unsigned char *u = (const unsigned char *)s;

	if (u[0] == 0xc2)
		return u[1] >= 0x80 && u[1] <= 0x9f ? 2 : 0;
	return u[0] < 0x20 || u[0] == 0x7f;
}

void
utf8_disarm(char *s, char kept)
{
	for (; *s; s++) {
		size_t n = *s == kept ? 0 : utf8_control(s);

		memset(s, '?', n);
	}
}
