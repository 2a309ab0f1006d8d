/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/sources/sources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/config.h"
#include "collector/jobs/cgroups.h"
#include "collector/jobs/process_job.h"
#include "collector/series/ingest.h"
#include "collector/sources/bpf/src_bpf.h"
#include "collector/sources/packets/src_pcap.h"
#include "collector/sources/rdma/src_rdma.h"
#include "collector/sources/source.h"
#include "collector/sources/src_netlink.h"
#include "collector/sources/src_replay.h"
#include "collector/sources/src_text.h"
#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/words.h"
#include "lib/daemon/caps.h"
#include "lib/daemon/loop.h"

/* A file is read in slices, so that the loop also serves its other events. */
#define SLICE_NS     INT64_C(20000000)
#define SLICE_GAP_NS INT64_C(1000000)

/* A repeated error is logged once in this time. */
#define QUIET_NS INT64_C(60000000000)

struct poller {
	struct sources *sources;
	struct source *source;
	const struct source_sink *sink;
	struct loop_item *timer, *ready;
	int64_t period_ns; /* Of the timer. */
	int64_t last_ns;   /* Of the last poll; 0: none yet. */
	int64_t logged_ns; /* When an error was last logged. */
	uint64_t unlogged;
	struct source_status status;
};

struct sources {
	struct sources_options options;
	struct poller pollers[INGEST_MAX_SOURCES];
	size_t n;
	uint64_t caps;
	bool is_offline;
	struct words names; /* Of interfaces. */
};

/* ---- Opening --------------------------------------------------------------------- */

static void
add_poller(struct sources *sources, struct source *source)
{
	struct poller *poller = &sources->pollers[sources->n];

	poller->sources = sources;
	poller->source = source;
	poller->sink = ingest_sink(sources->options.ingest, sources->n);
	poller->status.name = source->class->name;
	sources->n++;
}

static int
open_bpf(struct sources *sources, struct source **ret_source, struct err *err)
{
	const struct config *config = sources->options.config;
	struct src_bpf_options options = {
		.interfaces = sources->names.items.items,
		.n_interfaces = sources->names.items.n,
		.mode = config->is_link_only ? SRC_BPF_LINK_ONLY : SRC_BPF_JOBS,
		.attach = BPF_ATTACH_AUTO,
		.interval_ns = config->interval_ms * 1000000,
		.cgroups = sources->options.cgroups,
	};
	int rc;

	if (strcmp(config->clsact, "auto") != 0)
		options.attach = strcmp(config->clsact, "yes") == 0 ? BPF_ATTACH_CLSACT
								    : BPF_ATTACH_TCX;
	rc = src_bpf_open(&options, ret_source, err);
	if (rc < 0)
		return rc;
	sources->caps |= src_bpf_caps(*ret_source);
	if (config->is_timing && src_bpf_enable_timing(*ret_source, err) < 0)
		log_warn("collector", "eBPF programs are not timed: %s",
			 err ? err->text : "");
	return 0;
}

static int
open_netlink(struct sources *sources, struct source **ret_source, struct err *err)
{
	struct netlink_options options = {
		.names = sources->names.items.items,
		.n_names = sources->names.items.n,
		.interval_ns = sources->options.config->interval_ms * 1000000,
	};

	return src_netlink_open(&options, ret_source, err);
}

static bool
job_of_path(void *ctx, const char *path, char ret_name[TELE_MAX_NAME + 1])
{
	return cgroups_job_of_path(ctx, path, ret_name);
}

static bool
job_of_pid(void *ctx, uint32_t pid, char ret_name[TELE_MAX_NAME + 1])
{
	return process_job_name("", pid, job_of_path, ctx, ret_name);
}

static int
open_rdma(struct sources *sources, struct source **ret_source, struct err *err)
{
	const char *sysroot = sources->options.config->sysroot;
	struct rdma_options options = {
		.sysroot = strcmp(sysroot, "/") == 0 ? NULL : sysroot,
		.interval_ns = sources->options.config->interval_ms * 1000000,
		.job_of_pid = sources->options.cgroups ? job_of_pid : NULL,
		.ctx = sources->options.cgroups,
	};

	return src_rdma_open(&options, ret_source, err);
}

