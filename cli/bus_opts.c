/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bus_opts.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>

#include "lib/base/cli.h"
#include "lib/wire/bus.h"

static volatile sig_atomic_t caught;

static void
on_signal(int number)
{
	caught = number;
}

void
bus_opts_catch_signals(void)
{
	/* A second signal ends the program at once. */
	struct sigaction action = { .sa_handler = on_signal,
				    .sa_flags = (int)SA_RESETHAND };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

int
bus_opts_signal(void)
{
	return caught;
}

int
bus_opts_keys(const char *directory, struct bus_keys **ret_keys, struct err *err)
{
	*ret_keys = NULL;
	return directory ? bus_keys_load(directory, ret_keys, err) : 0;
}

int
bus_opts_fail(int error, const struct err *err)
{
	int status = cli_fail(error, err);

	switch (error) {
	case -EACCES:
	case -EPERM:
		return CLI_DENIED;
	case -EHOSTUNREACH:
		return CLI_UNREACHABLE;
	default:
		return status;
	}
}
