/* SPDX-License-Identifier: Apache-2.0 */
/* verbs.h - the verbs of antiphase-sim; each is a file of its own. */
#ifndef SIM_VERBS_H
#define SIM_VERBS_H

#include "lib/base/cli.h"

extern const struct cli_verb verb_flows;
extern const struct cli_verb verb_run;
extern const struct cli_verb verb_compare;
extern const struct cli_verb verb_sim_replay;
extern const struct cli_verb verb_sim_policies;
extern const struct cli_verb verb_trace;
extern const struct cli_verb verb_sim_sweep;
extern const struct cli_verb verb_sim_ratios;
extern const struct cli_verb verb_sim_import;

#endif
