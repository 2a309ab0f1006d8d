/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/sources/bpf/src_bpf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "collector/sources/bpf/libbpf_log.h"
#include "collector/sources/bpf/src_bpf_private.h"
#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/log.h"
#include "lib/daemon/caps.h"

#define LOOPBACK 1 /* Its number in each network namespace. */
/* Limit of the rings' memory on a host with many CPUs. */
#define MAX_BUCKET_BYTES (UINT64_C(24) << 20)
#define MIN_LINKS        16
#define SCAN_NS          INT64_C(1000000000)
/* A halted CPU may write this late. */
#define SETTLE_MS 10

static struct src_bpf *
bpf_of(const struct source *source)
{
	return (struct src_bpf *)source;
}

/* ---- Draining -------------------------------------------------------------------- */

static void
note_interval(struct src_bpf *bpf, int64_t now_ns)
{
	if (bpf->last_poll_ns) {
		bpf->stats.last_interval_ns = now_ns - bpf->last_poll_ns;
		if (bpf->stats.last_interval_ns > bpf->stats.longest_interval_ns)
			bpf->stats.longest_interval_ns = bpf->stats.last_interval_ns;
	}
	bpf->last_poll_ns = now_ns;
	bpf->stats.drains++;
}

static int
poll_bpf(struct source *source, int64_t now_ns, const struct source_sink *sink,
	 struct err *err)
{
	struct src_bpf *bpf = bpf_of(source);
	int64_t now_ms = now_ns / 1000000;
	bool is_scan = !bpf->last_scan_ns || now_ns - bpf->last_scan_ns >= SCAN_NS;

	(void)err;
	note_interval(bpf, now_ns);
	if (is_scan)
		bpf_links_scan(bpf, sink, now_ms);
	if (!bpf->last_scan_ns)
		bpf_links_warn(bpf);
	bpf_links_drain(bpf, sink, now_ns);
	bpf_jobs_drain(bpf, sink, now_ms);
	for (uint32_t i = 0; i < bpf->max_links; i++)
		if (bpf->links[i].is_announced)
			sink->complete(sink->ctx, bpf->links[i].interface,
				       now_ms - SETTLE_MS);
	if (is_scan) {
		bpf_links_credit(bpf, sink, now_ms);
		bpf->last_scan_ns = now_ns;
	}
	return 0;
}

static int64_t
interval_of(const struct source *source)
{
	return bpf_of(source)->interval_ns;
}

static int
no_fd(const struct source *source)
{
	(void)source;
	return -1;
}

static void
close_bpf(struct source *source)
{
	struct src_bpf *bpf = bpf_of(source);

	bpf_links_fini(bpf);
	bpf_jobs_fini(bpf);
	if (bpf->timing_fd >= 0)
		close(bpf->timing_fd);
	if (bpf->claim_fd >= 0)
		close(bpf->claim_fd);
	if (bpf->buckets)
		munmap(bpf->buckets, bpf->buckets_bytes);
	if (bpf->totals)
		munmap(bpf->totals, bpf->totals_bytes);
	drain_free(bpf->drain);
	flow_bpf__destroy(bpf->skel);
	for (size_t i = 0; i < bpf->n_patterns; i++)
		free(bpf->patterns[i]);
	free(bpf->patterns);
	free(bpf->links);
	free(bpf->offered_bytes);
	free(bpf);
}

static const struct source_class bpf_class = {
	.name = "bpf",
	.summary = "every link and job at 1 ms, by eBPF programs",
	.poll = poll_bpf,
	.interval_ns = interval_of,
	.fd = no_fd,
	.close = close_bpf,
};

/* ---- Opening --------------------------------------------------------------------- */

/*
 * Sizes the rings: as long as memory allows, because longer rings tolerate later reads;
 * with fewer slots if even the shortest rings are too large.
 */
