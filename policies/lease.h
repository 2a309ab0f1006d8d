/*
 * lease.h - how long a job keeps its GPUs, where it has them on lease.
 *
 * A lease begins with a job's place, and the next one when it ends and the job goes on
 * there.  Times are sums: what ends 1 us from now has ended.
 */
#ifndef POLICIES_LEASE_H
#define POLICIES_LEASE_H

#include <stdbool.h>

struct pol_job;

/* Whether it has GPUs whose lease has not ended; false just when one ends. */
bool lease_holds(const struct pol_job *job, double now_s, double lease_s);
/* When the one that it has ends; INFINITY if it has no GPUs. */
double lease_end_s(const struct pol_job *job, double now_s, double lease_s);

#endif
