/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/words.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"

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

const char *
words_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

void
words_split(struct words *words, const char *text, const char *separators)
{
	char *rest = NULL;

	*words = (struct words){ .text = xstrdup(text ? text : "") };
	for (char *word = strtok_r(words->text, separators, &rest); word;
	     word = strtok_r(NULL, separators, &rest))
		vec_push(&words->items, word);
}

void
words_fini(struct words *words)
{
	vec_free(&words->items);
	free(words->text);
}
