/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pacer_profile.h - a job's iterations without contention, from the reports of its
 * pacer.
 *
 * Traffic shows how long an iteration takes under contention, which is longer and more
 * irregular than in isolation, and finding what repeats takes long.  A pacer reports for
 * each iteration how long the job computed and how long it was in collectives.  The first
 * does not depend on other jobs: its median is taken.  The second is longer where others
 * send as well, but the bytes sent in it are the same (iteration_volume.h).  So the burst
 * of the job in isolation is
 *
 *	the median time in collectives, less the share that others are seen to cost it,
 *	at least what its bytes take on the slowest link of its path,
 *	at most the shortest time in collectives seen, or what its bytes take, if that is
 *	more: collective events may be late,
 *	at most the first quartile of the times,
 *	and never less than its bytes take on its own interfaces.
 *
 * Where others are seen beside the first few, and these take longer than their bytes, or
 * differ from each other, others may have stretched all of them, and by the same time, if
 * they began together; the burst is taken to be what its bytes take.  Computing
 * and the burst make an iteration, and a few of them are enough.
 *
 * When PACER_PROFILE_N_MIN iterations running are all longer, or all shorter, than those before
 * them can explain, the job has changed: what was before is forgotten.
 *
 * Jobs whose collectives are spread over the iteration, or mostly wait, are left to their
 * traffic.  Lost reports leave iterations out; numbers or times that go back are of a job
 * that began anew.  Pure.
 */
#ifndef SCHEDULER_DAEMON_PACER_PROFILE_H
#define SCHEDULER_DAEMON_PACER_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/control/steer.h"

#define PACER_PROFILE_N_KEPT 24 /* Iterations: the last ones. */
#define PACER_PROFILE_N_MIN  5

struct profile;
struct iteration_volume;
struct iteration_volume_sample;

struct pacer_profile {
	struct steer_report
		reports[PACER_PROFILE_N_KEPT + 1]; /* The last ones, oldest first. */
	size_t n_reports;
	uint32_t n; /* Whole iterations since it began, or changed. */
};

enum pacer_profile_event {
	PACER_PROFILE_NONE, /* No iteration has become whole. */
	PACER_PROFILE_WHOLE,
	PACER_PROFILE_CHANGED, /* The last PACER_PROFILE_N_MIN are of another kind; they are kept. */
};

enum pacer_profile_event pacer_profile_add(struct pacer_profile *paced,
					   const struct steer_report *report);

/* The whole iterations that are kept, oldest first: at most PACER_PROFILE_N_KEPT; how many. */
size_t pacer_profile_iterations(const struct pacer_profile *paced,
				struct iteration_volume_sample *ret_iterations);

/* What is known of where it sends. */
struct pacer_profile_path {
	double line_bps;    /* Of its slowest host's interface. */
	double isolated_us; /* Its bytes, on the slowest link of its path. */
	/* Of its time in collectives: others send as well; what they cost it. */
	double met_frac, held_frac;
};

/*
 * Makes a profile of one burst, without a name, of at least 'n_min' iterations: its
 * confidence is the share of those kept whose computing took about as long as the
 * median.  Returns false, and leaves '*ret_profile' alone, if too few iterations were reported
 * or they are not of this kind.
 */
bool pacer_profile_make(const struct pacer_profile *paced, size_t n_min,
			const struct iteration_volume *sent,
			const struct pacer_profile_path *path,
			struct profile *ret_profile);

#endif
