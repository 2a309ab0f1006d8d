/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inside.h - the inside of a server: which of its GPUs are linked, how fast, and on
 * which sockets they are.
 *
 * A policy that uses it names GPUs in its plan (pol_piece.gpus): bit i is GPU i.  All
 * servers of a cluster with as many GPUs as its graph (pol_cluster.inside) are alike;
 * the GPUs of the others are interchangeable.
 */
#ifndef POLICIES_INSIDE_H
#define POLICIES_INSIDE_H

#include "policies/view.h"

#define INSIDE_MAX_GPUS 16

/* Each pair is linked; ascending by speed. */
enum inside_link {
	INSIDE_PCIE,
	INSIDE_NVLINK,        /* One NVLink. */
	INSIDE_DOUBLE_NVLINK, /* Two, bonded. */
	INSIDE_N_LINKS,
};

/*
 * Measured seconds of jobs on such a server.  NAN: not measured.  They include what
 * the policy topo-aware needs to know of a job.
 */
struct pol_measured {
	void *ctx;
	/* Of the job alone, on GPUs of one socket or of several. */
	double (*alone_s)(void *ctx, const struct pol_job *job, bool one_socket);
	/* Of the job with 'other' on a socket that both use. */
	double (*beside_s)(void *ctx, const struct pol_job *job,
			   const struct pol_job *other);
	/* The utility below which the job prefers to wait, 0 to 1. */
	double (*least_utility)(void *ctx, const struct pol_job *job);
};

struct pol_inside {
	const char *name; /* "dgx-v". */
	uint32_t n_gpus, n_sockets;
	double gb_s[INSIDE_N_LINKS];         /* Bandwidth of a link. */
	const char *sockets;                 /* By GPU, a digit: its socket. */
	const char *links[INSIDE_MAX_GPUS];  /* By GPU and GPU, a digit: inside_link. */
	const struct pol_measured *measured; /* NULL: nothing is measured. */
};

/* The servers with a name, ended by one without. */
extern const struct pol_inside inside_table[];
const struct pol_inside *inside_find(const char *name); /* Or NULL. */

/* The graph of a node; NULL: its GPUs are interchangeable. */
static inline const struct pol_inside *
inside_of(const struct pol_cluster *cluster, uint32_t node)
{
	const struct pol_inside *inside = cluster->inside;

	return inside && inside->n_gpus == cluster->n_gpus[node] ? inside : NULL;
}

/* The link of two different GPUs. */
static inline enum inside_link
inside_link(const struct pol_inside *inside, uint32_t a, uint32_t b)
{
	return (enum inside_link)(inside->links[a][b] - '0');
}

static inline uint32_t
inside_socket(const struct pol_inside *inside, uint32_t gpu)
{
	return (uint32_t)(inside->sockets[gpu] - '0');
}

/* All GPUs of a server. */
static inline uint64_t
inside_all(const struct pol_inside *inside)
{
	return (UINT64_C(1) << inside->n_gpus) - 1;
}

/* The GPUs of a socket. */
uint64_t inside_on_socket(const struct pol_inside *inside, uint32_t socket);
/* Whether two sets of GPUs have a socket in common. */
bool inside_share_socket(const struct pol_inside *inside, uint64_t a, uint64_t b);

#endif
