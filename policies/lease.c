/* SPDX-License-Identifier: Apache-2.0 */
/* lease.c - when leases end. */
#include "policies/lease.h"

#include <math.h>

#include "policies/view.h"

#define NEAR_S 1e-6 /* Tolerance for rounding. */

/* Whole leases since the job got its place. */
static double
count(const struct pol_job *job, double now_s, double lease_s)
{
	return floor((now_s - job->since_s + NEAR_S) / lease_s);
}

bool
lease_holds(const struct pol_job *job, double now_s, double lease_s)
{
	double last_s = job->since_s + count(job, now_s, lease_s) * lease_s;

	return job->n_pieces && now_s > last_s + NEAR_S;
}

double
lease_end_s(const struct pol_job *job, double now_s, double lease_s)
{
	if (!job->n_pieces)
		return INFINITY;
	return job->since_s + (count(job, now_s, lease_s) + 1) * lease_s;
}
