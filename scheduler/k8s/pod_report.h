/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_report.h - the shifts of jobs as annotations of their pods.
 *
 * From the API server's list of pods it makes merge patches, each for one pod as it was
 * in the list, so that the server refuses a patch for a pod that has changed since:
 *
 *	antiphase.io/shift-us	the job's shift
 *	antiphase.io/slack-us	how far it may be off
 *	antiphase.io/pacing	"free", "realign", "gate"
 *	antiphase.io/told	the shift again: antiphase wrote it
 *
 * The annotations of a pod are ours while 'told' equals 'shift-us'; those that others
 * wrote or changed stay. There is no other record: after a restart the pods themselves
 * show what to undo.
 *
 * A pod whose program heeds them has the annotation antiphase.io/reads-shift: "true";
 * then its job can be shifted without a pacer.
 *
 * All pods of a job get the same annotations. These change POD_REPORT_CHANGE_US later
 * at the earliest, and only if the shift has moved by more than its slack. They are
 * removed when the mode of the namespace, the kill switch or the daemon's end require
 * it, or when advice ends.
 *
 * Lists are hostile until checked. Pure but for the last report of each job; O(pods).
 */
#ifndef SCHEDULER_K8S_POD_REPORT_H
#define SCHEDULER_K8S_POD_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"

struct err;
struct pod_report;

#define POD_REPORT_CHANGE_US   INT64_C(30000000)
#define POD_REPORT_MAX_PATCHES 10000 /* Of one round; the next round has the rest. */
#define POD_REPORT_MAX_JOBS    20000 /* Remembered; with more, all are forgotten. */

struct pod_report_advice {
	int64_t shift_us, slack_us;
	const char *pacing; /* Static. */
};

struct pod_report_view {
	int64_t now_us;  /* Wall clock. */
	bool is_ending;  /* Remove all our annotations. */
	bool is_waiting; /* Too early to conclude that there is no advice. */
	bool (*may_annotate)(void *ctx, const char *namespace);
	/* The advice for the job "NAMESPACE/NAME"; false: there is none. */
	bool (*advice)(void *ctx, const char *job,
		       struct pod_report_advice *ret_advice);
	/* A pod of that job heeds its annotations, and may be annotated. */
	void (*reads)(void *ctx, const char *job);
	void *ctx;
};

enum pod_report_why {
	POD_REPORT_ADVISED,
	POD_REPORT_STOPPED,   /* Mode, kill switch, daemon's end: removed. */
	POD_REPORT_NO_ADVICE, /* Removed. */
};

struct pod_report_patch {
	char *job; /* Owned, as all texts here.  "NAMESPACE/NAME". */
	char *path, *body;
	enum pod_report_why why;
	int64_t shift_us; /* POD_REPORT_ADVISED. */
};

/* Zeroed it is empty; release with pod_report_round_fini(). */
struct pod_report_round {
	VEC(struct pod_report_patch) patches;
	size_t n_pods, n_annotated; /* Seen; of these, with our annotation. */
	size_t n_others, n_left; /* With others' annotations; left to the next round. */
	char *next; /* Token to continue the list; NULL: this is its end. */
};

struct pod_report *pod_report_new(void);
void pod_report_free(struct pod_report *report); /* Accepts NULL. */

/*
 * Reads a list of pods, or a part of it, and adds the patches to the round. Returns 0,
 * or -EINVAL with 'err' filled and the round as it was. Invalid pods are skipped.
 */
int pod_report_read(struct pod_report *report, const char *text, size_t n,
		    const struct pod_report_view *view, struct pod_report_round *round,
		    struct err *err);
/* Patches of a job together, by why. */
void pod_report_round_sort(struct pod_report_round *round);
bool pod_report_is_same_group(const struct pod_report_patch *a,
			      const struct pod_report_patch *b);
void pod_report_round_fini(struct pod_report_round *round);

#endif
