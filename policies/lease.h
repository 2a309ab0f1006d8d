/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease.h - leases: how long a job keeps its GPUs.
 *
 * A lease begins when a job gets its place.  When it ends and the job stays, the next
 * one begins.  Times are sums of doubles: a lease that ends within 1 us has ended.
 */
#ifndef POLICIES_LEASE_H
#define POLICIES_LEASE_H

#include <stdbool.h>

struct pol_job;

/* True if the job has GPUs and its lease has not ended. */
bool lease_holds(const struct pol_job *job, double now_s, double lease_s);
/* When the current lease ends; INFINITY if the job has no GPUs. */
double lease_end_s(const struct pol_job *job, double now_s, double lease_s);

#endif
