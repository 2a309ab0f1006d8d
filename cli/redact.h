/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redact.h - removal of what may be a secret from a text that strangers will read
 *
 * Removed are: the rest of a line after a word such as "token", "password" or
 * "authorization", unless a path follows; private keys in PEM; the user of a URL; words
 * that look like keys or tokens: 32 or more letters and digits.  Better too much than
 * too little: digests go, too.
 */
#ifndef CLI_REDACT_H
#define CLI_REDACT_H

#include <stddef.h>

struct strbuf;

#define REDACTED "[removed]"

/* Appends the text without its secrets.  Linear. */
void redact(const char *text, size_t length, struct strbuf *out);

#endif
