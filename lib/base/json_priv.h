/* SPDX-License-Identifier: Apache-2.0 */
/* json_priv.h - the document of json.h, for the readers of other notations. */
#ifndef LIB_BASE_JSON_PRIV_H
#define LIB_BASE_JSON_PRIV_H

#include <stddef.h>

struct cJSON;

struct json_place {
	unsigned line, column; /* From 1. */
};

struct json_doc {
	struct cJSON *root; /* Owned. */
	const char *file;   /* Borrowed. */
	const char *text;   /* Borrowed. */
	size_t length;
	/* Owned.  Where each value stands, parents before their children; NULL if 'text'
	 * is JSON, in which places are found by counting values. */
	struct json_place *places;
};

/* The place of the byte at 'offset'.  O(offset). */
struct json_place json_place_at(const char *text, size_t offset);

#endif
