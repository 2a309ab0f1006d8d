/* SPDX-License-Identifier: Apache-2.0 */
/*
 * src_bpf_private.h - shared by src_bpf.c (load, poll), src_bpf_links.c (interfaces) and
 * src_bpf_jobs.c (jobs and their slots)
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
	char name[IF_NAMESIZE]; /* Stays when the interface goes. */
	bool is_there;
	bool is_announced;
	bool is_up;
	double capacity_bps;
	int failed_ifindex; /* Could not be attached to: said once. */
	uint32_t interface; /* The sink's number. */
	struct bpf_attachment attachment;
	/* Offered less sent, and the smallest it was in each of the last windows. */
	int64_t queue_bytes;
	uint64_t offered_bytes; /* Without jobs: as of the last drain. */
	int64_t floor_bytes[QUEUE_WINDOWS];
	int64_t floor_window;
	/* What the kernel says was sent, to be compared with what was seen. */
	bool has_queue, had_queue, is_comparable, has_base;
	uint64_t sent_bytes, last_sent_bytes;
	uint64_t seen_bytes;     /* Before it was asked. */
	uint64_t base_bytes;     /* 'sent' less 'seen' when this began. */
	uint64_t credited_bytes; /* Sent, and not seen being sent. */
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
	int claim_fd; /* While there may be filters of clsact that are ours. */
	struct src_bpf_stats stats;
};

/* src_bpf_links.c */
void bpf_links_scan(struct src_bpf *bpf, const struct source_sink *sink,
		    int64_t now_ms);
/* Of interfaces that were asked for and are not there; or that there is none at all. */
void bpf_links_warn(const struct src_bpf *bpf);
void bpf_links_drain(struct src_bpf *bpf, const struct source_sink *sink,
		     int64_t now_ns);
void bpf_links_fini(struct src_bpf *bpf);
/* Makes up for what was sent unseen since the last time. */
void bpf_links_credit(struct src_bpf *bpf, const struct source_sink *sink,
		      int64_t now_ms);

/* src_bpf_jobs.c */
void bpf_jobs_init(struct src_bpf *bpf);
void bpf_jobs_fini(struct src_bpf *bpf);
/* A link came: it needs a slot for what belongs to no job.  It went: its slots. */
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
