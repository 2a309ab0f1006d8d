/*
 * scn.h - the neutral flow scenario, 'fabscn 1': links, and jobs that send flows
 * over explicit paths, so that any simulator can run the same thing.
 *
 *	fabscn 1
 *	hosts N
 *	links M
 *	L id bytes_per_s name                       M lines, id = 0..M-1 in order
 *	jobs K
 *	J id iters shift_ns compute_ns nflows       K blocks, id = 0..K-1 in order,
 *	F src dst bytes k link_1 ... link_k         each followed by its F lines
 *
 * Integers only, fields separated by one space.  A job waits 'shift_ns', and
 * then 'iters' times computes and sends all its flows at once; the iteration
 * ends with the last flow.
 */
#ifndef SIM_RUN_SCN_H
#define SIM_RUN_SCN_H

#include <stddef.h>
#include <stdint.h>

struct engine;
struct engine_observer;
struct err;

struct scn_flow {
	uint32_t src, dst; /* Hosts. */
	int64_t bytes;
	uint32_t first_link, n_links; /* In scn.paths. */
};

struct scn_job {
	uint64_t n_iterations;
	int64_t shift_ns, compute_ns;
	uint32_t first_flow, n_flows; /* In scn.flows. */
};

struct scn {
	uint32_t n_hosts, n_links, n_jobs, n_flows, n_path_links;
	double *capacity_bps;   /* Owned, by link. */
	struct scn_job *jobs;   /* Owned. */
	struct scn_flow *flows; /* Owned, in order of their jobs. */
	uint32_t *paths;        /* Owned. */
};

/*
 * Reads 'length' bytes of 'text'; 'file' is for messages.  No allocation is
 * larger than a small multiple of 'length', whatever the text says.  Returns 0
 * and a new scenario, or -EINVAL with 'err' filled.
 */
int scn_parse(const char *file, const char *text, size_t length, struct scn **ret_scn,
	      struct err *err);

void scn_free(struct scn *scn);

/*
 * Returns a new engine with the scenario's links and jobs, in their order, each
 * job with at most 'max_iterations' iterations (0: as many as it says).
 * Borrows nothing.
 */
struct engine *scn_new_engine(const struct scn *scn, uint64_t max_iterations,
			      const struct engine_observer *observer);

#endif
