/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * flow_maps.bpf.h - constants, variables and maps that the programs of flow.bpf.c share
 * with user space and with each other.
 */
#ifndef BPF_FLOW_MAPS_BPF_H
#define BPF_FLOW_MAPS_BPF_H

/* clang-format off: the types have to come before the helpers. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
/* clang-format on */

#include <stdbool.h>

#include "bpf/events.h"

/* Set before loading. */
const volatile __u32 n_cpus = 1;
const volatile __u32 n_links = 1;
const volatile __u32 bucket_shift = 8;
const volatile __u32 netns_inum = 0;
const volatile bool with_jobs = false;
const volatile __u64 hash_seed = 0;

/* Written by user space. */
struct flow_link_cell link_cells[FLOW_LINK_CELLS];
__u16 slot_of[FLOW_MAX_LINKS][FLOW_MAX_JOBS];
__u32 generation = 1;

/* Written here, read and reset by user space. */
__u64 slot_requests[FLOW_REQUEST_CELLS];
__u8 slot_demand[FLOW_MAX_LINKS][FLOW_MAX_JOBS];

/* The namespace's address, set by its first packet; valid while the program runs. */
__u64 target_netns;

/* Words of FLOW_SCRATCH_WORD(). */
__u64 scratch[FLOW_SCRATCH_CELLS];

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} buckets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct flow_totals);
} totals SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FLOW_MAX_CGROUPS);
	__type(key, __u64);
	__type(value, __u32);
} cgroup_jobs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct flow_label);
} labels SEC(".maps");

#endif
