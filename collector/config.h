/*
 * config.h - the settings of the collector: where each comes from, what it may be.
 *
 * In this order, the later winning: the defaults, /etc/antiphase/antiphase.conf,
 * conf.d/NAME.conf beside it in the order of their names, the environment
 * (ANTIPHASE_SECTION_KEY), the command line.  All go through one table, in which
 * each setting has its section, key, option, default and bounds, so that the shipped file, the
 * help and the manual cannot differ from it.
 */
#ifndef COLLECTOR_CONFIG_H
#define COLLECTOR_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define CONFIG_MAX  32 /* Settings there may be. */
#define CONFIG_FILE "/etc/antiphase/antiphase.conf"

/* Sources; bits of config.sources. */
enum config_source {
	CONFIG_BPF = 1 << 0,
	CONFIG_NETLINK = 1 << 1,
	CONFIG_RDMA = 1 << 2,
	CONFIG_PCAP = 1 << 3,
	CONFIG_REPLAY = 1 << 4,
	CONFIG_AUTO =
		1 << 5, /* BPF if it works, else netlink; RDMA where there is any. */
};

struct config {
	/* [collector] */
	char *host; /* "": the name of this host. */
	char *user; /* "": stay. */
	char *runtime_dir;
	char *log; /* "err", "warn", "info", "dbg". */
	int64_t interval_ms;
	/* [source] */
	unsigned sources; /* enum config_source. */
	char *interfaces; /* Names by comma; "": those with a cable. */
	bool is_link_only;
	bool is_timing;    /* Of eBPF programs. */
	char *clsact;      /* "auto", "yes", "no". */
	char *services;    /* systemd's units that are jobs, patterns by comma. */
	char *cgroup_root; /* "": where cgroup v2 is mounted. */
	char *pcap_local, *pcap_jobs, *pcap_filter;
	char *pcap_file, *replay_file, *sysroot;
	/* [bus] */
	char *endpoint;  /* "none": do not publish. */
	bool is_connect; /* To a proxy, instead of binding. */
	char *keys;      /* "": no keys, loopback only. */
	int64_t raw_ms;
	char *output; /* "": none; "-": stdout. */
	/* [metrics] */
	char *metrics; /* Address or "none". */
	int64_t window_s;
	int64_t top_jobs;

	char *origins[CONFIG_MAX]; /* By setting. Owned; NULL: the default. */
};

/* One setting, as config_n() has them. */
struct config_setting {
	const char *section, *key;
	const char *option;   /* "interval-ms". */
	const char *argument; /* "MS"; NULL: a flag. */
	const char *fallback; /* The default, as text. */
	const char *help;
};

void config_init(struct config *config);
void config_fini(struct config *config);

size_t config_n(void);
const struct config_setting *config_setting(size_t i);

/*
 * Sets one.  'file' and 'line' say where it was found, for 'err' (NULL and 0: nowhere).
 * 0, or -EINVAL with 'err' filled.
 */
int config_set(struct config *config, const char *section, const char *key,
	       const char *value, const char *file, unsigned line, struct err *err);
/* Its value as text; free with free(). */
char *config_text(const struct config *config, size_t i);
/* Where the setting came from: "default", a file, "environment", "option"; borrowed. */
const char *config_origin(const struct config *config, size_t i);

/* True of "none" and "off", in place of an endpoint or an address. */
bool config_is_none(const char *address);

/* INI text. */
int config_parse(struct config *config, const char *file, const char *text,
		 size_t length, struct err *err);
/*
 * The file, conf.d beside it and the environment.  'file' NULL: CONFIG_FILE, which
 * then need not be there.
 */
int config_load(struct config *config, const char *file, struct err *err);

#endif
