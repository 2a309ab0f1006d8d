/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_ctl.c - 'antiphase ctl DAEMON REQUEST...': a request to a daemon of this host.
 */
#include <string.h>

#include "cli/verbs.h"
#include "lib/daemon/control.h"
#include "lib/daemon/runtime_dirs.h"

static int
run_ctl(int argc, char **argv)
{
	const char *runtime_dir = NULL, *words[CONTROL_MAX_WORDS + 1];
	const struct cli_opt opts[] = {
		CLI_OPT("runtime-dir", 0, CLI_STR, &runtime_dir, "DIR",
			"directory of its socket (default: " COLLECTOR_RUNTIME_DIR
			", of scheduler " SCHEDULER_RUNTIME_DIR ")"),
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_ctl, opts, argc, argv), n = argc - first;

	if (first < 0)
		return cli_status(first);
	if (n < 2 || n - 1 > CONTROL_MAX_WORDS || strchr(argv[first], '/'))
		return cli_usage_error(
			&verb_ctl,
			"expected a daemon, such as collector, and a request, such "
			"as 'log dbg'");
	for (int i = 1; i < n; i++)
		words[i - 1] = argv[first + i];
	words[n - 1] = NULL;
	if (!runtime_dir)
		runtime_dir = strcmp(argv[first], "scheduler") == 0
				      ? SCHEDULER_RUNTIME_DIR
				      : COLLECTOR_RUNTIME_DIR;
	return control_ask_print(runtime_dir, argv[first], words);
}

const struct cli_verb verb_ctl = {
	.name = "ctl",
	.summary = "send a request to a daemon of this host: log level, jobs, modes",
	.usage = "[--runtime-dir DIR] DAEMON REQUEST...",
	.examples = "  antiphase ctl collector ping\n"
		    "  antiphase ctl collector log dbg\n"
		    "  antiphase ctl scheduler modes\n"
		    "  antiphase ctl scheduler mode advise train\n",
	.run = run_ctl,
};
