/* SPDX-License-Identifier: Apache-2.0 */
/* settings.c - the table of the settings of antiphase-topology. */
#include "topology/settings.h"

#include "lib/base/log.h"
#include "lib/daemon/settings.h"

/* clang-format off */
static const struct setting items[] = {
	{ "topology", "plan", NULL, NULL, "",
	  "the plan, if the command line names none",
	  .kind = SETTING_TEXT },
	{ "topology", "listen", "listen", "ADDRESS", "127.0.0.1:7462",
	  "answer HTTP requests at this port on loopback, or path of a Unix socket",
	  .kind = SETTING_PATH, .letter = 'l' },
	{ "topology", "publish", "publish", "ENDPOINT", "tcp://127.0.0.1:7463",
	  "announce changes at this endpoint, or 'off'",
	  .kind = SETTING_PATH, .letter = 'p' },
	{ "topology", "metrics", "metrics", "ADDRESS", "127.0.0.1:9472",
	  "address of /metrics for Prometheus, or 'off'",
	  .kind = SETTING_PATH, .letter = 'm' },
	{ "topology", "keys", "keys", "DIR", "",
	  "CURVE keys for --publish (default: none, loopback only)",
	  .kind = SETTING_TEXT, .letter = 'k' },
	{ "topology", "host", "host", "NAME", "",
	  "this host's name in the plan (default: the host name)",
	  .kind = SETTING_TEXT },
	{ "topology", "log", "log", "LEVEL", "info",
	  "log level: err, warn, info or dbg",
	  .kind = SETTING_WORD, .words = log_level_words, .is_live = true },
	{ "topology", "lldp", "no-lldp", NULL, "yes",
	  "do not query this host's lldpd",
	  .kind = SETTING_BOOLEAN },
	{ "topology", "links", "no-links", NULL, "yes",
	  "do not watch this host's interfaces",
	  .kind = SETTING_BOOLEAN },
	{ "topology", "lldp_socket", "lldp-socket", "PATH", "",
	  "lldpd's socket (default: lldpd's own default)",
	  .kind = SETTING_TEXT },
	{ "topology", "lldpcli", "lldpcli", "PROGRAM", "lldpcli",
	  "program that queries lldpd",
	  .kind = SETTING_PATH },
	{ "topology", "every_s", "every", "SECONDS", "30",
	  "interval between queries of lldpd",
	  .kind = SETTING_INTEGER, .min = 1, .max = 3600, .is_live = true },
	{ "topology", "max_age_s", "max-age", "SECONDS", "300",
	  "ignore reports older than this; 0: keep all",
	  .kind = SETTING_INTEGER, .min = 0, .max = 86400, .is_live = true },
};
/* clang-format on */

#define N(items) (sizeof(items) / sizeof(items)[0])

const struct settings_table settings_topology = {
	.daemon = "antiphase-topology",
	.section = "topology",
	.items = items,
	.n = N(items),
};
