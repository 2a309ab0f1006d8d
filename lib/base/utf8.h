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

/*
 * Bytes of the control character at 's', which steers a terminal: below a blank, DEL, or
 * U+0080 to U+009F; 0 if it is none.
 */
size_t utf8_control(const char *s);
/* Puts '?' in place of the bytes of all control characters, but 'kept' (0: of none). */
void utf8_disarm(char *s, char kept);

#endif
