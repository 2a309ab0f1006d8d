/*
 * verb_import.c - 'antiphase import' runs antiphase-collector.
 */
#include "cli/run_program.h"
#include "cli/verbs.h"

static int
run_import(int argc, char **argv)
{
	return run_program("antiphase-collector", "antiphase", argc, argv);
}

const struct cli_verb verb_import = {
	.name = "import",
	.summary = "convert captures, sFlow and switch telemetry to recordings",
	.usage = "pcap|sflow|hft [options] FILE... -o OUT",
	.run = run_import,
};