static void
size_rings(struct src_bpf *bpf, uint32_t n_slots)
{
	uint32_t link_rings = bpf->max_links * FLOW_LINK_RINGS;
	uint64_t shortest = (uint64_t)bpf->n_cpus * FLOW_MIN_BUCKETS * sizeof(__u64);
	uint64_t fit = MAX_BUCKET_BYTES / shortest;
	uint32_t wanted = n_slots;

	if (bpf->mode == SRC_BPF_LINK_ONLY)
		n_slots = 0;
	else if (fit < link_rings + FLOW_SLOT_RINGS * (uint64_t)n_slots)
		n_slots = fit > link_rings
				  ? (uint32_t)((fit - link_rings) / FLOW_SLOT_RINGS)
				  : 0;
	if (bpf->mode == SRC_BPF_JOBS && n_slots < bpf->max_links + 8)
		n_slots = bpf->max_links + 8;
	if (bpf->mode == SRC_BPF_JOBS && n_slots < wanted)
		log_info("bpf",
			 "%u pairs of interface and job instead of %u, for %u CPUs",
			 n_slots, wanted, bpf->n_cpus);
	bpf->n_slots = n_slots;
	/* Slot 0 stands for none. */
	bpf->n_rings = link_rings + (n_slots ? FLOW_SLOT_RINGS * (n_slots + 1) : 0);
	bpf->bucket_shift = (unsigned)__builtin_ctz(FLOW_MIN_BUCKETS);
	while ((2u << bpf->bucket_shift) <= FLOW_MAX_BUCKETS &&
	       ((uint64_t)bpf->n_rings * bpf->n_cpus << (bpf->bucket_shift + 1)) *
			       sizeof(__u64) <=
		       MAX_BUCKET_BYTES)
		bpf->bucket_shift++;
}

static int
map_array(const struct bpf_map *map, size_t bytes, void **ret_at)
{
	void *at = mmap(NULL, bytes, PROT_READ, MAP_SHARED, bpf_map__fd(map), 0);

	if (at == MAP_FAILED)
		return -errno;
	*ret_at = at;
	return 0;
}

static size_t
whole_pages(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

/* Chooses one of two programs for sent packets: the faster one needs Linux 6.2. */
static void
choose_sender(struct flow_bpf *skel)
{
	/* The id of the traced function in the kernel's BTF. */
	bool has_cast =
		libbpf_find_vmlinux_btf_id("bpf_rdonly_cast", BPF_TRACE_FENTRY) > 0;

	bpf_program__set_autoload(skel->progs.antiphase_tx, has_cast);
	bpf_program__set_autoload(skel->progs.antiphase_tx_61, !has_cast);
}

static const struct bpf_program *
sender_of(const struct flow_bpf *skel)
{
	return bpf_program__autoload(skel->progs.antiphase_tx)
		       ? skel->progs.antiphase_tx
		       : skel->progs.antiphase_tx_61;
}

static int
load_programs(struct src_bpf *bpf)
{
	uint32_t n_places = bpf->n_rings * bpf->n_cpus;
	uint32_t n_buckets = n_places << bpf->bucket_shift;
	struct stat netns;
	__u64 seed;
	int rc;

	libbpf_log_init();
	bpf->skel = flow_bpf__open();
	if (!bpf->skel)
		return -errno;
	if (stat("/proc/self/ns/net", &netns) < 0)
		return -errno;
	choose_sender(bpf->skel);
	bpf->skel->rodata->n_cpus = bpf->n_cpus;
	bpf->skel->rodata->n_links = bpf->max_links;
	bpf->skel->rodata->bucket_shift = bpf->bucket_shift;
	bpf->skel->rodata->netns_inum = (uint32_t)netns.st_ino;
	bpf->skel->rodata->with_jobs = bpf->mode == SRC_BPF_JOBS;
	if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == sizeof seed)
		bpf->skel->rodata->hash_seed = seed;
	rc = bpf_map__set_max_entries(bpf->skel->maps.buckets, n_buckets);
	if (rc == 0)
		rc = bpf_map__set_max_entries(bpf->skel->maps.totals, n_places);
	if (rc == 0)
		rc = flow_bpf__load(bpf->skel);
	if (rc < 0)
		return rc;
	bpf->buckets_bytes = whole_pages((size_t)n_buckets * sizeof(__u64));
	bpf->totals_bytes = whole_pages((size_t)n_places * sizeof(struct flow_totals));
	bpf->stats.mapped_bytes = bpf->buckets_bytes + bpf->totals_bytes;
	rc = map_array(bpf->skel->maps.buckets, bpf->buckets_bytes, &bpf->buckets);
	if (rc == 0)
		rc = map_array(bpf->skel->maps.totals, bpf->totals_bytes, &bpf->totals);
	return rc;
}

