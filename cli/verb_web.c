/* SPDX-License-Identifier: Apache-2.0 */
/* verb_web.c - 'antiphase web': the page over a bus or a recording. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/screen.h"
#include "cli/verbs.h"
#include "cli/web_server.h"
#include "cli/web_source.h"
#include "lib/base/err.h"
#include "lib/daemon/loop.h"

#define ADDRESS "127.0.0.1:7480"

static void
on_stop(void *ctx, int signal)
{
	(void)signal;
	loop_stop(ctx, CLI_OK);
}

static int
fail(const char *address, int error, const struct err *err)
{
	if (error != -EADDRINUSE)
		return cli_fail(error, err);
	fprintf(stderr,
		"antiphase web: a process listens at %s already; --http ADDRESS "
		"names another one\n",
		address);
	return CLI_UNREACHABLE;
}

/* Where to look: standard output has that line only, for scripts. */
static void
say_address(const char *address, const struct web_server *server)
{
	int n = (int)(strrchr(address, ':') ? strrchr(address, ':') - address : 0);

	if (strchr(address, '/'))
		printf("%s\n", address);
	else
		printf("http://%.*s:%u/\n", n, address, web_server_port(server));
	fflush(stdout);
}

static int
serve(struct web_source *source, const char *address)
{
	struct loop *loop = loop_new();
	struct web_server *server = NULL;
	struct err err;
	int r = web_server_open(loop, address, source, &server, &err), status;

	if (r < 0) {
		status = fail(address, r, &err);
	} else {
		loop_signal(loop, SIGINT, on_stop, loop);
		loop_signal(loop, SIGTERM, on_stop, loop);
		web_source_join(source, loop);
		say_address(address, server);
		fprintf(stderr, "%s is shown there until Ctrl-C.\n",
			web_source_name(source));
		status = loop_run(loop);
	}
	web_server_close(server);
	web_source_close(source);
	loop_free(loop);
	return status;
}

static int
run_web(int argc, char **argv)
{
	struct screen_opts screen = { .window = NULL };
	const char *address = ADDRESS;
	const struct cli_opt opts[] = {
		SCREEN_OPTS(&screen),
		CLI_OPT("http", 0, CLI_STR, &address, "ADDRESS",
			"serve at this address, on loopback, or at a Unix socket "
			"(default: " ADDRESS "; port 0: any that is free)"),
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_web, opts, argc, argv), status;
	struct web_source *source;

	if (first < 0)
		return cli_status(first);
	status = web_source_open(&verb_web, &screen, &source);
	return status == CLI_OK ? serve(source, address) : status;
}

const struct cli_verb verb_web = {
	.name = "web",
	.summary = "show links and jobs of a bus or a recording in a browser",
	.usage = "[options]",
	.examples = "  antiphase web\n"
		    "  antiphase web --from day.tele --fabric fabric.json\n",
	.run = run_web,
};
