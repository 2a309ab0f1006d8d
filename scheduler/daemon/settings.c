/* SPDX-License-Identifier: Apache-2.0 */
/* settings.c - the table of the settings of antiphase-scheduler. */
#include "scheduler/daemon/settings.h"

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/units.h"
#include "lib/daemon/runtime_dirs.h"
#include "lib/daemon/settings.h"
#include "scheduler/core/advise/advise.h"
#include "scheduler/daemon/modes.h"

static int
check_modes(const char *value, struct err *err)
{
	struct modes modes;
	int rc = modes_parse("observe", value, &modes, err);

	if (rc == 0)
		modes_fini(&modes);
	return rc;
}

static int
check_levers(const char *value, struct err *err)
{
	unsigned levers;

	return advise_levers_read(value, &levers, err);
}

static int
check_share(const char *value, struct err *err)
{
	double share;

	if (units_parse_frac(value, &share) < 0 || !(share > 0) || share > 1)
		return err_set(err, NULL, 0, 0,
			       "moves_per_hour is a share above 0, at most 1, such as "
			       "'10 %%' or '0.1', not '%s'",
			       value);
	return 0;
}

static const char *const scheduler_words[] = { "none", "slurm", NULL };
static const char *const mode_words[] = { "observe", "advise", "enforce", NULL };

