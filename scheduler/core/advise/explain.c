/*
 * explain.c - an advice as prose.  Declared in advice_doc.h.
 *
 * Each text has the same five parts: what we saw, what we conclude, what we
 * advise, what it should give, what would change our mind.
 */
#include <math.h>
#include <string.h>

#include "lib/base/hostlist.h"
#include "lib/base/strbuf.h"
#include "scheduler/core/advise/advice_doc.h"

#define WRAP_COLUMNS 78

/* A gain below this is none to speak of. */
#define NO_GAIN 0.005

/* A blank at which no line is broken. */
#define HARD_BLANK '\x1f'

/* ---- Words ---------------------------------------------------------------------------- */

void
explain_part(struct strbuf *out, const char *heading, const struct strbuf *text)
{
	size_t column = 4;

	strbuf_printf(out, "%s\n    ", heading);
	for (const char *word = text->text; *word;) {
		size_t length = strcspn(word, " ");

		if (column > 4 && column + 1 + length > WRAP_COLUMNS) {
			strbuf_puts(out, "\n    ");
			column = 4;
		} else if (column > 4) {
			strbuf_putc(out, ' ');
			column++;
		}
		for (size_t i = 0; i < length; i++)
			strbuf_putc(out, word[i] == HARD_BLANK ? ' ' : word[i]);
		column += length;
		word += length;
		word += strspn(word, " ");
	}
	strbuf_putc(out, '\n');
}

static double
ms(int64_t us)
{
	return (double)us / 1e3;
}

static void
put_hosts(struct strbuf *out, const struct advice_doc_job *job)
{
	hostlist_fold((const char *const *)job->hosts, job->n_hosts, out);
}

static const char *
plural(size_t n)
{
	return n == 1 ? "" : "s";
}

/* "12 % to 14 %", or "about 13 %". */
static void
put_percent_range(struct strbuf *out, double low, double high)
{
	if (fabs(high - low) < 0.005)
		strbuf_printf(out, "about %.0f\x1f%%", 50 * (low + high));
	else
		strbuf_printf(out, "%.0f\x1f%% to %.0f\x1f%%", 100 * low, 100 * high);
}

/* ---- One job ---------------------------------------------------------------------------- */

static void
put_saw_job(const struct advice_doc_job *job, struct strbuf *out)
{
	struct strbuf text = STRBUF_EMPTY;

	strbuf_printf(&text, "Alone, an iteration takes %.1f ms", ms(job->period_us));
	if (job->jitter_us > 0)
		strbuf_printf(&text, " with a jitter of %.1f ms", ms(job->jitter_us));
	strbuf_puts(&text, ". ");
	if (job->n_hosts == 0) {
		strbuf_puts(&text, "The job waits for hosts.");
	} else {
		strbuf_puts(&text,
			    job->placed_by_us ? "We place it on " : "It runs on ");
		put_hosts(&text, job);
		strbuf_puts(&text, ". ");
	}
	if (job->n_links > 0) {
		const struct advice_doc_link *worst = &job->links[0];

		strbuf_printf(&text,
			      "%s %zu link%s whose jobs can exceed %s, the worst %s "
			      "(%.0f Gb/s, %zu jobs): with phases left to chance it "
			      "scores %.3f, that is %.2f Gb/s too much on average. ",
			      job->reason == REASON_PLACED_APART
				      ? "Packed as usual it would share"
				      : "It shares",
			      job->n_links, plural(job->n_links),
			      job->n_links == 1 ? "it" : "them", worst->name,
			      worst->capacity_gbps, worst->n_jobs, worst->score_before,
			      worst->excess_before_gbps);
	}
	if (job->slowdown_before > 1 + NO_GAIN)
		strbuf_printf(&text,
			      "Left alone, its iterations should take %.2f times as "
			      "long as without the other jobs.",
			      job->slowdown_before);
	explain_part(out, "What we saw", &text);
	strbuf_free(&text);
}

static void
put_advice_job(const struct advice_doc_job *job, struct strbuf *out)
{
	struct strbuf text = STRBUF_EMPTY;

	if (job->n_hosts == 0) {
		strbuf_puts(&text, "Nothing for now: it has to wait.");
	} else if (job->placed_by_us) {
		strbuf_puts(&text, "Start it on ");
		put_hosts(&text, job);
		strbuf_puts(&text, ". ");
	}
	if (job->shift_us > 0) {
		strbuf_printf(&text, "Delay its start by %.3f ms, once",
			      ms(job->shift_us));
		if (job->slack_us > 0)
			strbuf_printf(&text, "; %.3f ms either way is as good",
				      ms(job->slack_us));
		strbuf_puts(&text, ". ");
	} else if (job->n_hosts > 0) {
		strbuf_puts(&text, "Do not shift it. ");
	}
	if (job->pacing == ENGINE_PACE_GATE)
		strbuf_puts(&text, "Let it take turns: before it sends, it waits while "
				   "another gated job uses a link that both together "
				   "would exceed.");
	else if (job->pacing == ENGINE_PACE_REALIGN)
		strbuf_puts(&text, "Hold it to its grid: when an iteration is late by "
				   "more than 5 %, it waits for the next point of the "
				   "grid.");
	else if (job->shift_us > 0)
		strbuf_puts(&text, "No correction is needed afterwards.");
	explain_part(out, "What we advise", &text);
	strbuf_free(&text);
}

