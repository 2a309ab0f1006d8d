/*
 * admits.h - what lets jobs in.
 */
#ifndef SCHEDULER_POLICY_ADMITS_H
#define SCHEDULER_POLICY_ADMITS_H

#include "scheduler/policy/mechanism.h"

/*
 * admit_load.c: as they came, while those inside want no more than so many times the GPUs
 * there are.  Whoever wants more than that by itself is let in when nobody is inside.
 */
extern const struct pol_admit admit_load;

#endif
