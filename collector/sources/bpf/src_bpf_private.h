/* SPDX-License-Identifier: Apache-2.0 */
/*
 * src_bpf_private.h - shared by src_bpf.c (load, poll), src_bpf_links.c (interfaces)
 * and src_bpf_jobs.c (jobs and their slots)
 */
#ifndef COLLECTOR_SOURCES_BPF_SRC_BPF_PRIVATE_H
#define COLLECTOR_SOURCES_BPF_SRC_BPF_PRIVATE_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/events.h"
#include "bpf/flow.skel.h"
#include "collector/sources/bpf/src_bpf.h"
#include "collector/sources/bpf/src_bpf_drain.h"

#define QUEUE_WINDOWS 4

struct bpf_link_state {
	char name[IF_NAMESIZE]; /* Kept when the interface goes. */
	bool is_there;
	bool is_announced;
	bool is_up;
	double capacity_bps;
	int failed_ifindex; /* Attaching failed; logged once. */
	uint32_t interface; /* The sink's number. */
	struct bpf_attachment attachment;
	/* Offered minus sent, and its minimum in each of the last windows. */
	int64_t queue_bytes;
	uint64_t offered_bytes; /* Without jobs: at the last drain. */
	int64_t floor_bytes[QUEUE_WINDOWS];
	int64_t floor_window;
	/* The kernel's count of sent bytes, to compare with the bytes seen. */
	bool has_queue, had_queue, is_comparable, has_base;
	uint64_t sent_bytes, last_sent_bytes;
	uint64_t seen_bytes;     /* Read before the kernel's count. */
	uint64_t base_bytes;     /* Sent minus seen at the first comparison. */
	uint64_t credited_bytes; /* Sent but not seen, and added. */
};

struct bpf_job_state;

struct src_bpf {
	struct source source;
	struct flow_bpf *skel; /* Owned. */
	char **patterns;       /* Owned. */
	size_t n_patterns;
	enum src_bpf_mode mode;
	enum bpf_attach_kind attach;
	int64_t interval_ns;
	struct cgroups *cgroups; /* Borrowed. */

	uint32_t n_cpus, max_links, n_slots, n_rings;
	unsigned bucket_shift;
	void *buckets, *totals; /* Mapped. */
	size_t buckets_bytes, totals_bytes;
	struct drain *drain;          /* Owned. */
	struct bpf_link_state *links; /* Owned.  max_links. */
	struct bpf_job_state *jobs;   /* Owned. */

	int64_t *offered_bytes; /* Owned.  Bins of one drain, for the queue. */
	int64_t last_scan_ns, last_poll_ns, last_credit_ms;
	int timing_fd;
	int claim_fd; /* Held while our clsact filters may exist. */
	struct src_bpf_stats stats;
};

/* src_bpf_links.c */
void bpf_links_scan(struct src_bpf *bpf, const struct source_sink *sink,
		    int64_t now_ms);
/* Warns of requested interfaces that are missing, or that there are none. */
void bpf_links_warn(const struct src_bpf *bpf);
void bpf_links_drain(struct src_bpf *bpf, const struct source_sink *sink,
		     int64_t now_ns);
void bpf_links_fini(struct src_bpf *bpf);
/* Adds the bytes that were sent unseen since the last call. */
void bpf_links_credit(struct src_bpf *bpf, const struct source_sink *sink,
		      int64_t now_ms);

/* src_bpf_jobs.c */
void bpf_jobs_init(struct src_bpf *bpf);
void bpf_jobs_fini(struct src_bpf *bpf);
/* A new link needs a slot for traffic of no job; a lost link releases its slots. */
int bpf_jobs_link_came(struct src_bpf *bpf, uint32_t link, int64_t now_ms);
void bpf_jobs_link_gone(struct src_bpf *bpf, uint32_t link);
/* Bytes that were sent unseen belong to no known job. */
void bpf_jobs_credit(struct src_bpf *bpf, uint32_t link, const struct source_sink *sink,
		     const struct drain_out *out);
void bpf_jobs_drain(struct src_bpf *bpf, const struct source_sink *sink,
		    int64_t now_ms);

static inline uint32_t
bpf_link_ring(uint32_t link, enum flow_ring ring)
{
	return link * FLOW_LINK_RINGS + ring;
}

static inline uint32_t
bpf_slot_ring(const struct src_bpf *bpf, uint32_t slot, enum flow_ring ring)
{
	return bpf->max_links * FLOW_LINK_RINGS + slot * FLOW_SLOT_RINGS + ring;
}

#endif
