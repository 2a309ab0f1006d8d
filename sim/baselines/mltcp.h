/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mltcp.h - MLTCP's weight of a flow, by the share of its iteration that it has sent.
 *
 * Rajasekaran et al., "MLTCP: A Distributed Technique to Approximate Centralized Flow
 * Scheduling for Machine Learning", HotNets 2024.  A congestion control multiplies its
 * additive increase by
 *
 *	F(r) = slope r + intercept,    r = bytes sent / bytes of the iteration, 0 to 1
 *
 * so a flow that is further gets more, ends earlier, and jobs drift apart until their
 * bursts interleave.
 *
 * Fluid flows have no windows.  With synchronized losses, windows of additive increase
 * and equal decrease are in proportion to the increase, so F is used as a weight of
 * weighted max-min fair rates.  Shares then change only where flows meet on a full link,
 * as in reality.  The engine changes weights in steps (engine.h).
 *
 * A sender notices a new iteration by a gap in its sending of more than 0.9 of the
 * compute time.  Here the iteration is known: r is 0 at its begin, and nowhere else.
 *
 * Pure.
 */
#ifndef SIM_BASELINES_MLTCP_H
#define SIM_BASELINES_MLTCP_H

#include <stddef.h>

struct work_segment;

/*
 * Chosen: steps of an iteration.  A weight is then off by at most slope / 32, which is
 * 6 % of the mean with either pair of parameters.
 */
#define MLTCP_N_STEPS 16

struct mltcp {
	double slope, intercept;
};

extern const struct mltcp mltcp_of_code; /* 4.0 r + 0.25, its authors' ns-3 code. */
extern const struct mltcp mltcp_of_text; /* 1.75 r + 0.25, the paper's text. */

/*
 * Returns 0, or -EINVAL unless both are finite and F is positive for all r from 0 to 1.
 */
int mltcp_check(const struct mltcp *params);

/* F(r); 'sent_frac' outside 0 to 1 counts as the nearest of these. */
double mltcp_weight(const struct mltcp *params, double sent_frac);

/*
 * Sets the weights of all segments of an iteration that send.  Of segments that overlap,
 * each counts what those before it in the list send as sent.
 */
void mltcp_weigh(const struct mltcp *params, struct work_segment *segments, size_t n);

#endif
