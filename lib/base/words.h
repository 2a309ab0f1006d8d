/* words.h - lists of words a person chooses from, such as the names of an enum. */
#ifndef LIB_BASE_WORDS_H
#define LIB_BASE_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* Number of 'word' in the NULL-terminated list 'words', or -1. */
int words_index(const char *word, const char *const *words);

/*
 * Whether 'text' has 1 to 'max' letters, digits, '.', '_' and '-': a name of Slurm or
 * Kubernetes, and nothing that could mislead a reader.
 */
bool words_is_name(const char *text, size_t max);

#endif
