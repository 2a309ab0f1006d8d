/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/advice_prose.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "cli/advice_paths.h"
#include "cli/time_text.h"
#include "lib/base/cli.h"
#include "lib/base/hostlist.h"
#include "lib/base/strbuf.h"
#include "lib/base/utf8.h"
#include "lib/base/words.h"
#include "scheduler/core/advise/advice_doc.h"
#include "scheduler/core/advise/advise_constants.h"

#define WRAP_COLUMNS 78
#define INDENT       4

/* A relative change of iteration times below this is not worth a sentence. */
#define NO_GAIN 0.005
/* A rise of the goodput below this is not worth a sentence. */
#define NO_GOODPUT 5e-4

#define MAX_PLACES 3 /* Named in a sentence. */

/* ---- Words ----------------------------------------------------------------------- */

/* Appends 'text' as a paragraph under a heading, broken between words; frees 'text'. */
static void
put_part(struct strbuf *out, const char *heading, struct strbuf *text)
{
	size_t columns = cli_columns() - 2;

	strbuf_printf(out, "%s\n    ", heading);
	strbuf_wrap(out, text->text, INDENT, INDENT,
		    columns < WRAP_COLUMNS ? columns : WRAP_COLUMNS);
	strbuf_putc(out, '\n');
	strbuf_free(text);
}

static double
ms(int64_t us)
{
	return (double)us / 1e3;
}

static void
put_hosts(struct strbuf *out, const struct advice_doc_job *job)
{
	hostlist_fold(job->hosts, job->n_hosts, out);
}

static bool
is_pacing(const struct advice_doc_job *job, const char *pacing)
{
	return job->pacing && strcmp(job->pacing, pacing) == 0;
}

/* "12 % to 14 %", or "about 13 %". */
static void
put_percent_range(struct strbuf *out, double low, double high)
{
	if (fabs(high - low) < NO_GAIN)
		strbuf_printf(out, "about %.0f\x1f%%", 50 * (low + high));
	else
		strbuf_printf(out, "%.0f\x1f%% to %.0f\x1f%%", 100 * low, 100 * high);
}

/* ---- What we saw ----------------------------------------------------------------- */

static void
saw_profile(const struct advice_doc_job *job, struct strbuf *text)
{
	if (job->period_us <= 0) {
		strbuf_puts(text, "Its iteration time is not known");
		if (job->why)
			strbuf_printf(text, ": %s", job->why);
		strbuf_puts(text, ". ");
		return;
	}
	strbuf_printf(text, "An iteration takes %.1f ms, ", ms(job->period_us));
	if (strcmp(job->source, "declared") == 0) {
		strbuf_puts(text, "as its user declared. ");
		return;
	}
	strbuf_printf(text, "by its %s: %zu iteration%s, %.0f s old, confidence %.2f. ",
		      strcmp(job->source, "pacer") == 0 ? "pacer" : "traffic",
		      job->n_iterations, words_plural(job->n_iterations),
		      (double)(job->age_us > 0 ? job->age_us : 0) / 1e6,
		      job->confidence);
	if (job->why)
		strbuf_printf(text, "There is no newer estimate: %s. ", job->why);
}

/* The profile and the hosts of a job of antiphase-scheduler. */
static void
saw_live(const struct advice_doc_job *job, struct strbuf *text)
{
	saw_profile(job, text);
	if (job->n_hosts)
		strbuf_printf(text, "It %s %zu host%s",
			      job->is_waiting ? "waits for" : "runs on", job->n_hosts,
			      words_plural(job->n_hosts));
	else
		strbuf_puts(text, "Its hosts are not known");
	if (job->n_silent)
		strbuf_printf(text, "; %zu host%s of the fabric send%s no telemetry",
			      job->n_silent, words_plural(job->n_silent),
			      job->n_silent == 1 ? "s" : "");
	strbuf_puts(text, ". ");
}

static void
saw_declared(const struct advice_doc_job *job, struct strbuf *text)
{
	strbuf_printf(text, "In isolation, an iteration takes %.1f ms",
		      ms(job->period_us));
	if (job->jitter_us > 0)
		strbuf_printf(text, " with a jitter of %.1f ms", ms(job->jitter_us));
	strbuf_puts(text, ". ");
	if (job->n_hosts == 0) {
		strbuf_puts(text, "The job waits for hosts.");
		return;
	}
	strbuf_puts(text, job->placed_by_us ? "We place it on " : "It runs on ");
	if (job->is_moved)
		hostlist_fold(job->move.from, job->move.n_from, text);
	else
		put_hosts(text, job);
	strbuf_puts(text, ". ");
}

