/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * flow_job.bpf.h - the job of a socket: that of its control group, cached with the
 * socket.
 *
 * A label is valid for one generation of the job table; then the job is looked up again
 * by the control group's ID, which never changes for a socket.
 */
#ifndef BPF_FLOW_JOB_BPF_H
#define BPF_FLOW_JOB_BPF_H

/* clang-format off: the types have to come before the helpers. */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
/* clang-format on */

#include <stdbool.h>

#include "bpf/events.h"
#include "bpf/flow_maps.bpf.h"
#include "bpf/kernel.h"

static __always_inline __u64
cgroup_id_of(void *sk, bool is_traced)
{
	struct sock *from = sk;

	if (!bpf_core_field_exists(from->sk_cgrp_data.cgroup))
		return 0;
	/* In tc programs the verifier rejects reads of members that it does not know,
	 * but treats an address read from the stack as a number. */
	if (!is_traced && bpf_probe_read_kernel(&from, sizeof from, &sk) < 0)
		return 0;
	return BPF_CORE_READ(from, sk_cgrp_data.cgroup, kn, id);
}

/*
 * The job of a socket whose label is missing or old.  Reports an ID that user space
 * does not know in a request cell; if the cell is taken, the label stays old, so that
 * the next packet tries again.
 */
static __noinline __u32
look_up_job(__u64 cgroup_id, __u32 *ret_generation)
{
	__u32 now = generation;
	__u32 *job = bpf_map_lookup_elem(&cgroup_jobs, &cgroup_id);
	__u64 was;

	if (!ret_generation)
		return 0;
	*ret_generation = now;
	if (job)
		return *job;
	if (cgroup_id) {
		was = __sync_val_compare_and_swap(
			&slot_requests[FLOW_REQUEST_HASH(cgroup_id) %
				       FLOW_REQUEST_CELLS],
			0, cgroup_id);
		if (was && was != cgroup_id)
			*ret_generation = now - 1;
	}
	return 0;
}

static __always_inline __u32
find_job(void *sk, bool is_traced)
{
	struct flow_label *label = bpf_sk_storage_get(&labels, sk, NULL, 0);
	struct flow_label fresh = { 0 };

	if (label && label->generation == generation)
		return label->job;
	fresh.cgroup_id = label ? label->cgroup_id : cgroup_id_of(sk, is_traced);
	fresh.job = look_up_job(fresh.cgroup_id, &fresh.generation);
	if (!label)
		label = bpf_sk_storage_get(&labels, sk, NULL,
					   BPF_SK_STORAGE_GET_F_CREATE);
	if (label)
		*label = fresh;
	return fresh.job;
}

#endif
