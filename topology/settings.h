/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings.h - the settings of antiphase-topology
 *
 * Every setting has its section, key, option, default and bounds here.  A new one is
 * also added to collector/antiphase.conf and to the manual pages; test_settings
 * compares them.
 */
#ifndef TOPOLOGY_SETTINGS_H
#define TOPOLOGY_SETTINGS_H

struct settings_table;

extern const struct settings_table settings_topology;

#endif
