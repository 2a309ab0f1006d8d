/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_explain.c - 'antiphase explain': advice in prose: computed now, read from a
 * file, or that of the running antiphase-scheduler.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/advice_prose.h"
#include "cli/advice_request.h"
#include "cli/scheduler_advice.h"
#include "cli/scheduler_api.h"
#include "cli/verbs.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"
#include "lib/daemon/http_ask.h"
#include "scheduler/core/advise/advice_doc.h"
#include "scheduler/core/workload/workload_ini.h"

struct args {
	struct advice_request question;
	const char *file;    /* File of an advice; NULL: compute one. */
	const char *subject; /* A job or a link; NULL: all. */
	const char *address; /* Of antiphase-scheduler. */
	bool is_advised;     /* The advice of antiphase-scheduler is requested. */
};

static int
make_doc(const struct advice_request *question, struct advice_doc *ret_doc,
	 int *ret_status, struct err *err)
{
	struct advice_result answer;
	int error = advice_request_run(question, &verb_explain, &answer, err);

	if (error == 0)
		advice_doc_from(answer.set, &answer.inputs.scenario->workload,
				answer.inputs.topo, &answer.opts, ret_doc);
	*ret_status = answer.status;
	advice_result_fini(&answer);
	return error;
}

static int
read_doc(const char *path, struct advice_doc *ret_doc, struct err *err)
{
	char *text;
	size_t length;
	int error = file_read(path, ADVICE_MAX_BYTES, &text, &length, err);

	if (error < 0)
		return error;
	error = advice_json_parse(path, text, length, ret_doc, err);
	free(text);
	return error;
}

/* For a subject that is neither job nor link: suggests similar names. */
static int
fail_unknown(const struct args *args, const struct advice_doc *doc, struct err *err)
{
	VEC(const char *) names = VEC_EMPTY;
	int error =
		err_set(err, args->file ? args->file : args->question.jobs, 0, 0,
			"'%s' is neither a job nor a contended link", args->subject);

	for (size_t j = 0; j < doc->n_jobs; j++)
		vec_push(&names, doc->jobs[j].name);
	for (size_t i = 0; i < doc->n_links; i++)
		vec_push(&names, doc->links[i].name);
	vec_push(&names, NULL);
	err_suggest(err, args->subject, names.items);
	vec_free(&names);
	return error;
}

static int
explain_links(const struct args *args, const struct advice_doc *doc, struct strbuf *out,
	      struct err *err)
{
	bool is_known = false;

	for (size_t i = 0; i < doc->n_links; i++) {
		if (!advice_doc_link_is(&doc->links[i], args->subject))
			continue;
		if (is_known)
			strbuf_putc(out, '\n');
		advice_prose_link(doc, &doc->links[i], out);
		is_known = true;
	}
	return is_known ? 0 : fail_unknown(args, doc, err);
}

static int
explain(const struct args *args, const struct advice_doc *doc, struct strbuf *out,
	struct err *err)
{
	const struct advice_doc_job *job;

	if (!args->subject) {
		advice_prose_all(doc, out);
		return 0;
	}
	job = advice_doc_find_job(doc, args->subject);
	if (job) {
		advice_prose_job(doc, job, out);
		return 0;
	}
	return explain_links(args, doc, out, err);
}

/*
 * Explains the advice of antiphase-scheduler, requested or read from a file.  Returns
 * the exit status.
 */
static int
explain_advised(const struct args *args, struct strbuf *out)
{
	struct advice_doc doc;
	struct strbuf body;
	struct err err = { .line = 0 };
	bool has_advice = false;
	int status = args->file ? scheduler_advice_read(args->file, args->subject, &doc,
							&body, &err)
				: scheduler_advice_ask(args->address, args->subject,
						       &doc, &body, &err);

	if (status != CLI_OK)
		err_print(&err, stderr);
	for (size_t i = 0; status == CLI_OK && i < doc.n_jobs; i++) {
		if (i)
			strbuf_putc(out, '\n');
		advice_prose_job(&doc, &doc.jobs[i], out);
		has_advice |= doc.jobs[i].is_advised;
	}
	advice_doc_fini(&doc);
	strbuf_free(&body);
	return status == CLI_OK && !has_advice ? CLI_THIN : status;
}

