/* SPDX-License-Identifier: Apache-2.0 */
/* mltcp.c - MLTCP's weight of a flow, by the share of its iteration that it has sent */
#include "sim/baselines/mltcp.h"

#include <errno.h>
#include <math.h>

const struct mltcp mltcp_of_code = { .slope = 4.0, .intercept = 0.25 };
const struct mltcp mltcp_of_paper = { .slope = 1.75, .intercept = 0.25 };

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

double
mltcp_step_weight(const struct mltcp *params, uint32_t step, uint32_t n_steps)
{
	/* F is linear, so its mean is its value in the middle. */
	return mltcp_weight(params, (step + 0.5) / n_steps);
}

double
mltcp_sent(struct mltcp_sender *sender, double bytes, int64_t now_ns)
{
	double gap_ns = (double)(now_ns - sender->last_ns);

	if (!sender->has_sent || gap_ns > MLTCP_GAP_FRAC * (double)sender->compute_ns)
		sender->sent_bytes = 0;
	sender->has_sent = true;
	sender->last_ns = now_ns;
	sender->sent_bytes += bytes;
	return fmin(sender->sent_bytes / sender->iteration_bytes, 1);
}
