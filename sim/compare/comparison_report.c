/* SPDX-License-Identifier: Apache-2.0 */
/* comparison_report.c - tables, JSON and CSV of a comparison. */
#include "sim/compare/comparison_report.h"

#include <math.h>

#include "lib/base/jsonw.h"
#include "lib/base/strbuf.h"
#include "lib/base/table.h"
#include "sim/run/run_series.h"

#define WRAP_COLUMNS  78
#define REASON_INDENT 4

static const struct {
	const char *label;  /* For people. */
	const char *key;    /* For machines. */
	double people_unit; /* Divisor of the figure for people. */
	int people_decimals;
	double machine_unit; /* The same for machines. */
	int machine_decimals;
} metrics[N_COMPARISON_METRICS] = {
	[METRIC_ITERATION_MEAN_NS] = { "iteration, mean (ms)", "iteration_mean_us", 1e6,
				       2, 1e3, 3 },
	[METRIC_ITERATION_P90_NS] = { "iteration, p90 (ms)", "iteration_p90_us", 1e6, 2,
				      1e3, 3 },
	[METRIC_ITERATION_P99_NS] = { "iteration, p99 (ms)", "iteration_p99_us", 1e6, 2,
				      1e3, 3 },
	[METRIC_SLOWDOWN_MEAN] = { "slowdown, mean", "slowdown_mean", 1, 3, 1, 6 },
	[METRIC_SLOWDOWN_WORST] = { "slowdown, worst job", "slowdown_worst", 1, 3, 1,
				    6 },
	[METRIC_GOODPUT] = { "goodput", "goodput", 1, 3, 1, 6 },
	[METRIC_ECN_PER_ITERATION] = { "ECN marks per iteration*",
				       "ecn_packets_per_iteration_estimated", 1, 0, 1,
				       3 },
	[METRIC_CORRECTIONS_PER_MIN] = { "corrections per minute and job",
					 "corrections_per_minute", 1, 2, 1, 3 },
};

/* ---- For people ------------------------------------------------------------------ */

static const char *
plus_minus(const struct comparison_report *r)
{
	return r->utf8 ? "\302\261" : "+-";
}

/* Starts a table with a column per policy, from number 'first' on. */
static void
start_table(const struct comparison_report *r, const char *what, size_t first,
	    const char **headings, struct strbuf *names, struct table *t)
{
	size_t n = 0;

	headings[n++] = what;
	for (size_t p = first; p < r->n_policies; p++) {
		strbuf_clear(&names[p]);
		strbuf_printf(&names[p], "%%%s", r->policies[p]);
		headings[n++] = names[p].text;
	}
	headings[n] = NULL;
	table_init(t, headings);
}

static void
put_metrics(const struct comparison_report *r, struct table *t)
{
	for (int m = 0; m < N_COMPARISON_METRICS; m++) {
		int decimals = metrics[m].people_decimals;

		table_cell(t, "%s", metrics[m].label);
		for (size_t p = 0; p < r->n_policies; p++) {
			struct estimate value;

			comparison_metric(r->comparison, p, (enum comparison_metric)m,
					  &value, NULL);
			table_cell(t, "%.*f %s %.*f", decimals,
				   value.mean / metrics[m].people_unit, plus_minus(r),
				   decimals, value.ci95 / metrics[m].people_unit);
		}
	}
}

/* Relative to policy 0, unless that is zero. */
static void
put_differences(const struct comparison_report *r, struct table *t)
{
	for (int m = 0; m < N_COMPARISON_METRICS; m++) {
		struct estimate reference, value, difference;

		comparison_metric(r->comparison, 0, (enum comparison_metric)m,
				  &reference, NULL);
		table_cell(t, "%s", metrics[m].label);
		for (size_t p = 1; p < r->n_policies; p++) {
			comparison_metric(r->comparison, p, (enum comparison_metric)m,
					  &value, &difference);
			if (reference.mean > 0)
				table_cell(t, "%+.1f %% %s %.1f",
					   100 * difference.mean / reference.mean,
					   plus_minus(r),
					   100 * difference.ci95 / reference.mean);
			else
				table_cell(t, "%+.*f %s %.*f",
					   metrics[m].people_decimals,
					   difference.mean / metrics[m].people_unit,
					   plus_minus(r), metrics[m].people_decimals,
					   difference.ci95 / metrics[m].people_unit);
		}
	}
}

static void
put_jobs(const struct comparison_report *r, struct table *t)
{
	for (size_t j = 0; j < r->scenario->workload.n; j++) {
		table_cell(t, "%s", r->scenario->workload.jobs[j].name);
		for (size_t p = 0; p < r->n_policies; p++) {
			struct estimate iteration_ns, slowdown;

			comparison_job(r->comparison, p, j, &iteration_ns, &slowdown);
			if (!(slowdown.mean > 0))
				table_cell(t, "no place");
			else
				table_cell(t, "%.2f %s %.2f (%.3f)",
					   iteration_ns.mean / 1e6, plus_minus(r),
					   iteration_ns.ci95 / 1e6, slowdown.mean);
		}
	}
}

