/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_keys.c - 'antiphase keys': key pairs for the bus, and the peers that are
 * allowed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/bus_opts.h"
#include "cli/verbs.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/jsonw.h"
#include "lib/base/table.h"
#include "lib/wire/bus.h"
#include "lib/wire/bus_keys.h"

static const struct cli_verb verb_keys_new, verb_keys_allow, verb_keys_server,
	verb_keys_show;

/* Parses --dir, and --json if 'ret_json' is given, as cli_parse(). */
static int
parse(const struct cli_verb *verb, int argc, char **argv, const char **ret_directory,
      bool *ret_json)
{
	const struct cli_opt json =
		CLI_OPT("json", 'j', CLI_FLAG, ret_json, NULL, "print JSON");
	const struct cli_opt end = CLI_OPTS_END;
	const struct cli_opt opts[] = {
		CLI_OPT("dir", 'd', CLI_STR, ret_directory, "DIR",
			"directory of keys (default: " BUS_DEFAULT_KEYS ")"),
		ret_json ? json : end,
		CLI_OPTS_END,
	};

	*ret_directory = BUS_DEFAULT_KEYS;
	return cli_parse(verb, opts, argc, argv);
}

/* ---- new ------------------------------------------------------------------------- */

static int
run_new(int argc, char **argv)
{
	const char *directory;
	struct bus_keys *keys;
	struct err err;
	int first = parse(&verb_keys_new, argc, argv, &directory, NULL), error;

	if (first < 0)
		return cli_status(first);
	error = bus_keys_new(directory, &err);
	if (!error)
		error = bus_keys_load(directory, &keys, &err);
	if (error < 0)
		return bus_opts_fail(error, &err);
	puts(keys->public);
	fprintf(stderr,
		"%s/self.key is secret and stays on this host; give "
		"%s/self.pub to the others\n",
		directory, directory);
	bus_keys_free(keys);
	return cli_finish(CLI_OK);
}

static const struct cli_verb verb_keys_new = {
	.name = "keys new",
	.summary = "create a key pair and print the public key",
	.usage = "[options]",
	.run = run_new,
	.operands = "",
};

/* ---- allow, server --------------------------------------------------------------- */

/* A key as typed, or read from a file of that name or "-". */
static int
key_of(const char *operand, char ret_z85[BUS_Z85_CHARS + 1], struct err *err)
{
	char *text = NULL;
	size_t length;
	int error;

	if (bus_key_check(operand) == 0 && access(operand, F_OK) < 0) {
		memcpy(ret_z85, operand, BUS_Z85_CHARS + 1);
		return 0;
	}
	if (strcmp(operand, "-") != 0 && access(operand, F_OK) < 0)
		return err_set(
			err, NULL, 0, 0,
			"'%s' is neither a public key of %d characters nor a file with "
			"one",
			operand, BUS_Z85_CHARS);
	error = file_read(operand, 4096, &text, &length, err);
	if (error < 0)
		return error;
	text[strcspn(text, "\r\n")] = '\0';
	if (bus_key_check(text) < 0)
		error = err_set(err, operand, 1, 0,
				"not a public key: expected a line of %d characters",
				BUS_Z85_CHARS);
	else
		memcpy(ret_z85, text, BUS_Z85_CHARS + 1);
	free(text);
	return error;
}

static int
run_allow(int argc, char **argv)
{
	const char *directory;
	char z85[BUS_Z85_CHARS + 1];
	struct err err;
	int first = parse(&verb_keys_allow, argc, argv, &directory, NULL), error;

	if (first < 0)
		return cli_status(first);
	error = key_of(argv[first + 1], z85, &err);
	if (!error)
		error = bus_keys_allow(directory, argv[first], z85, &err);
	return error < 0 ? bus_opts_fail(error, &err) : CLI_OK;
}

