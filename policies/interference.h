/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interference.h - the measured slowdown of pairs of models on one GPU (IADeep, SC 2023).
 *
 * The figure of a pair is the sum, over both, of the time of a batch beside the other,
 * over its isolated time, minus 1.
 */
#ifndef POLICIES_INTERFERENCE_H
#define POLICIES_INTERFERENCE_H

#include <stdint.h>

/* The number of a model, from 1, by its name, ignoring case; 0: not measured. */
uint32_t interference_find(const char *model);
/* In either order; NAN: the pair was not measured. */
double interference_of_pair(uint32_t a, uint32_t b);

#endif