/* The jobs that have the reason of job 'first', the first of them. */
static void
put_reason(const struct comparison_report *r, const struct sim_plan *plan, size_t first,
	   struct strbuf *text)
{
	enum reason reason = plan->jobs[first].reason;
	struct strbuf words = STRBUF_EMPTY;
	const char *separator = "";

	for (size_t j = first; j < plan->n; j++) {
		if (plan->jobs[j].reason != reason)
			continue;
		strbuf_printf(&words, "%s%s", separator,
			      r->scenario->workload.jobs[j].name);
		separator = ", ";
	}
	strbuf_printf(&words, ": %s. %s %s", reason_name(reason), reason_text(reason),
		      reason_remedy(reason));
	strbuf_printf(text, "%*s", REASON_INDENT, "");
	strbuf_wrap(text, words.text, REASON_INDENT, REASON_INDENT, WRAP_COLUMNS);
	strbuf_putc(text, '\n');
	strbuf_free(&words);
}

static bool
is_same_as_first(const struct comparison_report *r, size_t p)
{
	return r->plans &&
	       sim_plan_is_same(&r->plans[p], &r->plans[0], &r->scenario->workload);
}

/* Why a policy has the figures of the reference: it leaves all jobs as they are. */
static void
put_same(const struct comparison_report *r, size_t p, FILE *out)
{
	const struct sim_plan *plan = &r->plans[p];
	struct strbuf text = STRBUF_EMPTY;

	if (!is_same_as_first(r, p))
		return;
	fprintf(out, "\n%s equals %s: it runs every job as %s does.\n", r->policies[p],
		r->policies[0], r->policies[0]);
	for (size_t j = 0; j < plan->n; j++) {
		size_t first = 0;

		while (plan->jobs[first].reason != plan->jobs[j].reason)
			first++;
		if (first == j)
			put_reason(r, plan, j, &text);
	}
	fwrite(text.text, 1, text.length, out);
	strbuf_free(&text);
}

void
comparison_report_table(const struct comparison_report *r, FILE *out)
{
	const char *headings[TABLE_MAX_COLUMNS + 1];
	struct strbuf names[TABLE_MAX_COLUMNS];
	size_t n_seeds = comparison_n_seeds(r->comparison);
	struct table t;

	for (size_t i = 0; i < TABLE_MAX_COLUMNS; i++)
		names[i] = (struct strbuf)STRBUF_EMPTY;
	fprintf(out, "Means over %zu seed%s%s, %s 95 %% confidence interval.\n\n",
		n_seeds, n_seeds == 1 ? "" : "s",
		r->was_interrupted ? " (interrupted)" : "", plus_minus(r));
	start_table(r, "ALL JOBS", 0, headings, names, &t);
	put_metrics(r, &t);
	table_print(&t, out);
	table_fini(&t);
	if (r->n_policies > 1) {
		fprintf(out, "\nAgainst %s, with the same seeds:\n\n", r->policies[0]);
		start_table(r, "ALL JOBS", 1, headings, names, &t);
		put_differences(r, &t);
		table_print(&t, out);
		table_fini(&t);
	}
	fprintf(out, "\nIteration time in ms (and slowdown) of each job:\n\n");
	start_table(r, "JOB", 0, headings, names, &t);
	put_jobs(r, &t);
	table_print(&t, out);
	table_fini(&t);
	for (size_t p = 1; p < r->n_policies; p++)
		put_same(r, p, out);
	fprintf(out,
		"\n* Estimated from the number of flows on full links, not simulated "
		"packet by packet.\n");
	for (size_t i = 0; i < TABLE_MAX_COLUMNS; i++)
		strbuf_free(&names[i]);
}

/* ---- JSON ------------------------------------------------------------------------ */

static void
json_estimate(struct jsonw *w, const char *key, struct estimate value,
	      const struct estimate *difference, double unit, int decimals)
{
	jsonw_flat_object(w, key);
	jsonw_rounded(w, "mean", value.mean / unit, decimals);
	jsonw_rounded(w, "ci95", value.ci95 / unit, decimals);
	if (difference) {
		jsonw_rounded(w, "difference", difference->mean / unit, decimals);
		jsonw_rounded(w, "difference_ci95", difference->ci95 / unit, decimals);
	}
	jsonw_end(w);
}