static const struct cli_verb verb_keys_allow = {
	.name = "keys allow",
	.summary = "allow the owner of a public key to connect to this host",
	.usage = "[options] NAME KEY|FILE",
	.run = run_allow,
	.operands = "a NAME and a KEY",
	.min_operands = 2,
	.max_operands = 2,
};

static int
run_server(int argc, char **argv)
{
	const char *directory;
	char z85[BUS_Z85_CHARS + 1];
	struct err err;
	int first = parse(&verb_keys_server, argc, argv, &directory, NULL), error;

	if (first < 0)
		return cli_status(first);
	error = key_of(argv[first], z85, &err);
	if (!error)
		error = bus_keys_server(directory, z85, &err);
	return error < 0 ? bus_opts_fail(error, &err) : CLI_OK;
}

static const struct cli_verb verb_keys_server = {
	.name = "keys server",
	.summary = "set the public key of the servers that this host connects to",
	.usage = "[options] KEY|FILE",
	.run = run_server,
	.operands = "one KEY",
	.min_operands = 1,
	.max_operands = 1,
};

/* ---- show ------------------------------------------------------------------------ */

static void
print_json(const struct bus_keys *keys)
{
	struct jsonw w;

	jsonw_document(&w, stdout, "antiphase.keys/1");
	jsonw_str(&w, "directory", keys->directory);
	jsonw_str(&w, "public_key", keys->public);
	jsonw_str(&w, "server_key", keys->server[0] ? keys->server : NULL);
	jsonw_array(&w, "allowed");
	for (size_t i = 0; i < keys->allowed.n; i++) {
		jsonw_flat_object(&w, NULL);
		jsonw_str(&w, "name", keys->allowed.items[i].name);
		jsonw_str(&w, "public_key", keys->allowed.items[i].z85);
		jsonw_end(&w);
	}
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_finish(&w);
}

static void
print_people(const struct bus_keys *keys)
{
	struct table t;

	table_init(&t, (const char *const[]){ "NAME", "PUBLIC KEY", "ROLE", NULL });
	table_cell(&t, "self");
	table_cell(&t, "%s", keys->public);
	table_cell(&t, "this host");
	table_cell(&t, "server");
	table_cell(&t, "%s", keys->server[0] ? keys->server : "-");
	table_cell(&t, "server of this host");
	for (size_t i = 0; i < keys->allowed.n; i++) {
		table_cell(&t, "%s", keys->allowed.items[i].name);
		table_cell(&t, "%s", keys->allowed.items[i].z85);
		table_cell(&t, "client of this host");
	}
	table_print(&t, stdout);
	table_fini(&t);
}

static int
run_show(int argc, char **argv)
{
	const char *directory;
	bool json = false;
	struct bus_keys *keys;
	struct err err;
	int first = parse(&verb_keys_show, argc, argv, &directory, &json), error;

	if (first < 0)
		return cli_status(first);
	error = bus_keys_load(directory, &keys, &err);
	if (error < 0)
		return bus_opts_fail(error, &err);
	if (json)
		print_json(keys);
	else
		print_people(keys);
	bus_keys_free(keys);
	return cli_finish(CLI_OK);
}

static const struct cli_verb verb_keys_show = {
	.name = "keys show",
	.summary = "print the public keys of this host and of its peers",
	.usage = "[options]",
	.run = run_show,
	.operands = "",
};

/* ---- keys ------------------------------------------------------------------------ */

static const struct cli_verb *const subverbs[] = { &verb_keys_new, &verb_keys_allow,
						   &verb_keys_server, &verb_keys_show,
						   NULL };

static int
run_keys(int argc, char **argv)
{
	return cli_subverbs(&verb_keys, subverbs, argc, argv);
}

const struct cli_verb verb_keys = {
	.name = "keys",
	.summary = "manage the keys of the bus",
	.usage = "VERB [options] ...",
	.examples = "  antiphase keys new --dir keys\n"
		    "  antiphase keys allow --dir keys n1 n1.pub\n"
		    "  antiphase keys show --dir keys --json\n",
	.run = run_keys,
};
