/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reason.h - reasons of advice, as a closed list.
 *
 * Every advice has exactly one reason.  It has a name that is stable in JSON and
 * metrics, a sentence, and a remedy (empty if nothing is needed).
 */
#ifndef SCHEDULER_CORE_ADVISE_REASON_H
#define SCHEDULER_CORE_ADVISE_REASON_H

#include <stdbool.h>

enum reason {
	REASON_ISOLATED,          /* Shares no link that its peers could fill. */
	REASON_FITS,              /* Shares links, but their sum never exceeds them. */
	REASON_INTERLEAVED,       /* The shift removes (nearly) all excess. */
	REASON_REDUCED,           /* The shift removes a part of the excess. */
	REASON_REFERENCE,         /* Others are shifted against this one. */
	REASON_PERIODS_UNRELATED, /* No shift can help: the g/4 bound. */
	REASON_PERIODS_UNSURE,    /* As before, but the periods may be equal. */
	REASON_NO_ROOM,           /* The bursts do not fit side by side. */
	REASON_DOES_NOT_PAY,      /* The shift costs more than it saves. */
	REASON_LOOP_GIVEN_UP,     /* CASSINI only: a loop in its affinity graph. */
	REASON_PLACED_APART,      /* Placed so that it shares no contended link. */
	REASON_ROUTED_APART,      /* Its paths share no contended link any more. */
	REASON_MOVED,             /* Moving it pays for what the move costs. */
	REASON_NO_HOSTS,          /* Not enough free slots. */
	REASON_CAP,               /* Would slow a job down beyond the cap. */
	REASON_TAKES_TURNS,       /* No shift helps or lasts, but a gate does. */
	REASON_FAIR_SHARING,      /* The policy leaves contended links alone. */
	REASON_NOT_PACED,         /* A shift could help, but the job has no pacer. */
	N_REASONS,
};

/* True if the evidence is links that the advice keeps the job away from. */
bool reason_is_apart(enum reason reason);

const char *reason_name(enum reason reason);   /* "interleaved" */
const char *reason_text(enum reason reason);   /* One sentence. */
const char *reason_remedy(enum reason reason); /* One sentence, or "". */

#endif
