/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheduler.c - antiphase-scheduler: consumes telemetry, knows the fabric and the
 * cluster's scheduler, advises on places and shifts, and enforces the advice where its
 * mode allows.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/cli.h"
#include "lib/base/err.h"
#include "lib/daemon/settings.h"
#include "lib/daemon/settings_opts.h"
#include "scheduler/daemon/daemon.h"
#include "scheduler/daemon/guard.h"
#include "scheduler/daemon/settings.h"

static const struct cli_verb verb_daemon;

static int
run_daemon(int argc, char **argv)
{
	struct cli_opt opts[SETTINGS_MAX_OPTS];
	struct settings_said said;
	struct settings *settings;
	struct err err = { .line = 0 };
	size_t n = settings_opts(&settings_scheduler, &said, opts);
	int first;

	opts[n] = (struct cli_opt)CLI_OPTS_END;
	first = cli_parse(&verb_daemon, opts, argc, argv);
	if (first < 0)
		return cli_status(first);
	if (first < argc)
		return cli_usage_error(&verb_daemon, "it takes no operand such as '%s'",
				       argv[first]);
	settings = settings_new(&settings_scheduler);
	if (settings_load(settings, said.file, &err) < 0 ||
	    settings_apply(settings, &said, &err) < 0) {
		err_print(&err, stderr);
		settings_free(settings);
		return CLI_USAGE;
	}
	return daemon_run(settings, said.file);
}

static const struct cli_verb verb_daemon = {
	.name = "",
	.summary =
		"where jobs should go, when they should talk, and who is in whose way",
	.usage = "[options]",
	.examples = "  antiphase-scheduler --topology lab.json\n"
		    "  antiphase-scheduler --scheduler slurm --mode advise\n"
		    "  curl http://127.0.0.1:7470/api/v1/health\n",
	.run = run_daemon,
};

int
main(int argc, char **argv)
{
	if (guard_is_called(argc, argv))
		return guard_main(argc, argv);
	return cli_main_single("antiphase-scheduler", &verb_daemon, argc, argv);
}
