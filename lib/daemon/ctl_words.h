/*
 * ctl_words.h - a line of words, percent-encoded: what ctl.h's two ends say.
 */
#ifndef LIB_DAEMON_CTL_WORDS_H
#define LIB_DAEMON_CTL_WORDS_H

#include <stddef.h>

#include "lib/base/strbuf.h"

struct err;

/* Appends the words (the list ends with NULL) and a newline. */
void ctl_words_join(struct strbuf *out, const char *const *words);

/*
 * Splits and decodes 'line' in place; the words are borrowed from it.  Returns 0, or
 * -EINVAL for none, more than 'max', or broken encoding.
 */
int ctl_words_split(char *line, char **words, size_t max, size_t *ret_n,
		    struct err *err);

#endif
