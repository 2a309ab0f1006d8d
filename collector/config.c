/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/config.h"

#include "lib/base/alloc.h"
#include "lib/base/log.h"
#include "lib/daemon/runtime_dirs.h"
#include "lib/daemon/settings.h"
#include "lib/wire/port_range.h"

static int
check_ports(const char *value, struct err *err)
{
	struct port_range range;

	return settings_is_none(value) ? 0 : port_range_parse(value, &range, err);
}

static const char *const clsact_words[] = { "auto", "yes", "no", NULL };
static const char *const source_words[] = { "bpf",    "netlink", "rdma", "pcap",
					    "replay", "text",    "auto", NULL };

/* clang-format off */
static const struct setting items[] = {
	{ "collector", "host", "host", "NAME", "",
	  "this host's name in frames (default: the host name)",
	  .kind = SETTING_TEXT },
	{ "collector", "user", "user", "NAME", "",
	  "the user to switch to once all is open (default: no switch)",
	  .kind = SETTING_TEXT },
	{ "collector", "runtime_dir", "runtime-dir", "DIR", COLLECTOR_RUNTIME_DIR,
	  "directory of sockets and saved totals",
	  .kind = SETTING_PATH },
	{ "collector", "log", "log", "LEVEL", "info",
	  "log level: err, warn, info or dbg",
	  .kind = SETTING_WORD, .words = log_level_words, .is_live = true },
	{ "collector", "interval_ms", "interval-ms", "MS", "0",
	  "interval between reads of the counters; 0: the source's own",
	  .kind = SETTING_INTEGER, .min = 0, .max = 1000 },
	{ "source", "source", "source", "LIST", "auto",
	  "comma-separated: auto, bpf, netlink, rdma, pcap, replay, text",
	  .kind = SETTING_WORDS, .words = source_words, .exclusive = CONFIG_REPLAY },
	{ "source", "interface", "interface", "LIST", "",
	  "interfaces, comma-separated (default: physical ones)",
	  .kind = SETTING_TEXT },
	{ "source", "link_only", "link-only", NULL, "no",
	  "count interfaces only, not jobs: less work per packet",
	  .kind = SETTING_BOOLEAN },
	{ "source", "timing", "timing", NULL, "no",
	  "let the kernel time the eBPF programs; adds 60 ns per packet",
	  .kind = SETTING_BOOLEAN },
	{ "source", "clsact", "clsact", "WHEN", "auto",
	  "attach through clsact instead of TCX: auto (if TCX is missing), yes, no",
	  .kind = SETTING_WORD, .words = clsact_words },
	{ "source", "services", "services", "LIST", "",
	  "systemd units that are jobs: shell patterns, comma-separated (default: none)",
	  .kind = SETTING_TEXT },
	{ "source", "cgroup_root", "cgroup-root", "DIR", "",
	  "root of the control groups (default: the cgroup v2 mount)",
	  .kind = SETTING_TEXT },
	{ "source", "job_roots", "job-roots", "LIST", "",
	  "control groups, comma-separated, below which schedulers also put jobs (default: none)",
	  .kind = SETTING_TEXT },
	{ "source", "pcap", "pcap", "FILE", "",
	  "capture file for the source pcap (default: capture live)",
	  .kind = SETTING_TEXT },
	{ "source", "pcap_local", "pcap-local", "LIST", "",
	  "addresses of this host, comma-separated: one interface (default: each address is one)",
	  .kind = SETTING_TEXT },
	{ "source", "pcap_jobs", "pcap-jobs", "LIST", "",
	  "jobs by address, space-separated: JOB=ADDRESS[,ADDRESS][:PORT[-PORT]]",
	  .kind = SETTING_TEXT },
	{ "source", "pcap_filter", "pcap-filter", "TEXT", "",
	  "count only packets that match this pcap-filter(7) expression",
	  .kind = SETTING_TEXT },
	{ "source", "replay", "replay", "FILE", "",
	  "recording for the source replay",
	  .kind = SETTING_TEXT },
	{ "source", "text", "text", "FILE", "",
	  "FIFO or file for the source text; -: standard input",
	  .kind = SETTING_TEXT },
	{ "source", "sysroot", "sysroot", "DIR", "/",
	  "directory that holds /sys and /proc for the source rdma",
	  .kind = SETTING_PATH },
	{ "bus", "endpoint", "endpoint", "URL", "tcp://127.0.0.1:7461",
	  "publish frames here; none: do not publish",
	  .kind = SETTING_PATH },
	{ "bus", "connect", "connect", NULL, "no",
	  "connect to the endpoint, a proxy, instead of binding it",
	  .kind = SETTING_BOOLEAN },
	{ "bus", "keys", "keys", "DIR", "",
	  "directory of CURVE keys (default: none, loopback only)",
	  .kind = SETTING_TEXT },
	{ "bus", "raw_ms", "raw-ms", "MS", "250",
	  "length of a frame of 1 ms series, sent to subscribers",
	  .kind = SETTING_INTEGER, .min = 100, .max = 1000, .is_live = true },
	{ "bus", "output", "output", "FILE", "",
	  "also write a recording; -: to stdout",
	  .kind = SETTING_TEXT },
	{ "pacer", "socket", "pacer-socket", "PATH", "",
	  "socket for pacers of jobs; none: no socket (default: sockets/pacer.sock in the runtime directory)",
	  .kind = SETTING_TEXT },
	{ "pacer", "orders", "pacer-orders", "URL", "none",
	  "endpoint where the scheduler announces orders",
	  .kind = SETTING_PATH },
	{ "pacer", "trust_claims", "pacer-trust-claims", NULL, "no",
	  "accept a pacer's own job name if its control group belongs to no job",
	  .kind = SETTING_BOOLEAN },
	{ "paths", "wire_ports", "wire-ports", "RANGE", "none",
	  "move TCP flows of jobs to other paths by source ports of this range; none: never",
	  .kind = SETTING_TEXT, .check = check_ports },
	{ "paths", "bpf_dir", "wire-ports-dir", "DIR", "/sys/fs/bpf/antiphase",
	  "directory of a BPF file system that keeps moved flows",
	  .kind = SETTING_PATH },
	{ "metrics", "address", "metrics", "ADDRESS", "127.0.0.1:9471",
	  "loopback address of /metrics for Prometheus; none: no metrics",
	  .kind = SETTING_PATH },
	{ "metrics", "window_s", "metrics-window-s", "S", "15",
	  "window of the peak gauges; at least the scrape interval",
	  .kind = SETTING_INTEGER, .min = 1, .max = 300, .is_live = true },
	{ "metrics", "top_jobs", "top-jobs", "N", "20",
	  "jobs per interface with series of their own; the rest are summed as \"other\"",
	  .kind = SETTING_INTEGER, .min = 0, .max = 1000 },
};
/* clang-format on */