static void
put_gain_job(const struct advice_doc *doc, const struct advice_doc_job *job,
	     struct strbuf *out)
{
	struct strbuf text = STRBUF_EMPTY;

	if (!(job->slowdown_after > 0)) {
		strbuf_puts(&text, "Nothing, until there are hosts.");
	} else if (!(job->slowdown_before > 0)) {
		strbuf_printf(&text,
			      "It can start at all, with iterations %.2f times as long "
			      "as alone.",
			      job->slowdown_after);
	} else if (fabs(job->gain_low) < NO_GAIN && fabs(job->gain_high) < NO_GAIN) {
		strbuf_printf(&text,
			      "No change: iterations %.2f times as long as alone.",
			      job->slowdown_after);
	} else {
		strbuf_puts(&text, "Iterations ");
		if (job->gain_high <= 0)
			put_percent_range(&text, -job->gain_high, -job->gain_low);
		else
			put_percent_range(&text, job->gain_low, job->gain_high);
		strbuf_printf(&text, " %s: %.2f instead of %.2f times as long as alone",
			      job->gain_high <= 0 ? "longer, for the good of the others"
						  : "shorter",
			      job->slowdown_after, job->slowdown_before);
		if (job->n_links > 0)
			strbuf_printf(&text,
				      "; the score of its worst link goes from "
				      "%.3f to %.3f",
				      job->score_before, job->score_after);
		strbuf_puts(&text, ".");
	}
	strbuf_printf(&text,
		      " Basis: %u simulated run%s of about %u iterations, each with "
		      "other phases and other jitter.",
		      doc->n_runs, plural(doc->n_runs), doc->n_iterations);
	explain_part(out, "What it should give", &text);
	strbuf_free(&text);
}

static void
put_doubts_job(const struct advice_doc *doc, const struct advice_doc_job *job,
	       struct strbuf *out)
{
	struct strbuf text = STRBUF_EMPTY;

	if (*reason_remedy(job->reason))
		strbuf_printf(&text, "%s ", reason_remedy(job->reason));
	if (job->shift_us > 0 && job->slack_us > 0)
		strbuf_printf(&text,
			      "An iteration time that moves by more than the slack of "
			      "%.1f ms over the life of the shift makes it worthless "
			      "unless it is held. ",
			      ms(job->slack_us));
	if (job->n_hosts == 0)
		strbuf_puts(&text, "Free slots.");
	else if (job->n_links > 0 && doc->policy == ADVISE_ANTIPHASE)
		strbuf_puts(&text, "Another job on these links, another iteration time "
				   "or other bytes per iteration: ask again then.");
	else
		strbuf_puts(&text, "A job that comes to share its links: ask again "
				   "then.");
	explain_part(out, "What would change our mind", &text);
	strbuf_free(&text);
}

void
explain_job(const struct advice_doc *doc, const struct advice_doc_job *job,
	    struct strbuf *out)
{
	struct strbuf text = STRBUF_EMPTY;

	strbuf_printf(out, "Job %s: %s\n\n", job->name, reason_name(job->reason));
	put_saw_job(job, out);
	strbuf_puts(&text, reason_text(job->reason));
	explain_part(out, "What we conclude", &text);
	strbuf_free(&text);
	put_advice_job(job, out);
	put_gain_job(doc, job, out);
	put_doubts_job(doc, job, out);
}

/* ---- One link ----------------------------------------------------------------------------- */

static bool
is_on(const struct advice_doc_link *link, const struct advice_doc_job *job)
{
	for (size_t i = 0; i < link->n_jobs; i++)
		if (strcmp(link->jobs[i], job->name) == 0)
			return true;
	return false;
}

static void
put_link_jobs(const struct advice_doc *doc, const struct advice_doc_link *link,
	      struct strbuf *text, bool *ret_is_gated)
{
	bool is_first = true;

	*ret_is_gated = false;
	for (size_t j = 0; j < doc->n_jobs; j++) {
		const struct advice_doc_job *job = &doc->jobs[j];

		if (!is_on(link, job))
			continue;
		*ret_is_gated |= job->pacing == ENGINE_PACE_GATE;
		strbuf_printf(text, "%s%s", is_first ? "" : ", ", job->name);
		if (job->shift_us > 0)
			strbuf_printf(text, " %.3f ms later", ms(job->shift_us));
		else
			strbuf_puts(text, " unshifted");
		is_first = false;
	}
	strbuf_puts(text, ". ");
}

