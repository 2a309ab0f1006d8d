/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collector.c - the program antiphase-collector: counts the traffic of this host's
 * interfaces and jobs and publishes it in frames; sends commands to a running
 * collector.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/collector_verbs.h"
#include "collector/daemon/daemon.h"
#include "collector/import/import.h"
#include "collector/paths/port_maps.h"
#include "collector/sources/bpf/src_bpf.h"
#include "lib/base/alloc.h"
#include "lib/base/cli.h"
#include "lib/base/err.h"
#include "lib/daemon/control.h"
#include "lib/daemon/runtime_dirs.h"
#include "lib/daemon/settings_opts.h"

/* The default of [paths] bpf_dir. */
#define WIRE_PORTS_DIR "/sys/fs/bpf/antiphase"

static const struct cli_verb verb_collector_run, verb_collector_job,
	verb_collector_port;

/* ---- run ------------------------------------------------------------------------- */

static int
run_run(int argc, char **argv)
{
	struct cli_opt opts[SETTINGS_MAX_OPTS];
	struct collector collector = { 0 };
	struct settings_said said;
	struct err err = { 0 };
	int first, status;

	settings_opts(&settings_collector, &said, opts);
	first = cli_parse(&verb_collector_run, opts, argc, argv);
	if (first < 0)
		return cli_status(first);
	if (first < argc)
		return cli_usage_error(&verb_collector_run,
				       "it takes no operand such as '%s'", argv[first]);
	collector.config_file = said.file;
	config_init(&collector.config);
	if (config_load(&collector.config, collector.config_file, &err) < 0 ||
	    settings_apply(collector.config.settings, &said, &err) < 0) {
		err_print(&err, stderr);
		status = CLI_USAGE;
	} else {
		config_follow(&collector.config);
		status = collector_run(&collector);
	}
	config_fini(&collector.config);
	return status;
}

static const struct cli_verb verb_collector_run = {
	.name = "run",
	.summary = "count and publish until stopped (the default verb)",
	.usage = "[options]",
	.examples = "  antiphase-collector run\n"
		    "  antiphase-collector run --source netlink --interface eth0,eth1\n"
		    "  antiphase-collector run --endpoint none --output host.rec\n",
	.run = run_run,
};

/* ---- job ------------------------------------------------------------------------- */

static int
run_job(int argc, char **argv)
{
	const char *runtime_dir = COLLECTOR_RUNTIME_DIR, *cgroup = NULL;
	bool is_json = false;
	const struct cli_opt opts[] = {
		{ "cgroup", 'g', CLI_STR, &cgroup, "PATH",
		  "add: the control group that is the job, with all below it", 0, 0,
		  NULL, NULL },
		{ "runtime-dir", 0, CLI_STR, &runtime_dir, "DIR",
		  "of the collector to ask (default: " COLLECTOR_RUNTIME_DIR ")", 0, 0,
		  NULL, NULL },
		{ "json", 'j', CLI_FLAG, &is_json, NULL, "list: machine-readable", 0, 0,
		  NULL, NULL },
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_collector_job, opts, argc, argv), n = argc - first;
	const char *what = first < argc ? argv[first] : NULL;

	if (first < 0)
		return cli_status(first);
	if (what && strcmp(what, "add") == 0 && n == 2 && cgroup)
		return control_ask_print(runtime_dir, "collector",
					 (const char *const[]){ "job", "add",
								argv[first + 1], cgroup,
								NULL });
	if (what && strcmp(what, "remove") == 0 && n == 2 && !cgroup)
		return control_ask_print(runtime_dir, "collector",
					 (const char *const[]){ "job", "remove",
								argv[first + 1],
								NULL });
	if (what && strcmp(what, "list") == 0 && n == 1 && !cgroup)
		return control_ask_print(runtime_dir, "collector",
					 (const char *const[]){ "job", "list",
								is_json ? "json" : NULL,
								NULL });
	return cli_usage_error(&verb_collector_job,
			       "expected 'add NAME --cgroup PATH', "
			       "'remove NAME' or 'list'");
}

