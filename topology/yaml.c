/*
 * yaml.c - a reader of the little of YAML that topology files are written in.
 *
 * Lines first, with their indentation; "- " at the beginning of one is a line of its
 * own, and what follows it another one that is indented by so much more.  Then blocks
 * of equal indentation become mappings and sequences.
 */
#include "topology/yaml.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"

struct line {
	const char *at; /* Behind the indentation, or behind the dash. */
	size_t n;       /* Without a comment and blanks at its end. */
	unsigned indent, number;
	bool is_item; /* A dash; 'n' is 0. */
};

struct yaml {
	VEC(struct yaml_node) nodes;
};

struct parser {
	const char *file;
	struct yaml *yaml;
	VEC(struct line) lines;
	size_t next; /* Line. */
	struct err *err;
};

static int
fail(struct parser *p, unsigned line, const char *what)
{
	return err_set(p->err, p->file, line, 0, "%s", what);
}

/* ---- Lines --------------------------------------------------------------------------- */

/* Length without a comment, which begins with a '#' after a blank, outside of quotes. */
static size_t
without_comment(const char *at, size_t n)
{
	char quote = 0;

	for (size_t i = 0; i < n; i++) {
		if (quote)
			quote = at[i] == quote ? 0 : quote;
		else if ((at[i] == '"' || at[i] == '\'') &&
			 (i == 0 || strchr(" [,:", at[i - 1])))
			quote = at[i];
		else if (at[i] == '#' && (i == 0 || at[i - 1] == ' '))
			n = i;
	}
	while (n && (at[n - 1] == ' ' || at[n - 1] == '\r'))
		n--;
	return n;
}

/* "---" or "...", which begin and end documents. */
static bool
is_mark(const char *at, size_t n)
{
	return n >= 3 && (memcmp(at, "---", 3) == 0 || memcmp(at, "...", 3) == 0);
}

static int
add_line(struct parser *p, const char *text, size_t length, unsigned number)
{
	struct line line = { .number = number };
	const char *at;
	size_t n;

	while (line.indent < length && text[line.indent] == ' ')
		line.indent++;
	at = text + line.indent;
	n = without_comment(at, length - line.indent);
	if (memchr(at, '\t', n))
		return fail(p, number, "a tab; YAML is indented by blanks");
	if (memchr(at, '\0', n))
		return fail(p, number, "a NUL character");
	if (!n || (n == 3 && is_mark(at, n) && !p->lines.n))
		return 0;
	if (!line.indent && is_mark(at, n))
		return fail(p, number, "a second document is not read");
	while (n && at[0] == '-' && (n == 1 || at[1] == ' ')) {
		struct line item = { .indent = line.indent,
				     .number = number,
				     .is_item = true };
		size_t blanks = 1;

		while (blanks < n && at[blanks] == ' ')
			blanks++;
		vec_push(&p->lines, item);
		at += blanks;
		n -= blanks;
		line.indent += (unsigned)blanks;
	}
	line.at = at;
	line.n = n;
	if (n)
		vec_push(&p->lines, line);
	return 0;
}

static int
split_lines(struct parser *p, const char *text, size_t length)
{
	const char *end = text + length;
	unsigned number = 1;

	for (; text < end; number++) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t n = newline ? (size_t)(newline - text) : (size_t)(end - text);
		int r = add_line(p, text, n, number);

		if (r < 0)
			return r;
		text += n + 1;
	}
	return 0;
}

/* ---- Values -------------------------------------------------------------------------- */

static int
add_node(struct parser *p, enum yaml_kind kind, unsigned line, uint32_t *ret_node)
{
	struct yaml_node node = {
		.kind = kind, .line = line, .first = YAML_NONE, .next = YAML_NONE
	};

	if (p->yaml->nodes.n == YAML_MAX_NODES) {
		fail(p, line, "the document is too large");
		return -E2BIG;
	}
	*ret_node = (uint32_t)p->yaml->nodes.n;
	vec_push(&p->yaml->nodes, node);
	return 0;
}

/* Puts 'child' behind 'last' (YAML_NONE: none yet) of 'parent'. */
static void
append(struct parser *p, uint32_t parent, uint32_t *last, uint32_t child)
{
	struct yaml_node *nodes = p->yaml->nodes.items;

	if (*last == YAML_NONE)
		nodes[parent].first = child;
	else
		nodes[*last].next = child;
	*last = child;
}

