/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_advise.c - 'antiphase advise': placements and shifts, computed from files or
 * from telemetry.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/advice_moves.h"
#include "cli/advice_payers.h"
#include "cli/advice_request.h"
#include "cli/advice_svg.h"
#include "cli/advise_k8s.h"
#include "cli/verbs.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/hostlist.h"
#include "lib/base/strbuf.h"
#include "lib/base/table.h"
#include "scheduler/core/advise/advice_doc.h"
#include "scheduler/core/workload/workload_ini.h"
#include "topology/topo.h"

/* Contended links shown without --links. */
#define FEW_LINKS 8

struct args {
	struct advice_request question;
	const char *output, *svg_before, *svg_after;
	const char *format, *label; /* NULL: tables, or JSON. */
	bool json, all_links;
};

/* ---- Tables ---------------------------------------------------------------------- */

static void
add_gain(struct table *t, const struct advice_doc_job *job)
{
	double low = 100 * job->gain_low, high = 100 * job->gain_high;

	if (fabs(low) < 0.05 && fabs(high) < 0.05)
		table_cell(t, "-");
	else if (high - low < 0.5)
		table_cell(t, "%.1f %%", (low + high) / 2);
	else
		table_cell(t, "%.1f..%.1f %%", low, high);
}

static void
add_job(struct table *t, const struct advice_doc_job *job)
{
	struct strbuf hosts = STRBUF_EMPTY;

	table_cell(t, "%s", job->name);
	if (job->n_hosts == 0) {
		table_cell(t, "(waits)");
		for (int i = 0; i < 5; i++)
			table_cell(t, "-");
		table_cell(t, "%s", job->reason);
		return;
	}
	hostlist_fold(job->hosts, job->n_hosts, &hosts);
	table_cell(t, "%s%s", hosts.text,
		   job->placed_by_us ? " *"
		   : job->is_moved   ? " +"
				     : "");
	table_cell(t, "%.3f", (double)job->shift_us / 1e3);
	if (job->slack_us > 0)
		table_cell(t, "%.3f", (double)job->slack_us / 1e3);
	else
		table_cell(t, "-");
	table_cell(t, "%s", job->pacing);
	table_cell(t, "%.3f>%.3f", job->score_before, job->score_after);
	add_gain(t, job);
	table_cell(t, "%s", job->reason);
	strbuf_free(&hosts);
}

static void
print_jobs(const struct advice_doc *doc, FILE *out)
{
	struct table t;

	table_init(&t, (const char *const[]){ "JOB", "HOSTS", "%SHIFT ms", "%SLACK ms",
					      "PACING", "%SCORE", "%GAIN", "REASON",
					      NULL });
	for (size_t j = 0; j < doc->n_jobs; j++)
		add_job(&t, &doc->jobs[j]);
	table_print(&t, out);
	table_fini(&t);
}

static void
print_links(const struct advice_doc *doc, bool all, FILE *out)
{
	struct table t;
	size_t n = all || doc->n_links <= FEW_LINKS ? doc->n_links : FEW_LINKS;

	if (doc->n_links == 0) {
		fprintf(out, "No link of the jobs is contended.\n");
		return;
	}
	table_init(&t, (const char *const[]){ "LINK", "%CAP", "%SCORE", "%EXCESS Gb/s",
					      "JOBS", NULL });
	for (size_t i = 0; i < n; i++) {
		const struct advice_doc_link *link = &doc->links[i];
		struct strbuf jobs = STRBUF_EMPTY;

		for (size_t k = 0; k < link->n_jobs; k++)
			strbuf_printf(&jobs, "%s%s", k ? "," : "", link->jobs[k]);
		table_cell(&t, "%s", link->name);
		table_cell(&t, "%gG", link->capacity_bps / 1e9);
		table_cell(&t, "%.3f>%.3f", link->score_before, link->score_after);
		table_cell(&t, "%.2f>%.2f", link->excess_before_bps / 1e9,
			   link->excess_after_bps / 1e9);
		table_cell(&t, "%s", jobs.text);
		strbuf_free(&jobs);
	}
	table_print(&t, out);
	table_fini(&t);
	if (n < doc->n_links)
		fprintf(out,
			"%zu of %zu contended links, worst first; --links shows all\n",
			n, doc->n_links);
}