static int
open_pcap(struct sources *sources, struct source **ret_source, struct err *err)
{
	const struct config *config = sources->options.config;
	const char *device =
		sources->names.items.n ? sources->names.items.items[0] : NULL;
	struct words local, jobs;
	struct pcap_options options = {
		.file = *config->pcap_file ? config->pcap_file : NULL,
		.device = device,
		.interface = device,
		.filter = *config->pcap_filter ? config->pcap_filter : NULL,
	};
	int rc;

	words_split(&local, config->pcap_local, ", ");
	words_split(&jobs, config->pcap_jobs, " ");
	options.local = local.items.items;
	options.n_local = local.items.n;
	options.jobs = jobs.items.items;
	options.n_jobs = jobs.items.n;
	if (!options.file && !options.device)
		rc = err_set(err, NULL, 0, 0,
			     "the source pcap needs a capture (--pcap) or an interface "
			     "(--interface)");
	else
		rc = src_pcap_open(&options, ret_source, err);
	if (rc == 0 && options.file)
		sources->is_offline = true;
	else if (rc == 0)
		sources->caps |= CAPS(NET_RAW);
	words_fini(&local);
	words_fini(&jobs);
	return rc;
}

static int
open_replay(struct sources *sources, struct source **ret_source, struct err *err)
{
	struct replay_options options = {
		.file = sources->options.config->replay_file,
		.is_paced = true,
	};

	if (!*options.file)
		return err_set(err, NULL, 0, 0,
			       "the source replay needs a recording (--replay)");
	return src_replay_open(&options, ret_source, err);
}

static int
open_text(struct sources *sources, struct source **ret_source, struct err *err)
{
	const char *path = sources->options.config->text_file;

	if (!*path)
		return err_set(err, NULL, 0, 0,
			       "the source text needs a FIFO or a file (--text)");
	return src_text_open(path, ret_source, err);
}

static const struct {
	enum config_source source;
	int (*open)(struct sources *sources, struct source **ret_source,
		    struct err *err);
} kinds[] = {
	{ CONFIG_BPF, open_bpf },       { CONFIG_NETLINK, open_netlink },
	{ CONFIG_RDMA, open_rdma },     { CONFIG_PCAP, open_pcap },
	{ CONFIG_REPLAY, open_replay }, { CONFIG_TEXT, open_text },
};

#define N_KINDS (sizeof kinds / sizeof kinds[0])

static int
open_kind(struct sources *sources, enum config_source which, struct err *err)
{
	for (size_t i = 0; i < N_KINDS; i++) {
		struct source *source = NULL;
		int rc;

		if (kinds[i].source != which)
			continue;
		rc = kinds[i].open(sources, &source, err);
		if (rc == 0)
			add_poller(sources, source);
		return rc;
	}
	err_set(err, NULL, 0, 0, "this build does not have the source");
	return -EOPNOTSUPP;
}

/* eBPF, or netlink as a fallback; and RDMA. */
static int
open_best(struct sources *sources, struct err *err)
{
	struct err why = { 0 };
	int rc = open_kind(sources, CONFIG_BPF, &why);

	if (rc < 0) {
		log_warn("collector",
			 "no eBPF: %s; counting interfaces by netlink instead, no jobs "
			 "(run 'antiphase doctor')",
			 why.text);
		rc = open_kind(sources, CONFIG_NETLINK, err);
	}
	if (rc == 0 && open_kind(sources, CONFIG_RDMA, &why) < 0)
		log_dbg("collector", "no RDMA: %s", why.text);
	return rc;
}

int
sources_open(const struct sources_options *options, struct sources **ret_sources,
	     struct err *err)
{
	unsigned wanted = options->config->sources;
	struct sources *sources = xcalloc(1, sizeof *sources);
	int rc = 0;

	sources->options = *options;
	words_split(&sources->names, options->config->interfaces, ", ");
	if (wanted & CONFIG_AUTO)
		rc = open_best(sources, err);
	for (unsigned bit = 1; bit < CONFIG_AUTO && rc == 0; bit <<= 1) {
		bool is_open = wanted & CONFIG_AUTO &&
			       bit & (CONFIG_BPF | CONFIG_NETLINK | CONFIG_RDMA);

		if (wanted & bit && !is_open)
			rc = open_kind(sources, bit, err);
	}
	if (rc == 0 && sources->is_offline && sources->n > 1)
		rc = err_set(err, NULL, 0, 0,
			     "a capture file cannot be combined with other sources");
	if (rc < 0) {
		sources_close(sources);
		return rc;
	}
	*ret_sources = sources;
	return 0;
}

void
sources_close(struct sources *sources)
{
	if (!sources)
		return;
	for (size_t i = 0; i < sources->n; i++) {
		struct poller *poller = &sources->pollers[i];

		if (poller->timer)
			loop_remove(sources->options.loop, poller->timer);
		if (poller->ready)
			loop_remove(sources->options.loop, poller->ready);
		poller->source->class->close(poller->source);
	}
	words_fini(&sources->names);
	free(sources);
}

/* ---- Polling --------------------------------------------------------------------- */

static bool
are_all_at_end(const struct sources *sources)
{
	for (size_t i = 0; i < sources->n; i++) {
		if (!sources->pollers[i].status.is_end)
			return false;
	}
	return true;
}

