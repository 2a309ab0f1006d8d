/* SPDX-License-Identifier: Apache-2.0 */
/* words.h - lists of words to choose from, such as the names of an enum; plurals. */
#ifndef LIB_BASE_WORDS_H
#define LIB_BASE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"

/* Number of 'word' in the NULL-terminated list 'words', or -1. */
int words_index(const char *word, const char *const *words);

/*
 * Whether 'text' is 1 to 'max' letters, digits, '.', '_' and '-', as in Slurm or
 * Kubernetes.
 */
bool words_is_name(const char *text, size_t max);

/* The ending of a noun after the number 'n': "" or "s". */
const char *words_plural(uint64_t n);

/* The words of a text that lists several. */
struct words {
	char *text;              /* Owned. */
	VEC(const char *) items; /* In 'text'. */
};

/* Splits 'text' (NULL: no words) at any of 'separators'; release with words_fini(). */
void words_split(struct words *words, const char *text, const char *separators);
void words_fini(struct words *words);

#endif
