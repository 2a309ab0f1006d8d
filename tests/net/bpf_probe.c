/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bpf_probe.c - the BPF source as a program, for the tests of this folder
 *
 *	bpf_probe [--link-only] [--clsact] [--time] [--debug] [--interval MS]
 *		[--slots N] [--job NAME=CGROUP]... IFACE...
 *
 * Prints "ready" when attached.  For a line on stdin it drains and prints lines "IFACE
 * JOB tx|rx wire|offered BYTES PACKETS CE RETRANSMITS PEAK FLOWS", where JOB is (link),
 * (other) or a name and PEAK the largest bin; then "lost N", "unplaced N", a line for
 * each program with runs and time, and ".".  Exits at the end of stdin or on SIGTERM.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/jobs/cgroup_path.h"
#include "collector/jobs/cgroups.h"
#include "collector/sources/bpf/src_bpf.h"
#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"

#define BINS 8192

struct sum {
	struct source_key key;
	uint64_t bytes, peak_bytes;
	uint64_t first_bytes, first_packets;
	bool is_begun;
	struct source_extra extra;
	uint32_t bins[BINS]; /* By millisecond, to find the peak. */
	int64_t bin_ms[BINS];
};

static struct strtab *interfaces, *jobs;
static struct cgroups *cgroups;
static VEC(struct sum *) sums;
static uint64_t lost;
static volatile sig_atomic_t is_over;

static uint32_t
name_interface(void *ctx, const struct tele_interface *interface)
{
	(void)ctx;
	return strtab_intern(interfaces, interface->name);
}

static uint32_t
name_job(void *ctx, const char *name)
{
	(void)ctx;
	return strtab_intern(jobs, name);
}

static struct sum *
find_sum(const struct source_key *key)
{
	struct sum *sum;

	for (size_t i = 0; i < sums.n; i++)
		if (!memcmp(&sums.items[i]->key, key, sizeof *key))
			return sums.items[i];
	sum = xcalloc(1, sizeof *sum);
	sum->key = *key;
	vec_push(&sums, sum);
	return sum;
}

static void
take_bins(void *ctx, const struct source_key *key, int64_t first_ms,
	  const uint32_t *bytes, size_t n, const struct source_extra *extra)
{
	struct source_key clean;
	struct sum *sum;

	(void)ctx;
	memset(&clean, 0, sizeof clean);
	clean.interface = key->interface;
	clean.job = key->job;
	clean.direction = key->direction;
	clean.measure = key->measure;
	sum = find_sum(&clean);
	for (size_t i = 0; i < n; i++) {
		size_t at = (size_t)(first_ms + (int64_t)i) % BINS;

		if (sum->bin_ms[at] != first_ms + (int64_t)i)
			sum->bins[at] = 0;
		sum->bin_ms[at] = first_ms + (int64_t)i;
		sum->bins[at] += bytes[i];
		sum->bytes += bytes[i];
		if (sum->bins[at] > sum->peak_bytes)
			sum->peak_bytes = sum->bins[at];
	}
	sum->extra.packets += extra->packets;
	sum->extra.ce += extra->ce;
	sum->extra.retransmits += extra->retransmits;
	if (extra->flows > sum->extra.flows)
		sum->extra.flows = extra->flows;
	if (extra->queue_bytes > sum->extra.queue_bytes)
		sum->extra.queue_bytes = extra->queue_bytes;
}

/* Counted without buckets: the increase since the first reading. */
static void
take_counter(void *ctx, const struct source_key *key, int64_t time_ns, uint64_t bytes,
	     unsigned bits, const struct source_extra *extra)
{
	struct source_key clean;
	struct sum *sum;

	(void)ctx;
	(void)time_ns;
	(void)bits;
	memset(&clean, 0, sizeof clean);
	clean.interface = key->interface;
	clean.job = key->job;
	clean.direction = key->direction;
	clean.measure = key->measure;
	sum = find_sum(&clean);
	if (!sum->is_begun) {
		sum->first_packets = extra->packets;
		sum->first_bytes = bytes;
	}
	sum->is_begun = true;
	sum->bytes = bytes - sum->first_bytes;
	sum->extra.packets = extra->packets - sum->first_packets;
}

static void
take_complete(void *ctx, uint32_t interface, int64_t until_ms)
{
	(void)ctx;
	(void)interface;
	(void)until_ms;
}

static void
take_gone(void *ctx, uint32_t interface)
{
	(void)ctx;
	printf("gone %s\n", strtab_name(interfaces, interface));
}

static void
take_lost(void *ctx, uint64_t n)
{
	(void)ctx;
	lost += n;
}

static const struct source_sink sink = {
	.interface = name_interface,
	.job = name_job,
	.bins = take_bins,
	.counter = take_counter,
	.complete = take_complete,
	.gone = take_gone,
	.lost = take_lost,
};

