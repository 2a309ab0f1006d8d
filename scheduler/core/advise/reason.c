/* SPDX-License-Identifier: Apache-2.0 */
#include "scheduler/core/advise/reason.h"

#include "lib/base/alloc.h"

/* The name, text and remedy of a reason. */
struct reason_words {
	const char *name, *text, *remedy;
};

static const struct reason_words words[N_REASONS] = {
	[REASON_ISOLATED] = {
		"isolated",
		"It shares no link with another job.",
		"",
	},
	[REASON_FITS] = {
		"fits",
		"It shares links, but even all peaks together do not exceed them.",
		"",
	},
	[REASON_INTERLEAVED] = {
		"interleaved",
		"Shifted in time, its bursts fall into the gaps of the others.",
		"",
	},
	[REASON_REDUCED] = {
		"reduced",
		"The shift removes a part of the overlap; the bursts do not all fit side by side.",
		"Move one of the jobs to other links, or give the link more capacity.",
	},
	[REASON_REFERENCE] = {
		"reference",
		"It stays where it is, and the others are shifted against it.",
		"",
	},
	[REASON_PERIODS_UNRELATED] = {
		"periods-unrelated",
		"The iteration times have no useful common measure: every shift meets all phases "
		"in turn, so no shift can keep the bursts apart.",
		"Place the jobs apart, or make the iteration times equal or a small multiple "
		"(batch size); a send gate lets them take turns.",
	},
	[REASON_PERIODS_UNSURE] = {
		"periods-within-error",
		"The iteration times are equal within the error of their measurement, which is "
		"too large to keep a shift.",
		"Measure more iterations; if the jobs are known to take equally long, write "
		"that time into their profiles.",
	},
	[REASON_NO_ROOM] = {
		"no-room",
		"The bursts do not fit side by side: no shift reduces the overlap by much.",
		"Move one of the jobs to other links, or give the link more capacity.",
	},
	[REASON_DOES_NOT_PAY] = {
		"does-not-pay",
		"What a shift would save is less than what it costs, so none is advised.",
		"",
	},
	[REASON_LOOP_GIVEN_UP] = {
		"loop-given-up",
		"The jobs and links form a loop, for which this policy has no shifts.",
		"Ask with the policy antiphase, which solves loops.",
	},
	[REASON_PLACED_APART] = {
		"placed-apart",
		"It is placed so that it shares no link that could be exceeded.",
		"",
	},
	[REASON_ROUTED_APART] = {
		"routed-apart",
		"On the paths chosen for its flows or for those of others, it shares no "
		"link that could be exceeded.",
		"",
	},
	[REASON_MOVED] = {
		"moved",
		"On other hosts, it and the jobs that it shares links with gain more than the "
		"move costs.",
		"",
	},
	[REASON_NO_HOSTS] = {
		"no-hosts",
		"There are not enough free slots.",
		"Wait until a job ends, or ask for fewer hosts.",
	},
	[REASON_CAP] = {
		"cap",
		"What would help the others would slow this job down beyond the cap.",
		"Raise the cap, or move the job to other links.",
	},
	[REASON_TAKES_TURNS] = {
		"takes-turns",
		"No shift would last, but taking turns at a gate shortens the iterations.",
		"",
	},
	[REASON_FAIR_SHARING] = {
		"fair-sharing",
		"It shares links that can be exceeded, and this policy leaves that to fair "
		"sharing.",
		"Ask with the policy antiphase.",
	},
	[REASON_NOT_PACED] = {
		"not-paced",
		"A shift could keep its bursts apart from the others', but the job runs without a "
		"pacer, so nothing can delay it.",
		"Start it with the pacer (antiphase-pacer(7)).",
	},
};

static const struct reason_words *
words_of(enum reason reason)
{
	BUG_ON((unsigned)reason >= N_REASONS);
	return &words[reason];
}

bool
reason_is_apart(enum reason reason)
{
	return reason == REASON_PLACED_APART || reason == REASON_ROUTED_APART;
}

const char *
reason_name(enum reason reason)
{
	return words_of(reason)->name;
}

const char *
reason_text(enum reason reason)
{
	return words_of(reason)->text;
}

const char *
reason_remedy(enum reason reason)
{
	return words_of(reason)->remedy;
}
