/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inferred_print.h - the paths that running flows between two hosts take, inferred from
 * telemetry, as 'antiphase path --from' prints them
 */
#ifndef CLI_INFERRED_PRINT_H
#define CLI_INFERRED_PRINT_H

#include <stdbool.h>

struct screen;

/* Without a window, a bus is read for this time. */
#define INFERRED_LEAST_MS 30000

/*
 * Infers and prints the paths of all jobs' flows from hosts[0] to hosts[1], as text or
 * antiphase.path_inference/2. 'screen' has been gathered. Returns the exit status:
 * CLI_OK; CLI_NO if the path of a flow is not known, or there is no flow; or CLI_USAGE.
 */
int inferred_show(struct screen *screen, char **hosts, bool json);

#endif
