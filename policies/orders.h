/* SPDX-License-Identifier: Apache-2.0 */
/*
 * orders.h - the orders of service.  Unless said otherwise, ties keep the previous
 * order and new jobs come last.
 */
#ifndef POLICIES_ORDERS_H
#define POLICIES_ORDERS_H

#include "policies/mechanism.h"

/* order_key.c: by one key of each job, recomputed each time. */
extern const struct pol_order order_fifo;          /* By arrival; strict. */
extern const struct pol_order order_fifo_backfill; /* By arrival; skip. */
extern const struct pol_order order_smallest;      /* Fewest GPUs. */
extern const struct pol_order order_srtf;          /* Least remaining time. */
extern const struct pol_order order_srsf;          /* Least remaining GPU time. */
extern const struct pol_order order_hrrn;          /* Highest response ratio; strict. */
extern const struct pol_order order_tier;          /* Highest priority. */
extern const struct pol_order order_longest_pending;

/*
 * order_queues.c: discretized least attained service (Tiresias): by time (LAS), or by
 * GPU time (2D-LAS).
 */
extern const struct pol_order order_las, order_las_2d;
/* The same queues by GPU time; within a queue by Gittins index (gittins.h). */
extern const struct pol_order order_gittins_2d;

/* order_predicted.c: least predicted GPU time; strict. */
extern const struct pol_order order_predicted;

/*
 * order_deficit.c: rounds that realize shares of time (Gavel), by the rules of
 * shares.h.
 */
extern const struct pol_order order_share_equal, order_share_max_min,
	order_share_finish_time, order_share_makespan, order_share_throughput,
	order_share_assigned;

/* order_themis.c: largest finish-time fairness rho first (Themis's auction). */
extern const struct pol_order order_themis;

/* order_shockwave.c: by a plan of the next rounds: log utility, makespan, fairness. */
extern const struct pol_order order_shockwave;
/*
 * order_astraea.c: least GPU time over what was deserved, of users and of their jobs
 * (Astraea).
 */
extern const struct pol_order order_astraea;

#endif
