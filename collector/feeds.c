#include "collector/feeds.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collector/cgroups.h"
#include "collector/config.h"
#include "collector/hub.h"
#include "collector/source.h"
#include "collector/src_bpf.h"
#include "collector/src_netlink.h"
#include "collector/src_pcap.h"
#include "collector/src_rdma.h"
#include "collector/src_replay.h"
#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/vec.h"
#include "lib/daemon/caps.h"
#include "lib/daemon/loop.h"

/* A file is read in turns of so long, so that the loop sees to the rest, too. */
#define TURN_NS     INT64_C(20000000)
#define TURN_GAP_NS INT64_C(1000000)

/* An error that comes again and again is said once in so long. */
#define QUIET_NS INT64_C(60000000000)

struct words {
	const char **items;
	size_t n, capacity;
};

struct feed {
	struct feeds *feeds;
	struct source *source;
	const struct source_sink *sink;
	struct loop_item *timer, *ready;
	int64_t period_ns; /* Of the timer. */
	int64_t last_ns;   /* Of the last poll; 0: none yet. */
	int64_t said_ns;   /* When an error was last said. */
	uint64_t unsaid;
	struct feed_status status;
};

struct feeds {
	struct feeds_options options;
	struct feed feeds[HUB_MAX_SOURCES];
	size_t n;
	uint64_t caps;
	bool is_offline;
	/* Names of interfaces: the words of 'list'. */
	char *list;
	struct words names;
};

/* ---- Opening --------------------------------------------------------------------------- */

static void
add_feed(struct feeds *feeds, struct source *source)
{
	struct feed *feed = &feeds->feeds[feeds->n];

	feed->feeds = feeds;
	feed->source = source;
	feed->sink = hub_sink(feeds->options.hub, feeds->n);
	feed->status.name = source->class->name;
	feeds->n++;
}

static int
open_bpf(struct feeds *feeds, struct source **ret_source, struct err *err)
{
	const struct config *config = feeds->options.config;
	struct src_bpf_options options = {
		.interfaces = feeds->names.items,
		.n_interfaces = feeds->names.n,
		.mode = config->is_link_only ? SRC_BPF_LINK_ONLY : SRC_BPF_JOBS,
		.attach = BPF_ATTACH_AUTO,
		.interval_ns = config->interval_ms * 1000000,
		.cgroups = feeds->options.cgroups,
	};
	int rc;

	if (strcmp(config->clsact, "auto") != 0)
		options.attach = strcmp(config->clsact, "yes") == 0 ? BPF_ATTACH_CLSACT
								    : BPF_ATTACH_TCX;
	rc = src_bpf_open(&options, ret_source, err);
	if (rc < 0)
		return rc;
	feeds->caps |= CAPS_TELEMETRY;
	if (config->is_timing && src_bpf_enable_timing(*ret_source, err) < 0)
		log_warn("collector", "eBPF programs are not timed: %s",
			 err ? err->text : "");
	return 0;
}

static int
open_netlink(struct feeds *feeds, struct source **ret_source, struct err *err)
{
	struct netlink_options options = {
		.names = feeds->names.items,
		.n_names = feeds->names.n,
		.interval_ns = feeds->options.config->interval_ms * 1000000,
	};

	return src_netlink_open(&options, ret_source, err);
}

/* The job of a process: of the control group that /proc says it is in. */
static bool
job_of_pid(void *ctx, uint32_t pid, char *ret_name, size_t size)
{
	const struct cgroups *cgroups = ctx;
	char path[4096], line[4096];
	const char *name = NULL;
	struct stat stat_of;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/cgroup", pid);
	file = fopen(path, "re");
	while (file && !name && fgets(line, sizeof line, file)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "0::", 3) != 0)
			continue; /* Of cgroup v1. */
		if ((size_t)snprintf(path, sizeof path, "%s%s", cgroups_root(cgroups),
				     line + 3) < sizeof path &&
		    stat(path, &stat_of) == 0)
			name = cgroups_job(cgroups, stat_of.st_ino);
	}
	if (file)
		fclose(file);
	if (!name || !*name)
		return false;
	snprintf(ret_name, size, "%s", name);
	return true;
}

static int
open_rdma(struct feeds *feeds, struct source **ret_source, struct err *err)
{
	const char *sysroot = feeds->options.config->sysroot;
	struct rdma_options options = {
		.sysroot = strcmp(sysroot, "/") == 0 ? NULL : sysroot,
		.interval_ns = feeds->options.config->interval_ms * 1000000,
		.job_of_pid = feeds->options.cgroups ? job_of_pid : NULL,
		.ctx = feeds->options.cgroups,
	};

	return src_rdma_open(&options, ret_source, err);
}

/* The words of 'list', which is changed. */
static void
split(char *list, const char *blanks, struct words *words)
{
	char *rest = NULL;

	for (char *word = strtok_r(list, blanks, &rest); word;
	     word = strtok_r(NULL, blanks, &rest))
		vec_push(words, word);
}