static void
report_error(struct poller *poller, int64_t now_ns, const struct err *err)
{
	poller->status.errors++;
	if (poller->logged_ns && now_ns - poller->logged_ns < QUIET_NS) {
		poller->unlogged++;
		return;
	}
	if (poller->unlogged)
		log_warn("collector", "source %s: %s (repeated %llu times)",
			 poller->status.name, err->text,
			 (unsigned long long)poller->unlogged);
	else
		log_warn("collector", "source %s: %s", poller->status.name, err->text);
	poller->logged_ns = now_ns;
	poller->unlogged = 0;
}

static void
poll_one(struct poller *poller, int64_t now_ns)
{
	struct err err = { 0 };
	int rc;

	if (poller->status.is_end)
		return;
	if (poller->last_ns) {
		int64_t gap_ns = now_ns - poller->last_ns;

		poller->status.sum_ns += gap_ns;
		if (gap_ns > poller->status.longest_ns)
			poller->status.longest_ns = gap_ns;
	}
	poller->last_ns = now_ns;
	poller->status.polls++;
	rc = poller->source->class->poll(poller->source, now_ns, poller->sink, &err);
	poller->status.busy_ns += clk_monotonic_ns() - now_ns;
	if (rc == -ENODATA)
		poller->status.is_end = true;
	else if (rc < 0)
		report_error(poller, now_ns, &err);
}

static void on_due(void *ctx, int64_t now_ns, int64_t missed);

/* Resets the timer if the source requests another interval. */
static void
update_timer(struct poller *poller)
{
	int64_t wanted_ns = poller->source->class->interval_ns(poller->source);
	int64_t period_ns = wanted_ns > 0 ? wanted_ns : SLICE_GAP_NS;

	poller->status.wanted_ns = wanted_ns;
	if (poller->timer && poller->period_ns == period_ns)
		return;
	if (poller->timer)
		loop_remove(poller->sources->options.loop, poller->timer);
	poller->period_ns = period_ns;
	poller->timer =
		loop_every(poller->sources->options.loop, period_ns, on_due, poller);
}

static void
on_due(void *ctx, int64_t now_ns, int64_t missed)
{
	struct poller *poller = ctx;
	struct sources *sources = poller->sources;
	int64_t until_ns = now_ns + SLICE_NS;

	poller->status.missed += (uint64_t)missed;
	do {
		poll_one(poller,
			 poller->status.wanted_ns ? now_ns : clk_monotonic_ns());
		if (!poller->status.wanted_ns)
			sources->options.polled(sources->options.ctx, false);
	} while (!poller->status.wanted_ns && !poller->status.is_end &&
		 clk_monotonic_ns() < until_ns);
	if (poller->status.is_end) {
		loop_remove(sources->options.loop, poller->timer);
		poller->timer = NULL;
	} else {
		update_timer(poller);
	}
	sources->options.polled(sources->options.ctx, are_all_at_end(sources));
}

static void
on_ready(void *ctx)
{
	struct poller *poller = ctx;

	poll_one(poller, clk_monotonic_ns());
	if (poller->status.is_end) {
		loop_remove(poller->sources->options.loop, poller->ready);
		poller->ready = NULL;
	}
	poller->sources->options.polled(poller->sources->options.ctx,
					are_all_at_end(poller->sources));
}

void
sources_start(struct sources *sources)
{
	for (size_t i = 0; i < sources->n; i++) {
		struct poller *poller = &sources->pollers[i];
		const struct source_class *class = poller->source->class;
		int fd = class->fd ? class->fd(poller->source) : -1;

		if (fd >= 0)
			poller->ready =
				loop_fd(sources->options.loop, fd, on_ready, poller);
		update_timer(poller);
		/* Read once now: counts start from it. */
		if (poller->status.wanted_ns)
			poll_one(poller, clk_monotonic_ns());
	}
}

void
sources_poll(struct sources *sources)
{
	for (size_t i = 0; i < sources->n; i++)
		poll_one(&sources->pollers[i], clk_monotonic_ns());
}

/* ---- The rest -------------------------------------------------------------------- */

uint64_t
sources_caps(const struct sources *sources)
{
	return sources->caps;
}

bool
sources_is_offline(const struct sources *sources)
{
	return sources->is_offline;
}

struct source *
sources_source(const struct sources *sources, const char *name)
{
	for (size_t i = 0; i < sources->n; i++) {
		if (strcmp(sources->pollers[i].status.name, name) == 0)
			return sources->pollers[i].source;
	}
	return NULL;
}

size_t
sources_n(const struct sources *sources)
{
	return sources->n;
}

const struct source_status *
sources_status(const struct sources *sources, size_t i)
{
	return &sources->pollers[i].status;
}