static const char *
shares_text(const struct advice_doc *doc, const struct advice_doc_job *job)
{
	if (strcmp(job->reason, reason_name(REASON_PLACED_APART)) == 0)
		return "Packed as usual it would share";
	if (strcmp(job->reason, reason_name(REASON_ROUTED_APART)) == 0)
		return "On hashed paths it would share";
	if (job->is_moved && !doc->is_live)
		return "On its new hosts it will share";
	return "It shares";
}

static void
saw_links(const struct advice_doc *doc, const struct advice_doc_job *job,
	  struct strbuf *text)
{
	const struct advice_doc_link *worst = &job->links[0];

	strbuf_printf(text, "%s %zu link%s whose jobs can exceed %s, the worst %s (",
		      shares_text(doc, job), job->n_links, words_plural(job->n_links),
		      job->n_links == 1 ? "it" : "them", worst->name);
	if (worst->capacity_bps > 0)
		strbuf_printf(text, "%.0f Gb/s, ", worst->capacity_bps / 1e9);
	strbuf_printf(text,
		      "%zu job%s): with random phases its score is %.3f, a mean excess "
		      "of %.2f Gb/s. ",
		      worst->n_jobs, words_plural(worst->n_jobs), worst->score_before,
		      worst->excess_before_bps / 1e9);
}

static void
put_saw(const struct advice_doc *doc, const struct advice_doc_job *job,
	struct strbuf *out)
{
	struct strbuf text = STRBUF_EMPTY;

	if (doc->is_live)
		saw_live(job, &text);
	else
		saw_declared(job, &text);
	if (job->n_links > 0)
		saw_links(doc, job, &text);
	if (job->slowdown_before > 1 + NO_GAIN)
		strbuf_printf(&text,
			      "Without advice, its iterations should take %.2f times "
			      "as long as in isolation.",
			      job->slowdown_before);
	put_part(out, "What we saw", &text);
}

/* ---- What we conclude ------------------------------------------------------------ */

static void
put_conclusion(const struct advice_doc_job *job, bool is_refused, struct strbuf *out)
{
	struct strbuf text = STRBUF_EMPTY;

	strbuf_puts(&text, job->text);
	if (is_refused) {
		if (text.length)
			text.text[0] = (char)toupper((unsigned char)text.text[0]);
		strbuf_printf(&text, " (%s).", job->reason);
	}
	put_part(out, "What we conclude", &text);
}

/* ---- What we advise -------------------------------------------------------------- */

static void
advise_places(const struct advice_doc_job *job, struct strbuf *text)
{
	strbuf_printf(text, "Start it on %s", job->places[0].nodes);
	for (size_t i = 1; i < job->n_places && i < MAX_PLACES; i++)
		strbuf_printf(text, "%s %s", i == 1 ? "; next best" : ",",
			      job->places[i].nodes);
	strbuf_puts(text, ". ");
}

static void
advise_move(const struct advice_doc_job *job, struct strbuf *text)
{
	const struct advice_doc_move *move = &job->move;

	strbuf_printf(text, "Move %zu of its %zu workers: go on on ", move->n_workers,
		      job->n_hosts);
	put_hosts(text, job);
	if (*move->with)
		strbuf_printf(text, ", while %s moves, too", move->with);
	strbuf_printf(
		text,
		". The job loses %.0f s by that. In goodput (weight times seconds) "
		"the move%s cost%s %.0f and gain%s %.0f while the jobs run; %s paid "
		"back after %.0f s. ",
		move->lost_s, *move->with ? "s" : "", *move->with ? "" : "s",
		move->goodput_lost_s, *move->with ? "" : "s", move->goodput_gained_s,
		*move->with ? "they have" : "it has", move->payback_s);
}

static void
advise_shift(const struct advice_doc *doc, const struct advice_doc_job *job,
	     struct strbuf *text)
{
	if (job->shift_us <= 0)
		strbuf_puts(text, "Do not shift it");
	else if (doc->is_live)
		strbuf_printf(text, "Begin its iterations %.3f ms later",
			      ms(job->shift_us));
	else
		strbuf_printf(text, "Delay its start by %.3f ms, once",
			      ms(job->shift_us));
	if (job->slack_us > 0 && (doc->is_live || job->shift_us > 0))
		strbuf_printf(text, "; %.3f ms either way is equivalent",
			      ms(job->slack_us));
	strbuf_puts(text, ". ");
	if (job->locked_us > 0)
		strbuf_printf(text,
			      "Hold its period at %.3f ms, which keeps it in step with "
			      "the others. ",
			      ms(job->locked_us));
	if (is_pacing(job, "gate"))
		strbuf_puts(text, "Gate it: before it sends, it waits while another "
				  "gated job uses a link that both together would "
				  "exceed.");
	else if (is_pacing(job, "realign"))
		strbuf_puts(text, "Hold it to its grid: when an iteration is late by "
				  "more than 5 %, it waits for the next point of the "
				  "grid.");
	else if (is_pacing(job, "shift"))
		strbuf_puts(text, "Small corrections keep it there.");
	else if (job->shift_us > 0)
		strbuf_puts(text, "No correction is needed afterwards.");
}

