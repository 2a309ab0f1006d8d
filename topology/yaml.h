/*
 * yaml.h - the little of YAML that topology files are written in.
 *
 * Block mappings and sequences by indentation, flow sequences of scalars on one line
 * ("[a, b]"), plain and quoted scalars on one line, comments, "---".  What else YAML
 * has (anchors, tags, block scalars, flow mappings with something in them, several
 * documents) is refused by name, not guessed at.  All scalars are strings.
 */
#ifndef TOPOLOGY_YAML_H
#define TOPOLOGY_YAML_H

#include <stddef.h>
#include <stdint.h>

struct err;

#define YAML_MAX_DEPTH 32
#define YAML_MAX_NODES 4000000
#define YAML_NONE      UINT32_MAX

enum yaml_kind {
	YAML_SCALAR,
	YAML_MAPPING,
	YAML_SEQUENCE,
};

struct yaml_node {
	enum yaml_kind kind;
	unsigned line;
	char *key;            /* Owned.  In a mapping; else NULL. */
	char *value;          /* Owned.  Of a scalar; "" if there is nothing. */
	uint32_t first, next; /* First child, next sibling; YAML_NONE. */
};

struct yaml;

/* Returns 0 with a new document, or -EINVAL or -E2BIG with 'err' filled. */
int yaml_parse(const char *file, const char *text, size_t length,
	       struct yaml **ret_yaml, struct err *err);
void yaml_free(struct yaml *yaml); /* Accepts NULL. */

/* Node 0 is the root. */
const struct yaml_node *yaml_node(const struct yaml *yaml, uint32_t node);
/* Child of a mapping by key, or YAML_NONE. */
uint32_t yaml_find(const struct yaml *yaml, uint32_t mapping, const char *key);

#endif
