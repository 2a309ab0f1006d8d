/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verbs.h - the verbs of 'antiphase', one file each (verb_NAME.c).
 */
#ifndef CLI_VERBS_H
#define CLI_VERBS_H

#include "lib/base/cli.h"

extern const struct cli_verb verb_profile;
extern const struct cli_verb verb_topology;
extern const struct cli_verb verb_compat;
extern const struct cli_verb verb_advise;
extern const struct cli_verb verb_advice;
extern const struct cli_verb verb_changes;
extern const struct cli_verb verb_explain;
extern const struct cli_verb verb_fragmentation;
extern const struct cli_verb verb_links;
extern const struct cli_verb verb_link;
extern const struct cli_verb verb_path;
extern const struct cli_verb verb_jobs;
extern const struct cli_verb verb_job;
extern const struct cli_verb verb_top;
extern const struct cli_verb verb_record;
extern const struct cli_verb verb_replay;
extern const struct cli_verb verb_report;
extern const struct cli_verb verb_web;
extern const struct cli_verb verb_proxy;
extern const struct cli_verb verb_keys;
extern const struct cli_verb verb_config;
extern const struct cli_verb verb_doctor;
extern const struct cli_verb verb_bundle;
extern const struct cli_verb verb_stats;
extern const struct cli_verb verb_ctl;
extern const struct cli_verb verb_import;
extern const struct cli_verb verb_sim;
extern const struct cli_verb verb_trace;
extern const struct cli_verb verb_slurm;
extern const struct cli_verb verb_store;
extern const struct cli_verb verb_setup;

#endif
