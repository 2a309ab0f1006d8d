/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admits.h - the admission mechanisms.
 */
#ifndef POLICIES_ADMITS_H
#define POLICIES_ADMITS_H

#include "policies/mechanism.h"

/*
 * admit_load.c: admits jobs in order of arrival while the admitted jobs request at
 * most load.max times the GPUs of the cluster.  A job that alone requests more is
 * admitted when no other job is.
 */
extern const struct pol_admit admit_load;

#endif