/* clang-format off */
static const struct setting items[] = {
	{ "scheduler", "log", "log", "LEVEL", "info",
	  "log level: err, warn, info or dbg",
	  .kind = SETTING_WORD, .words = log_level_words, .is_live = true },
	{ "scheduler", "runtime_dir", "runtime-dir", "DIR", SCHEDULER_RUNTIME_DIR,
	  "directory of the control socket",
	  .kind = SETTING_PATH },
	{ "scheduler", "bus", "bus", "LIST", "tcp://127.0.0.1:7461",
	  "endpoints that publish frames, comma-separated",
	  .kind = SETTING_PATH, .letter = 'b' },
	{ "scheduler", "keys", "keys", "DIR", "",
	  "directory of CURVE keys (default: none, loopback only)",
	  .kind = SETTING_TEXT },
	{ "scheduler", "topology", "topology", "SOURCE", "http://127.0.0.1:7462",
	  "antiphase-topology (http://, unix:/PATH), or a file with the fabric; none: no fabric",
	  .kind = SETTING_PATH, .letter = 't' },
	{ "scheduler", "topology_changes", "topology-changes", "ENDPOINT",
	  "tcp://127.0.0.1:7463",
	  "endpoint where antiphase-topology announces changes, or 'off'",
	  .kind = SETTING_PATH },
	{ "scheduler", "announce", "announce", "ENDPOINT", "tcp://127.0.0.1:7464",
	  "announce advice and orders at this endpoint, or 'off'",
	  .kind = SETTING_PATH, .letter = 'a' },
	{ "scheduler", "http", "http", "ADDRESS", "127.0.0.1:7470",
	  "loopback address of the API and /metrics, or 'off'",
	  .kind = SETTING_PATH },
	{ "scheduler", "token_file", "token-file", "FILE", "",
	  "token that allows changes over HTTP (default: no changes allowed)",
	  .kind = SETTING_TEXT },
	{ "scheduler", "store", "store", "FILE", "/var/lib/antiphase/history.db",
	  "database of history, advice and saved state, or 'off'",
	  .kind = SETTING_PATH, .letter = 's' },
	{ "scheduler", "keep_1s_hours", "keep-1s-hours", "HOURS", "1",
	  "how long the store keeps the traffic of each second",
	  .kind = SETTING_INTEGER, .min = 1, .max = 720, .is_live = true },
	{ "scheduler", "keep_10s_hours", "keep-10s-hours", "HOURS", "24",
	  "how long the store keeps the traffic of each 10 s",
	  .kind = SETTING_INTEGER, .min = 1, .max = 8760, .is_live = true },
	{ "scheduler", "keep_5min_days", "keep-5min-days", "DAYS", "90",
	  "how long the store keeps the traffic of each 5 minutes",
	  .kind = SETTING_INTEGER, .min = 1, .max = 3650, .is_live = true },
	{ "scheduler", "keep_history_days", "keep-history-days", "DAYS", "90",
	  "how long the store keeps advice, outcomes, actions and state of jobs",
	  .kind = SETTING_INTEGER, .min = 1, .max = 3650, .is_live = true },
	{ "scheduler", "store_max_mb", "store-max-mb", "MIB", "4096",
	  "size of the store; beyond it the oldest samples of the finest grain go first",
	  .kind = SETTING_INTEGER, .min = 16, .max = 1048576, .is_live = true },
	{ "scheduler", "scheduler", "scheduler", "KIND", "none",
	  "the cluster's scheduler: none or slurm",
	  .kind = SETTING_WORD, .words = scheduler_words },
	{ "scheduler", "slurm_bindir", "slurm-bindir", "DIR", "",
	  "directory of squeue (default: found on $PATH)",
	  .kind = SETTING_TEXT },
	{ "scheduler", "poll_ms", "poll-ms", "MS", "1000",
	  "interval between queries of the cluster's scheduler",
	  .kind = SETTING_INTEGER, .min = 100, .max = 60000 },
	{ "scheduler", "mode", "mode", "MODE", "observe",
	  "what to do with advice: observe, advise or enforce",
	  .kind = SETTING_WORD, .words = mode_words, .is_live = true, .letter = 'm' },
	{ "scheduler", "partition_modes", "partition-modes", "LIST", "",
	  "partitions with another mode, comma-separated: PARTITION=MODE",
	  .kind = SETTING_TEXT, .check = check_modes, .is_live = true },
	{ "scheduler", "levers", "levers", "LIST", "place,time",
	  "what advice may change: place, path, time, move; comma-separated",
	  .kind = SETTING_TEXT, .check = check_levers },
	{ "scheduler", "path_changes", "path-changes", "N", "600",
	  "flows of running jobs that may get another path in any minute",
	  .kind = SETTING_INTEGER, .min = 1, .max = 1000000 },
	{ "scheduler", "moves_per_hour", "moves-per-hour", "SHARE", "0.1",
	  "running jobs that may be moved in an hour, as a share of all",
	  .kind = SETTING_TEXT, .check = check_share, .is_live = true },
	{ "scheduler", "kill_switch", "kill-switch", "FILE",
	  SCHEDULER_RUNTIME_DIR "/stop",
	  "while this file exists, undo all actions and take none",
	  .kind = SETTING_PATH },
	{ "scheduler", "kubernetes_api", "kubernetes-api", "ADDRESS", "none",
	  "the Kubernetes API server, or 'kubectl proxy' on this host, used to annotate pods, or 'none'",
	  .kind = SETTING_PATH },
	{ "scheduler", "kubernetes_ca_file", "kubernetes-ca-file", "FILE",
	  "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt",
	  "CAs that the API server's certificate is checked against; 'none': the system's",
	  .kind = SETTING_PATH },
	{ "scheduler", "kubernetes_token_file", "kubernetes-token-file", "FILE",
	  "/var/run/secrets/kubernetes.io/serviceaccount/token",
	  "bearer token for the API server; 'none': send none",
	  .kind = SETTING_PATH },
	{ "scheduler", "kubernetes_pods", "kubernetes-pods", "SELECTOR",
	  "antiphase.io/job",
	  "label selector of the pods to annotate",
	  .kind = SETTING_TEXT, .is_live = true },
	{ "scheduler", "kubernetes_users", "kubernetes-users", "LIST", "root",
	  "users of this host that may ask as kube-scheduler, comma-separated",
	  .kind = SETTING_TEXT },
	{ "scheduler", "valid_s", "valid-s", "S", "300",
	  "how long advice stays valid",
	  .kind = SETTING_INTEGER, .min = 10, .max = 86400, .is_live = true },
	{ "scheduler", "min_iterations", "min-iterations", "N", "20",
	  "fewest iterations of traffic that advice may use",
	  .kind = SETTING_INTEGER, .min = 8, .max = 10000, .is_live = true },
	{ "scheduler", "pacer_min_iterations", "pacer-min-iterations", "N", "4",
	  "fewest iterations of a pacer that make a profile of its job",
	  .kind = SETTING_INTEGER, .min = 3, .max = 24, .is_live = true },
	{ "scheduler", "max_age_s", "max-age-s", "S", "60",
	  "oldest profile that advice may use",
	  .kind = SETTING_INTEGER, .min = 5, .max = 3600, .is_live = true },
	{ "scheduler", "earlier_max_age_s", "earlier-max-age-s", "S", "604800",
	  "oldest profile of a waiting job's earlier run to use; 0: use none",
	  .kind = SETTING_INTEGER, .min = 0, .max = 7776000, .is_live = true },
	{ "scheduler", "pin_wait_s", "pin-wait-s", "S", "30",
	  "release a job that antiphase pinned if it waits longer than this",
	  .kind = SETTING_INTEGER, .min = 1, .max = 3600, .is_live = true },
	{ "scheduler", "window_ms", "window-ms", "MS", "10000",
	  "length of link traffic to examine",
	  .kind = SETTING_INTEGER, .min = 1000, .max = 30000, .is_live = true },
	{ "scheduler", "link_jobs", "link-jobs", "N", "0",
	  "jobs per link with a counter of their own in /metrics; 0: none",
	  .kind = SETTING_INTEGER, .min = 0, .max = 64 },
	{ "scheduler", "memory_mb", "memory-mb", "MIB", "512",
	  "memory for telemetry, of which one host gets a quarter; what is beyond it "
	  "is ignored",
	  .kind = SETTING_INTEGER, .min = 16, .max = 1048576 },
	{ "scheduler", "ecmp_seed", "ecmp-seed", "N", "1",
	  "seed of the fabric's choice among equal paths",
	  .kind = SETTING_INTEGER, .min = 1, .max = INT64_C(9007199254740992) },
};

static const struct setting named[] = {
	{ "partition", "mode", NULL, "MODE", "",
	  "what to do with advice for jobs of this partition",
	  .kind = SETTING_WORD, .words = mode_words, .is_live = true },
	{ "partition", "move", NULL, NULL, "no",
	  "in mode enforce: whether running jobs of this partition may be moved",
	  .kind = SETTING_BOOLEAN, .is_live = true },
};
/* clang-format on */

#define N(items) (sizeof(items) / sizeof(items)[0])

const struct settings_table settings_scheduler = {
	.daemon = "antiphase-scheduler",
	.section = "scheduler",
	.items = items,
	.n = N(items),
	.named = named,
	.n_named = N(named),
};
