/* SPDX-License-Identifier: Apache-2.0 */
/* verb_slurm.h - the verbs of 'antiphase slurm' that have a file of their own. */
#ifndef CLI_VERB_SLURM_H
#define CLI_VERB_SLURM_H

#include "lib/base/cli.h"

extern const struct cli_verb verb_slurm_release;

#endif
