#include "scheduler/daemon/paced.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/stats.h"
#include "scheduler/core/profile/profile.h"

#define MIN_BUSY  0.5 /* Of the time in collectives, at the full rate. */
#define SD_OF_MAD 1.4826

void
paced_add(struct paced *paced, uint64_t number, int64_t enter_ns, int64_t begin_ns,
	  int64_t comm_ns)
{
	int64_t compute_ns = enter_ns - paced->begin_ns - comm_ns;

	if (paced->has_begun && number == paced->number + 1 && comm_ns > 0 &&
	    compute_ns > 0) {
		paced->compute_ns[paced->n % PACED_N_KEPT] = compute_ns;
		paced->comm_ns[paced->n % PACED_N_KEPT] = comm_ns;
		paced->n++;
	}
	paced->has_begun = true;
	paced->number = number;
	paced->begin_ns = begin_ns;
}

static double
quantile(double *values, size_t n, double p)
{
	stats_sort(values, n);
	return stats_quantile(values, n, p);
}

bool
paced_profile(const struct paced *paced, double line_bps, struct profile *profile)
{
	double compute[PACED_N_KEPT], comm[PACED_N_KEPT], off[PACED_N_KEPT];
	double compute_us, comm_us, send_us, sd_us;
	size_t n = paced->n < PACED_N_KEPT ? paced->n : PACED_N_KEPT;

	if (n < PACED_N_MIN || !(line_bps > 0))
		return false;
	for (size_t i = 0; i < n; i++) {
		compute[i] = 1e-3 * (double)paced->compute_ns[i];
		comm[i] = 1e-3 * (double)paced->comm_ns[i];
	}
	compute_us = quantile(compute, n, 0.5);
	comm_us = quantile(comm, n, 0);
	for (size_t i = 0; i < n; i++)
		off[i] = fabs(compute[i] - compute_us);
	sd_us = SD_OF_MAD * quantile(off, n, 0.5);
	send_us = 8e6 * profile->bytes_per_iteration / line_bps;
	if (send_us < MIN_BUSY * comm_us || compute_us < 1)
		return false;
	comm_us = fmax(comm_us, send_us);
	if (compute_us + comm_us > (double)PROFILE_MAX_PERIOD_US)
		return false;
	free(profile->phases);
	profile->n_phases = 1;
	profile->phases = xcalloc(1, sizeof *profile->phases);
	profile->phases[0] = (struct profile_phase){
		.duration_us = llround(comm_us),
		.rate_bps = 8e6 * profile->bytes_per_iteration / round(comm_us),
	};
	profile->period_us = llround(compute_us + comm_us);
	profile->jitter_us = llround(sd_us);
	return true;
}