static int
open_pcap(struct feeds *feeds, struct source **ret_source, struct err *err)
{
	const struct config *config = feeds->options.config;
	char *local = xstrdup(config->pcap_local), *jobs = xstrdup(config->pcap_jobs);
	struct words locals = VEC_EMPTY, rules = VEC_EMPTY;
	struct pcap_options options = {
		.file = *config->pcap_file ? config->pcap_file : NULL,
		.device = feeds->names.n ? feeds->names.items[0] : NULL,
		.interface = feeds->names.n ? feeds->names.items[0] : NULL,
		.filter = *config->pcap_filter ? config->pcap_filter : NULL,
	};
	int rc;

	split(local, ", ", &locals);
	split(jobs, " ", &rules);
	options.local = locals.items;
	options.n_local = locals.n;
	options.jobs = rules.items;
	options.n_jobs = rules.n;
	if (!options.file && !options.device)
		rc = err_set(err, NULL, 0, 0,
			     "the source pcap needs a capture (--pcap) or an interface "
			     "(--interface)");
	else
		rc = src_pcap_open(&options, ret_source, err);
	if (rc == 0 && options.file)
		feeds->is_offline = true;
	else if (rc == 0)
		feeds->caps |= CAPS(NET_RAW);
	vec_free(&locals);
	vec_free(&rules);
	free(local);
	free(jobs);
	return rc;
}

static int
open_replay(struct feeds *feeds, struct source **ret_source, struct err *err)
{
	struct replay_options options = {
		.file = feeds->options.config->replay_file,
		.is_paced = true,
	};

	if (!*options.file)
		return err_set(
			err, NULL, 0, 0,
			"the source replay needs a recording; name it by --replay");
	return src_replay_open(&options, ret_source, err);
}

static const struct {
	enum config_source source;
	int (*open)(struct feeds *feeds, struct source **ret_source, struct err *err);
} kinds[] = {
	{ CONFIG_BPF, open_bpf },       { CONFIG_NETLINK, open_netlink },
	{ CONFIG_RDMA, open_rdma },     { CONFIG_PCAP, open_pcap },
	{ CONFIG_REPLAY, open_replay },
};

#define N_KINDS (sizeof kinds / sizeof kinds[0])

static int
open_kind(struct feeds *feeds, enum config_source which, struct err *err)
{
	for (size_t i = 0; i < N_KINDS; i++) {
		struct source *source = NULL;
		int rc;

		if (kinds[i].source != which)
			continue;
		rc = kinds[i].open(feeds, &source, err);
		if (rc == 0)
			add_feed(feeds, source);
		return rc;
	}
	err_set(err, NULL, 0, 0, "this source was not built in");
	return -EOPNOTSUPP;
}

/* The best there is: eBPF, else netlink; and RDMA. */
static int
open_best(struct feeds *feeds, struct err *err)
{
	struct err why = { 0 };
	int rc = open_kind(feeds, CONFIG_BPF, &why);

	if (rc < 0) {
		log_warn("collector",
			 "no eBPF: %s; counting interfaces by netlink instead, no jobs "
			 "('antiphase doctor' says more)",
			 why.text);
		rc = open_kind(feeds, CONFIG_NETLINK, err);
	}
	if (rc == 0 && open_kind(feeds, CONFIG_RDMA, &why) < 0)
		log_dbg("collector", "no RDMA: %s", why.text);
	return rc;
}

int
feeds_open(const struct feeds_options *options, struct feeds **ret_feeds,
	   struct err *err)
{
	unsigned wanted = options->config->sources;
	struct feeds *feeds = xcalloc(1, sizeof *feeds);
	int rc = 0;

	feeds->options = *options;
	feeds->list = xstrdup(options->config->interfaces);
	split(feeds->list, ", ", &feeds->names);
	if (wanted & CONFIG_AUTO)
		rc = open_best(feeds, err);
	for (unsigned bit = 1; bit < CONFIG_AUTO && rc == 0; bit <<= 1) {
		bool is_open = wanted & CONFIG_AUTO &&
			       bit & (CONFIG_BPF | CONFIG_NETLINK | CONFIG_RDMA);

		if (wanted & bit && !is_open)
			rc = open_kind(feeds, bit, err);
	}
	if (rc == 0 && feeds->is_offline && feeds->n > 1)
		rc = err_set(err, NULL, 0, 0,
			     "a capture is of another time: it cannot be mixed with "
			     "other sources");
	if (rc < 0) {
		feeds_close(feeds);
		return rc;
	}
	*ret_feeds = feeds;
	return 0;
}

void
feeds_close(struct feeds *feeds)
{
	if (!feeds)
		return;
	for (size_t i = 0; i < feeds->n; i++) {
		struct feed *feed = &feeds->feeds[i];

		if (feed->timer)
			loop_remove(feeds->options.loop, feed->timer);
		if (feed->ready)
			loop_remove(feeds->options.loop, feed->ready);
		feed->source->class->close(feed->source);
	}
	vec_free(&feeds->names);
	free(feeds->list);
	free(feeds);
}

/* ---- Polling --------------------------------------------------------------------------- */

static bool
are_all_at_end(const struct feeds *feeds)
{
	for (size_t i = 0; i < feeds->n; i++) {
		if (!feeds->feeds[i].status.is_end)
			return false;
	}
	return true;
}