static int
say_why(struct err *err, int rc)
{
	err_set_errno(err, NULL, rc, "cannot load the BPF programs");
	if (rc == -EPERM || rc == -EACCES)
		err_append(err, " (requires CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON)");
	else if (rc == -EINVAL || rc == -ENOENT || rc == -ESRCH)
		err_append(err,
			   " (requires Linux 5.15 with BTF; run 'antiphase doctor')");
	return rc;
}

static void
copy_patterns(struct src_bpf *bpf, const struct src_bpf_options *options)
{
	bpf->patterns = xcalloc(options->n_interfaces + 1, sizeof *bpf->patterns);
	for (size_t i = 0; i < options->n_interfaces; i++)
		bpf->patterns[i] = xstrdup(options->interfaces[i]);
	bpf->n_patterns = options->n_interfaces;
}

/*
 * Filters of clsact do not show whether their owner still runs, so a collector holds an
 * abstract socket name in this network namespace.  Returns a descriptor that holds it,
 * or -1 if another process has it.
 */
static int
claim_filters(void)
{
	static const char name[] = "\0antiphase-collector-clsact";
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	memcpy(address.sun_path, name, sizeof name - 1);
	if (bind(fd, (struct sockaddr *)&address,
		 offsetof(struct sockaddr_un, sun_path) + sizeof name - 1) == 0)
		return fd;
	close(fd);
	return -1;
}

/*
 * Removes filters of an earlier run from every interface, because it may have used
 * others.
 */
static void
clean_all(struct src_bpf *bpf)
{
	struct if_nameindex *list;

	bpf->claim_fd = claim_filters();
	if (bpf->claim_fd < 0) {
		log_info("bpf", "another collector on this host has clsact filters");
		return;
	}
	list = if_nameindex();

	for (struct if_nameindex *one = list; one && one->if_index; one++)
		if (bpf_attach_clean((int)one->if_index) > 0)
			log_info("bpf", "%s: removed filters of a killed run",
				 one->if_name);
	if (list)
		if_freenameindex(list);
}

/* Number of places of a ring: one for each possible CPU number. */
static int
count_cpus(void)
{
	int n = libbpf_num_possible_cpus();
	char *text;
	size_t length;
	uint32_t numbers;

	if (n < 1 || file_read("/sys/devices/system/cpu/possible", 4096, &text, &length,
			       NULL) < 0)
		return n;
	numbers = drain_cpu_numbers(text);
	free(text);
	return (int)numbers > n ? (int)numbers : n;
}

int
src_bpf_open(const struct src_bpf_options *options, struct source **ret_source,
	     struct err *err)
{
	int n_cpus = count_cpus();
	struct src_bpf *bpf;
	int rc;