#define N(items) (sizeof(items) / sizeof(items)[0])

const struct settings_table settings_collector = {
	.daemon = "antiphase-collector",
	.section = "collector",
	.items = items,
	.n = N(items),
};

void
config_follow(struct config *config)
{
	const struct settings *s = config->settings;

	config->host = settings_text(s, "collector", "host");
	config->user = settings_text(s, "collector", "user");
	config->runtime_dir = settings_text(s, "collector", "runtime_dir");
	config->log = settings_text(s, "collector", "log");
	config->interval_ms = settings_integer(s, "collector", "interval_ms");
	config->sources = settings_words(s, "source", "source");
	config->interfaces = settings_text(s, "source", "interface");
	config->is_link_only = settings_is_on(s, "source", "link_only");
	config->is_timing = settings_is_on(s, "source", "timing");
	config->clsact = settings_text(s, "source", "clsact");
	config->services = settings_text(s, "source", "services");
	config->cgroup_root = settings_text(s, "source", "cgroup_root");
	config->job_roots = settings_text(s, "source", "job_roots");
	config->pcap_file = settings_text(s, "source", "pcap");
	config->pcap_local = settings_text(s, "source", "pcap_local");
	config->pcap_jobs = settings_text(s, "source", "pcap_jobs");
	config->pcap_filter = settings_text(s, "source", "pcap_filter");
	config->replay_file = settings_text(s, "source", "replay");
	config->text_file = settings_text(s, "source", "text");
	config->sysroot = settings_text(s, "source", "sysroot");
	config->endpoint = settings_text(s, "bus", "endpoint");
	config->is_connect = settings_is_on(s, "bus", "connect");
	config->keys = settings_text(s, "bus", "keys");
	config->raw_ms = settings_integer(s, "bus", "raw_ms");
	config->output = settings_text(s, "bus", "output");
	config->pacer_socket = settings_text(s, "pacer", "socket");
	config->is_claim_believed = settings_is_on(s, "pacer", "trust_claims");
	config->orders = settings_text(s, "pacer", "orders");
	config->wire_ports = settings_text(s, "paths", "wire_ports");
	config->wire_ports_dir = settings_text(s, "paths", "bpf_dir");
	config->metrics = settings_text(s, "metrics", "address");
	config->window_s = settings_integer(s, "metrics", "window_s");
	config->top_jobs = settings_integer(s, "metrics", "top_jobs");
}

void
config_init(struct config *config)
{
	*config = (struct config){ .settings = settings_new(&settings_collector) };
	config_follow(config);
}

void
config_fini(struct config *config)
{
	settings_free(config->settings);
	*config = (struct config){ .settings = NULL };
}

int
config_set(struct config *config, const char *section, const char *key,
	   const char *value, const char *origin, unsigned line, struct err *err)
{
	int rc = settings_set(config->settings, section, key, value, origin, line, err);

	config_follow(config);
	return rc;
}

int
config_load(struct config *config, const char *file, struct err *err)
{
	int rc = settings_load(config->settings, file, err);

	config_follow(config);
	return rc;
}

char *
config_runtime_path(const struct config *config, const char *name)
{
	return xasprintf("%s/%s", config->runtime_dir, name);
}
