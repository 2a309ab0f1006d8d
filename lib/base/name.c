/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/name.h"

#include <stddef.h>

#include "lib/base/utf8.h"

#define TEXT_OF_(number) #number
#define TEXT_OF(number)  TEXT_OF_(number)

const char *
name_fault(const char *text)
{
	size_t n = 0;

	for (; text[n] && n <= NAME_MAX_BYTES; n++)
		if (utf8_control(text + n))
			return "a name without control characters";
	return n >= 1 && n <= NAME_MAX_BYTES
		       ? NULL
		       : "a name of 1 to " TEXT_OF(NAME_MAX_BYTES) " bytes";
}
