/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collector_verbs.h - the verbs of 'antiphase-collector'.
 */
#ifndef COLLECTOR_COLLECTOR_VERBS_H
#define COLLECTOR_COLLECTOR_VERBS_H

#include "lib/base/cli.h"

extern const struct cli_verb verb_collector_doctor;

#endif
