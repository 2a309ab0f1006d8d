/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h - the settings of antiphase-scheduler (lib/daemon/settings.h) as typed members.
 *
 * Modules borrow the struct and read a member whenever they need it, so a value that
 * SIGHUP changes applies from then on.  Texts belong to 'settings'; none of them is kept
 * elsewhere.
 */
#ifndef SCHEDULER_DAEMON_CONFIG_H
#define SCHEDULER_DAEMON_CONFIG_H

#include <stdint.h>

struct settings;

struct scheduler_config {
	struct settings *settings; /* Owned. */
	const char *log;           /* "err", "warn", "info", "dbg". */
	const char *runtime_dir;
	char *socket; /* Owned.  For commands, in the runtime directory. */
	/* Telemetry. */
	const char *bus;  /* Endpoints by comma. */
	const char *keys; /* NULL: no keys, loopback only. */
	int64_t window_ms;
	uint32_t link_jobs; /* Jobs with a counter of their own on a link; 0: none. */
	int64_t memory_mb;
	/* The fabric. */
	const char *topology;         /* A file or an endpoint; NULL: none. */
	const char *topology_changes; /* NULL: changes are not announced. */
	uint64_t ecmp_seed;
	/* What is published and kept. */
	const char *announce, *http; /* NULL: none, as the next ones. */
	const char *token_file;
	const char *store;
	int64_t keep_1s_us, keep_10s_us, keep_5min_us; /* Samples, by grain. */
	int64_t keep_history_us;
	int64_t store_max_bytes;
	/* The cluster's scheduler. */
	const char *scheduler;    /* "none", "slurm". */
	const char *slurm_bindir; /* "": by $PATH. */
	int64_t poll_ms;
	const char *mode;      /* "observe", "advise", "enforce". */
	char *partition_modes; /* Owned.  "NAME=MODE,...": the last one of a name applies. */
	char *partition_moves; /* Owned.  "NAME,...": those where running jobs may move. */
	const char *levers;    /* "place,time": see advise_levers_read(). */
	int64_t path_changes;  /* Of running jobs, in any minute. */
	double moves_per_hour; /* Share of the running jobs. */
	const char *kill_switch;
	int64_t pin_wait_us;
	/* Kubernetes. */
	const char *kubernetes_api; /* NULL: none. */
	const char *kubernetes_ca_file, *kubernetes_token_file;
	const char *kubernetes_pods;  /* Label selector. */
	const char *kubernetes_users; /* Who may ask the extender. */
	/* Advice. */
	int64_t valid_us;
	int64_t max_age_us;         /* Of a profile that advice is based on. */
	int64_t earlier_max_age_us; /* Of the profile of an earlier run. */
	int64_t min_iterations, pacer_min_iterations;
};

/* Takes the settings, of settings_scheduler. */
void scheduler_config_init(struct scheduler_config *config, struct settings *settings);
void scheduler_config_fini(struct scheduler_config *config); /* Accepts a zeroed one. */
/* The members from config->settings, after these have changed. */
void scheduler_config_follow(struct scheduler_config *config);

#endif
