#include "collector/config.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cfg.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"
#include "lib/base/words.h"

#define MAX_FILE_BYTES (1 << 20)

enum kind {
	TEXT,    /* char *. */
	PATH,    /* char *, not empty. */
	INTEGER, /* int64_t. */
	BOOLEAN, /* bool: yes or no. */
	WORD,    /* char *, one of a list. */
	SOURCES, /* unsigned: words by comma. */
};

struct entry {
	struct config_setting setting;
	enum kind kind;
	size_t offset;
	int64_t min, max;
	const char *const *words;
};

#define AT(member) offsetof(struct config, member)

static const char *const log_words[] = { "err", "warn", "info", "dbg", NULL };
static const char *const clsact_words[] = { "auto", "yes", "no", NULL };
static const char *const source_words[] = { "bpf",    "netlink", "rdma", "pcap",
					    "replay", "auto",    NULL };
static const char *const boolean_words[] = { "no", "yes", "false", "true", NULL };
/* Sections of the same file that are other daemons'. */
static const char *const foreign_sections[] = { "topology", "scheduler", NULL };

/* A table. */
/* clang-format off */
static const struct entry entries[] = {
	{ { "collector", "host", "host", "NAME", "",
	    "what this host is called in frames (default: its host name)" },
	  TEXT, AT(host), 0, 0, NULL },
	{ { "collector", "user", "user", "NAME", "",
	    "the user to become once all is open (default: stay)" },
	  TEXT, AT(user), 0, 0, NULL },
	{ { "collector", "runtime_dir", "runtime-dir", "DIR", "/run/antiphase",
	    "where sockets and totals are" },
	  PATH, AT(runtime_dir), 0, 0, NULL },
	{ { "collector", "log", "log", "LEVEL", "info",
	    "how much to say: err, warn, info or dbg" },
	  WORD, AT(log), 0, 0, log_words },
	{ { "collector", "interval_ms", "interval-ms", "MS", "0",
	    "how often counts are collected; 0: as suits each source" },
	  INTEGER, AT(interval_ms), 0, 1000, NULL },
	{ { "source", "source", "source", "LIST", "auto",
	    "by comma: auto, bpf, netlink, rdma, pcap, replay" },
	  SOURCES, AT(sources), 0, 0, source_words },
	{ { "source", "interface", "interface", "LIST", "",
	    "interfaces by comma (default: those that a cable may be in)" },
	  TEXT, AT(interfaces), 0, 0, NULL },
	{ { "source", "link_only", "link-only", NULL, "no",
	    "count interfaces only, not jobs: cheaper a packet" },
	  BOOLEAN, AT(is_link_only), 0, 0, boolean_words },
	{ { "source", "timing", "timing", NULL, "no",
	    "have the kernel time the eBPF programs, for 60 ns more a packet" },
	  BOOLEAN, AT(is_timing), 0, 0, boolean_words },
	{ { "source", "clsact", "clsact", "WHEN", "auto",
	    "attach by clsact instead of TCX: auto (where there is no TCX), yes, no" },
	  WORD, AT(clsact), 0, 0, clsact_words },
	{ { "source", "services", "services", "LIST", "",
	    "systemd units that are jobs, as shell patterns by comma (default: none)" },
	  TEXT, AT(services), 0, 0, NULL },
	{ { "source", "cgroup_root", "cgroup-root", "DIR", "",
	    "where the control groups are (default: where cgroup v2 is mounted)" },
	  TEXT, AT(cgroup_root), 0, 0, NULL },
	{ { "source", "pcap", "pcap", "FILE", "",
	    "the capture that the source pcap reads (default: live)" },
	  TEXT, AT(pcap_file), 0, 0, NULL },
	{ { "source", "pcap_local", "pcap-local", "LIST", "",
	    "addresses by comma that are this host: one interface (default: each "
	    "address is one)" },
	  TEXT, AT(pcap_local), 0, 0, NULL },
	{ { "source", "pcap_jobs", "pcap-jobs", "LIST", "",
	    "jobs by address, by blank: JOB=ADDRESS[,ADDRESS][:PORT[-PORT]]" },
	  TEXT, AT(pcap_jobs), 0, 0, NULL },
	{ { "source", "pcap_filter", "pcap-filter", "TEXT", "",
	    "packets that count, as pcap-filter(7) writes it (default: all)" },
	  TEXT, AT(pcap_filter), 0, 0, NULL },
	{ { "source", "replay", "replay", "FILE", "",
	    "the recording that the source replay reads" },
	  TEXT, AT(replay_file), 0, 0, NULL },
	{ { "source", "sysroot", "sysroot", "DIR", "/",
	    "where /sys and /proc of the source rdma are found" },
	  PATH, AT(sysroot), 0, 0, NULL },
	{ { "bus", "endpoint", "endpoint", "URL", "tcp://127.0.0.1:7461",
	    "where frames are published; none: nowhere" },
	  PATH, AT(endpoint), 0, 0, NULL },
	{ { "bus", "connect", "connect", NULL, "no",
	    "connect to the endpoint, a proxy, instead of binding it" },
	  BOOLEAN, AT(is_connect), 0, 0, boolean_words },
	{ { "bus", "keys", "keys", "DIR", "",
	    "CURVE keys (default: none, loopback only)" },
	  TEXT, AT(keys), 0, 0, NULL },
	{ { "bus", "raw_ms", "raw-ms", "MS", "250",
	    "length of a frame of 1 ms series, for those who ask for them" },
	  INTEGER, AT(raw_ms), 100, 1000, NULL },
	{ { "bus", "output", "output", "FILE", "",
	    "write a recording, too; -: to stdout" },
	  TEXT, AT(output), 0, 0, NULL },
	{ { "metrics", "address", "metrics", "ADDRESS", "127.0.0.1:9471",
	    "where Prometheus finds /metrics, on loopback; none: nowhere" },
	  PATH, AT(metrics), 0, 0, NULL },
	{ { "metrics", "window_s", "metrics-window-s", "S", "15",
	    "window of the peak gauges: at least the scrape interval" },
	  INTEGER, AT(window_s), 1, 300, NULL },
	{ { "metrics", "top_jobs", "top-jobs", "N", "20",
	    "jobs with series of their own an interface; the others are \"other\"" },
	  INTEGER, AT(top_jobs), 0, 1000, NULL },
};
/* clang-format on */