static void
put_advice(const struct advice_doc *doc, const struct advice_doc_job *job,
	   struct strbuf *out)
{
	struct strbuf text = STRBUF_EMPTY;

	if (doc->is_live && !job->is_advised) {
		strbuf_puts(&text, "Nothing: we do not guess.");
	} else if (doc->is_live) {
		if (job->n_places)
			advise_places(job, &text);
		if (job->is_moved)
			advise_move(job, &text);
		advice_paths_put(job, &text);
		if (job->pacing)
			advise_shift(doc, job, &text);
	} else if (job->n_hosts == 0) {
		strbuf_puts(&text, "Nothing for now: it has to wait.");
	} else {
		if (job->placed_by_us) {
			strbuf_puts(&text, "Start it on ");
			put_hosts(&text, job);
			strbuf_puts(&text, ". ");
		}
		if (job->is_moved)
			advise_move(job, &text);
		advice_paths_put(job, &text);
		advise_shift(doc, job, &text);
	}
	put_part(out, "What we advise", &text);
}

/* ---- What it should give --------------------------------------------------------- */

/* The result has no period. */
static void
put_range(const struct advice_doc_job *job, struct strbuf *text)
{
	bool is_longer = job->gain_high <= 0;

	if (fabs(job->gain_low) < NO_GAIN && fabs(job->gain_high) < NO_GAIN) {
		strbuf_puts(text, "No significant change");
		return;
	}
	strbuf_puts(text, "Iterations ");
	if (is_longer)
		put_percent_range(text, -job->gain_high, -job->gain_low);
	else
		put_percent_range(text, job->gain_low, job->gain_high);
	strbuf_puts(text,
		    is_longer ? " longer, for the benefit of other jobs" : " shorter");
}

/* A verdict of the daemon in words; an unknown one unchanged. */
static const char *
verdict_text(const char *verdict)
{
	static const char *const words[][2] = {
		{ "too_early", "it is too early to say" },
		{ "not_followed", "the job does not follow it" },
		{ "no_before", "followed from its start on, so there is nothing to "
			       "compare with" },
		{ "less", "less than advised" },
		{ "as_advised", "as advised" },
		{ "more", "more than advised" },
	};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(words[i][0], verdict) == 0)
			return words[i][1];
	return verdict;
}

/* The gain of the advice so far, by the job's own iterations. */
static void
put_outcome(const struct advice_doc_outcome *outcome, struct strbuf *text)
{
	if (!outcome->verdict)
		return;
	strbuf_puts(text, " So far: ");
	if (outcome->has_gain)
		strbuf_printf(text,
			      "%.1f ms instead of %.1f ms (%zu iterations, %zu "
			      "before), %.1f\x1f%% ± %.1f\x1f%% %s: ",
			      ms(outcome->after_us), ms(outcome->before_us),
			      outcome->n_after, outcome->n_before,
			      100 * fabs(outcome->gain), 100 * outcome->gain_error,
			      outcome->gain < 0 ? "longer" : "shorter");
	strbuf_printf(text, "%s.", verdict_text(outcome->verdict));
}

static void
put_gain(const struct advice_doc *doc, const struct advice_doc_job *job,
	 struct strbuf *out)
{
	struct strbuf text = STRBUF_EMPTY;

	if (doc->is_live && (!job->is_advised || !job->has_gain)) {
		strbuf_puts(&text, "This cannot be predicted.");
	} else if (!doc->is_live && !(job->slowdown_after > 0)) {
		strbuf_puts(&text, "Nothing, until there are hosts.");
	} else if (!doc->is_live && !(job->slowdown_before > 0)) {
		strbuf_printf(&text,
			      "It can start, with iterations %.2f times as long as in "
			      "isolation.",
			      job->slowdown_after);
	} else {
		put_range(job, &text);
		if (job->slowdown_after > 0)
			strbuf_printf(&text,
				      ": %.2f instead of %.2f times as long as in "
				      "isolation",
				      job->slowdown_after, job->slowdown_before);
		if (job->n_links > 0)
			strbuf_printf(&text,
				      "; the score of its worst link goes from %.3f to "
				      "%.3f",
				      job->score_before, job->score_after);
		strbuf_puts(&text, job->is_waiting
					   ? ", compared with where the cluster's "
					     "scheduler would place it."
					   : ".");
	}
	if (!doc->is_live)
		strbuf_printf(&text,
			      " Basis: %zu simulated run%s of about %zu iterations, "
			      "each with other phases and other jitter.",
			      doc->n_runs, words_plural(doc->n_runs),
			      doc->n_iterations);
	put_outcome(&job->outcome, &text);
	put_part(out, "What it should give", &text);
}

