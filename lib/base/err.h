/* SPDX-License-Identifier: Apache-2.0 */
/*
 * err.h - an error message with the place in a file.
 *
 * Functions that read input from users take a 'struct err *' in addition to their
 * negative errno, so that a tool can print one line such as
 *
 *	jobs.ini:14: unknown key 'shfit_ms' (did you mean 'shift_ms'?)
 *
 * A NULL 'err' is accepted everywhere.
 */
#ifndef LIB_BASE_ERR_H
#define LIB_BASE_ERR_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

struct err {
	char file[256];  /* As the user named it; empty if not about a file. */
	unsigned line;   /* From 1; 0 if unknown. */
	unsigned column; /* From 1; 0 if unknown. */
	char text[512];  /* What was wrong and what was expected; no newline. */
};

/*
 * Fills 'err' and returns -EINVAL, for "return err_set(...)".  'file' may be NULL.
 * Unprintable bytes of the message become '?', since it may quote hostile input.
 */
int err_set(struct err *err, const char *file, unsigned line, unsigned column,
	    const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/*
 * As err_set() for a failed system call on 'file'; an empty name is shown as two
 * quotes. 'error' is an errno of either sign.  Returns the negative one.
 */
int err_set_errno(struct err *err, const char *file, int error, const char *what);

/* Appends to the message, for example " (did you mean 'x'?)". */
void err_append(struct err *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* "FILE:LINE:COLUMN: TEXT", without unknown parts; free with free(). */
char *err_line(const struct err *err);

/* Prints the same and a newline. */
void err_write(const struct err *err, FILE *out);

/* As err_write(), after "PROGRAM: ". */
void err_print(const struct err *err, FILE *out);

/*
 * Returns the word of the NULL-terminated list 'words' that 'word' was probably meant
 * to be, or NULL: the one with the smallest edit distance, at most a third of its
 * length.  Swapping two neighbors is one edit.
 */
const char *err_did_you_mean(const char *word, const char *const *words);

/* Appends " (did you mean 'x'?)" if err_did_you_mean() finds an x. */
void err_suggest(struct err *err, const char *word, const char *const *words);

#endif
