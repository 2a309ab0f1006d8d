/* SPDX-License-Identifier: Apache-2.0 */
/*
 * k8s_names.c - keys and values of labels, names of objects, as Kubernetes has them.
 */
#include <inttypes.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "topology/k8s.h"
#include "topology/topo.h"

#define MAX_OBJECT_NAME 253
#define MAX_LABEL       63
/* Of a label's key: a DNS name, a slash, a name. */
#define MAX_KEY (253 + 1 + 63)

#define LOWER     "abcdefghijklmnopqrstuvwxyz"
#define UPPER     "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS    "0123456789"
#define KEY_CHARS LOWER UPPER DIGITS "._-/"

static bool
is_among(char c, const char *chars)
{
	return c && strchr(chars, c);
}

bool
k8s_name_is_valid(const char *name)
{
	size_t n = strlen(name);

	if (n < 1 || n > MAX_OBJECT_NAME || name[strspn(name, LOWER DIGITS "-.")])
		return false;
	/* Each part between dots begins and ends with a letter or a digit. */
	for (size_t i = 0; i < n; i++) {
		bool is_edge = i == 0 || i == n - 1 || name[i - 1] == '.' ||
			       name[i + 1] == '.';

		if (is_edge && !is_among(name[i], LOWER DIGITS) &&
		    !(name[i] == '.' && i > 0 && i < n - 1))
			return false;
		if (name[i] == '.' && name[i + 1] == '.')
			return false;
	}
	return true;
}

bool
k8s_label_is_valid(const char *value)
{
	size_t n = strlen(value);

	return n >= 1 && n <= MAX_LABEL &&
	       !value[strspn(value, LOWER UPPER DIGITS "._-")] &&
	       is_among(value[0], LOWER UPPER DIGITS) &&
	       is_among(value[n - 1], LOWER UPPER DIGITS);
}

void
k8s_label_hash(const char *value, struct strbuf *out)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (const char *c = value; *c; c++) {
		hash ^= (unsigned char)*c;
		hash *= UINT64_C(0x100000001b3);
	}
	strbuf_printf(out, "x%016" PRIx64, hash);
}

int
k8s_label_keys_check(const char *keys, struct err *err)
{
	unsigned n = 0;

	for (const char *key = keys;; n++) {
		size_t length = strcspn(key, ",");
		size_t plain = strspn(key, KEY_CHARS);
		bool is_last = !key[length];
		bool is_star = plain == length - 1 && key[plain] == '*' && is_last;

		if (length < 1 || length > MAX_KEY || (plain != length && !is_star))
			return err_set(err, NULL, 0, 0,
				       "'%.*s' is not a label key, such as "
				       "fabric.topograph.run/tier-0, or tier-* as the "
				       "last",
				       length < 80 ? (int)length : 80, key);
		if (is_last)
			break;
		key += length + 1;
	}
	if (n >= TOPO_MAX_TIER)
		return err_set(
			err, NULL, 0, 0,
			"%u keys of labels are more than the %d tiers of a fabric",
			n + 1, TOPO_MAX_TIER);
	return 0;
}

bool
k8s_label_key(const char *keys, unsigned n, struct strbuf *out)
{
	const char *key = keys;
	size_t length;

	if (n >= TOPO_MAX_TIER)
		return false;
	for (;; n--) {
		length = strcspn(key, ",");
		if (!n || !key[length])
			break;
		key += length + 1;
	}
	if (length && key[length - 1] == '*')
		strbuf_printf(out, "%.*s%u", (int)length - 1, key, n);
	else if (!n)
		strbuf_add(out, key, length);
	else
		return false;
	return true;
}
