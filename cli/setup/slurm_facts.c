/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/setup/slurm_facts.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/alloc.h"
#include "lib/base/hostlist.h"
#include "lib/base/words.h"

/* The names of one line; they are taken only if all of the list can be expanded. */
struct line {
	VEC(char *) names;
};

static int
take_name(void *ctx, const char *name)
{
	struct line *line = ctx;

	/* It becomes part of a setting. */
	if (!words_is_name(name, SLURM_FACTS_MAX_NAME))
		return -EINVAL;
	vec_push(&line->names, xstrdup(name));
	return 0;
}

/* False if the list cannot be expanded; then 'line' is empty. */
static bool
expand(struct line *line, const char *list)
{
	const char *why;

	*line = (struct line){ VEC_EMPTY };
	if (hostlist_expand(list, SLURM_FACTS_MAX_NODES, take_name, line, &why) == 0)
		return true;
	for (size_t i = 0; i < line->names.n; i++)
		free(line->names.items[i]);
	vec_free(&line->names);
	return false;
}

/* The value of "KEY=VALUE" among the blank-separated words of a line, or NULL. */
static char *
value_of(const char *line, size_t n, const char *key)
{
	size_t n_key = strlen(key);

	for (size_t at = 0; at < n;) {
		size_t begin, end;

		while (at < n && isspace((unsigned char)line[at]))
			at++;
		begin = at;
		while (at < n && !isspace((unsigned char)line[at]))
			at++;
		end = at;
		if (end - begin <= n_key || line[begin + n_key] != '=' ||
		    strncasecmp(line + begin, key, n_key) != 0)
			continue;
		return xstrndup(line + begin + n_key + 1, end - begin - n_key - 1);
	}
	return NULL;
}

/* Whether both are the same up to their first dots. */
static bool
is_same_host(const char *name, const char *host)
{
	size_t n = strcspn(name, ".(");

	return n == strcspn(host, ".") && strncasecmp(name, host, n) == 0;
}

/* "head(10.0.0.1)"; the first one of several is the one that runs. */
static void
take_controller(struct slurm_facts *facts, char *value, const char *host)
{
	facts->is_controller |= is_same_host(value, host);
	value[strcspn(value, "(,")] = '\0';
	if (facts->controller || !words_is_name(value, SLURM_FACTS_MAX_NAME))
		free(value);
	else
		facts->controller = value;
}

/* Returns false if the line cannot be understood. */
static bool
take_nodes(struct slurm_facts *facts, const char *text, size_t n, const char *host)
{
	char *list = value_of(text, n, "NodeName");
	char *where = value_of(text, n, "NodeAddr");
	struct line names = { VEC_EMPTY }, places = { VEC_EMPTY };
	bool is_good = true;

	if (list && strcasecmp(list, "DEFAULT") != 0) {
		is_good = expand(&names, list);
		if (is_good && where)
			is_good = expand(&places, where) &&
				  places.names.n == names.names.n;
	}
	for (size_t i = 0; i < names.names.n; i++) {
		if (is_good && facts->nodes.n < SLURM_FACTS_MAX_NODES) {
			facts->is_node |= is_same_host(names.names.items[i], host);
			vec_push(&facts->nodes, xstrdup(where ? places.names.items[i]
							      : names.names.items[i]));
		}
		free(names.names.items[i]);
	}
	for (size_t i = 0; i < places.names.n; i++)
		free(places.names.items[i]);
	vec_free(&names.names);
	vec_free(&places.names);
	free(list);
	free(where);
	return is_good;
}

size_t
slurm_facts_read(struct slurm_facts *facts, const char *conf, const char *host)
{
	size_t n_left_out = 0;

	*facts = (struct slurm_facts){ .nodes = VEC_EMPTY };
	while (*conf) {
		size_t n = strcspn(conf, "\n"), n_text = n;
		const char *hash = memchr(conf, '#', n);
		char *value;

		if (hash)
			n_text = (size_t)(hash - conf);
		value = value_of(conf, n_text, "SlurmctldHost");
		if (!value)
			value = value_of(conf, n_text, "ControlMachine");
		if (value)
			take_controller(facts, value, host);
		n_left_out += !take_nodes(facts, conf, n_text, host);
		conf += n + (conf[n] == '\n');
	}
	return n_left_out;
}

void
slurm_facts_fini(struct slurm_facts *facts)
{
	for (size_t i = 0; i < facts->nodes.n; i++)
		free(facts->nodes.items[i]);
	vec_free(&facts->nodes);
	free(facts->controller);
}
