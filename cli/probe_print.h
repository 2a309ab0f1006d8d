/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_print.h - the switches that source ports of this host pass, found by probing, as
 * 'antiphase path --probe' prints them
 */
#ifndef CLI_PROBE_PRINT_H
#define CLI_PROBE_PRINT_H

#include <stdbool.h>

struct topo;

struct probe_question {
	const char *destination; /* "10.0.1.1:5001" or "[fd00::1]:5001". */
	const char *ports;       /* "61000-61015". */
	const char *hops;        /* "2" or "1-3"; NULL: all switches that there are. */
	bool json;
};

/*
 * Probes, and prints the answers to standard output, as text or antiphase.path_probe/1,
 * with the names that 'topo' has for the addresses of switches; 'topo' may be NULL.
 * Blocks for up to about as many seconds as there are ports.  Returns the exit status:
 * CLI_OK; CLI_NO if the path of a port is not known; CLI_USAGE; or CLI_UNREACHABLE.
 */
int probe_show(const struct topo *topo, const struct probe_question *question);

#endif
