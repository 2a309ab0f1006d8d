/*
 * verb_import.c - 'antiphase import' is 'antiphase-collector import'.
 */
#include <string.h>

#include "lib/base/alloc.h"
#include "scheduler/cli/run_program.h"
#include "scheduler/cli/verbs.h"

static int
run_import(int argc, char **argv)
{
	char **with_program = xcalloc((size_t)argc + 2, sizeof *with_program);

	memcpy(with_program + 1, argv, (size_t)argc * sizeof *argv);
	return run_program("antiphase-collector", with_program);
}

const struct cli_verb verb_import = {
	.name = "import",
	.summary = "captures, sFlow and switch telemetry as recordings",
	.usage = "pcap|sflow|hft [options] FILE... -o OUT",
	.run = run_import,
};
