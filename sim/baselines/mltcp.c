/* SPDX-License-Identifier: Apache-2.0 */
/* mltcp.c - MLTCP's weight of a flow, by the share of its iteration that it has sent */
#include "sim/baselines/mltcp.h"

#include <errno.h>
#include <math.h>

#include "scheduler/core/workload/workload.h"

const struct mltcp mltcp_of_code = { .slope = 4.0, .intercept = 0.25 };
const struct mltcp mltcp_of_text = { .slope = 1.75, .intercept = 0.25 };

int
mltcp_check(const struct mltcp *params)
{
	if (!isfinite(params->slope) || !isfinite(params->intercept) ||
	    !(params->intercept > 0) || !(params->slope + params->intercept > 0))
		return -EINVAL;
	return 0;
}

double
mltcp_weight(const struct mltcp *params, double sent_frac)
{
	return params->slope * fmin(fmax(sent_frac, 0), 1) + params->intercept;
}

void
mltcp_weigh(const struct mltcp *params, struct work_segment *segments, size_t n)
{
	double all_bytes = 0, sent_bytes = 0;

	for (size_t i = 0; i < n; i++)
		all_bytes += segments[i].nic_bytes;
	for (size_t i = 0; i < n; i++) {
		struct work_segment *segment = &segments[i];
		double share = segment->nic_bytes / all_bytes;

		if (!(segment->nic_bytes > 0))
			continue;
		segment->first_weight = mltcp_weight(params, sent_bytes / all_bytes);
		sent_bytes += segment->nic_bytes;
		segment->last_weight = mltcp_weight(params, sent_bytes / all_bytes);
		segment->n_steps = (uint32_t)ceil(share * MLTCP_N_STEPS - 1e-9);
	}
}
