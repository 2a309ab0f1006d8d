/*
 * advised_explain.c - what antiphase-scheduler advises, as prose.  Declared in advised.h.
 *
 * The same five parts as of core/advise/explain.c: what we saw, what we conclude, what
 * we advise, what it should give, what would change our mind.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "cli/advised.h"
#include "cli/time_text.h"
#include "lib/base/utf8.h"
#include "scheduler/core/advise/advice_doc.h"

/* A gain below this is none to speak of. */
#define NO_GAIN 0.005

#define MAX_PLACES 3

static double
ms(int64_t us)
{
	return (double)us / 1e3;
}

static const char *
plural(int64_t n)
{
	return n == 1 ? "" : "s";
}

static void
saw_profile(const struct advised_job *job, struct strbuf *text)
{
	if (job->period_us <= 0) {
		strbuf_puts(text, "No iteration time is known of it");
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
	strbuf_printf(
		text, "by its %s: %lld iteration%s, %.0f s old, confidence %.2f. ",
		strcmp(job->source, "pacer") == 0 ? "pacer" : "traffic",
		(long long)job->iterations, plural(job->iterations),
		(double)(job->age_us > 0 ? job->age_us : 0) / 1e6, job->confidence);
	if (job->why)
		strbuf_printf(text, "There is no newer estimate: %s. ", job->why);
}

static void
put_saw(const struct advised_job *job, struct strbuf *out)
{
	struct strbuf text = STRBUF_EMPTY;

	saw_profile(job, &text);
	if (job->n_hosts)
		strbuf_printf(&text, "It %s %lld host%s",
			      job->is_waiting ? "waits for" : "runs on",
			      (long long)job->n_hosts, plural(job->n_hosts));
	else
		strbuf_puts(&text, "Its hosts are not known");
	if (job->n_silent)
		strbuf_printf(&text, "; %lld of the fabric %s silent",
			      (long long)job->n_silent,
			      job->n_silent == 1 ? "is" : "are");
	strbuf_puts(&text, ". ");
	if (job->links.n) {
		const struct advised_link *worst = &job->links.items[0];

		strbuf_printf(&text,
			      "It shares %zu link%s that can be exceeded, the worst %s "
			      "(%lld jobs): with phases left to chance it scores %.3f, "
			      "that is %.2f Gb/s too much on average. ",
			      job->links.n, plural((int64_t)job->links.n), worst->link,
			      (long long)worst->n_jobs, worst->score_before,
			      worst->excess_before_bps / 1e9);
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
advise_places(const struct advised_job *job, struct strbuf *text)
{
	strbuf_printf(text, "Start it on %s", job->places.items[0].nodes);
	for (size_t i = 1; i < job->places.n && i < MAX_PLACES; i++)
		strbuf_printf(text, "%s %s", i == 1 ? "; next best" : ",",
			      job->places.items[i].nodes);
	strbuf_puts(text, ". ");
}

static void
advise_shift(const struct advised_job *job, struct strbuf *text)
{
	if (job->shift_us > 0)
		strbuf_printf(text, "Begin its iterations %.3f ms later",
			      ms(job->shift_us));
	else
		strbuf_puts(text, "Do not shift it");
	if (job->slack_us > 0)
		strbuf_printf(text, "; %.3f ms either way is as good",
			      ms(job->slack_us));
	strbuf_puts(text, ". ");
	if (job->locked_us > 0)
		strbuf_printf(text,
			      "Hold its period at %.3f ms, so that it stays in step. ",
			      ms(job->locked_us));
	if (strcmp(job->pacing, "gate") == 0)
		strbuf_puts(text, "Let it take turns with the others that cross the "
				  "same links.");
	else if (strcmp(job->pacing, "shift") == 0)
		strbuf_puts(text, "It is kept there by small corrections.");
}

static void
put_advice(const struct advised_job *job, struct strbuf *out)
{
	struct strbuf text = STRBUF_EMPTY;

	if (!job->is_advised)
		strbuf_puts(&text, "Nothing: we do not guess.");
	if (job->is_advised && job->places.n)
		advise_places(job, &text);
	if (job->is_advised && job->pacing)
		advise_shift(job, &text);
	explain_part(out, "What we advise", &text);
	strbuf_free(&text);
}

static void
put_range(const struct advised_job *job, struct strbuf *text)
{
	double low = job->gain_low, high = job->gain_high;
	bool is_longer = high <= 0;

	if (fabs(low) < NO_GAIN && fabs(high) < NO_GAIN) {
		strbuf_puts(text, "No change to speak of");
		return;
	}
	if (is_longer) {
		low = -job->gain_high;
		high = -job->gain_low;
	}
	if (fabs(high - low) < NO_GAIN)
		strbuf_printf(text, "Iterations about %.0f %% ", 50 * (low + high));
	else
		strbuf_printf(text, "Iterations %.0f %% to %.0f %% ", 100 * low,
			      100 * high);
	strbuf_puts(text, is_longer ? "longer, for the good of the others" : "shorter");
}

/* A verdict of the daemon in words; one that is not known here, as it is. */
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

/* What it gave so far, by the job's own iterations. */
static void
put_outcome(const struct advised_outcome *outcome, struct strbuf *text)
{
	if (!outcome->verdict)
		return;
	strbuf_puts(text, " So far: ");
	if (outcome->has_gain)
		strbuf_printf(text,
			      "%.1f ms instead of %.1f ms (%lld iterations, %lld "
			      "before), %.1f %% ± %.1f %% %s: ",
			      ms(outcome->after_us), ms(outcome->before_us),
			      (long long)outcome->n_after, (long long)outcome->n_before,
			      100 * fabs(outcome->gain), 100 * outcome->gain_error,
			      outcome->gain < 0 ? "longer" : "shorter");
	strbuf_printf(text, "%s.", verdict_text(outcome->verdict));
}

static void
put_gain(const struct advised_job *job, struct strbuf *out)
{
	struct strbuf text = STRBUF_EMPTY;

	if (!job->is_advised || !job->has_gain) {
		strbuf_puts(&text, "Nothing can be said of it.");
	} else {
		put_range(job, &text);
		if (job->slowdown_after > 0)
			strbuf_printf(&text,
				      ": %.2f instead of %.2f times as long as alone",
				      job->slowdown_after, job->slowdown_before);
		if (job->links.n)
			strbuf_printf(&text,
				      "; the score of its worst link goes from %.3f to "
				      "%.3f",
				      job->score_before, job->score_after);
		strbuf_puts(&text,
			    job->is_waiting
				    ? ", against where it would be put without us."
				    : ".");
	}
	put_outcome(&job->outcome, &text);
	explain_part(out, "What it should give", &text);
	strbuf_free(&text);
}

/* What lacks, or what would make the advice no longer hold. */
static void
put_doubts(const struct advised *advised, const struct advised_job *job,
	   struct strbuf *out)
{
	struct strbuf text = STRBUF_EMPTY;
	char when[TIME_TEXT_SIZE];

	time_text(job->valid_until_us, when);
	if (*job->remedy)
		strbuf_printf(&text, "%s ", job->remedy);
	if (!job->is_advised)
		strbuf_puts(&text, "What is said to be missing above: it is looked at "
				   "again every second.");
	else if (job->valid_until_us < advised->now_us)
		strbuf_printf(&text, "It was good until %s, which is over. ", when);
	else
		strbuf_printf(&text, "It is good until %s (%.0f s more). ", when,
			      (double)(job->valid_until_us - advised->now_us) / 1e6);
	if (job->is_advised)
		strbuf_printf(
			&text, "%s",
			job->is_waiting
				? "Jobs that start or end before it does, and "
				  "nodes that go down."
				: "A job that comes or goes on its links, another "
				  "iteration time or other bytes per iteration, "
				  "hosts that fall silent.");
	explain_part(out, "What would change our mind", &text);
	strbuf_free(&text);
}

void
advised_explain(const struct advised *advised, const struct advised_job *job,
		struct strbuf *out)
{
	struct strbuf text = STRBUF_EMPTY;
	size_t from = out->length;

	strbuf_printf(out, "Job %s: %s\n\n", job->job,
		      job->is_advised ? job->reason : "nothing is advised");
	put_saw(job, out);
	strbuf_puts(&text, job->text);
	if (!job->is_advised) {
		if (text.length)
			text.text[0] = (char)toupper((unsigned char)text.text[0]);
		strbuf_printf(&text, " (%s).", job->reason);
	}
	explain_part(out, "What we conclude", &text);
	strbuf_free(&text);
	put_advice(job, out);
	put_gain(job, out);
	put_doubts(advised, job, out);
	/* Names come from outside: nothing in them may steer a terminal. */
	utf8_disarm(out->text + from, '\n');
}
