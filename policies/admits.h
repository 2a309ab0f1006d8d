/*
 * admits.h - what lets jobs in.
 */
#ifndef POLICIES_ADMITS_H
#define POLICIES_ADMITS_H

#include "policies/mechanism.h"

/*
 * admit_load.c: as they came, while those inside want no more than so many times the GPUs
 * there are.  Whoever wants more than that by itself is let in when nobody is inside.
 */
extern const struct pol_admit admit_load;

#endif
