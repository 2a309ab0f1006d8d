/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import.h - 'antiphase-collector import': captures, sFlow and switch telemetry as a
 * recording
 */
#ifndef COLLECTOR_IMPORT_IMPORT_H
#define COLLECTOR_IMPORT_IMPORT_H

#include "lib/base/cli.h"

extern const struct cli_verb verb_import;

/* argv[0] is "import".  Returns the exit status (lib/base/cli.h). */
int import_main(int argc, char **argv);

#endif