static const struct cli_verb verb_collector_job = {
	.name = "job",
	.summary = "register control groups as jobs with a running collector",
	.usage = "add NAME --cgroup PATH | remove NAME | list [--json]",
	.examples =
		"  antiphase-collector job add 4711 --cgroup /system.slice/train.service\n"
		"  antiphase-collector job list --json\n"
		"  antiphase-collector job remove 4711\n",
	.run = run_job,
};

/* ---- port ------------------------------------------------------------------------ */

/* Removes programs and entries that a collector has left in the kernel. */
static int
remove_ports(const char *directory, const char *what)
{
	bool is_out = strcmp(what, "out") == 0;
	struct err err = { 0 };

	if (!is_out && strcmp(what, "in") != 0)
		return cli_usage_error(&verb_collector_port,
				       "expected 'remove out' or 'remove in'");
	if (port_maps_undo(directory, is_out ? PORT_OUT : PORT_IN, &err) == 0)
		return CLI_OK;
	err_print(&err, stderr);
	return CLI_NO;
}

static int
run_port(int argc, char **argv)
{
	const char *runtime_dir = COLLECTOR_RUNTIME_DIR, *directory = WIRE_PORTS_DIR;
	const struct cli_opt opts[] = {
		{ "runtime-dir", 0, CLI_STR, &runtime_dir, "DIR",
		  "of the collector to ask (default: " COLLECTOR_RUNTIME_DIR ")", 0, 0,
		  NULL, NULL },
		{ "wire-ports-dir", 0, CLI_STR, &directory, "DIR",
		  "remove: the directory of pins (default: " WIRE_PORTS_DIR ")", 0, 0,
		  NULL, NULL },
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_collector_port, opts, argc, argv);
	const char *what = first >= 0 && argc - first == 1 ? argv[first] : "";

	if (first < 0)
		return cli_status(first);
	if (argc - first == 2 && strcmp(argv[first], "remove") == 0)
		return remove_ports(directory, argv[first + 1]);
	if (strcmp(what, "list") != 0 && strcmp(what, "release") != 0)
		return cli_usage_error(&verb_collector_port,
				       "expected 'list', 'release', 'remove out' or "
				       "'remove in'");
	return control_ask_print(runtime_dir, "collector",
				 (const char *const[]){ "port", what, NULL });
}

static const struct cli_verb verb_collector_port = {
	.name = "port",
	.summary = "list flows with a wire port, give them their own ports back, or "
		   "remove the programs",
	.usage = "list | release | remove out | remove in",
	.examples = "  antiphase-collector port list\n"
		    "  antiphase-collector port release\n"
		    "  antiphase-collector port remove out\n",
	.run = run_port,
};

/* ---- The program ----------------------------------------------------------------- */

/* clang-format off */
static const struct cli_verb *const verbs[] = {
	&verb_collector_run,
	&verb_collector_job,
	&verb_collector_port,
	&verb_collector_doctor,
	&verb_import,
	NULL,
};
/* clang-format on */

static const struct cli_program program = {
	.name = "antiphase-collector",
	.summary =
		"count the traffic of this host's interfaces and jobs, millisecond by millisecond",
	.verbs = verbs,
};

/* True if the first word is a verb or an option of the program, not of 'run'. */
static bool
is_of_program(const char *word)
{
	return word[0] != '-' || strcmp(word, "-h") == 0 ||
	       strcmp(word, "--help") == 0 || strcmp(word, "--version") == 0;
}

int
main(int argc, char **argv)
{
	char **with_verb;
	int status;

	cli_set_libbpf(src_bpf_library());
	if (argc > 1 && is_of_program(argv[1]))
		return cli_main(&program, argc, argv);
	with_verb = xcalloc((size_t)argc + 2, sizeof *with_verb);
	with_verb[0] = argv[0];
	with_verb[1] = (char *)verb_collector_run.name;
	for (int i = 1; i < argc; i++)
		with_verb[i + 1] = argv[i];
	status = cli_main(&program, argc + 1, with_verb);
	free(with_verb);
	return status;
}
