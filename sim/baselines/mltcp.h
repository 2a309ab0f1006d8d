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
 * bursts interleave.  A sender notices a new iteration by a gap in its sending of more
 * than 0.9 of the compute time; r is then 0 again.
 *
 * Fluid flows have no windows.  With synchronized losses, windows of additive increase
 * and equal decrease are in proportion to the increase, so F is used as a weight of
 * weighted max-min fair rates.  Shares then change only where flows meet on a full link,
 * as in reality.
 *
 * An engine cannot change weights all the time: mltcp_step_weight() has the mean of F
 * over equal steps of r, which gives a flow the same mean weight by bytes.
 *
 * Pure.
 */
#ifndef SIM_BASELINES_MLTCP_H
#define SIM_BASELINES_MLTCP_H

#include <stdbool.h>
#include <stdint.h>

/* A gap of more than this share of the compute time begins an iteration; as published. */
#define MLTCP_GAP_FRAC 0.9
/*
 * Chosen: steps of an iteration.  A weight is then off by at most slope / 32, which is
 * 6 % of the mean with either pair of parameters.
 */
#define MLTCP_N_STEPS 16

struct mltcp {
	double slope, intercept;
};

extern const struct mltcp mltcp_of_code;  /* 4.0 r + 0.25, its authors' ns-3 code. */
extern const struct mltcp mltcp_of_paper; /* 1.75 r + 0.25, the text. */

/*
 * Returns 0, or -EINVAL unless both are finite and F is positive for all r from 0 to 1.
 */
int mltcp_check(const struct mltcp *params);

/* F(r); 'sent_frac' outside 0 to 1 counts as the nearest of these. */
double mltcp_weight(const struct mltcp *params, double sent_frac);

/* The mean of F over step 'step' of 'n_steps' equal steps of r. */
double mltcp_step_weight(const struct mltcp *params, uint32_t step, uint32_t n_steps);

/*
 * A sender's count of an iteration's bytes, as MLTCP keeps it for a connection.  Starts
 * with 'compute_ns' and 'iteration_bytes' set and the rest zero.
 */
struct mltcp_sender {
	int64_t compute_ns;     /* Of an iteration. */
	double iteration_bytes; /* Above 0. */
	double sent_bytes;      /* Of the present iteration. */
	int64_t last_ns;        /* When it sent last. */
	bool has_sent;
};

/*
 * Counts 'bytes' sent at 'now_ns', which is not before the last call, and returns r
 * after them, 0 to 1.
 */
double mltcp_sent(struct mltcp_sender *sender, double bytes, int64_t now_ns);

#endif
