/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_config.h - the steps for settings: antiphase.conf where there is none, or else
 * conf.d/setup.conf with those settings that the files beside it do not have
 */
#ifndef CLI_SETUP_PLAN_CONFIG_H
#define CLI_SETUP_PLAN_CONFIG_H

#include <stdbool.h>

#include "cli/setup/config_text.h"
#include "cli/setup/plan.h"

/* Whether these settings, where a person has set no others, use the directory of keys. */
bool config_lines_need_keys(const struct survey *survey, const config_lines *lines);

void setup_plan_config(const struct survey *survey, const struct journal *journal,
		       const config_lines *lines, struct setup_plan *plan);

#endif