/*
 * Takes one scalar up to one of the characters 'ends' or the end of '*n'; moves on by
 * it.  Quoted ones may not have a backslash or the quote itself in them.
 */
static int
take_scalar(struct parser *p, const char **at, size_t *n, const char *ends,
	    unsigned line, char **ret_value)
{
	size_t length = 0;

	if (*n && (**at == '"' || **at == '\'')) {
		const char *close = memchr(*at + 1, **at, *n - 1);

		if (!close || memchr(*at, '\\', (size_t)(close - *at)))
			return fail(p, line,
				    "a quoted string that does not end here, or with a "
				    "backslash in it");
		*ret_value = xstrndup(*at + 1, (size_t)(close - *at - 1));
		length = (size_t)(close + 1 - *at);
	} else {
		if (*n && strchr("&*!|>%@`{", **at))
			return fail(p, line,
				    "an anchor, alias, tag, block scalar or flow "
				    "mapping, none of which is read");
		while (length < *n && !strchr(ends, (*at)[length]))
			length++;
		*at += length;
		*n -= length;
		while (length && (*at)[-1] == ' ') {
			(*at)--;
			(*n)++;
			length--;
		}
		*ret_value = xstrndup(*at - length, length);
		length = 0;
	}
	*at += length;
	*n -= length;
	while (*n && **at == ' ') {
		(*at)++;
		(*n)--;
	}
	return 0;
}

/* "[a, b]" behind the '['. */
static int
take_flow(struct parser *p, const char *at, size_t n, unsigned line, uint32_t sequence)
{
	uint32_t last = YAML_NONE, child;

	for (;;) {
		char *value;
		int r;

		while (n && *at == ' ') {
			at++;
			n--;
		}
		if (n == 1 && *at == ']')
			return 0;
		r = add_node(p, YAML_SCALAR, line, &child);
		if (r < 0)
			return r;
		append(p, sequence, &last, child);
		r = take_scalar(p, &at, &n, ",[]{}", line, &value);
		if (r < 0)
			return r;
		p->yaml->nodes.items[child].value = value;
		if (n && *at == ',' && *value) {
			at++;
			n--;
		} else if (n != 1 || *at != ']') {
			return fail(p, line,
				    "expected \"[a, b]\", a list of names on one line");
		}
	}
}

/* What stands behind a key or a dash on the same line. */
static int
take_inline(struct parser *p, const char *at, size_t n, unsigned line,
	    uint32_t *ret_node)
{
	char *value;
	int r = add_node(p, n && *at == '[' ? YAML_SEQUENCE : YAML_SCALAR, line,
			 ret_node);

	if (r < 0)
		return r;
	if (n && *at == '[')
		return take_flow(p, at + 1, n - 1, line, *ret_node);
	if (n == 2 && memcmp(at, "{}", 2) == 0) {
		p->yaml->nodes.items[*ret_node].kind = YAML_MAPPING;
		return 0;
	}
	r = take_scalar(p, &at, &n, "", line, &value);
	if (r < 0)
		return r;
	p->yaml->nodes.items[*ret_node].value = value;
	return n ? fail(p, line, "something behind a quoted string") : 0;
}

/* ---- Blocks -------------------------------------------------------------------------- */

static int parse_block(struct parser *p, unsigned depth, uint32_t *ret_node);

/*
 * Splits "key: value" or "key:".  Returns false if the line is no such.  The key may
 * be quoted; its colon is followed by a blank or the end.
 */
static bool
split_key(const struct line *line, size_t *ret_key, size_t *ret_value)
{
	size_t i = 0;

	if (line->at[0] == '"' || line->at[0] == '\'') {
		const char *close = memchr(line->at + 1, line->at[0], line->n - 1);

		if (!close)
			return false;
		i = (size_t)(close - line->at) + 1;
		if (i >= line->n || line->at[i] != ':')
			return false;
	}
	for (; i < line->n; i++) {
		if (line->at[i] == ':' && (i + 1 == line->n || line->at[i + 1] == ' '))
			break;
	}
	if (i == 0 || i >= line->n)
		return false;
	*ret_key = i++;
	while (i < line->n && line->at[i] == ' ')
		i++;
	*ret_value = i;
	return true;
}