#define N_ENTRIES (sizeof entries / sizeof entries[0])

_Static_assert(N_ENTRIES <= CONFIG_MAX, "origins[] is too short");

size_t
config_n(void)
{
	return N_ENTRIES;
}

const struct config_setting *
config_setting(size_t i)
{
	return &entries[i].setting;
}

bool
config_is_none(const char *address)
{
	return strcmp(address, "none") == 0 || strcmp(address, "off") == 0;
}

const char *
config_origin(const struct config *config, size_t i)
{
	return config->origins[i] ? config->origins[i] : "default";
}

/* ---- One value ------------------------------------------------------------------- */

static void *
member(struct config *config, const struct entry *entry)
{
	return (char *)config + entry->offset;
}

static void
set_text(struct config *config, const struct entry *entry, const char *value)
{
	char **text = member(config, entry);

	free(*text);
	*text = xstrdup(value);
}

static int
set_integer(struct config *config, const struct entry *entry, const char *value,
	    const char *file, unsigned line, struct err *err)
{
	char *end;
	long long number;

	errno = 0;
	number = strtoll(value, &end, 10);
	if (end == value || *end || errno || number < entry->min || number > entry->max)
		return err_set(err, file, line, 0,
			       "%s is a whole number from %" PRId64 " to %" PRId64
			       ", not '%s'",
			       entry->setting.key, entry->min, entry->max, value);
	*(int64_t *)member(config, entry) = number;
	return 0;
}

