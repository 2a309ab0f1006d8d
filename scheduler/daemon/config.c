/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/daemon/config.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"
#include "lib/base/units.h"
#include "lib/daemon/settings.h"

#define HOUR_US INT64_C(3600000000)

static const char *
text(const struct scheduler_config *config, const char *key)
{
	return settings_text(config->settings, "scheduler", key);
}

/* NULL for "", "none" and "off". */
static const char *
optional(const struct scheduler_config *config, const char *key)
{
	const char *value = text(config, key);

	return *value && !settings_is_none(value) ? value : NULL;
}

static int64_t
integer(const struct scheduler_config *config, const char *key)
{
	return settings_integer(config->settings, "scheduler", key);
}

static int64_t
seconds(const struct scheduler_config *config, const char *key)
{
	return integer(config, key) * 1000000;
}

/* The sections [partition NAME], and then the list, which overrides them. */
static char *
partition_modes(const struct scheduler_config *config)
{
	struct strbuf list = STRBUF_EMPTY;

	for (size_t i = 0; i < settings_n_named(config->settings); i++) {
		struct settings_named at = settings_named(config->settings, i);

		if (strcmp(at.setting->section, "partition") == 0 &&
		    strcmp(at.setting->key, "mode") == 0)
			strbuf_printf(&list, "%s=%s,", at.name, at.value);
	}
	strbuf_puts(&list, text(config, "partition_modes"));
	return strbuf_steal(&list);
}

/* The sections [partition NAME] with move = yes. */
static char *
partition_moves(const struct scheduler_config *config)
{
	struct strbuf list = STRBUF_EMPTY;

	for (size_t i = 0; i < settings_n_named(config->settings); i++) {
		struct settings_named at = settings_named(config->settings, i);

		if (strcmp(at.setting->section, "partition") == 0 &&
		    strcmp(at.setting->key, "move") == 0 &&
		    strcmp(at.value, "yes") == 0)
			strbuf_printf(&list, "%s,", at.name);
	}
	strbuf_puts(&list, "");
	return strbuf_steal(&list);
}

/* The table has checked it. */
static double
share(const struct scheduler_config *config, const char *key)
{
	double value = 0;

	units_parse_frac(text(config, key), &value);
	return value;
}

void
scheduler_config_follow(struct scheduler_config *config)
{
	free(config->partition_modes);
	free(config->partition_moves);
	free(config->socket);
	*config = (struct scheduler_config){
		.settings = config->settings,
		.log = text(config, "log"),
		.runtime_dir = text(config, "runtime_dir"),
		.socket = xasprintf("%s/scheduler.sock", text(config, "runtime_dir")),
		.bus = text(config, "bus"),
		.keys = optional(config, "keys"),
		.window_ms = integer(config, "window_ms"),
		.link_jobs = (uint32_t)integer(config, "link_jobs"),
		.memory_mb = integer(config, "memory_mb"),
		.topology = optional(config, "topology"),
		.topology_changes = optional(config, "topology_changes"),
		.ecmp_seed = (uint64_t)integer(config, "ecmp_seed"),
		.announce = optional(config, "announce"),
		.http = optional(config, "http"),
		.token_file = optional(config, "token_file"),
		.store = optional(config, "store"),
		.keep_1s_us = integer(config, "keep_1s_hours") * HOUR_US,
		.keep_10s_us = integer(config, "keep_10s_hours") * HOUR_US,
		.keep_5min_us = integer(config, "keep_5min_days") * 24 * HOUR_US,
		.keep_history_us = integer(config, "keep_history_days") * 24 * HOUR_US,
		.store_max_bytes = integer(config, "store_max_mb") << 20,
		.scheduler = text(config, "scheduler"),
		.slurm_bindir = text(config, "slurm_bindir"),
		.poll_ms = integer(config, "poll_ms"),
		.mode = text(config, "mode"),
		.partition_modes = partition_modes(config),
		.partition_moves = partition_moves(config),
		.levers = text(config, "levers"),
		.path_changes = integer(config, "path_changes"),
		.moves_per_hour = share(config, "moves_per_hour"),
		.kill_switch = text(config, "kill_switch"),
		.pin_wait_us = seconds(config, "pin_wait_s"),
		.kubernetes_api = optional(config, "kubernetes_api"),
		.kubernetes_ca_file = optional(config, "kubernetes_ca_file"),
		.kubernetes_token_file = optional(config, "kubernetes_token_file"),
		.kubernetes_pods = text(config, "kubernetes_pods"),
		.kubernetes_users = text(config, "kubernetes_users"),
		.valid_us = seconds(config, "valid_s"),
		.max_age_us = seconds(config, "max_age_s"),
		.earlier_max_age_us = seconds(config, "earlier_max_age_s"),
		.min_iterations = integer(config, "min_iterations"),
		.pacer_min_iterations = integer(config, "pacer_min_iterations"),
	};
}

void
scheduler_config_init(struct scheduler_config *config, struct settings *settings)
{
	*config = (struct scheduler_config){ .settings = settings };
	scheduler_config_follow(config);
}

void
scheduler_config_fini(struct scheduler_config *config)
{
	settings_free(config->settings);
	free(config->partition_modes);
	free(config->partition_moves);
	free(config->socket);
	*config = (struct scheduler_config){ .settings = NULL };
}
