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
	verb_keys_rotate, verb_keys_show;

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

/* Options of both, and the key. */
struct peer_args {
	const char *directory, *hosts, *host;
	bool is_also, is_replaced;
	enum bus_keys_how how;
	char z85[BUS_Z85_CHARS + 1];
};

/* As cli_parse(). */
static int
parse_peer(const struct cli_verb *verb, int argc, char **argv, struct peer_args *args)
{
	const struct cli_opt host =
		CLI_OPT("for", 'f', CLI_STR, &args->host, "HOST",
			"the server of endpoints with this host (default: of all)");
	const struct cli_opt end = CLI_OPTS_END;
	const struct cli_opt opts[] = {
		CLI_OPT("dir", 'd', CLI_STR, &args->directory, "DIR",
			"directory of keys (default: " BUS_DEFAULT_KEYS ")"),
		CLI_OPT("hosts", 'H', CLI_STR, &args->hosts, "LIST",
			"hosts that it speaks for (default: its name): rack1-*,n7"),
		CLI_OPT("also", 'a', CLI_FLAG, &args->is_also, NULL,
			"accept the old key, too"),
		CLI_OPT("replace", 'r', CLI_FLAG, &args->is_replaced, NULL,
			"accept the old key no longer"),
		verb == &verb_keys_server ? host : end,
		CLI_OPTS_END,
	};

	*args = (struct peer_args){ .directory = BUS_DEFAULT_KEYS };
	return cli_parse(verb, opts, argc, argv);
}

/* Reads the key; 0, or -errno with 'err' filled. */
static int
take_key(struct peer_args *args, const char *operand, struct err *err)
{
	if (args->is_also && args->is_replaced)
		return err_set(err, NULL, 0, 0, "--also and --replace contradict");
	args->how = args->is_also       ? BUS_KEYS_ALSO
		    : args->is_replaced ? BUS_KEYS_REPLACE
					: BUS_KEYS_FIRST;
	return key_of(operand, args->z85, err);
}

static int
run_allow(int argc, char **argv)
{
	struct peer_args args;
	struct err err;
	int first = parse_peer(&verb_keys_allow, argc, argv, &args), error;

	if (first < 0)
		return cli_status(first);
	error = take_key(&args, argv[first + 1], &err);
	if (!error)
		error = bus_keys_allow(args.directory, argv[first], args.z85,
				       args.hosts, args.how, &err);
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
	struct peer_args args;
	struct err err;
	int first = parse_peer(&verb_keys_server, argc, argv, &args), error;

	if (first < 0)
		return cli_status(first);
	error = take_key(&args, argv[first], &err);
	if (!error)
		error = bus_keys_server(args.directory, args.host, args.z85, args.hosts,
					args.how, &err);
	return error < 0 ? bus_opts_fail(error, &err) : CLI_OK;
}

static const struct cli_verb verb_keys_server = {
	.name = "keys server",
	.summary = "set the public key of a server that this host connects to",
	.usage = "[options] KEY|FILE",
	.run = run_server,
	.operands = "one KEY",
	.min_operands = 1,
	.max_operands = 1,
};

/* ---- rotate ---------------------------------------------------------------------- */

static int
run_rotate(int argc, char **argv)
{
	const char *directory = BUS_DEFAULT_KEYS;
	bool is_finish = false;
	const struct cli_opt opts[] = {
		CLI_OPT("dir", 'd', CLI_STR, &directory, "DIR",
			"directory of keys (default: " BUS_DEFAULT_KEYS ")"),
		CLI_OPT("finish", 'f', CLI_FLAG, &is_finish, NULL,
			"use the next pair, once the others accept it"),
		CLI_OPTS_END,
	};
	char z85[BUS_Z85_CHARS + 1];
	struct err err;
	int first = cli_parse(&verb_keys_rotate, opts, argc, argv), error;

	if (first < 0)
		return cli_status(first);
	error = is_finish ? bus_keys_rotated(directory, &err)
			  : bus_keys_rotate(directory, z85, &err);
	if (error < 0)
		return bus_opts_fail(error, &err);
	if (is_finish) {
		fprintf(stderr,
			"restart the programs that use %s; then drop the old key on the "
			"other hosts with --replace\n",
			directory);
		return CLI_OK;
	}
	puts(z85);
	fprintf(stderr,
		"the next key, %s/next.pub: let the other hosts accept it with --also, "
		"then run 'antiphase keys rotate --finish'\n",
		directory);
	return cli_finish(CLI_OK);
}

static const struct cli_verb verb_keys_rotate = {
	.name = "keys rotate",
	.summary = "create the next key pair of this host, and change to it",
	.usage = "[options]",
	.run = run_rotate,
	.operands = "",
};

/* ---- show ------------------------------------------------------------------------ */

static void
print_json_list(struct jsonw *w, const char *name, const bus_known_list *list)
{
	jsonw_array(w, name);
	for (size_t i = 0; i < list->n; i++) {
		const struct bus_known *known = &list->items[i];

		if (!*known->name) /* That of server.pub has members of its own. */
			continue;
		jsonw_flat_object(w, NULL);
		jsonw_str(w, "name", known->name);
		jsonw_str(w, "public_key", known->z85);
		jsonw_str(w, "hosts", known->hosts ? known->hosts : known->name);
		jsonw_end(w);
	}
	jsonw_end(w);
}

static void
print_json(const struct bus_keys *keys)
{
	const struct bus_known *server = bus_keys_server_key(keys, "", 0);
	struct jsonw w;

	jsonw_document(&w, stdout, "antiphase.keys/1");
	jsonw_str(&w, "directory", keys->directory);
	jsonw_str(&w, "public_key", keys->public);
	jsonw_str(&w, "server_key", server ? server->z85 : NULL);
	jsonw_str(&w, "server_hosts", server ? server->hosts : NULL);
	print_json_list(&w, "servers", &keys->servers);
	print_json_list(&w, "allowed", &keys->allowed);
	jsonw_end(&w);
	jsonw_finish(&w);
}

static void
print_row(struct table *t, const char *name, const char *z85, const char *role,
	  const char *hosts)
{
	table_cell(t, "%s", name);
	table_cell(t, "%s", z85);
	table_cell(t, "%s", role);
	table_cell(t, "%s", hosts && *hosts ? hosts : "-");
}

static void
print_people(const struct bus_keys *keys)
{
	struct table t;

	table_init(&t, (const char *const[]){ "NAME", "PUBLIC KEY", "ROLE", "HOSTS",
					      NULL });
	print_row(&t, "self", keys->public, "this host", NULL);
	if (!bus_keys_server_key(keys, "", 0))
		print_row(&t, "server", "-", "server of this host", NULL);
	for (size_t i = 0; i < keys->servers.n; i++) {
		const struct bus_known *known = &keys->servers.items[i];

		print_row(&t, *known->name ? known->name : "server", known->z85,
			  "server of this host",
			  known->hosts ? known->hosts : known->name);
	}
	for (size_t i = 0; i < keys->allowed.n; i++) {
		const struct bus_known *known = &keys->allowed.items[i];

		print_row(&t, known->name, known->z85, "client of this host",
			  known->hosts ? known->hosts : known->name);
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

static const struct cli_verb *const subverbs[] = { &verb_keys_new,    &verb_keys_allow,
						   &verb_keys_server, &verb_keys_rotate,
						   &verb_keys_show,   NULL };

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
		    "  antiphase keys allow --dir keys --hosts 'rack1-*' proxy1 "
		    "proxy1.pub\n"
		    "  antiphase keys show --dir keys --json\n",
	.run = run_keys,
};
