/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8.h - checks of UTF-8 characters.
 *
 * Names come from files in any encoding, while JSON and SVG require UTF-8.
 */
#ifndef LIB_BASE_UTF8_H
#define LIB_BASE_UTF8_H

#include <stddef.h>

/*
 * Bytes of the well-formed character (RFC 3629) at the NUL-terminated string 's'; 0 for
 * a stray or missing byte, an overlong form, a surrogate, or more than U+10FFFF.  The
 * NUL is a character of one byte.
 */
size_t utf8_length(const char *s);

/*
 * Bytes of the control character at 's' (below a blank, DEL, U+0080 to U+009F), or 0.
 */
size_t utf8_control(const char *s);
/* Replaces the bytes of all control characters except 'kept' (0: none) by '?'. */
void utf8_disarm(char *s, char kept);

#endif