void
explain_link(const struct advice_doc *doc, const struct advice_doc_link *link,
	     struct strbuf *out)
{
	struct strbuf saw = STRBUF_EMPTY, conclude = STRBUF_EMPTY;
	struct strbuf advised = STRBUF_EMPTY, gain = STRBUF_EMPTY,
		      doubts = STRBUF_EMPTY;
	double low = HUGE_VAL, high = -HUGE_VAL;
	bool is_gated;

	strbuf_printf(out, "Link %s\n\n", link->name);
	strbuf_printf(&saw,
		      "%zu jobs share its %.0f Gb/s. With phases left to chance they "
		      "ask for %.2f Gb/s too much on average (score %.3f).",
		      link->n_jobs, link->capacity_gbps, link->excess_before_gbps,
		      link->score_before);
	explain_part(out, "What we saw", &saw);
	put_link_jobs(doc, link, &advised, &is_gated);
	if (link->excess_after_gbps <= 0.01 * link->capacity_gbps)
		strbuf_puts(&conclude, "The bursts fit side by side.");
	else if (link->excess_after_gbps < 0.9 * link->excess_before_gbps)
		strbuf_puts(&conclude,
			    "Shifts take off a part; the bursts do not all fit "
			    "side by side.");
	else
		strbuf_puts(&conclude, is_gated
					       ? "No shift keeps the bursts apart, but "
						 "turns do."
					       : "Shifts do not help here.");
	explain_part(out, "What we conclude", &conclude);
	if (is_gated)
		strbuf_puts(&advised, "Gated jobs take turns: at most as many send at "
				      "once as fit.");
	explain_part(out, "What we advise", &advised);
	for (size_t j = 0; j < doc->n_jobs; j++) {
		double saved = 0.5 * (doc->jobs[j].gain_low + doc->jobs[j].gain_high);

		if (is_on(link, &doc->jobs[j])) {
			low = fmin(low, saved);
			high = fmax(high, saved);
		}
	}
	strbuf_printf(&gain, "%.2f Gb/s too much instead of %.2f (score %.3f)",
		      link->excess_after_gbps, link->excess_before_gbps,
		      link->score_after);
	if (low <= high) {
		strbuf_puts(&gain, "; iterations of its jobs ");
		put_percent_range(&gain, low, high);
		strbuf_puts(&gain, " shorter");
	}
	strbuf_puts(&gain, ".");
	explain_part(out, "What it should give", &gain);
	strbuf_puts(&doubts,
		    "Another job here, or another iteration time of one of these: "
		    "ask again then.");
	explain_part(out, "What would change our mind", &doubts);
	strbuf_free(&saw);
	strbuf_free(&conclude);
	strbuf_free(&advised);
	strbuf_free(&gain);
	strbuf_free(&doubts);
}

/* ---- All ------------------------------------------------------------------------------------ */

/* One sentence a job. */
static void
put_line_job(const struct advice_doc_job *job, struct strbuf *out)
{
	struct strbuf text = STRBUF_EMPTY;

	strbuf_puts(&text, reason_text(job->reason));
	if (job->shift_us > 0)
		strbuf_printf(&text, " Start it %.3f ms later.", ms(job->shift_us));
	if (job->pacing == ENGINE_PACE_GATE)
		strbuf_puts(&text, " It takes turns at the gate.");
	if (job->slowdown_before > 0 &&
	    (fabs(job->gain_low) >= NO_GAIN || fabs(job->gain_high) >= NO_GAIN))
		strbuf_printf(&text, " %.2f times as long as alone, instead of %.2f.",
			      job->slowdown_after, job->slowdown_before);
	explain_part(out, job->name, &text);
	strbuf_free(&text);
}

void
explain_all(const struct advice_doc *doc, struct strbuf *out)
{
	struct strbuf text = STRBUF_EMPTY;

	strbuf_printf(
		&text,
		"%zu job%s, %zu contended link%s%s. Left alone they get %.1f %% of "
		"the progress they would make without each other; ",
		doc->n_jobs, plural(doc->n_jobs), doc->n_links, plural(doc->n_links),
		doc->has_loop ? ", with a loop of jobs and links" : "",
		100 * doc->goodput_before);
	if (doc->goodput_after - doc->goodput_before > 5e-4)
		strbuf_printf(&text, "with this advice %.1f %%.",
			      100 * doc->goodput_after);
	else
		strbuf_puts(&text, "nothing here would change that.");
	explain_part(out, "All jobs", &text);
	strbuf_free(&text);
	for (size_t j = 0; j < doc->n_jobs; j++)
		put_line_job(&doc->jobs[j], out);
}