/* The value of a key or a dash: the rest of its line, a block below it, or nothing. */
static int
parse_value(struct parser *p, const struct line *line, size_t from, unsigned indent,
	    unsigned depth, uint32_t *ret_node)
{
	const struct line *below;

	if (from < line->n)
		return take_inline(p, line->at + from, line->n - from, line->number,
				   ret_node);
	below = p->next < p->lines.n ? &p->lines.items[p->next] : NULL;
	/* A sequence may stand at the very indentation of its key. */
	if (below && (below->indent > indent ||
		      (below->indent == indent && below->is_item && !line->is_item)))
		return parse_block(p, depth + 1, ret_node);
	return take_inline(p, "", 0, line->number, ret_node);
}

static int
parse_entry(struct parser *p, const struct line *line, unsigned depth,
	    uint32_t *ret_node)
{
	size_t key = 0, value = line->n;
	char *name = NULL;
	int r;

	if (!line->is_item) {
		const char *at = line->at;
		size_t n;

		if (!split_key(line, &key, &value))
			return fail(p, line->number, "expected \"key: value\"");
		n = key;
		r = take_scalar(p, &at, &n, "", line->number, &name);
		if (r < 0)
			return r;
	}
	r = parse_value(p, line, value, line->indent, depth, ret_node);
	if (r < 0) {
		free(name);
		return r;
	}
	p->yaml->nodes.items[*ret_node].key = name;
	p->yaml->nodes.items[*ret_node].line = line->number;
	return 0;
}

static int
parse_block(struct parser *p, unsigned depth, uint32_t *ret_node)
{
	const struct line first = p->lines.items[p->next];
	size_t key, value;
	uint32_t node, last = YAML_NONE, child;
	int r;

	if (depth > YAML_MAX_DEPTH)
		return fail(p, first.number, "nested too deep");
	if (!first.is_item && !split_key(&first, &key, &value)) {
		p->next++;
		return take_inline(p, first.at, first.n, first.number, ret_node);
	}
	r = add_node(p, first.is_item ? YAML_SEQUENCE : YAML_MAPPING, first.number,
		     &node);
	if (r < 0)
		return r;
	while (p->next < p->lines.n) {
		const struct line line = p->lines.items[p->next];

		if (line.indent < first.indent ||
		    (line.indent == first.indent && line.is_item != first.is_item &&
		     first.is_item))
			break;
		if (line.indent != first.indent || line.is_item != first.is_item)
			return fail(p, line.number,
				    "indented otherwise than what is above it");
		p->next++;
		r = parse_entry(p, &line, depth, &child);
		if (r < 0)
			return r;
		append(p, node, &last, child);
	}
	*ret_node = node;
	return 0;
}

int
yaml_parse(const char *file, const char *text, size_t length, struct yaml **ret_yaml,
	   struct err *err)
{
	struct parser p = { .file = file, .err = err };
	uint32_t root;
	int r;

	p.yaml = xcalloc(1, sizeof *p.yaml);
	r = split_lines(&p, text, length);
	if (r == 0 && !p.lines.n)
		r = fail(&p, 0, "is empty");
	if (r == 0)
		r = parse_block(&p, 0, &root);
	if (r == 0 && p.next < p.lines.n)
		r = fail(&p, p.lines.items[p.next].number,
			 "indented otherwise than what is above it");
	vec_free(&p.lines);
	if (r < 0) {
		yaml_free(p.yaml);
		return r;
	}
	BUG_ON(root != 0);
	*ret_yaml = p.yaml;
	return 0;
}

void
yaml_free(struct yaml *yaml)
{
	if (!yaml)
		return;
	for (size_t i = 0; i < yaml->nodes.n; i++) {
		free(yaml->nodes.items[i].key);
		free(yaml->nodes.items[i].value);
	}
	vec_free(&yaml->nodes);
	free(yaml);
}

const struct yaml_node *
yaml_node(const struct yaml *yaml, uint32_t node)
{
	BUG_ON(node >= yaml->nodes.n);
	return &yaml->nodes.items[node];
}

uint32_t
yaml_find(const struct yaml *yaml, uint32_t mapping, const char *key)
{
	if (yaml_node(yaml, mapping)->kind != YAML_MAPPING)
		return YAML_NONE;
	for (uint32_t i = yaml_node(yaml, mapping)->first; i != YAML_NONE;
	     i = yaml_node(yaml, i)->next) {
		if (strcmp(yaml_node(yaml, i)->key, key) == 0)
			return i;
	}
	return YAML_NONE;
}
