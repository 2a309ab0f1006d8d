/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/replay/replay_report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/base/jsonw.h"
#include "lib/base/table.h"

static void
cell(struct table *t, double value, const char *unit)
{
	if (isnan(value))
		table_cell(t, "-");
	else
		table_cell(t, "%.*f%s", *unit ? 1 : 2, value, unit);
}

/* Of the table. */
enum {
	POLICY,
	PLACE,
	AUGMENT,
	DONE,
	MEAN,
	MEDIAN,
	P99,
	MAKESPAN,
	PREEMPTED,
	MOVED,
	GPUS,
	USERS,
	JOBS,
	EVENTS,
	WALL,
	N_COLUMNS
};

static bool
has_users(const struct joblist *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->jobs[i].user != POL_NONE)
			return true;
	return false;
}

void
replay_report_begin(struct table *ret_table, size_t policy_width,
		    const struct joblist *list, bool has_fabric)
{
	static const char *const headings[N_COLUMNS + 1] = {
		"POLICY",    "PLACE",  "AUGMENT",     "%DONE",      "%MEAN s",
		"%MEDIAN s", "%P99 s", "%MAKESPAN s", "%PREEMPTED", "%MOVED",
		"%GPUS",     "%USERS", "%JOBS",       "%EVENTS",    "%WALL s"
	};

	table_init(ret_table, headings);
	ret_table->is_hidden[AUGMENT] = !has_fabric;
	ret_table->is_hidden[USERS] = ret_table->is_hidden[JOBS] = !has_users(list);
	table_reserve(ret_table, POLICY, policy_width);
	table_reserve(ret_table, PLACE, strlen("best-fit"));
	table_reserve(ret_table, AUGMENT, strlen("cassini-once"));
	table_reserve(ret_table, DONE,
		      (size_t)snprintf(NULL, 0, "%zu/%zu", list->n, list->n));
	/* Some months. */
	for (size_t i = MEAN; i <= P99; i++)
		table_reserve(ret_table, i, strlen("1000000.00"));
	table_reserve(ret_table, MAKESPAN, strlen("10000000.00"));
}

void
replay_report_row(struct table *t, const struct replay *r, size_t n_jobs)
{
	table_cell(t, "%s", r->spec->name);
	table_cell(t, "%s", r->place ? r->place : "-");
	table_cell(t, "%s", r->augment ? r->augment : "-");
	table_cell(t, "%" PRIu64 "/%zu", r->n_done, n_jobs);
	cell(t, r->mean_s, "");
	cell(t, r->median_s, "");
	cell(t, r->p99_s, "");
	cell(t, r->makespan_s, "");
	table_cell(t, "%" PRIu64, r->counts.n_preemptions);
	table_cell(t, "%" PRIu64, r->counts.n_migrations);
	cell(t, 100 * r->gpu_share, " %");
	cell(t, r->fairness.n_users ? r->fairness.user_least : NAN, "");
	cell(t, r->fairness.n_users ? r->fairness.job_mean : NAN, "");
	table_cell(t, "%" PRIu64, r->counts.n_events);
	cell(t, r->wall_s, "");
}

static void
put_fairness(const struct fairness *fairness, struct jsonw *w)
{
	jsonw_object(w, "fairness");
	jsonw_int(w, "n_users", fairness->n_users);
	jsonw_num(w, "user_least", fairness->user_least);
	jsonw_num(w, "user_mean", fairness->user_mean);
	jsonw_num(w, "job_least", fairness->job_least);
	jsonw_num(w, "job_mean", fairness->job_mean);
	jsonw_end(w);
}

static void
put_fabric(const struct fabric_counts *counts, uint64_t n_others, struct jsonw *w)
{
	jsonw_object(w, "fabric");
	jsonw_int(w, "n_components", (int64_t)counts->n_components);
	jsonw_int(w, "n_solved", (int64_t)counts->n_solved);
	jsonw_int(w, "n_exact", (int64_t)counts->n_exact);
	jsonw_int(w, "n_means", (int64_t)counts->n_means);
	jsonw_int(w, "n_windows", (int64_t)counts->n_windows);
	jsonw_int(w, "n_shifted", (int64_t)counts->n_shifted);
	jsonw_int(w, "n_loops", (int64_t)counts->n_loops);
	jsonw_int(w, "n_choices", (int64_t)counts->n_choices);
	jsonw_int(w, "n_judged", (int64_t)counts->n_judged);
	jsonw_int(w, "n_others", (int64_t)n_others);
	jsonw_int(w, "n_path_changes", (int64_t)counts->n_path_changes);
	jsonw_int(w, "n_moves", (int64_t)counts->n_moves);
	jsonw_int(w, "n_starts_moved", (int64_t)counts->n_starts_moved);
	jsonw_num(w, "moved_lost_s", counts->moved_lost_s);
	jsonw_int(w, "n_nodes_moved", (int64_t)counts->n_nodes_moved);
	jsonw_int(w, "max_jobs", counts->max_jobs);
	jsonw_num(w, "max_error", counts->max_error);
	jsonw_num(w, "window_error", counts->window_error);
	jsonw_end(w);
}

