/*
 * verb_doctor.c - 'antiphase doctor' is a verb of antiphase-collector, which has what is
 * needed to look.
 */
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "scheduler/cli/run_program.h"
#include "scheduler/cli/verbs.h"

static int
run_doctor(int argc, char **argv)
{
	char **longer = xcalloc((size_t)argc + 2, sizeof *longer);
	int status;

	longer[1] = (char *)"doctor";
	for (int i = 1; i < argc; i++)
		longer[i + 1] = argv[i];
	status = run_program("antiphase-collector", longer);
	free(longer);
	return status;
}

const struct cli_verb verb_doctor = {
	.name = "doctor",
	.summary = "what this host supports, what is missing, how to mend it",
	.usage = "[options]",
	.run = run_doctor,
};