static void
print_text(const struct advice_doc *doc, bool all_links, FILE *out)
{
	struct strbuf payers = STRBUF_EMPTY;
	bool any_placed = false;
	size_t n_flows = 0, n_jobs = 0;

	print_jobs(doc, out);
	for (size_t j = 0; j < doc->n_jobs; j++) {
		any_placed |= doc->jobs[j].placed_by_us;
		n_flows += doc->jobs[j].n_paths;
		n_jobs += doc->jobs[j].n_paths > 0;
	}
	if (any_placed)
		fprintf(out, "* placed by this advice\n");
	advice_moves_print(doc, out);
	if (n_flows)
		fprintf(out,
			"%zu flow%s of %zu job%s take%s another path than by hashing: "
			"'antiphase explain' has them\n",
			n_flows, n_flows == 1 ? "" : "s", n_jobs,
			n_jobs == 1 ? "" : "s", n_flows == 1 ? "s" : "");
	fputc('\n', out);
	print_links(doc, all_links, out);
	fprintf(out,
		"\nGoodput %.1f %% without advice, %.1f %% with it (policy %s; %zu "
		"runs of "
		"%zu iterations)\n",
		100 * doc->goodput_before, 100 * doc->goodput_after, doc->policy,
		doc->n_runs, doc->n_iterations);
	advice_payers_put(doc, &payers);
	fwrite(payers.text, 1, payers.length, out);
	strbuf_free(&payers);
}

/* ---- Drawings -------------------------------------------------------------------- */

/* One link under a set of advice. */
struct drawing {
	const char *path; /* NULL: no drawing. */
	const struct advice_set *set;
	bool at_shifts;
	const char *subtitle;
};

static int
write_svg(const struct drawing *drawing, const struct inputs *inputs, uint32_t link,
	  struct err *err)
{
	char *text;
	int error;

	if (!drawing->path)
		return 0;
	text = advice_link_svg(drawing->set, &inputs->scenario->workload, inputs->topo,
			       inputs->routes, link, drawing->at_shifts,
			       drawing->subtitle);
	if (!text)
		return err_set(err, drawing->path, 0, 0,
			       "the jobs cannot be routed on the fabric");
	error = file_write(drawing->path, text, strlen(text), err);
	free(text);
	return error;
}

/*
 * Draws the worst link of the jobs, without and with shifts.  If no link is contended,
 * the link that would be worst without advice: as packed, and as advised.
 */
static int
write_svgs(const struct args *args, const struct advice_result *answer, struct err *err)
{
	const struct inputs *inputs = &answer->inputs;
	struct drawing before = { args->svg_before, answer->set, false,
				  "before: all jobs start together" };
	struct drawing after = { args->svg_after, answer->set, true,
				 "after: as advised" };
	struct advise_opts fair_opts = answer->opts;
	struct advice_set *fair = NULL;
	uint32_t link = advice_worst_link(answer->set);
	int error = 0;

	fair_opts.policy = ADVISE_FAIR;
	if (link == TOPO_NONE) {
		error = advise(&inputs->scenario->workload, inputs->topo,
			       inputs->routes, &fair_opts, &fair);
		if (error < 0)
			return err_set(
				err, args->question.jobs, 0, 0,
				"two hosts of a job cannot reach each other on the "
				"fabric");
		link = advice_worst_link(fair);
		before.set = fair;
	}
	if (link == TOPO_NONE)
		fprintf(stderr,
			"antiphase advise: no link is contended, nothing to draw\n");
	else
		error = write_svg(&before, inputs, link, err);
	if (link != TOPO_NONE && error == 0)
		error = write_svg(&after, inputs, link, err);
	advice_set_free(fair);
	return error;
}

static const char *const formats[] = { "k8s", NULL };

/* ---- The verb -------------------------------------------------------------------- */

