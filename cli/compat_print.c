/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/compat_print.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/cli.h"
#include "lib/base/jsonw.h"
#include "lib/base/strbuf.h"
#include "lib/base/table.h"
#include "lib/base/words.h"
#include "scheduler/core/advise/compat.h"
#include "scheduler/core/profile/profile.h"

void
compat_print_json(const struct compat_answer *answer)
{
	const struct compat *compat = answer->compat;
	struct jsonw w;

	jsonw_document(&w, stdout, "antiphase.compat/2");
	jsonw_num(&w, "capacity_bps", answer->capacity_bps);
	jsonw_str(&w, "solver", answer->solver);
	jsonw_rounded(&w, "score", compat->score, 9);
	jsonw_rounded(&w, "mean_excess_bps", compat->excess_bps, 0);
	jsonw_array(&w, "jobs");
	for (size_t j = 0; j < compat->n_jobs; j++) {
		jsonw_flat_object(&w, NULL);
		jsonw_str(&w, "job", answer->jobs[j].profile->job);
		jsonw_int(&w, "shift_us", compat->shift_us[j]);
		jsonw_int(&w, "slack_us", compat->slack_us[j]);
		jsonw_int(&w, "period_us", answer->jobs[j].profile->period_us);
		jsonw_num(&w, "factor", answer->jobs[j].factor);
		jsonw_rounded(&w, "score_gain_bound", compat->job_bound_frac[j], 9);
		jsonw_end(&w);
	}
	jsonw_end(&w);
	jsonw_str(&w, "reason", reason_name(compat->reason));
	jsonw_rounded(&w, "score_unshifted", compat->score_before, 9);
	jsonw_rounded(&w, "score_chance", compat->score_chance, 9);
	jsonw_rounded(&w, "score_gain_bound", compat->bound_frac, 9);
	if (isnan(compat->grid_score)) {
		jsonw_null(&w, "grid_score");
		jsonw_null(&w, "grid_degenerate");
	} else {
		jsonw_rounded(&w, "grid_score", compat->grid_score, 9);
		jsonw_bool(&w, "grid_degenerate", compat->is_degenerate);
	}
	jsonw_end(&w);
	jsonw_finish(&w);
}

static void
print_jobs(const struct compat_answer *answer)
{
	const struct compat *compat = answer->compat;
	struct table t;

	table_init(&t, (const char *const[]){ "JOB", "%PERIOD ms", "%PEAK Gb/s",
					      "%MEAN Gb/s", "%SHIFT ms", "%SLACK ms",
					      NULL });
	for (size_t j = 0; j < compat->n_jobs; j++) {
		const struct compat_job *job = &answer->jobs[j];

		table_cell(&t, "%s", job->profile->job);
		table_cell(&t, "%.3f", (double)job->profile->period_us / 1e3);
		table_cell(&t, "%.3f",
			   profile_peak_bps(job->profile) * job->factor / 1e9);
		table_cell(&t, "%.3f",
			   profile_mean_bps(job->profile) * job->factor / 1e9);
		table_cell(&t, "%.3f", (double)compat->shift_us[j] / 1e3);
		if (isnan(compat->grid_score))
			table_cell(&t, "%.3f", (double)compat->slack_us[j] / 1e3);
		else
			table_cell(&t, "-"); /* CASSINI has none. */
	}
	table_print(&t, stdout);
	table_fini(&t);
}

static void
add_score_row(struct table *t, const char *what, double score, double excess_bps)
{
	table_cell(t, "%s", what);
	table_cell(t, "%.4f", score);
	table_cell(t, "%.4f", excess_bps / 1e9);
}

static void
print_scores(const struct compat_answer *answer)
{
	const struct compat *compat = answer->compat;
	struct table t;

	table_init(&t, (const char *const[]){ "SHIFTS", "%SCORE", "%MEAN EXCESS Gb/s",
					      NULL });
	add_score_row(&t, "none: all start together", compat->score_before,
		      compat->excess_before_bps);
	add_score_row(&t, "random phases, on average", compat->score_chance,
		      compat->excess_chance_bps);
	add_score_row(&t, "as above", compat->score, compat->excess_bps);
	table_print(&t, stdout);
	table_fini(&t);
}

/* Half the slack of the job with the least. */
static int64_t
least_slack_us(const struct compat_answer *answer)
{
	const struct compat *compat = answer->compat;
	int64_t least_us = INT64_MAX;

	for (size_t j = 0; j < compat->n_jobs; j++)
		if (compat->slack_us[j] < least_us)
			least_us = compat->slack_us[j];
	return least_us;
}