static void
print_all(struct source *source)
{
	struct src_bpf_stats stats;

	for (size_t i = 0; i < sums.n; i++) {
		const struct sum *sum = sums.items[i];
		const struct source_key *key = &sum->key;

		printf("%s %s %s %s %llu %llu %llu %llu %llu %u %u\n",
		       strtab_name(interfaces, key->interface),
		       key->job == TELE_LINK    ? "(link)"
		       : key->job == TELE_OTHER ? "(other)"
						: strtab_name(jobs, key->job),
		       key->direction == TELE_TX ? "tx" : "rx",
		       key->measure == TELE_WIRE ? "wire" : "offered",
		       (unsigned long long)sum->bytes,
		       (unsigned long long)sum->extra.packets,
		       (unsigned long long)sum->extra.ce,
		       (unsigned long long)sum->extra.retransmits,
		       (unsigned long long)sum->peak_bytes, sum->extra.flows,
		       sum->extra.queue_bytes);
	}
	src_bpf_stats(source, &stats);
	printf("lost %llu\nunplaced %llu\nunseen %llu\n", (unsigned long long)lost,
	       (unsigned long long)stats.unplaced_jobs,
	       (unsigned long long)stats.unseen_bytes);
	printf("slots %u of %u\njobs %u\n", stats.n_slots_used, stats.n_slots,
	       stats.n_jobs);
	for (size_t i = 0; i < SRC_BPF_N_PROGRAMS; i++)
		printf("program %s %llu runs %llu ns %llu missed\n",
		       stats.programs[i].name,
		       (unsigned long long)stats.programs[i].run_count,
		       (unsigned long long)stats.programs[i].run_time_ns,
		       (unsigned long long)stats.programs[i].missed_runs);
	printf(".\n");
	fflush(stdout);
}

static void
on_signal(int signal)
{
	(void)signal;
	is_over = 1;
}

/* "NAME=CGROUP". */
static void
register_job(char *text)
{
	char *path = strchr(text, '=');
	struct err err = { 0 };

	if (path)
		*path++ = '\0';
	if (!path || cgroups_register(cgroups, text, path, &err) < 0) {
		err_print(&err, stderr);
		exit(1);
	}
}

/*
 * Opens the control groups: "--job-root PATH" comes first.  Returns the index of the
 * first argument that is an interface.
 */
static int
read_options(int argc, char **argv, struct src_bpf_options *options, bool *ret_time)
{
	struct cgroup_rules rules = { NULL, NULL };
	struct err err = { 0 };
	int i = 1;

	if (argc > 2 && !strcmp(argv[1], "--job-root")) {
		rules.roots = argv[2];
		i = 3;
	}
	if (cgroups_open(NULL, &rules, &cgroups, &err) < 0)
		err_print(&err, stderr);
	for (; i < argc && !strncmp(argv[i], "--", 2); i++) {
		if (!strcmp(argv[i], "--link-only"))
			options->mode = SRC_BPF_LINK_ONLY;
		else if (!strcmp(argv[i], "--clsact"))
			options->attach = BPF_ATTACH_CLSACT;
		else if (!strcmp(argv[i], "--time"))
			*ret_time = true;
		else if (!strcmp(argv[i], "--debug"))
			log_set_level(LOG_LEVEL_DBG);
		else if (!strcmp(argv[i], "--interval") && i + 1 < argc)
			options->interval_ns = atoll(argv[++i]) * 1000000;
		else if (!strcmp(argv[i], "--slots") && i + 1 < argc)
			options->n_slots = (uint32_t)atoi(argv[++i]);
		else if (!strcmp(argv[i], "--job") && i + 1 < argc)
			register_job(argv[++i]);
	}
	return i;
}

static void
serve(struct source *source, struct err *err)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	int wait_ms = (int)(source->class->interval_ns(source) / 1000000);
	char line[64];

	while (!is_over) {
		int n = poll(&in, 1, wait_ms);

		if (source->class->poll(source, clk_monotonic_ns(), &sink, err) < 0)
			return;
		if (n <= 0)
			continue;
		if (read(STDIN_FILENO, line, sizeof line) <= 0)
			return;
		print_all(source);
	}
}

int
main(int argc, char **argv)
{
	struct src_bpf_options options = { .mode = SRC_BPF_JOBS };
	struct err err = { 0 };
	struct source *source;
	bool with_time = false;
	int first;

	first = read_options(argc, argv, &options, &with_time);
	options.cgroups = cgroups;
	options.interfaces = (const char *const *)argv + first;
	options.n_interfaces = (size_t)(argc - first);
	setvbuf(stdout, NULL, _IOLBF, 0);
	interfaces = strtab_new();
	jobs = strtab_new();
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	if (src_bpf_open(&options, &source, &err) < 0 ||
	    (with_time && src_bpf_enable_timing(source, &err) < 0)) {
		err_print(&err, stderr);
		return 1;
	}
	source->class->poll(source, clk_monotonic_ns(), &sink, &err);
	printf("ready\n");
	fflush(stdout);
	serve(source, &err);
	source->class->close(source);
	cgroups_close(cgroups);
	for (size_t i = 0; i < sums.n; i++)
		free(sums.items[i]);
	vec_free(&sums);
	strtab_free(interfaces);
	strtab_free(jobs);
	return 0;
}
