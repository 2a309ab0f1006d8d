#include "lib/daemon/ctl_words.h"

#include <stdbool.h>
#include <string.h>

#include "lib/base/err.h"

void
ctl_words_join(struct strbuf *out, const char *const *words)
{
	for (size_t i = 0; words[i]; i++) {
		if (i)
			strbuf_putc(out, ' ');
		for (const char *c = words[i]; *c; c++) {
			unsigned char byte = (unsigned char)*c;

			if (byte <= ' ' || byte == '%' || byte == 0x7f)
				strbuf_printf(out, "%%%02x", byte);
			else
				strbuf_putc(out, *c);
		}
		/* A word of nothing is still a word. */
		if (!*words[i])
			strbuf_puts(out, "%");
	}
	strbuf_putc(out, '\n');
}

static int
hex(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* In place. A lone "%" is the word of nothing. */
static bool
decode(char *word)
{
	char *to = word;

	if (strcmp(word, "%") == 0) {
		*word = '\0';
		return true;
	}
	for (const char *from = word; *from; from++) {
		int high, low;

		if (*from != '%') {
			*to++ = *from;
			continue;
		}
		high = hex(from[1]);
		low = high < 0 ? -1 : hex(from[2]);
		if (low < 0 || high * 16 + low == 0)
			return false;
		*to++ = (char)(high * 16 + low);
		from += 2;
	}
	*to = '\0';
	return true;
}

int
ctl_words_split(char *line, char **words, size_t max, size_t *ret_n, struct err *err)
{
	size_t n = 0;
	char *rest = NULL;

	for (char *word = strtok_r(line, " ", &rest); word;
	     word = strtok_r(NULL, " ", &rest)) {
		if (n == max)
			return err_set(err, NULL, 0, 0, "more than %zu words", max);
		if (!decode(word))
			return err_set(err, NULL, 0, 0, "word %zu is not encoded well",
				       n + 1);
		words[n++] = word;
	}
	if (!n)
		return err_set(err, NULL, 0, 0, "an empty request");
	*ret_n = n;
	return 0;
}
