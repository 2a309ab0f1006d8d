/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings.h - the settings of antiphase-scheduler
 *
 * Every setting has its section, key, option, default and bounds here.  A new one is
 * also added to collector/antiphase.conf and to the manual pages; test_settings compares
 * them.
 */
#ifndef SCHEDULER_DAEMON_SETTINGS_H
#define SCHEDULER_DAEMON_SETTINGS_H

struct settings_table;

extern const struct settings_table settings_scheduler;

#endif
