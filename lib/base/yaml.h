/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml.h - YAML reader that makes a JSON document.
 *
 * libyaml parses; the getters of json.h read the document and name line and column.
 * Differences from JSON, and limits against hostile input:
 * - The root is an array of the documents of the text, which "---" separates; empty
 *   documents are left out.
 * - All scalars are strings; one without a value is "".
 * - The place of a value in a mapping is that of its key.
 * - Anchors, aliases, tags, keys that are not scalars, duplicate keys, NUL characters,
 * and
 *   documents deeper than YAML_MAX_DEPTH or with more than YAML_MAX_VALUES values are
 *   refused.
 */
#ifndef LIB_BASE_YAML_H
#define LIB_BASE_YAML_H

#include <stddef.h>

struct err;
struct json_doc;

#define YAML_MAX_DEPTH  32
#define YAML_MAX_VALUES 4000000

/*
 * Returns 0 with a new document, to be freed with json_doc_free(), or -EINVAL or -E2BIG
 * with 'err' filled.  'file' must stay until then; 'text' is UTF-8.
 */
int yaml_parse(const char *file, const char *text, size_t length,
	       struct json_doc **ret_doc, struct err *err);

#endif
