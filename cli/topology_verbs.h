/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topology_verbs.h - the verbs under 'antiphase topology'.
 */
#ifndef CLI_TOPOLOGY_VERBS_H
#define CLI_TOPOLOGY_VERBS_H

#include "lib/base/cli.h"

/* Their names have two words, "topology show"; argv[0] is the second word. */
extern const struct cli_verb verb_topology_generate;
extern const struct cli_verb verb_topology_show;
extern const struct cli_verb verb_topology_check;
extern const struct cli_verb verb_topology_import;
extern const struct cli_verb verb_topology_path;
extern const struct cli_verb verb_topology_links_of;
extern const struct cli_verb verb_topology_diff;
extern const struct cli_verb verb_topology_report;
extern const struct cli_verb verb_topology_watch;

#endif
