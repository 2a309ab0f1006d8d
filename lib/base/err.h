/*
 * err.h - an error that a user can act on: where, what, what was expected.
 *
 * Functions that read what a person wrote take a 'struct err *' beside their
 * negative errno, so that the tool can print one line such as
 *
 *	jobs.ini:14: unknown key 'shfit_ms' (did you mean 'shift_ms'?)
 *
 * A NULL 'err' is accepted everywhere and means that nobody will read it.
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
 * Fills 'err' and returns -EINVAL, so that a reader can end with
 * "return err_set(...)".  'file' may be NULL.  Bytes of the message that are
 * not printable are replaced by '?', since they may come from hostile input.
 */
int err_set(struct err *err, const char *file, unsigned line, unsigned column,
	    const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/*
 * As err_set() for a failed system call on 'file', of which an empty name is shown as
 * two quotes; 'error' is an errno, either sign.  Returns it negated.
 */
int err_set_errno(struct err *err, const char *file, int error, const char *what);

/* Appends to the message, for example " (did you mean 'x'?)". */
void err_append(struct err *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Prints "FILE:LINE:COLUMN: TEXT" and a newline, leaving out what is unknown. */
void err_write(const struct err *err, FILE *out);

/* Prints "PROGRAM: FILE:LINE:COLUMN: TEXT" and a newline, leaving out what is unknown. */
void err_print(const struct err *err, FILE *out);

/*
 * Returns the word of the NULL-terminated list 'words' that 'word' was
 * probably meant to be (smallest edit distance, at most a third of its
 * length; two neighbours swapped are one edit), or NULL.
 */
const char *err_did_you_mean(const char *word, const char *const *words);

/* Appends " (did you mean 'x'?)" if err_did_you_mean() knows an x. */
void err_suggest(struct err *err, const char *word, const char *const *words);

#endif