static void
say_error(struct feed *feed, int64_t now_ns, const struct err *err)
{
	feed->status.errors++;
	if (feed->said_ns && now_ns - feed->said_ns < QUIET_NS) {
		feed->unsaid++;
		return;
	}
	if (feed->unsaid)
		log_warn("collector", "source %s: %s (and %llu times more before)",
			 feed->status.name, err->text,
			 (unsigned long long)feed->unsaid);
	else
		log_warn("collector", "source %s: %s", feed->status.name, err->text);
	feed->said_ns = now_ns;
	feed->unsaid = 0;
}

static void
poll_feed(struct feed *feed, int64_t now_ns)
{
	struct err err = { 0 };
	int rc;

	if (feed->status.is_end)
		return;
	if (feed->last_ns) {
		int64_t gap_ns = now_ns - feed->last_ns;

		feed->status.sum_ns += gap_ns;
		if (gap_ns > feed->status.longest_ns)
			feed->status.longest_ns = gap_ns;
	}
	feed->last_ns = now_ns;
	feed->status.polls++;
	rc = feed->source->class->poll(feed->source, now_ns, feed->sink, &err);
	feed->status.busy_ns += clk_monotonic_ns() - now_ns;
	if (rc == -ENODATA)
		feed->status.is_end = true;
	else if (rc < 0)
		say_error(feed, now_ns, &err);
}

static void on_due(void *ctx, int64_t now_ns, int64_t missed);

/* Sets the timer anew if the source wants another interval now. */
static void
set_timer(struct feed *feed)
{
	int64_t wanted_ns = feed->source->class->interval_ns(feed->source);
	int64_t period_ns = wanted_ns > 0 ? wanted_ns : TURN_GAP_NS;

	feed->status.wanted_ns = wanted_ns;
	if (feed->timer && feed->period_ns == period_ns)
		return;
	if (feed->timer)
		loop_remove(feed->feeds->options.loop, feed->timer);
	feed->period_ns = period_ns;
	feed->timer = loop_every(feed->feeds->options.loop, period_ns, on_due, feed);
}

static void
on_due(void *ctx, int64_t now_ns, int64_t missed)
{
	struct feed *feed = ctx;
	struct feeds *feeds = feed->feeds;
	int64_t until_ns = now_ns + TURN_NS;

	feed->status.missed += (uint64_t)missed;
	do {
		poll_feed(feed, feed->status.wanted_ns ? now_ns : clk_monotonic_ns());
		if (!feed->status.wanted_ns)
			feeds->options.polled(feeds->options.ctx, false);
	} while (!feed->status.wanted_ns && !feed->status.is_end &&
		 clk_monotonic_ns() < until_ns);
	if (feed->status.is_end) {
		loop_remove(feeds->options.loop, feed->timer);
		feed->timer = NULL;
	} else {
		set_timer(feed);
	}
	feeds->options.polled(feeds->options.ctx, are_all_at_end(feeds));
}

static void
on_ready(void *ctx)
{
	struct feed *feed = ctx;

	poll_feed(feed, clk_monotonic_ns());
	if (feed->status.is_end) {
		loop_remove(feed->feeds->options.loop, feed->ready);
		feed->ready = NULL;
	}
	feed->feeds->options.polled(feed->feeds->options.ctx,
				    are_all_at_end(feed->feeds));
}

void
feeds_start(struct feeds *feeds)
{
	for (size_t i = 0; i < feeds->n; i++) {
		struct feed *feed = &feeds->feeds[i];
		const struct source_class *class = feed->source->class;
		int fd = class->fd ? class->fd(feed->source) : -1;

		if (fd >= 0)
			feed->ready = loop_fd(feeds->options.loop, fd, on_ready, feed);
		set_timer(feed);
		/* The first reading at once: what follows is counted from it. */
		if (feed->status.wanted_ns)
			poll_feed(feed, clk_monotonic_ns());
	}
}

void
feeds_poll(struct feeds *feeds)
{
	for (size_t i = 0; i < feeds->n; i++)
		poll_feed(&feeds->feeds[i], clk_monotonic_ns());
}

/* ---- The rest ---------------------------------------------------------------------------- */

uint64_t
feeds_caps(const struct feeds *feeds)
{
	return feeds->caps;
}

bool
feeds_is_offline(const struct feeds *feeds)
{
	return feeds->is_offline;
}

struct source *
feeds_source(const struct feeds *feeds, const char *name)
{
	for (size_t i = 0; i < feeds->n; i++) {
		if (strcmp(feeds->feeds[i].status.name, name) == 0)
			return feeds->feeds[i].source;
	}
	return NULL;
}

size_t
feeds_n(const struct feeds *feeds)
{
	return feeds->n;
}

const struct feed_status *
feeds_status(const struct feeds *feeds, size_t i)
{
	return &feeds->feeds[i].status;
}

void
feeds_forget_longest(struct feeds *feeds)
{
	for (size_t i = 0; i < feeds->n; i++)
		feeds->feeds[i].status.longest_ns = 0;
}
