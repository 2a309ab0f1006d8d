/* SPDX-License-Identifier: Apache-2.0 */
/* verb_proxy.c - 'antiphase proxy': combines many publishers behind one endpoint. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/bus_opts.h"
#include "cli/verbs.h"
#include "lib/base/err.h"
#include "lib/daemon/loop.h"
#include "lib/wire/bus.h"

#define DEFAULT_TO "tcp://127.0.0.1:7460"

static void
stop(void *ctx, int signal)
{
	loop_stop(ctx, signal == SIGINT ? CLI_INTERRUPTED : CLI_OK);
}

static int
run_open_proxy(struct bus_proxy *proxy)
{
	struct loop *loop = loop_new();
	const struct bus_proxy_counts *counts;
	int status;

	loop_signal(loop, SIGINT, stop, loop);
	loop_signal(loop, SIGTERM, stop, loop);
	bus_proxy_join(proxy, loop);
	fprintf(stderr, "forwarding frames to %s\n", bus_proxy_endpoint(proxy));
	status = loop_run(loop);
	counts = bus_proxy_counts(proxy);
	fprintf(stderr, "passed on %" PRIu64 " messages (%.1f MB)", counts->frames,
		(double)counts->bytes / 1e6);
	if (counts->refused)
		fprintf(stderr, ", refused %" PRIu64 " connections", counts->refused);
	if (counts->misnamed + counts->duplicates)
		fprintf(stderr,
			", dropped %" PRIu64 " for hosts of other keys and %" PRIu64
			" of hosts that another sends for",
			counts->misnamed, counts->duplicates);
	if (counts->ended)
		fprintf(stderr, ", ended %" PRIu64 " subscribers", counts->ended);
	putc('\n', stderr);
	bus_proxy_close(proxy);
	loop_free(loop);
	return status < 0 ? CLI_BUG : status;
}

static int
run_proxy(int argc, char **argv)
{
	static const char *const local[] = { BUS_DEFAULT_ENDPOINT };
	struct cli_list from = { .n = 0 };
	const char *to = DEFAULT_TO, *keys_path = NULL;
	bool is_from_bound = false;
	const struct cli_opt opts[] = {
		CLI_OPT("from", 'F', CLI_LIST, &from, "ENDPOINT",
			"a publisher (default: " BUS_DEFAULT_ENDPOINT "); repeatable"),
		CLI_OPT("bind-from", 0, CLI_FLAG, &is_from_bound, NULL,
			"bind there, for publishers that connect"),
		CLI_OPT("to", 't', CLI_STR, &to, "ENDPOINT",
			"bind here for subscribers (default: " DEFAULT_TO ")"),
		CLI_OPT("keys", 0, CLI_STR, &keys_path, "DIR",
			"directory of CURVE keys for both sides"),
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_proxy, opts, argc, argv), error;
	struct bus_proxy *proxy;
	struct bus_keys *keys;
	struct err err;

	if (first < 0)
		return cli_status(first);
	error = bus_opts_keys(keys_path, &keys, &err);
	if (error < 0)
		return bus_opts_fail(error, &err);
	error = bus_proxy_open(from.n ? from.items : local, from.n ? from.n : 1,
			       is_from_bound, to, keys, &proxy, &err);
	bus_keys_free(keys);
	return error < 0 ? bus_opts_fail(error, &err) : run_open_proxy(proxy);
}

const struct cli_verb verb_proxy = {
	.name = "proxy",
	.summary = "combine many publishers into one endpoint",
	.usage = "[options]",
	.examples =
		"  antiphase proxy --from tcp://n1:7461 --from tcp://n2:7461 --keys "
		"/etc/antiphase/keys\n"
		"  antiphase proxy --bind-from --from tcp://10.0.0.1:7461 --to "
		"tcp://10.0.0.1:7460 --keys /etc/antiphase/keys\n",
	.run = run_proxy,
	.operands = "",
};
