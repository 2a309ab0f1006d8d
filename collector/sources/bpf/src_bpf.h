/* SPDX-License-Identifier: Apache-2.0 */
/*
 * src_bpf.h - counts of every link and job at 1 ms, by eBPF programs
 *
 * Loads the programs of bpf/flow.bpf.c, attaches them to the configured interfaces, and
 * drains their rings without system calls.  Once a second it releases interfaces that
 * have disappeared and attaches to those that have come back.  Needs CAP_BPF,
 * CAP_NET_ADMIN and CAP_PERFMON as long as it is open.
 *
 * Emits for each link TELE_WIRE bins of both directions, and TELE_OFFERED; with jobs,
 * also TELE_WIRE of both directions for each job on a link, and TELE_OTHER for the
 * rest.  Without jobs TELE_OFFERED is a running count without bins.  Flows are those of
 * about one second; packets, ECN marks and retransmits those since the last drain.
 *
 * Wire bytes are missing where the kernel does not run a tracing program.  Once a
 * second the counts are compared with those of the kernel's queues, and the difference
 * is spread over that second and given to TELE_OTHER.
 *
 *	struct src_bpf_options options = { .interfaces = names, .n_interfaces = 2 };
 *
 *	rc = src_bpf_open(&options, &source, &err);
 */
#ifndef COLLECTOR_SOURCES_BPF_SRC_BPF_H
#define COLLECTOR_SOURCES_BPF_SRC_BPF_H

#include <stddef.h>
#include <stdint.h>

#include "collector/sources/bpf/src_bpf_attach.h"
#include "collector/sources/source.h"

struct cgroups;
struct err;

enum src_bpf_mode {
	SRC_BPF_LINK_ONLY, /* Cheaper. */
	SRC_BPF_JOBS,
};

#define SRC_BPF_DEFAULT_SLOTS       256
#define SRC_BPF_DEFAULT_INTERVAL_NS INT64_C(100000000)

struct src_bpf_options {
	/* Names or shell patterns ("eth*"); none: every interface with hardware. */
	const char *const *interfaces;
	size_t n_interfaces;
	enum src_bpf_mode mode;
	enum bpf_attach_kind attach;
	uint32_t n_slots;    /* Pairs of interface and job; 0: the default. */
	int64_t interval_ns; /* Between drains; 0: the default. */
	/* Borrowed.  Maps control groups to jobs; NULL: all traffic is other. */
	struct cgroups *cgroups;
};

/*
 * Returns 0 and a source, to be closed by its class. -EPERM, -EOPNOTSUPP if this kernel
 * does not support it, or another -errno, with a remedy in 'err'.  Missing interfaces
 * are no error.
 */
int src_bpf_open(const struct src_bpf_options *options, struct source **ret_source,
		 struct err *err);

/*
 * The capabilities (lib/daemon/caps.h) that the source still needs.  None where it
 * attaches programs by TCX: those kernels (6.6 and newer) ask for no capability to use
 * maps, or to attach programs that are loaded, but for the descriptor.
 */
uint64_t src_bpf_caps(struct source *source);

/* The version of libbpf, "v1.1". */
const char *src_bpf_library(void);

/* Makes the kernel time the programs until the source is closed.  Costs 60 ns a run. */
int src_bpf_enable_timing(struct source *source, struct err *err);

enum src_bpf_program {
	SRC_BPF_RX,
	SRC_BPF_TX,
	SRC_BPF_OFFER,
	SRC_BPF_N_PROGRAMS,
};

/* Counts since the source was opened. */
struct src_bpf_stats {
	uint32_t n_links, n_jobs;
	uint32_t n_slots, n_slots_used;
	uint64_t lost_buckets;  /* Overwritten before they were read. */
	uint64_t unseen_bytes;  /* Sent without a run of the program; spread. */
	uint64_t unplaced_jobs; /* Counted as other because a table was full. */
	uint64_t unplaced_cgroups;
	uint64_t drains;
	int64_t last_interval_ns, longest_interval_ns; /* As measured. */
	uint64_t mapped_bytes;                         /* Of the rings. */

	struct {
		const char *name;
		uint64_t run_count, run_time_ns; /* 0 unless timing is enabled. */
		uint64_t missed_runs; /* The kernel did not run it within itself. */
	} programs[SRC_BPF_N_PROGRAMS];
};

void src_bpf_stats(struct source *source, struct src_bpf_stats *ret_stats);

#endif