/* Prints 'text', at most 79 columns a line. */
static void
print_wrapped(const char *text)
{
	struct strbuf lines = STRBUF_EMPTY;

	strbuf_wrap(&lines, text, 0, 0, cli_columns() < 80 ? cli_columns() - 1 : 79);
	puts(lines.text);
	strbuf_free(&lines);
}

/* Names jobs whose own shift has no effect, unless that holds for all jobs. */
static void
add_worthless_jobs(struct strbuf *text, const struct compat_answer *answer)
{
	const struct compat *compat = answer->compat;
	size_t n = 0;

	for (size_t j = 0; j < compat->n_jobs; j++) {
		if (!(compat->job_bound_frac[j] < COMPAT_WORTHLESS_FRAC))
			continue;
		strbuf_printf(
			text, "%s%s",
			n++ == 0 ? " Shifting provably has no effect (g/4 bound) for "
				 : ", ",
			answer->jobs[j].profile->job);
	}
	if (n > 0)
		strbuf_puts(text, ".");
}

/* The measured periods, with their errors. */
static void
add_periods(struct strbuf *text, const struct compat_answer *answer)
{
	for (size_t j = 0; j < answer->compat->n_jobs; j++) {
		const struct profile *p = answer->jobs[j].profile;

		strbuf_printf(text, "%s %s %.3f +- %.3f ms", j ? "," : "", p->job,
			      (double)p->period_us / 1e3,
			      (double)p->period_error_us / 1e3);
	}
}

/* The meaning of the numbers, in sentences. */
static void
print_verdict(const struct compat_answer *answer)
{
	const struct compat *compat = answer->compat;
	struct strbuf text = STRBUF_EMPTY;
	int64_t slack_us = least_slack_us(answer);

	switch (compat->reason) {
	case REASON_FITS:
		strbuf_puts(&text,
			    "No shift is needed: even the sum of all peaks does not "
			    "exceed the link.");
		break;
	case REASON_INTERLEAVED:
		strbuf_puts(&text,
			    "With these shifts the bursts do not overlap beyond the "
			    "link's capacity.");
		if (slack_us > 0)
			strbuf_printf(
				&text,
				" Any one job may be %.3f ms early or late before that "
				"is lost.",
				(double)slack_us / 1e3);
		break;
	case REASON_PERIODS_UNRELATED:
		strbuf_printf(
			&text,
			"Shifting provably has no effect here: the greatest common "
			"divisor of the iteration times is so small that no shifts "
			"improve the score by more than %.4f over random phases "
			"(g/4 bound).",
			compat->bound_frac);
		break;
	case REASON_PERIODS_UNSURE:
		strbuf_puts(&text, "The iteration times are equal within the error of "
				   "their measurement:");
		add_periods(&text, answer);
		strbuf_puts(&text, ". If they are equal, shifts may keep the bursts "
				   "apart; at these values they would not last.");
		break;
	case REASON_REDUCED:
		strbuf_puts(&text,
			    "With these shifts the bursts do not all fit, but a part "
			    "of the excess is gone.");
		add_worthless_jobs(&text, answer);
		break;
	default:
		strbuf_puts(&text,
			    "With these shifts the bursts do not fit; they do little "
			    "better than random phases.");
		add_worthless_jobs(&text, answer);
		break;
	}
	if (compat->has_joined)
		strbuf_puts(&text, " Iteration times that differ by no more than their "
				   "errors count as one.");
	if (!isnan(compat->grid_score))
		strbuf_printf(&text, " CASSINI's own score, of 72 samples, is %.4f.",
			      compat->grid_score);
	if (compat->is_degenerate)
		strbuf_puts(&text,
			    " Its circle degenerates here: the common period holds "
			    "more than 72 iterations of every job, so no job has an "
			    "angle to turn by.");
	print_wrapped(text.text);
	if (reason_remedy(compat->reason)[0] != '\0') {
		strbuf_clear(&text);
		strbuf_printf(&text, "What would help: %s",
			      reason_remedy(compat->reason));
		print_wrapped(text.text);
	}
	strbuf_free(&text);
}

void
compat_print_text(const struct compat_answer *answer)
{
	const struct compat *compat = answer->compat;
	printf("%zu job%s on a link of %.10g Gb/s, solver %s\n\n", compat->n_jobs,
	       words_plural(compat->n_jobs), answer->capacity_bps / 1e9,
	       answer->solver);
	print_jobs(answer);
	putchar('\n');
	print_scores(answer);
	putchar('\n');
	print_verdict(answer);
}
