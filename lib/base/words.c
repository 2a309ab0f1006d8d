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