static void
put_times(const struct replay_times *times, struct jsonw *w)
{
	jsonw_object(w, "iterations");
	jsonw_num(w, "n", times->n);
	jsonw_num(w, "mean_s", times->mean_s);
	jsonw_num(w, "p99_s", times->p99_s);
	jsonw_num(w, "slowdown_mean", times->slowdown_mean);
	jsonw_num(w, "slowdown_p99", times->slowdown_p99);
	jsonw_num(w, "ecn_packets", times->ecn_packets);
	jsonw_end(w);
}

static void
put_policy(const struct replay *r, bool has_times, struct jsonw *w)
{
	jsonw_object(w, NULL);
	jsonw_str(w, "policy", r->spec->name);
	jsonw_str(w, "place", r->place);
	jsonw_str(w, "augment", r->augment);
	jsonw_bool(w, "interrupted", r->was_interrupted);
	jsonw_int(w, "n_done", (int64_t)r->n_done);
	jsonw_int(w, "n_begun", (int64_t)r->n_begun);
	jsonw_num(w, "mean_s", r->mean_s);
	jsonw_num(w, "median_s", r->median_s);
	jsonw_num(w, "p99_s", r->p99_s);
	jsonw_num(w, "max_s", r->max_s);
	jsonw_num(w, "wait_mean_s", r->wait_mean_s);
	jsonw_num(w, "makespan_s", r->makespan_s);
	jsonw_num(w, "gpu_share", r->gpu_share);
	jsonw_int(w, "n_preemptions", (int64_t)r->counts.n_preemptions);
	jsonw_int(w, "n_migrations", (int64_t)r->counts.n_migrations);
	jsonw_int(w, "n_events", (int64_t)r->counts.n_events);
	jsonw_int(w, "n_decisions", (int64_t)r->counts.n_decisions);
	jsonw_num(w, "wall_s", r->wall_s);
	if (r->fairness.n_users)
		put_fairness(&r->fairness, w);
	if (r->augment)
		put_fabric(&r->fabric, r->counts.n_augmented, w);
	if (has_times)
		put_times(&r->times, w);
	jsonw_end(w);
}

void
replay_report_json(const struct replay_report *report, FILE *out)
{
	const struct joblist *list = report->list;
	struct jsonw w;

	jsonw_document(&w, out, "antiphase.sim_replay/2");
	jsonw_str(&w, "trace", report->path);
	jsonw_str(&w, "format", jobtrace_format_names[list->format]);
	jsonw_str(&w, "cluster", report->cluster);
	jsonw_str(&w, "semantics", report->semantics);
	jsonw_num(&w, "origin_s", list->origin_s);
	jsonw_int(&w, "n_jobs", (int64_t)list->n);
	jsonw_bool(&w, "interrupted", report->was_interrupted);
	jsonw_object(&w, "left_out");
	jsonw_int(&w, "malformed", (int64_t)list->counts.malformed);
	jsonw_int(&w, "no_gpus", (int64_t)list->counts.no_gpus);
	jsonw_int(&w, "not_run", (int64_t)list->counts.not_run);
	jsonw_int(&w, "no_duration", (int64_t)list->n_no_duration);
	jsonw_int(&w, "too_large", (int64_t)report->n_too_large);
	jsonw_end(&w);
	jsonw_array(&w, "policies");
	for (size_t i = 0; i < report->n; i++)
		put_policy(&report->replays[i], report->has_times, &w);
	jsonw_end(&w);
	jsonw_end(&w);
	jsonw_finish(&w);
}

static void
put_number(FILE *out, double value)
{
	if (isnan(value))
		fputs(",", out);
	else
		fprintf(out, ",%.15g", value);
}

static void
put_jobs(const void *ctx, FILE *out)
{
	const struct replay_report *report = ctx;
	const struct joblist *list = report->list;
	bool has_fabric = report->n && report->replays[0].augment;

	fprintf(out,
		"policy,job_id,num_gpus,submit_s,start_s,end_s,jct_s,executed_s,"
		"starts,preempted%s\n",
		has_fabric ? ",augment" : "");
	for (size_t p = 0; p < report->n; p++) {
		for (size_t i = 0; i < list->n; i++) {
			const struct cluster_result *r = &report->replays[p].results[i];

			fprintf(out, "%s,", report->replays[p].spec->name);
			table_put_csv(joblist_id(list, i), out);
			fprintf(out, ",%u", list->jobs[i].n_gpus);
			put_number(out, list->jobs[i].submit_s);
			put_number(out, r->first_s);
			put_number(out, r->end_s);
			put_number(out, r->end_s - list->jobs[i].submit_s);
			put_number(out, r->executed_s);
			fprintf(out, ",%u,%u", r->n_starts, r->n_preempted);
			if (has_fabric)
				fprintf(out, ",%s", report->replays[p].augment);
			putc('\n', out);
		}
	}
}

int
replay_report_csv(const struct replay_report *report, const char *path,
		  const struct provenance *provenance, struct err *err)
{
	const struct csv_file files[] = { { "jobs.csv", put_jobs } };

	return report_csv(path, provenance, files, 1, report, err);
}
