/*
 * orders.h - the orders of service that there are.  Ties go by the order before, new ones
 * last.
 */
#ifndef POLICIES_ORDERS_H
#define POLICIES_ORDERS_H

#include "policies/mechanism.h"

/* order_key.c: by a key of each job, found anew each time. */
extern const struct pol_order order_fifo;          /* As they came; strict. */
extern const struct pol_order order_fifo_backfill; /* As they came; skip. */
extern const struct pol_order order_smallest;      /* Fewest GPUs first. */
extern const struct pol_order order_srtf;          /* Least remaining time. */
extern const struct pol_order order_srsf;          /* Least remaining GPU time. */
extern const struct pol_order order_longest_pending;

/*
 * order_queues.c: discretised least attained service (Tiresias): by time (LAS), or by
 * GPU time (2D-LAS).
 */
extern const struct pol_order order_las, order_las_2d;
/* The same queues by GPU time, and in each the highest Gittins index first (gittins.h). */
extern const struct pol_order order_gittins_2d;

/* order_predicted.c: least predicted GPU time first; strict. */
extern const struct pol_order order_predicted;

/* order_deficit.c: rounds out of shares of the time (Gavel), by the rules of shares.h. */
extern const struct pol_order order_share_equal, order_share_max_min,
	order_share_finish_time, order_share_makespan, order_share_throughput,
	order_share_assigned;

/* order_rho.c: worst off against a cluster of one's own first (Themis's auction). */
extern const struct pol_order order_rho;

#endif
