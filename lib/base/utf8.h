/*
 * utf8.h - is this UTF-8?  Names come from files in any encoding; JSON and SVG
 * are UTF-8 or broken.
 */
#ifndef LIB_BASE_UTF8_H
#define LIB_BASE_UTF8_H

#include <stddef.h>

/*
 * Bytes of the well-formed character (RFC 3629) at the terminated string 's', or 0
 * if there is none: a stray or missing byte, an overlong form, a surrogate, or
 * more than U+10FFFF.  The terminator is a character of one byte.
 */
size_t utf8_length(const char *s);

#endif
