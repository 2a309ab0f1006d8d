/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pacer_profile.h - a job's iterations without contention, from the reports of its
 * pacer.
 *
 * Under contention, traffic shows longer and less regular iterations than in isolation,
 * and finding the period takes long. A pacer reports for each iteration how long the
 * job computed and how long it was in collectives. Computing does not depend on other
 * jobs: its median is used. Collectives take longer when other jobs send, but send the
 * same bytes (iteration_volume.h). So the burst of the isolated job is
 *
 *	the median time in collectives, less the share that others are seen to cost it,
 *	at least the time of its bytes on the slowest link of its path,
 *	at most the shortest time in collectives seen, or the time of its bytes, if that
 *	is longer: collective events may be late,
 *	at most the first quartile of the times,
 *	and never less than the time of its bytes on its own interfaces.
 *
 * If other jobs send during the first few iterations, and these take longer than their
 * bytes, or differ from each other, all of them may be stretched, and equally so if the
 * jobs began together: then the burst is the time of its bytes. Computing and the burst
 * make an iteration, and a few of them are enough.
 *
 * When PACER_PROFILE_N_MIN iterations in a row are all longer, or all shorter, than the
 * earlier ones can explain, the job has changed: the earlier ones are forgotten.
 *
 * Jobs whose collectives are spread over the iteration, or mostly wait, are profiled by
 * their traffic. Lost reports leave iterations out; numbers or times that go back are
 * of a job that began anew. Pure.
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
	PACER_PROFILE_NONE, /* No iteration is complete yet. */
	PACER_PROFILE_WHOLE,
	PACER_PROFILE_CHANGED, /* The last PACER_PROFILE_N_MIN differ; kept. */
};

enum pacer_profile_event pacer_profile_add(struct pacer_profile *paced,
					   const struct steer_report *report);

/* Copies the whole iterations kept (PACER_PROFILE_N_KEPT at most), oldest first. */
size_t pacer_profile_iterations(const struct pacer_profile *paced,
				struct iteration_volume_sample *ret_iterations);

/* The path of a job's traffic. */
struct pacer_profile_path {
	double line_bps;    /* Of its slowest host's interface. */
	double isolated_us; /* The time of its bytes on the slowest link of its path. */
	/* Of its time in collectives: shared with other jobs; lost to them. */
	double met_frac, held_frac;
};

/*
 * Makes a profile of one burst, without a name, of at least 'n_min' iterations. Its
 * confidence is the share of the kept ones whose computing takes about the median time.
 * Returns false, with '*ret_profile' as it was, if there are too few iterations or they
 * do not have this form.
 */
bool pacer_profile_make(const struct pacer_profile *paced, size_t n_min,
			const struct iteration_volume *sent,
			const struct pacer_profile_path *path,
			struct profile *ret_profile);

#endif
