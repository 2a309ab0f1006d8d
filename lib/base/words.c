#include "lib/base/words.h"

#include <string.h>

int
words_index(const char *word, const char *const *words)
{
	for (int i = 0; words[i]; i++)
		if (!strcmp(word, words[i]))
			return i;
	return -1;
}

bool
words_is_name(const char *text, size_t max)
{
	size_t n = strlen(text);

	return n > 0 && n <= max &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "0123456789._-") == n;
}
