/*
 * paced.h - what a job's iterations are like when nobody is in their way, from what its
 * pacer tells.
 *
 * Traffic shows how long an iteration takes as things are, and on a contended link that is
 * longer and more irregular than the job is by itself.  A pacer tells for each iteration
 * how long the job computed and how long it was in collectives.  The first does not depend
 * on others; the second is longer where others send as well, and so the shortest of the
 * last ones is nearly that of the job alone.  The two make an iteration: computing, then
 * sending.
 *
 * Jobs whose collectives are spread over the iteration are left to their traffic: where
 * the time in collectives is not mostly sending, this says nothing.  Pure.
 */
#ifndef SCHEDULER_DAEMON_PACED_H
#define SCHEDULER_DAEMON_PACED_H

#include <stdbool.h>
#include <stdint.h>

#define PACED_N_KEPT 24 /* Iterations: the last ones. */
#define PACED_N_MIN  12

struct profile;

struct paced {
	bool has_begun;
	uint64_t number;
	int64_t begin_ns;
	uint32_t n; /* So far; kept modulo PACED_N_KEPT. */
	int64_t compute_ns[PACED_N_KEPT], comm_ns[PACED_N_KEPT];
};

/* An iteration begins, as in a report of its pacer; what cannot be is left out. */
void paced_add(struct paced *paced, uint64_t number, int64_t enter_ns, int64_t begin_ns,
	       int64_t comm_ns);

/*
 * Puts period, jitter and one phase into 'profile', in place of what its traffic said;
 * 'line_bps' is the most that an interface of it can send.  Returns false, and leaves the
 * profile alone, if too few iterations were told or they are not of this kind.
 */
bool paced_profile(const struct paced *paced, double line_bps, struct profile *profile);

#endif
