/* SPDX-License-Identifier: Apache-2.0 */
/* verb_doctor.c - 'antiphase-collector doctor', which 'antiphase doctor' runs as well */
#include <stdbool.h>

#include "collector/collector_verbs.h"
#include "collector/config.h"
#include "collector/doctor/doctor.h"
#include "lib/base/err.h"
#include "lib/daemon/settings.h"

/* All checks, in the order in which their findings are shown. */
static void
check_all(struct doctor *doctor)
{
	doctor_check_kernel(doctor);
	doctor_check_lockdown(doctor);
	doctor_check_cgroups(doctor);
	doctor_check_interfaces(doctor);
	doctor_check_clock(doctor);
	doctor_check_bus(doctor);
	doctor_check_paths(doctor);
	doctor_check_fabric(doctor);
	doctor_check_scheduler(doctor);
	doctor_check_store(doctor);
	doctor_check_versions(doctor);
}

static int
run_doctor(int argc, char **argv)
{
	bool is_json = false;
	const char *file = NULL, *source = NULL, *interface = NULL, *runtime_dir = NULL;
	const struct cli_opt opts[] = {
		{ "json", 'j', CLI_FLAG, &is_json, NULL, "machine-readable", 0, 0, NULL,
		  NULL },
		{ "config", 'c', CLI_STR, &file, "FILE",
		  "the collector's settings (default: " SETTINGS_FILE ")", 0, 0, NULL,
		  NULL },
		{ "source", 0, CLI_STR, &source, "LIST",
		  "check as if these sources were configured", 0, 0, NULL, NULL },
		{ "interface", 0, CLI_STR, &interface, "LIST", "check these interfaces",
		  0, 0, NULL, NULL },
		{ "runtime-dir", 0, CLI_STR, &runtime_dir, "DIR",
		  "runtime directory of the running collector", 0, 0, NULL, NULL },
		CLI_OPTS_END,
	};
	int first = cli_parse(&verb_collector_doctor, opts, argc, argv), status;
	struct err err = { 0 };
	struct config config;
	struct doctor doctor;

	if (first < 0)
		return cli_status(first);
	if (first < argc)
		return cli_usage_error(&verb_collector_doctor,
				       "it takes no operand such as '%s'", argv[first]);
	config_init(&config);
	doctor_init(&doctor, &config);
	doctor.config_file = file;
	if (config_load(&config, file, &err) < 0)
		doctor_add(&doctor, FINDING_FAIL, "settings",
			   "antiphase.conf(5) has all keys", "%s:%u: %s", err.file,
			   err.line, err.text);
	if ((source && config_set(&config, "source", "source", source, "--source", 0,
				  &err) < 0) ||
	    (interface && config_set(&config, "source", "interface", interface,
				     "--interface", 0, &err) < 0) ||
	    (runtime_dir && config_set(&config, "collector", "runtime_dir", runtime_dir,
				       "--runtime-dir", 0, &err) < 0)) {
		err_print(&err, stderr);
		status = CLI_USAGE;
	} else {
		check_all(&doctor);
		if (is_json)
			doctor_print_json(&doctor, stdout);
		else
			doctor_print(&doctor, stdout);
		status = findings_worst(&doctor.findings) == FINDING_FAIL ? CLI_NO
									  : CLI_OK;
	}
	doctor_fini(&doctor);
	config_fini(&config);
	return status;
}

const struct cli_verb verb_collector_doctor = {
	.name = "doctor",
	.summary = "check what this host supports, and how to fix what is missing",
	.usage = "[options]",
	.examples = "  antiphase doctor\n"
		    "  antiphase doctor --source bpf --interface eth0 --json\n",
	.run = run_doctor,
};