static int
print_doc(const struct args *args, const struct advice_doc *doc, struct err *err)
{
	char *text = NULL;
	size_t length = 0;
	int error = 0;

	if (args->json || args->output) {
		text = advice_json_text(doc, &length);
		if (args->output)
			error = file_write(args->output, text, length, err);
		if (args->json && error == 0)
			fwrite(text, 1, length, stdout);
		free(text);
	}
	if (args->format && error == 0)
		error = advise_k8s_print(
			doc, args->label ? args->label : ADVISE_K8S_LABEL, stdout, err);
	else if (!args->json && error == 0)
		print_text(doc, args->all_links, stdout);
	return error;
}

/* Whether there are jobs and none can be placed. */
static bool
is_hopeless(const struct advice_doc *doc)
{
	for (size_t j = 0; j < doc->n_jobs; j++)
		if (doc->jobs[j].n_hosts > 0)
			return false;
	return doc->n_jobs > 0;
}

/* Prints and draws.  Returns the exit status. */
static int
show(const struct args *args, const struct advice_result *answer, struct err *err)
{
	struct advice_doc doc;
	int error = 0, status;

	advice_doc_from(answer->set, &answer->inputs.scenario->workload,
			answer->inputs.topo, &answer->opts, &doc);
	if (args->svg_before || args->svg_after)
		error = write_svgs(args, answer, err);
	if (error == 0)
		error = print_doc(args, &doc, err);
	status = error < 0 ? cli_fail(error, err) : is_hopeless(&doc) ? CLI_NO : CLI_OK;
	advice_doc_fini(&doc);
	return status;
}

static int
run_advise(int argc, char **argv)
{
	struct args args = { .question = ADVICE_REQUEST_DEFAULTS };
	const struct cli_opt opts[] = {
		ADVICE_REQUEST_OPTS(&args.question),
		CLI_OPT("links", 'l', CLI_FLAG, &args.all_links, NULL,
			"show all contended links"),
		CLI_OPT("json", 0, CLI_FLAG, &args.json, NULL, "print JSON"),
		CLI_OPT("format", 0, CLI_WORDS, &args.format, "FORMAT",
			"k8s: kubectl commands that annotate pods with their shift",
			.words = formats),
		CLI_OPT("label", 0, CLI_STR, &args.label, "KEY",
			"label of pods that holds the job's name (default: " ADVISE_K8S_LABEL
			")"),
		CLI_OPT("output", 'o', CLI_STR, &args.output, "FILE",
			"also write the advice to FILE as JSON"),
		CLI_OPT("svg-before", 0, CLI_STR, &args.svg_before, "FILE",
			"draw the worst link with all jobs starting together, as SVG"),
		CLI_OPT("svg-after", 0, CLI_STR, &args.svg_after, "FILE",
			"draw the same link with the advice, as SVG"),
		CLI_OPTS_END,
	};
	struct advice_result answer;
	struct err err;
	int first = cli_parse(&verb_advise, opts, argc, argv), error, status;

	if (first < 0)
		return cli_status(first);
	if (args.format && args.json)
		return cli_usage_error(&verb_advise,
				       "--json and --format exclude each other");
	status = advice_request_check(&args.question, &verb_advise);
	if (status != CLI_OK)
		return status;
	error = advice_request_run(&args.question, &verb_advise, &answer, &err);
	status = error < 0 ? advice_request_fail(&answer, error, &err)
			   : show(&args, &answer, &err);
	advice_result_fini(&answer);
	return cli_finish(status);
}

const struct cli_verb verb_advise = {
	.name = "advise",
	.summary = "compute placements, paths and shifts for jobs on a fabric",
	.usage = "[--fabric FABRIC] --jobs JOBS [options]\n"
		 "       antiphase advise --fabric FABRIC --from SOURCE [options]",
	.examples =
		"  antiphase advise --fabric fabric.json --jobs jobs.ini\n"
		"  antiphase advise --jobs jobs.ini --policy cassini --links\n"
		"  antiphase advise --jobs jobs.ini --json -o advice.json\n"
		"  antiphase advise --jobs jobs.ini --format k8s | sh -e\n"
		"  antiphase advise --fabric fabric.json --from tcp://127.0.0.1:7461\n",
	.run = run_advise,
	.operands = "; give jobs with --jobs FILE",
};
