/*
 * verb_doctor.c - 'antiphase doctor' is a verb of antiphase-collector, which has what is
 * needed to look.
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
	.summary = "what this host supports, what is missing, how to mend it",
	.usage = "[options]",
	.run = run_doctor,
};