/* ---- What would change our mind -------------------------------------------------- */

static void
doubt_live(const struct advice_doc *doc, const struct advice_doc_job *job,
	   struct strbuf *text)
{
	char when[TIME_TEXT_SIZE];

	time_text(job->valid_until_us, when);
	if (!job->is_advised) {
		strbuf_puts(text, "What is missing, as said above: it is checked again "
				  "every second.");
		return;
	}
	if (job->valid_until_us < doc->at_us)
		strbuf_printf(text, "The advice expired at %s. ", when);
	else
		strbuf_printf(text, "The advice is valid until %s (%.0f s more). ",
			      when, (double)(job->valid_until_us - doc->at_us) / 1e6);
	strbuf_puts(text,
		    job->is_waiting
			    ? "Jobs that start or end before it does, and nodes "
			      "that go down."
			    : "A job that comes or goes on its links, another "
			      "iteration time or other bytes per iteration, hosts "
			      "that fall silent.");
}

static void
doubt_computed(const struct advice_doc *doc, const struct advice_doc_job *job,
	       struct strbuf *text)
{
	if (job->shift_us > 0 && job->slack_us > 0)
		strbuf_printf(text,
			      "If the iteration time moves by more than the slack of "
			      "%.1f ms over the life of the shift, the shift is "
			      "worthless unless it is held. ",
			      ms(job->slack_us));
	if (job->n_hosts == 0)
		strbuf_puts(text, "Free slots.");
	else if (job->n_links > 0 &&
		 strcmp(doc->policy, advise_policy_names[ADVISE_ANTIPHASE]) == 0)
		strbuf_puts(text, "Another job on these links, another iteration time "
				  "or other bytes per iteration: ask again then.");
	else
		strbuf_puts(text, "A job that comes to share its links: ask again "
				  "then.");
}

static void
put_doubts(const struct advice_doc *doc, const struct advice_doc_job *job,
	   struct strbuf *out)
{
	struct strbuf text = STRBUF_EMPTY;

	if (*job->remedy)
		strbuf_printf(&text, "%s ", job->remedy);
	if (doc->is_live)
		doubt_live(doc, job, &text);
	else
		doubt_computed(doc, job, &text);
	put_part(out, "What would change our mind", &text);
}

void
advice_prose_job(const struct advice_doc *doc, const struct advice_doc_job *job,
		 struct strbuf *out)
{
	bool is_refused = doc->is_live && !job->is_advised;
	size_t from = out->length;

	strbuf_printf(out, "Job %s: %s\n\n", job->name,
		      is_refused ? "nothing is advised" : job->reason);
	put_saw(doc, job, out);
	put_conclusion(job, is_refused, out);
	put_advice(doc, job, out);
	put_gain(doc, job, out);
	put_doubts(doc, job, out);
	utf8_disarm(out->text + from, '\n');
}

/* ---- One link -------------------------------------------------------------------- */

/* Says how each job of the link is shifted.  Returns whether one is gated. */
static bool
put_shifts(const struct advice_doc *doc, const struct advice_doc_link *link,
	   struct strbuf *text)
{
	bool is_gated = false;
	const char *separator = "";

	for (size_t j = 0; j < doc->n_jobs; j++) {
		const struct advice_doc_job *job = &doc->jobs[j];

		if (!advice_doc_link_has(link, job))
			continue;
		is_gated |= is_pacing(job, "gate");
		strbuf_printf(text, "%s%s", separator, job->name);
		if (job->shift_us > 0)
			strbuf_printf(text, " %.3f ms later", ms(job->shift_us));
		else
			strbuf_puts(text, " unshifted");
		separator = ", ";
	}
	strbuf_puts(text, ". ");
	if (is_gated)
		strbuf_puts(text, "Gated jobs take turns: at most as many send at once "
				  "as fit.");
	return is_gated;
}

