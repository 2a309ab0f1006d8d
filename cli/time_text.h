/* SPDX-License-Identifier: Apache-2.0 */
/*
 * time_text.h - times for people: RFC 3339, to the second, in UTC.
 */
#ifndef CLI_TIME_TEXT_H
#define CLI_TIME_TEXT_H

#include <stdint.h>

#define TIME_TEXT_SIZE 40

/* "2026-11-22T07:20:08Z"; "-" if there is no time. */
void time_text(int64_t at_us, char text[TIME_TEXT_SIZE]);

#endif
