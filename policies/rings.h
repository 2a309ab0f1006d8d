/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rings.h - for each set of GPUs of a server, the best ring through all of them.
 *
 * A ring of n GPUs has n links; of two GPUs, their link twice; of one, none.  Different
 * rings are best by different measures.  Exact: the numbers of double and single NVLinks
 * that a ring of the set can have are enumerated by dynamic programming over sets and
 * last GPUs, O(2^n n^2) instead of n!.
 */
#ifndef POLICIES_RINGS_H
#define POLICIES_RINGS_H

#include "policies/inside.h"

struct rings;

struct ring {
	double predicted_gb_s;    /* Most of any ring, by rings_predict_gb_s(). */
	double gb_s;              /* Most summed bandwidth of its links. */
	enum inside_link slowest; /* The best slowest link; with one GPU, the best. */
};

/*
 * Effective bandwidth of a ring with these numbers of double NVLinks, single NVLinks
 * and PCIe links: the regression of MAPA (SC 2021).
 */
double rings_predict_gb_s(uint32_t n_double, uint32_t n_single, uint32_t n_pcie);

/* A table of 2^n_gpus rings. */
struct rings *rings_new(const struct pol_inside *inside);
void rings_free(struct rings *rings); /* Accepts NULL. */
/* The best ring of a set that is not empty. */
const struct ring *rings_of(const struct rings *rings, uint64_t gpus);
/* The best slowest link of any set of n_gpus GPUs. */
enum inside_link rings_best_slowest(const struct rings *rings, uint32_t n_gpus);

#endif
