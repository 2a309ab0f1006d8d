/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h - the settings of antiphase-collector, read into a struct
 *
 * config.c has the table of them: section, key, option, default and bounds of each.  A
 * new setting is also added to antiphase.conf and to the manual pages; test_settings
 * compares them.
 */
#ifndef COLLECTOR_CONFIG_H
#define COLLECTOR_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct settings;
struct settings_table;

extern const struct settings_table settings_collector;

/* Sources; bits of config.sources. */
enum config_source {
	CONFIG_BPF = 1 << 0,
	CONFIG_NETLINK = 1 << 1,
	CONFIG_RDMA = 1 << 2,
	CONFIG_PCAP = 1 << 3,
	CONFIG_REPLAY = 1 << 4,
	CONFIG_TEXT = 1 << 5,
	CONFIG_AUTO =
		1 << 6, /* BPF if it works, else netlink; RDMA where there is any. */
};

struct config {
	struct settings *settings; /* Owned; texts are borrowed from them. */
	/* [collector] */
	const char *host; /* "": the name of this host. */
	const char *user; /* "": stay. */
	const char *runtime_dir;
	const char *log; /* "err", "warn", "info", "dbg". */
	int64_t interval_ms;
	/* [source] */
	unsigned sources;       /* enum config_source. */
	const char *interfaces; /* Names by comma; "": those with a cable. */
	bool is_link_only;
	bool is_timing;          /* Measures the time of eBPF programs. */
	const char *clsact;      /* "auto", "yes", "no". */
	const char *services;    /* systemd's units that are jobs, patterns by comma. */
	const char *cgroup_root; /* "": where cgroup v2 is mounted. */
	const char *job_roots;   /* More roots of schedulers' layouts, by comma. */
	const char *pcap_local, *pcap_jobs, *pcap_filter;
	const char *pcap_file, *replay_file, *text_file, *sysroot;
	/* [bus] */
	const char *endpoint; /* "none": do not publish. */
	bool is_connect;      /* To a proxy, instead of binding. */
	const char *keys;     /* "": no keys, loopback only. */
	int64_t raw_ms;
	const char *output; /* "": none; "-": stdout. */
	/* [pacer] */
	const char *pacer_socket; /* "": in the runtime directory; "none". */
	bool is_claim_believed;
	const char *orders; /* Endpoint of their announcements; "none". */
	/* [paths] */
	const char *wire_ports;     /* "61000-61999"; "none". */
	const char *wire_ports_dir; /* In a BPF file system. */
	/* [metrics] */
	const char *metrics; /* Address or "none". */
	int64_t window_s;
	int64_t top_jobs;
};

/* The defaults. */
void config_init(struct config *config);
void config_fini(struct config *config);

/* As settings_set() and settings_load(); also updates the members. */
int config_set(struct config *config, const char *section, const char *key,
	       const char *value, const char *origin, unsigned line, struct err *err);
int config_load(struct config *config, const char *file, struct err *err);
/* Updates the members after other changes of config->settings. */
void config_follow(struct config *config);

/* A path in the runtime directory; free with free(). */
char *config_runtime_path(const struct config *config, const char *name);

#endif
