/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/redact.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "lib/base/strbuf.h"

#define MIN_PLAIN \
	32 /* Letters and digits of a token; a key of the bus has 40 others. */

static const char *const secret_names[] = {
	"token",   "secret",  "passw",  "passphrase", "private",    "apikey",
	"api_key", "api-key", "bearer", "cookie",     "credential", "authorization",
};

static bool
is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

static bool
is_end_of_word(char c)
{
	return isspace((unsigned char)c) || c == '"' || c == '\'' || c == ',' ||
	       c == '\0';
}

/* Whether the name of 'n' characters is that of a secret. */
static bool
names_secret(const char *name, size_t n)
{
	for (size_t i = 0; i < sizeof secret_names / sizeof *secret_names; i++) {
		size_t length = strlen(secret_names[i]);

		for (size_t k = 0; k + length <= n; k++)
			if (strncasecmp(name + k, secret_names[i], length) == 0)
				return true;
	}
	return false;
}

/* The length of a path with folders, and perhaps a colon after it; 0: none. */
static size_t
path_length(const char *word, size_t n)
{
	size_t length = 0, n_slashes = 0;

	if (!n || *word != '/')
		return 0;
	for (; length < n && (is_name(word[length]) || word[length] == '/'); length++)
		n_slashes += word[length] == '/';
	return n_slashes > 1 && (length == n || is_end_of_word(word[length]) ||
				 word[length] == ':')
		       ? length
		       : 0;
}

/* Many characters with digits and letters, without the marks of ordinary text. */
static bool
is_key(const char *word, size_t n)
{
	size_t n_plain = 0, n_longest = 0;
	bool has_digit = false, has_lower = false, has_upper = false;

	if (n < MIN_PLAIN)
		return false;
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)word[i];

		has_digit |= isdigit(c) != 0;
		has_lower |= islower(c) != 0;
		has_upper |= isupper(c) != 0;
		n_plain = isalnum(c) || strchr("_-+=", c) ? n_plain + 1 : 0;
		n_longest = n_plain > n_longest ? n_plain : n_longest;
	}
	return has_digit &&
	       (n_longest >= MIN_PLAIN || (n >= 40 && has_lower && has_upper));
}

/* "user:password" of a URL, from after its "://"; its length, or 0. */
static size_t
user_length(const char *at, size_t n)
{
	size_t last = 0;

	for (size_t i = 0; i < n && !is_end_of_word(at[i]) && at[i] != '/'; i++)
		if (at[i] == '@')
			last = i;
	return last;
}

/* A word; returns the number of characters that it is about. */
static size_t
redact_word(const char *at, size_t n, struct strbuf *out)
{
	size_t length = 0, value;

	while (length < n && !is_end_of_word(at[length]))
		length++;
	value = path_length(at, length);
	if (value) {
		strbuf_printf(out, "%.*s", (int)value, at);
		return value;
	}
	if (is_key(at, length)) {
		strbuf_puts(out, REDACTED);
		return length;
	}
	for (size_t i = 0; i < length; i++) {
		size_t name = 0, user;

		if (length - i > 3 && strncmp(at + i, "://", 3) == 0) {
			user = user_length(at + i + 3, length - i - 3);
			if (user) {
				strbuf_printf(out, "://%s", REDACTED);
				i += 2 + user;
				continue;
			}
		}
		if (!is_name(at[i]) || (i && is_name(at[i - 1]))) {
			strbuf_putc(out, at[i]);
			continue;
		}
		while (i + name < length && is_name(at[i + name]))
			name++;
		strbuf_printf(out, "%.*s", (int)name, at + i);
		i += name - 1;
		if (!names_secret(at + i + 1 - name, name))
			continue;
		value = i + 1;
		while (value < n && at[value] && strchr(" \t\"'=:", at[value]))
			strbuf_putc(out, at[value++]);
		if (value < n && !path_length(at + value, n - value)) {
			strbuf_puts(out, REDACTED);
			return n;
		}
		return value;
	}
	return length;
}

static void
redact_line(const char *line, size_t n, struct strbuf *out)
{
	while (n) {
		size_t taken = 1;

		if (is_end_of_word(*line))
			strbuf_putc(out, *line ? *line : '?');
		else
			taken = redact_word(line, n, out);
		line += taken;
		n -= taken;
	}
}

static bool
has(const char *line, size_t n, const char *word)
{
	return memmem(line, n, word, strlen(word)) != NULL;
}

void
redact(const char *text, size_t length, struct strbuf *out)
{
	bool is_pem = false;

	while (length) {
		const char *newline = memchr(text, '\n', length);
		size_t n = newline ? (size_t)(newline - text) : length;

		if (has(text, n, "-----BEGIN") && has(text, n, "PRIVATE KEY")) {
			is_pem = true;
			strbuf_puts(out, REDACTED "\n");
		}
		if (!is_pem) {
			redact_line(text, n, out);
			if (newline)
				strbuf_putc(out, '\n');
		}
		if (has(text, n, "-----END"))
			is_pem = false;
		n += newline != NULL;
		text += n;
		length -= n;
	}
}
