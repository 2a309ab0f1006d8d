/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_settings.c - what the doctor reads of the settings of another daemon. */
#include "collector/doctor/doctor.h"
#include "lib/daemon/settings.h"

/* The settings of antiphase-scheduler that the doctor needs. */
static const struct setting scheduler_items[] = {
	{ .section = "scheduler",
	  .key = "http",
	  .fallback = "127.0.0.1:7470",
	  .kind = SETTING_PATH },
	{ .section = "scheduler",
	  .key = "store",
	  .fallback = "/var/lib/antiphase/history.db",
	  .kind = SETTING_PATH },
	{ .section = "scheduler", .key = "keys", .fallback = "", .kind = SETTING_TEXT },
};

static const struct settings_table scheduler_view = {
	.daemon = "antiphase-scheduler",
	.section = "scheduler",
	.items = scheduler_items,
	.n = sizeof scheduler_items / sizeof *scheduler_items,
	.is_partial = true,
};

struct settings *
doctor_scheduler_settings(const struct doctor *doctor)
{
	struct settings *settings = settings_new(&scheduler_view);

	/* The check of the collector's settings reports faults of the file. */
	settings_load(settings, doctor->config_file, NULL);
	return settings;
}