	if (n_cpus < 1)
		return say_why(err, n_cpus);
	if (options->n_slots > FLOW_MAX_SLOTS)
		return err_set(err, NULL, 0, 0, "%u slots exceed the limit of %u",
			       options->n_slots, FLOW_MAX_SLOTS);
	bpf = xcalloc(1, sizeof *bpf);
	bpf->source.class = &bpf_class;
	bpf->timing_fd = bpf->claim_fd = -1;
	bpf->mode = options->mode;
	bpf->attach = options->attach;
	bpf->cgroups = options->cgroups;
	bpf->interval_ns = options->interval_ns ? options->interval_ns
						: SRC_BPF_DEFAULT_INTERVAL_NS;
	copy_patterns(bpf, options);
	bpf->n_cpus = (uint32_t)n_cpus;
	bpf->max_links = MIN_LINKS;
	if (options->n_interfaces > MIN_LINKS)
		bpf->max_links = options->n_interfaces < FLOW_MAX_LINKS
					 ? (uint32_t)options->n_interfaces
					 : FLOW_MAX_LINKS;
	size_rings(bpf, options->n_slots ? options->n_slots : SRC_BPF_DEFAULT_SLOTS);
	rc = load_programs(bpf);
	if (rc == 0)
		rc = flow_bpf__attach(bpf->skel);
	if (rc < 0) {
		close_bpf(&bpf->source);
		return say_why(err, rc);
	}
	bpf->links = xcalloc(bpf->max_links, sizeof *bpf->links);
	bpf->offered_bytes = xcalloc((2u << bpf->bucket_shift), sizeof(int64_t));
	bpf->drain = drain_new(bpf->buckets, bpf->totals, bpf->n_rings, bpf->n_cpus,
			       bpf->bucket_shift);
	bpf_jobs_init(bpf);
	clean_all(bpf);
	*ret_source = &bpf->source;
	return 0;
}

const char *
src_bpf_library(void)
{
	return libbpf_version_string();
}

/* ---- Cost ------------------------------------------------------------------------ */

int
src_bpf_enable_timing(struct source *source, struct err *err)
{
	struct src_bpf *bpf = bpf_of(source);

	if (bpf->timing_fd >= 0)
		return 0;
	bpf->timing_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (bpf->timing_fd < 0)
		return err_set_errno(err, NULL, bpf->timing_fd,
				     "the kernel does not time BPF programs");
	return 0;
}

uint64_t
src_bpf_caps(struct source *source)
{
	struct src_bpf *bpf = bpf_of(source);
	struct bpf_attachment tried;

	/* An interface that is everywhere shows what the kernel can. */
	if (bpf->attach == BPF_ATTACH_CLSACT ||
	    bpf_attach(&tried, LOOPBACK, "lo",
		       bpf_program__fd(bpf->skel->progs.antiphase_rx),
		       bpf_program__fd(bpf->skel->progs.antiphase_offer),
		       BPF_ATTACH_TCX, NULL) < 0)
		return CAPS_TELEMETRY;
	bpf_detach(&tried);
	return 0;
}

void
src_bpf_stats(struct source *source, struct src_bpf_stats *ret_stats)
{
	struct src_bpf *bpf = bpf_of(source);
	const struct bpf_program *programs[SRC_BPF_N_PROGRAMS] = {
		[SRC_BPF_RX] = bpf->skel->progs.antiphase_rx,
		[SRC_BPF_TX] = sender_of(bpf->skel),
		[SRC_BPF_OFFER] = bpf->skel->progs.antiphase_offer,
	};

	bpf->stats.n_slots = bpf->n_slots;
	for (size_t i = 0; i < SRC_BPF_N_PROGRAMS; i++) {
		struct bpf_prog_info info = { 0 };
		uint32_t length = sizeof info;

		bpf->stats.programs[i].name = bpf_program__name(programs[i]);
		if (bpf_obj_get_info_by_fd(bpf_program__fd(programs[i]), &info,
					   &length) < 0)
			continue;
		bpf->stats.programs[i].run_count = info.run_cnt;
		bpf->stats.programs[i].run_time_ns = info.run_time_ns;
		bpf->stats.programs[i].missed_runs = info.recursion_misses;
	}
	*ret_stats = bpf->stats;
}
