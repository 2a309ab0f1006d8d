/*
 * verb_doctor.c - 'antiphase doctor' runs antiphase-collector, which can check the
 * host.
 */
#include "cli/run_program.h"
#include "cli/verbs.h"

static int
run_doctor(int argc, char **argv)
{
	return run_program("antiphase-collector", "antiphase", argc, argv);
}

const struct cli_verb verb_doctor = {
	.name = "doctor",
	.summary = "check what this host supports, and how to add what is missing",
	.usage = "[options]",
	.run = run_doctor,
};
