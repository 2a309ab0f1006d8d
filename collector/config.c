#include "collector/config.h"

#include "lib/daemon/settings.h"

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
	config->pcap_file = settings_text(s, "source", "pcap");
	config->pcap_local = settings_text(s, "source", "pcap_local");
	config->pcap_jobs = settings_text(s, "source", "pcap_jobs");
	config->pcap_filter = settings_text(s, "source", "pcap_filter");
	config->replay_file = settings_text(s, "source", "replay");
	config->sysroot = settings_text(s, "source", "sysroot");
	config->endpoint = settings_text(s, "bus", "endpoint");
	config->is_connect = settings_is_on(s, "bus", "connect");
	config->keys = settings_text(s, "bus", "keys");
	config->raw_ms = settings_integer(s, "bus", "raw_ms");
	config->output = settings_text(s, "bus", "output");
	config->pacer_socket = settings_text(s, "pacer", "socket");
	config->is_claim_believed = settings_is_on(s, "pacer", "trust_claims");
	config->orders = settings_text(s, "pacer", "orders");
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