static int
set_sources(struct config *config, const struct entry *entry, const char *value,
	    const char *file, unsigned line, struct err *err)
{
	char *list = xstrdup(value), *rest = NULL;
	unsigned sources = 0;
	int rc = 0;

	for (char *word = strtok_r(list, ", ", &rest); word && rc == 0;
	     word = strtok_r(NULL, ", ", &rest)) {
		int i = words_index(word, source_words);

		if (i < 0) {
			rc = err_set(err, file, line, 0, "there is no source '%s'",
				     word);
			err_suggest(err, word, source_words);
		} else {
			sources |= 1u << i;
		}
	}
	if (rc == 0 && !sources)
		rc = err_set(err, file, line, 0, "no source is named");
	if (rc == 0 && sources & CONFIG_REPLAY && sources != CONFIG_REPLAY)
		rc = err_set(err, file, line, 0,
			     "the source replay is of another time and host: it cannot "
			     "be mixed with others");
	if (rc == 0)
		*(unsigned *)member(config, entry) = sources;
	free(list);
	return rc;
}

static int
set_value(struct config *config, const struct entry *entry, const char *value,
	  const char *file, unsigned line, struct err *err)
{
	const char *key = entry->setting.key;
	int rc;

	switch (entry->kind) {
	case INTEGER:
		return set_integer(config, entry, value, file, line, err);
	case SOURCES:
		return set_sources(config, entry, value, file, line, err);
	case BOOLEAN:
		rc = words_index(value, boolean_words);
		if (rc < 0)
			return err_set(err, file, line, 0, "%s is yes or no, not '%s'",
				       key, value);
		*(bool *)member(config, entry) = rc & 1;
		return 0;
	case WORD:
		if (words_index(value, entry->words) < 0) {
			err_set(err, file, line, 0, "%s cannot be '%s'; it is one of",
				key, value);
			for (size_t i = 0; entry->words[i]; i++)
				err_append(err, "%s %s", i ? "," : "", entry->words[i]);
			return -EINVAL;
		}
		break;
	case PATH:
		if (!*value)
			return err_set(err, file, line, 0, "%s has no value", key);
		break;
	case TEXT:
		break;
	}
	set_text(config, entry, value);
	return 0;
}

static char *
sources_text(unsigned sources)
{
	struct strbuf text = STRBUF_EMPTY;

	for (size_t i = 0; source_words[i]; i++) {
		if (sources >> i & 1)
			strbuf_printf(&text, "%s%s", text.length ? "," : "",
				      source_words[i]);
	}
	return strbuf_steal(&text);
}

char *
config_text(const struct config *config, size_t i)
{
	const void *value = (const char *)config + entries[i].offset;

	switch (entries[i].kind) {
	case INTEGER:
		return xasprintf("%" PRId64, *(const int64_t *)value);
	case BOOLEAN:
		return xstrdup(*(const bool *)value ? "yes" : "no");
	case SOURCES:
		return sources_text(*(const unsigned *)value);
	default:
		return xstrdup(*(char *const *)value);
	}
}

/* ---- Finding it -------------------------------------------------------------------- */

static bool
is_section(const char *name)
{
	for (size_t i = 0; i < N_ENTRIES; i++) {
		if (strcmp(entries[i].setting.section, name) == 0)
			return true;
	}
	return false;
}

static int
unknown(const char *section, const char *key, const char *file, unsigned line,
	struct err *err)
{
	VEC(const char *) words = VEC_EMPTY;
	const char *home = NULL;

	for (size_t i = 0; i < N_ENTRIES; i++) {
		if (key && strcmp(entries[i].setting.key, key) == 0)
			home = entries[i].setting.section;
		if (!key || strcmp(entries[i].setting.section, section) == 0)
			vec_push(&words, key ? entries[i].setting.key
					     : entries[i].setting.section);
	}
	vec_push(&words, NULL);
	if (key)
		err_set(err, file, line, 0, "unknown key '%s' in [%s]", key, section);
	else
		err_set(err, file, line, 0, "unknown section [%s]", section);
	if (home)
		err_append(err, "; it belongs to [%s]", home);
	else
		err_suggest(err, key ? key : section, words.items);
	vec_free(&words);
	return -EINVAL;
}

int
config_set(struct config *config, const char *section, const char *key,
	   const char *value, const char *file, unsigned line, struct err *err)
{
	for (size_t i = 0; i < N_ENTRIES; i++) {
		const struct entry *entry = &entries[i];
		int rc;

		if (strcmp(entry->setting.section, section) != 0 ||
		    strcmp(entry->setting.key, key) != 0)
			continue;
		rc = set_value(config, entry, value, file, line, err);
		if (rc < 0)
			return rc;
		free(config->origins[i]);
		config->origins[i] = xstrdup(file ? file : "option");
		return 0;
	}
	return unknown(section, is_section(section) ? key : NULL, file, line, err);
}

