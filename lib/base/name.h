/*
 * name.h - names that files and users give to jobs and models: what may be one.
 *
 * Pure.  A name stands in lines of text and in tables, so that it has no control
 * characters; its encoding is for who prints it (table.h, jsonw.h).
 */
#ifndef LIB_BASE_NAME_H
#define LIB_BASE_NAME_H

#define NAME_MAX_BYTES 255

/*
 * NULL if 'text' may be a name, of 1 to NAME_MAX_BYTES bytes without control characters
 * (utf8_control()); else what is expected of one, to be put behind "expected": static.
 */
const char *name_fault(const char *text);

#endif
