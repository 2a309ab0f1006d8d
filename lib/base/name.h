/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name.h - check of names that files and users give to jobs and models.
 *
 * Names appear in text lines and tables, so they have no control characters.  Printers
 * (table.h, jsonw.h) handle their encoding.  Pure.
 */
#ifndef LIB_BASE_NAME_H
#define LIB_BASE_NAME_H

#define NAME_MAX_BYTES 255

/*
 * NULL if 'text' is a name: 1 to NAME_MAX_BYTES bytes without control characters
 * (utf8_control()).  Otherwise a static text to follow the word "expected".
 */
const char *name_fault(const char *text);

#endif