/* Whether the file is an answer of antiphase-scheduler; an unreadable one is not. */
static bool
is_live_file(const char *file)
{
	char *text;
	size_t length;
	bool is_live;

	if (file_read(file, HTTP_ASK_MAX_BYTES, &text, &length, NULL) < 0)
		return false;
	is_live = advice_json_is_live(text);
	free(text);
	return is_live;
}

/* Whether the operand is a file or looks like one; otherwise it is a job's name. */
static bool
is_file(const char *operand)
{
	size_t length = strlen(operand);

	return access(operand, F_OK) == 0 || strchr(operand, '/') ||
	       (length > 5 && strcmp(operand + length - 5, ".json") == 0);
}

/* Sorts out the operands: [JOB|LINK] with --jobs, else ADVICE [JOB|LINK], else JOB. */
static int
take_operands(struct args *args, int argc, char **argv, int first)
{
	bool is_asked = args->question.jobs || args->question.from.n;
	bool is_of_file = !is_asked && first < argc && is_file(argv[first]);
	int n_max = is_of_file ? 2 : 1;

	if (!is_asked && first == argc)
		return cli_usage_error(
			&verb_explain,
			"expected a JOB of antiphase-scheduler, --jobs FILE, "
			"--from SOURCE, or an ADVICE file");
	if (argc - first > n_max)
		return cli_usage_error(&verb_explain, "unexpected operand '%s'",
				       argv[first + n_max]);
	if (is_of_file)
		args->file = argv[first++];
	if (first < argc)
		args->subject = argv[first];
	args->is_advised = !is_asked && (args->file ? is_live_file(args->file) : true);
	return is_asked ? advice_request_check(&args->question, &verb_explain) : CLI_OK;
}

static int
run_explain(int argc, char **argv)
{
	struct args args = { .question = ADVICE_REQUEST_DEFAULTS,
			     .address = SCHEDULER_API_ADDRESS };
	const struct cli_opt opts[] = {
		ADVICE_REQUEST_OPTS(&args.question),
		CLI_OPT("http", 0, CLI_STR, &args.address, "ADDRESS:PORT",
			"address of antiphase-scheduler (default: " SCHEDULER_API_ADDRESS
			")"),
		CLI_OPTS_END,
	};
	struct advice_doc doc = { 0 };
	struct strbuf out = STRBUF_EMPTY;
	struct err err;
	int first = cli_parse(&verb_explain, opts, argc, argv), error, status;

	if (first < 0)
		return cli_status(first);
	status = take_operands(&args, argc, argv, first);
	if (status != CLI_OK)
		return status;
	if (args.is_advised) {
		status = explain_advised(&args, &out);
		error = 0;
	} else {
		error = args.file ? read_doc(args.file, &doc, &err)
				  : make_doc(&args.question, &doc, &status, &err);
	}
	if (error == 0 && !args.is_advised)
		error = explain(&args, &doc, &out, &err);
	if (error < 0 && error != -ECANCELED)
		status = cli_fail(error, &err);
	else if (error == 0)
		fwrite(out.text, 1, out.length, stdout);
	strbuf_free(&out);
	advice_doc_fini(&doc);
	return cli_finish(status);
}

const struct cli_verb verb_explain = {
	.name = "explain",
	.summary = "explain an advice in prose",
	.usage = "JOB\n"
		 "       antiphase explain [--fabric FABRIC] --jobs JOBS [JOB|LINK]\n"
		 "       antiphase explain --fabric FABRIC --from SOURCE [JOB|LINK]\n"
		 "       antiphase explain ADVICE.json [JOB|LINK]",
	.examples = "  antiphase explain 4711\n"
		    "  antiphase explain --fabric fabric.json --jobs jobs.ini vgg\n"
		    "  antiphase explain advice.json\n"
		    "  antiphase explain advice.json 'leaf0:p4>spine0:p0'\n",
	.run = run_explain,
};
