/* words.h - lists of words a person chooses from, such as the names of an enum. */
#ifndef LIB_BASE_WORDS_H
#define LIB_BASE_WORDS_H

/* Number of 'word' in the NULL-terminated list 'words', or -1. */
int words_index(const char *word, const char *const *words);

#endif
