/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fabric_lab.h - a small fabric, and models with times that are easy to compute by hand
 */
#ifndef TESTS_UNIT_FABRIC_LAB_H
#define TESTS_UNIT_FABRIC_LAB_H

#include "lib/base/err.h"
#include "scheduler/core/workload/work_model.h"
#include "tests/unit/test.h"
#include "topology/gen.h"
#include "topology/topo.h"

#define LINE 50e9

/* In a ring of two, each host sends the whole message: 20 ms at 50 Gb/s, of 45 ms. */
static struct work_segment halves[] = { { .compute_ns = 25000000 },
					{ .nic_bytes = 125e6 } };
/* 30 ms of 50 ms: two such jobs do not fit. */
static struct work_segment longer[] = { { .compute_ns = 20000000 },
					{ .nic_bytes = 187.5e6 } };
/* 600 ms of 1.5 s: a job that waits for the whole burst waits long. */
static struct work_segment convoy[] = { { .compute_ns = 900000000 },
					{ .nic_bytes = 3750e6 } };
static bool messages[] = { false, true };
static struct work_model models[] = {
	{ .name = "halves",
	  .segments = halves,
	  .n_segments = 2,
	  .is_message = messages },
	{ .name = "longer",
	  .segments = longer,
	  .n_segments = 2,
	  .is_message = messages },
	{ .name = "convoy",
	  .segments = convoy,
	  .n_segments = 2,
	  .is_message = messages },
};

/* Leaves with one uplink each. */
static inline struct topo *
lab_topo(uint32_t n_leaves, uint32_t hosts_per_leaf)
{
	const struct gen_leaf_spine options = { .n_leaves = n_leaves,
						.hosts_per_leaf = hosts_per_leaf,
						.n_spines = 1,
						.host_bps = LINE,
						.uplink_bps = LINE };
	struct topo *topo;
	struct err err;

	assert_int_equal(gen_leaf_spine(&options, &topo, &err), 0);
	return topo;
}

#endif
