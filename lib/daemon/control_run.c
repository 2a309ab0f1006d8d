/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/daemon/control_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/jsonw.h"
#include "lib/base/log.h"
#include "lib/base/vec.h"

/* The command and its arguments. */
struct words {
	char *items[CONTROL_MAX_WORDS];
	size_t n;
};

/* ---- Commands of all daemons; their context is the list of commands -------------- */

static const struct control_command *command_at(const struct control_command *commands,
						size_t i);

static int
run_commands(void *ctx, size_t n_args, char **args, struct strbuf *reply,
	     struct err *err)
{
	const struct control_command *command;
	struct jsonw w;
	char *text;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	(void)n_args;
	(void)args;
	(void)err;
	BUG_ON(!out);
	jsonw_document(&w, out, "antiphase.control_commands/1");
	jsonw_array(&w, "commands");
	for (size_t i = 0; (command = command_at(ctx, i)); i++) {
		jsonw_flat_object(&w, NULL);
		jsonw_str(&w, "name", command->name);
		jsonw_str(&w, "arguments", command->arguments);
		jsonw_bool(&w, "is_change", command->is_change);
		jsonw_end(&w);
	}
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_finish(&w);
	BUG_ON(fclose(out) != 0);
	strbuf_add(reply, text, n);
	free(text);
	return 0;
}

static int
run_log(void *ctx, size_t n_args, char **args, struct strbuf *reply, struct err *err)
{
	(void)ctx;
	(void)n_args;
	if (!log_set_level_word(args[0]))
		return err_set(err, NULL, 0, 0,
			       "the level is err, warn, info or dbg, not '%s'",
			       args[0]);
	strbuf_printf(reply, "log level: %s\n", args[0]);
	return 0;
}

static const struct control_command of_all[] = {
	{ "commands", "", 0, 0, false, run_commands },
	{ "log", "LEVEL", 1, 1, true, run_log },
};

static bool
is_of_all(const struct control_command *command)
{
	return command == &of_all[0] || command == &of_all[1];
}

/* The i-th command: first the daemon's own, then those of all daemons; or NULL. */
static const struct control_command *
command_at(const struct control_command *commands, size_t i)
{
	size_t n = 0;

	while (commands[n].name)
		n++;
	if (i < n)
		return &commands[i];
	return i - n < sizeof of_all / sizeof *of_all ? &of_all[i - n] : NULL;
}

/* ---- Words ----------------------------------------------------------------------- */

static int
add_word(struct words *words, const char *text, size_t n, struct err *err)
{
	if (words->n == CONTROL_MAX_WORDS)
		return err_set(err, NULL, 0, 0, "more than %d arguments",
			       CONTROL_MAX_WORDS);
	words->items[words->n++] = xstrndup(text, n);
	return 0;
}

/* Joins the path's "job/add" and the body's ["4711", "/train"]. */
static int
read_words(const struct control_request *request, struct words *words, struct err *err)
{
	struct json_doc *doc = NULL;
	const char *at = request->words, *text;
	int r = 0;

	while (*at && r == 0) {
		size_t n = strcspn(at, "/");

		r = add_word(words, at, n, err);
		at += n + (at[n] == '/');
	}
	if (r == 0 && request->n_body)
		r = json_parse("arguments", request->body, request->n_body, &doc, err);
	if (r == 0 && doc && json_kind(json_root(doc)) != JSON_ARRAY)
		r = err_set(err, NULL, 0, 0,
			    "the body is an array of arguments: [\"...\", ...]");
	for (const struct json *item = r == 0 && doc ? json_first(json_root(doc))
						     : NULL;
	     item && r == 0; item = json_next(item)) {
		r = json_as_str(doc, item, &text, err);
		if (r == 0)
			r = add_word(words, text, strlen(text), err);
	}
	json_doc_free(doc);
	return r;
}

/* ---- One request ----------------------------------------------------------------- */

static size_t
words_in(const char *name)
{
	return strchr(name, ' ') ? 2 : 1;
}

static bool
is_command(const struct control_command *command, const struct words *words)
{
	size_t length = strcspn(command->name, " ");
	const char *first = words->items[0];

	if (strlen(first) != length || strncmp(first, command->name, length) != 0)
		return false;
	if (!command->name[length])
		return true;
	return words->n > 1 && strcmp(words->items[1], command->name + length + 1) == 0;
}

static const struct control_command *
find_command(const struct control_command *commands, const struct words *words,
	     struct err *err)
{
	VEC(const char *) names = VEC_EMPTY;
	const struct control_command *command;

	for (size_t i = 0; (command = command_at(commands, i)); i++) {
		if (is_command(command, words)) {
			vec_free(&names);
			return command;
		}
		vec_push(&names, command->name);
	}
	vec_push(&names, NULL);
	err_set(err, NULL, 0, 0, "this daemon does not know the request '%s%s%s'",
		words->items[0], words->n > 1 ? " " : "",
		words->n > 1 ? words->items[1] : "");
	if (err_did_you_mean(words->items[0], names.items)) {
		err_suggest(err, words->items[0], names.items);
	} else {
		for (size_t i = 0; names.items[i]; i++)
			err_append(err, "%s%s", i ? ", " : "; it knows ",
				   names.items[i]);
	}
	vec_free(&names);
	return NULL;
}

static int
check_count(const struct control_command *command, size_t n, struct err *err)
{
	unsigned min = command->min_args, max = command->max_args;

	if (n >= min && n <= max)
		return 0;
	if (min == max)
		return err_set(err, NULL, 0, 0, "'%s' takes %u word%s, not %zu",
			       command->name, min, min == 1 ? "" : "s", n);
	return err_set(err, NULL, 0, 0, "'%s' takes %u to %u words, not %zu",
		       command->name, min, max, n);
}

static int
run_words(const struct control_command *commands, void *ctx,
	  const struct control_request *request, struct words *words,
	  struct strbuf *reply, struct err *err)
{
	const struct control_command *command;
	size_t n_args, n_name;
	int r;

	if (!words->n)
		return err_set(err, NULL, 0, 0, "an empty request");
	command = find_command(commands, words, err);
	if (!command)
		return -EINVAL;
	if (command->is_change && !request->may_change) {
		err_set(err, NULL, 0, 0,
			"'%s' is for root and the daemon's own user, not for user %u",
			command->name, (unsigned)request->user);
		return -EPERM;
	}
	if (command->is_change && strcmp(request->method, "POST") != 0)
		return err_set(err, NULL, 0, 0,
			       "'%s' changes something: POST it, do not %s it",
			       command->name, request->method);
	n_name = words_in(command->name);
	n_args = words->n - n_name;
	r = check_count(command, n_args, err);
	if (r == 0)
		r = command->run(is_of_all(command) ? (void *)commands : ctx, n_args,
				 words->items + n_name, reply, err);
	if (r == 0 && reply->length > CONTROL_MAX_REPLY) {
		err_set(err, NULL, 0, 0, "the answer is longer than %d bytes",
			CONTROL_MAX_REPLY);
		r = -EFBIG;
	}
	return r;
}

int
control_run(const struct control_command *commands, void *ctx,
	    const struct control_request *request, struct strbuf *reply,
	    struct err *err)
{
	struct words words = { .n = 0 };
	int r = read_words(request, &words, err);

	if (r == 0)
		r = run_words(commands, ctx, request, &words, reply, err);
	for (size_t i = 0; i < words.n; i++)
		free(words.items[i]);
	return r;
}
