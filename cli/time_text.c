/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/time_text.h"

#include <stdio.h>
#include <time.h>

void
time_text(int64_t at_us, char text[TIME_TEXT_SIZE])
{
	time_t at = (time_t)(at_us / 1000000);
	struct tm tm;

	if (!gmtime_r(&at, &tm) ||
	    !strftime(text, TIME_TEXT_SIZE, "%Y-%m-%dT%H:%M:%SZ", &tm))
		snprintf(text, TIME_TEXT_SIZE, "-");
}
