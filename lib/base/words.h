/* words.h - lists of words to choose from, such as the names of an enum. */
#ifndef LIB_BASE_WORDS_H
#define LIB_BASE_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* Number of 'word' in the NULL-terminated list 'words', or -1. */
int words_index(const char *word, const char *const *words);

/*
 * Whether 'text' is 1 to 'max' letters, digits, '.', '_' and '-', as in Slurm or
 * Kubernetes.
 */
bool words_is_name(const char *text, size_t max);

#endif