/* The policy's reason for what it does with job 'j'; nulls: it gives none. */
static void
json_reason(const struct comparison_report *r, size_t p, size_t j, struct jsonw *w)
{
	bool has_reason = r->plans && r->plans[p].has_reasons;
	enum reason reason = has_reason ? r->plans[p].jobs[j].reason : REASON_ISOLATED;

	jsonw_str(w, "reason", has_reason ? reason_name(reason) : NULL);
	jsonw_str(w, "text", has_reason ? reason_text(reason) : NULL);
	jsonw_str(w, "remedy", has_reason ? reason_remedy(reason) : NULL);
}

static void
json_policy(const struct comparison_report *r, size_t p, struct jsonw *w)
{
	jsonw_object(w, NULL);
	jsonw_str(w, "policy", r->policies[p]);
	jsonw_bool(w, "same_as_first", p == 0 || is_same_as_first(r, p));
	for (int m = 0; m < N_COMPARISON_METRICS; m++) {
		struct estimate value, difference;

		comparison_metric(r->comparison, p, (enum comparison_metric)m, &value,
				  &difference);
		json_estimate(w, metrics[m].key, value, &difference,
			      metrics[m].machine_unit, metrics[m].machine_decimals);
	}
	jsonw_array(w, "jobs");
	for (size_t j = 0; j < r->scenario->workload.n; j++) {
		struct estimate iteration_ns, slowdown;

		comparison_job(r->comparison, p, j, &iteration_ns, &slowdown);
		jsonw_object(w, NULL);
		jsonw_str(w, "job", r->scenario->workload.jobs[j].name);
		jsonw_bool(w, "placed", slowdown.mean > 0);
		json_estimate(w, "iteration_mean_us", iteration_ns, NULL, 1e3, 3);
		json_estimate(w, "slowdown", slowdown, NULL, 1, 6);
		json_reason(r, p, j, w);
		jsonw_end(w);
	}
	jsonw_end(w);
	if (r->series)
		run_series_json(r->series[p], r->scenario, r->topo, w);
	jsonw_end(w);
}

void
comparison_report_json(const struct comparison_report *r, FILE *out)
{
	struct jsonw w;

	jsonw_document(&w, out, "antiphase.sim_compare/2");
	jsonw_str(&w, "scenario", r->scenario->file);
	jsonw_flat_array(&w, "seeds");
	for (size_t i = 0; i < comparison_n_seeds(r->comparison); i++)
		jsonw_int(&w, NULL, (int64_t)r->seeds[i]);
	jsonw_end(&w);
	jsonw_bool(&w, "interrupted", r->was_interrupted);
	jsonw_array(&w, "policies");
	for (size_t p = 0; p < r->n_policies; p++)
		json_policy(r, p, &w);
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_finish(&w);
}

/* ---- CSV ------------------------------------------------------------------------- */

static void
csv_policies(const void *ctx, FILE *out)
{
	const struct comparison_report *r = ctx;

	fprintf(out, "policy,seed");
	for (int m = 0; m < N_COMPARISON_METRICS; m++)
		fprintf(out, ",%s", metrics[m].key);
	fprintf(out, "\n");
	for (size_t p = 0; p < r->n_policies; p++)
		for (size_t s = 0; s < comparison_n_seeds(r->comparison); s++) {
			fprintf(out, "%s,%llu", r->policies[p],
				(unsigned long long)r->seeds[s]);
			for (int m = 0; m < N_COMPARISON_METRICS; m++)
				fprintf(out, ",%.*f", metrics[m].machine_decimals,
					comparison_raw_metric(
						r->comparison, p, s,
						(enum comparison_metric)m) /
						metrics[m].machine_unit);
			fprintf(out, "\n");
		}
}

static void
csv_jobs(const void *ctx, FILE *out)
{
	const struct comparison_report *r = ctx;

	fprintf(out, "policy,seed,job,iteration_mean_us,slowdown\n");
	for (size_t p = 0; p < r->n_policies; p++)
		for (size_t s = 0; s < comparison_n_seeds(r->comparison); s++)
			for (size_t j = 0; j < r->scenario->workload.n; j++) {
				double iteration_ns, slowdown;

				comparison_raw_job(r->comparison, p, s, j,
						   &iteration_ns, &slowdown);
				if (slowdown > 0)
					fprintf(out, "%s,%llu,%s,%.3f,%.6f\n",
						r->policies[p],
						(unsigned long long)r->seeds[s],
						r->scenario->workload.jobs[j].name,
						iteration_ns / 1e3, slowdown);
			}
}

int
comparison_report_csv(const struct comparison_report *r, const char *path,
		      const struct provenance *provenance, struct err *err)
{
	static const struct csv_file files[] = {
		{ "policies.csv", csv_policies },
		{ "jobs.csv", csv_jobs },
	};

	return report_csv(path, provenance, files, 2, r, err);
}