static const char *
conclusion_on(const struct advice_doc_link *link, bool is_gated)
{
	if (link->excess_after_bps <= ADVISE_NO_EXCESS_FRAC * link->capacity_bps)
		return "The bursts fit side by side.";
	if (link->excess_after_bps < ADVISE_REDUCED_FRAC * link->excess_before_bps)
		return "Shifts remove a part of the excess; the bursts do not all fit "
		       "side by side.";
	return is_gated ? "No shift keeps the bursts apart, but turns do."
			: "Shifts do not help here.";
}

static void
put_link_gain(const struct advice_doc *doc, const struct advice_doc_link *link,
	      struct strbuf *text)
{
	double low = HUGE_VAL, high = -HUGE_VAL;

	for (size_t j = 0; j < doc->n_jobs; j++) {
		double saved = 0.5 * (doc->jobs[j].gain_low + doc->jobs[j].gain_high);

		if (advice_doc_link_has(link, &doc->jobs[j])) {
			low = fmin(low, saved);
			high = fmax(high, saved);
		}
	}
	strbuf_printf(text,
		      "A mean excess of %.2f Gb/s instead of %.2f Gb/s (score %.3f)",
		      link->excess_after_bps / 1e9, link->excess_before_bps / 1e9,
		      link->score_after);
	if (low <= high) {
		strbuf_puts(text, "; iterations of its jobs ");
		put_percent_range(text, low, high);
		strbuf_puts(text, " shorter");
	}
	strbuf_puts(text, ".");
}

void
advice_prose_link(const struct advice_doc *doc, const struct advice_doc_link *link,
		  struct strbuf *out)
{
	struct strbuf saw = STRBUF_EMPTY, conclusion = STRBUF_EMPTY;
	struct strbuf advice = STRBUF_EMPTY, gain = STRBUF_EMPTY, doubts = STRBUF_EMPTY;

	strbuf_printf(out, "Link %s\n\n", link->name);
	strbuf_printf(&saw,
		      "%zu jobs share its %.0f Gb/s. With random phases the mean "
		      "excess is %.2f Gb/s (score %.3f).",
		      link->n_jobs, link->capacity_bps / 1e9,
		      link->excess_before_bps / 1e9, link->score_before);
	strbuf_puts(&conclusion, conclusion_on(link, put_shifts(doc, link, &advice)));
	put_link_gain(doc, link, &gain);
	strbuf_puts(&doubts, "Another job here, or another iteration time of one of "
			     "these: ask again then.");
	put_part(out, "What we saw", &saw);
	put_part(out, "What we conclude", &conclusion);
	put_part(out, "What we advise", &advice);
	put_part(out, "What it should give", &gain);
	put_part(out, "What would change our mind", &doubts);
}

/* ---- All ------------------------------------------------------------------------- */

static void
put_sentence(const struct advice_doc_job *job, struct strbuf *out)
{
	struct strbuf text = STRBUF_EMPTY;

	strbuf_puts(&text, job->text);
	if (job->n_paths > 0)
		strbuf_printf(&text, " %zu of its flows take%s another path.",
			      job->n_paths, job->n_paths == 1 ? "s" : "");
	if (job->shift_us > 0)
		strbuf_printf(&text, " Start it %.3f ms later.", ms(job->shift_us));
	if (is_pacing(job, "gate"))
		strbuf_puts(&text, " It is gated.");
	if (job->slowdown_before > 0 &&
	    (fabs(job->gain_low) >= NO_GAIN || fabs(job->gain_high) >= NO_GAIN))
		strbuf_printf(&text,
			      " %.2f times as long as in isolation, instead of %.2f.",
			      job->slowdown_after, job->slowdown_before);
	put_part(out, job->name, &text);
}

void
advice_prose_all(const struct advice_doc *doc, struct strbuf *out)
{
	struct strbuf text = STRBUF_EMPTY;

	strbuf_printf(&text,
		      "%zu job%s, %zu contended link%s%s. Without advice the goodput "
		      "is %.1f %%; ",
		      doc->n_jobs, words_plural(doc->n_jobs), doc->n_links,
		      words_plural(doc->n_links),
		      doc->has_loop ? ", with a loop of jobs and links" : "",
		      100 * doc->goodput_before);
	if (doc->goodput_after - doc->goodput_before > NO_GOODPUT)
		strbuf_printf(&text, "with it, %.1f %%.", 100 * doc->goodput_after);
	else
		strbuf_puts(&text, "this advice does not change that.");
	put_part(out, "All jobs", &text);
	for (size_t j = 0; j < doc->n_jobs; j++)
		put_sentence(&doc->jobs[j], out);
}