void
config_init(struct config *config)
{
	*config = (struct config){ 0 };
	for (size_t i = 0; i < N_ENTRIES; i++) {
		struct err err;

		if (set_value(config, &entries[i], entries[i].setting.fallback, NULL, 0,
			      &err) < 0)
			BUG("default of %s: %s", entries[i].setting.key, err.text);
	}
}

void
config_fini(struct config *config)
{
	for (size_t i = 0; i < N_ENTRIES; i++) {
		enum kind kind = entries[i].kind;

		if (kind == TEXT || kind == PATH || kind == WORD)
			free(*(char **)member(config, &entries[i]));
		free(config->origins[i]);
	}
	*config = (struct config){ 0 };
}

/* ---- Files and the environment ------------------------------------------------------- */

struct reading {
	struct config *config;
	const char *file;
};

static int
on_entry(void *ctx, const struct cfg_entry *entry, struct err *err)
{
	const struct reading *reading = ctx;

	if (entry->section && words_index(entry->section, foreign_sections) >= 0)
		return 0;
	if (!entry->key)
		return is_section(entry->section)
			       ? 0
			       : unknown(entry->section, NULL, reading->file,
					 entry->line, err);
	if (!entry->section || !*entry->section)
		return err_set(err, reading->file, entry->line, 0,
			       "'%s' is in no section; expected a line such as "
			       "[collector] before it",
			       entry->key);
	return config_set(reading->config, entry->section, entry->key, entry->value,
			  reading->file, entry->line, err);
}

int
config_parse(struct config *config, const char *file, const char *text, size_t length,
	     struct err *err)
{
	struct reading reading = { config, file };

	return cfg_parse(file, text, length, on_entry, &reading, err);
}

static int
read_one(struct config *config, const char *file, struct err *err)
{
	char *text;
	size_t length;
	int rc = file_read(file, MAX_FILE_BYTES, &text, &length, err);

	if (rc < 0)
		return rc;
	rc = config_parse(config, file, text, length, err);
	free(text);
	return rc;
}

static int
is_conf(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && dot != entry->d_name && strcmp(dot, ".conf") == 0;
}

static int
by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* conf.d/NAME.conf beside 'file'. */
static int
read_directory(struct config *config, const char *file, struct err *err)
{
	const char *slash = strrchr(file, '/');
	char *directory = slash ? xasprintf("%.*s/conf.d", (int)(slash - file), file)
				: xstrdup("conf.d");
	struct dirent **found = NULL;
	int n = scandir(directory, &found, is_conf, by_name), rc = 0;

	for (int i = 0; i < n; i++) {
		if (rc == 0) {
			char *path = xasprintf("%s/%s", directory, found[i]->d_name);

			rc = read_one(config, path, err);
			free(path);
		}
		free(found[i]);
	}
	free(found);
	free(directory);
	return rc;
}

/* "ANTIPHASE_COLLECTOR_INTERVAL_MS"; free with free(). */
static char *
variable_of(const struct config_setting *setting)
{
	char *name = xasprintf("ANTIPHASE_%s_%s", setting->section, setting->key);

	for (char *c = name; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	return name;
}

static int
read_environment(struct config *config, struct err *err)
{
	for (size_t i = 0; i < N_ENTRIES; i++) {
		const struct config_setting *setting = &entries[i].setting;
		char *name = variable_of(setting);
		const char *value = getenv(name);
		int rc = value ? config_set(config, setting->section, setting->key,
					    value, name, 0, err)
			       : 0;

		free(name);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int
config_load(struct config *config, const char *file, struct err *err)
{
	const char *path = file ? file : CONFIG_FILE;
	int rc = read_one(config, path, err);

	if (rc == -ENOENT && !file)
		rc = 0;
	if (rc == 0)
		rc = read_directory(config, path, err);
	if (rc == 0)
		rc = read_environment(config, err);
	return rc;
}
