/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/advice_prose.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "scheduler/core/advise/advice_doc.h"
#include "tests/unit/jobs_fixture.h"
#include "tests/unit/test.h"

/* An advice with shifts, a gate, a placement and a waiting job. */
static void
make_doc(enum advise_policy policy, struct advice_doc *ret_doc)
{
	struct fixture f;
	struct advise_opts opts = { .policy = policy, .seed = 7 };
	struct advice_set *set;

	fixture_init(&f, 3, 3, 1, 50e9);
	ON(fixture_job(&f, "vgg", 2, 100000, 0.4, 50e9), 0, 3);
	ON(fixture_job(&f, "bert", 2, 100000, 0.4, 50e9), 1, 4);
	fixture_job(&f, "gpt", 2, 100003, 0.4, 50e9);
	fixture_job(&f, "large", 9, 100000, 0.4, 50e9);
	f.workload.jobs[0].jitter_frac = f.workload.jobs[1].jitter_frac = 0.04;
	assert_int_equal(advise(&f.workload, f.topo, f.routes, &opts, &set), 0);
	advice_doc_from(set, &f.workload, f.topo, &opts, ret_doc);
	advice_set_free(set);
	fixture_fini(&f);
}

static void
reads_back_what_it_writes(void **state)
{
	(void)state;
	for (int policy = 0; policy < N_ADVISE_POLICIES; policy++) {
		struct advice_doc doc, again;
		struct err err;
		size_t length, length_again;
		char *text, *text_again;

		make_doc((enum advise_policy)policy, &doc);
		text = advice_json_text(&doc, &length);
		assert_int_equal(strlen(text), length);
		assert_int_equal(advice_json_parse("a", text, length, &again, &err), 0);
		text_again = advice_json_text(&again, &length_again);
		assert_string_equal(text, text_again);
		assert_string_equal(again.policy, advise_policy_names[policy]);
		assert_int_equal(again.n_jobs, 4);
		assert_string_equal(again.jobs[1].hosts[1], "h4");
		free(text);
		free(text_again);
		advice_doc_fini(&doc);
		advice_doc_fini(&again);
	}
}

/* Two jobs across two leaves, of which one moves to the third. */
static char *
text_with_a_move(void)
{
	struct advise_opts opts = { .policy = ADVISE_ANTIPHASE,
				    .seed = 7,
				    .moves_per_hour = 1 };
	struct advice_set *set;
	struct advice_doc doc;
	struct fixture f;
	size_t length;
	char *text;

	fixture_init(&f, 3, 2, 1, 50e9);
	ON(fixture_job(&f, "vgg", 2, 100000, 0.7, 50e9), 0, 2);
	ON(fixture_job(&f, "bert", 2, 97003, 0.7, 50e9), 1, 3);
	f.workload.jobs[0].left_ns = f.workload.jobs[1].left_ns = 7200000000000;
	f.workload.jobs[0].is_movable = true;
	assert_int_equal(advise(&f.workload, f.topo, f.routes, &opts, &set), 0);
	advice_doc_from(set, &f.workload, f.topo, &opts, &doc);
	text = advice_json_text(&doc, &length);
	advice_doc_fini(&doc);
	advice_set_free(set);
	fixture_fini(&f);
	return text;
}

static void
a_move_has_its_bill(void **state)
{
	struct strbuf prose = STRBUF_EMPTY;
	char *text = text_with_a_move(), *again;
	const struct advice_doc_move *move;
	struct advice_doc doc;
	struct err err;
	size_t length;

	(void)state;
	assert_int_equal(advice_json_parse("a", text, strlen(text), &doc, &err), 0);
	again = advice_json_text(&doc, &length);
	assert_string_equal(text, again);
	assert_true(doc.jobs[0].is_moved);
	assert_false(doc.jobs[1].is_moved);
	move = &doc.jobs[0].move;
	assert_int_equal(move->n_from, 2);
	assert_string_equal(move->from[1], "h2");
	assert_int_equal(move->n_workers, 2);
	assert_string_equal(move->with, "");
	assert_near(move->lost_s, 50, 0);
	assert_near(move->goodput_lost_s, 100, 0);
	assert_true(move->goodput_gained_s > 200);
	assert_string_equal(doc.jobs[0].reason, "moved");
	advice_prose_job(&doc, &doc.jobs[0], &prose);
	assert_non_null(strstr(prose.text, "Move 2 of its 2 workers"));
	advice_doc_fini(&doc);
	strbuf_free(&prose);
	free(again);
	free(text);
}

static void
a_bad_move_is_refused(void **state)
{
	static const char *const cases[][3] = {
		{ "\"from\": [\"h0\", \"h2\"]", "\"from\": [\"h0\"]",
		  "expected as many" },
		{ "\"lost_s\"", "\"lost\"", "unknown key" },
		{ "\"payback_s\": ", "\"payback_s\": -", "payback_s" },
		{ "\"workers\": 2", "\"workers\": []", "workers" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *text = text_with_a_move(), *at = strstr(text, cases[i][0]);
		struct strbuf bad = STRBUF_EMPTY;
		struct err err = { .text = "" };
		struct advice_doc doc;

		assert_non_null(at);
		strbuf_add(&bad, text, (size_t)(at - text));
		strbuf_puts(&bad, cases[i][1]);
		strbuf_puts(&bad, at + strlen(cases[i][0]));
		assert_true(advice_json_parse("bad.json", bad.text, bad.length, &doc,
					      &err) < 0);
		if (!strstr(err.text, cases[i][2]))
			fail_msg("\"%s\" does not say '%s'", err.text, cases[i][2]);
		strbuf_free(&bad);
		free(text);
	}
}

/* A document as antiphase.advice/1: with "X_gbps" for "X_bps". */
static char *
former_text(const char *text)
{
	static const char schema[] = "antiphase.advice/", key[] = "_bps\": ";
	struct strbuf out = STRBUF_EMPTY;
	const char *at = strstr(text, schema) + strlen(schema);
	char *end;

	strbuf_add(&out, text, (size_t)(at - text));
	strbuf_puts(&out, "1");
	for (text = at + 1; (at = strstr(text, key)); text = end) {
		strbuf_add(&out, text, (size_t)(at - text));
		strbuf_printf(&out, "_gbps\": %.15g",
			      strtod(at + strlen(key), &end) / 1e9);
	}
	strbuf_puts(&out, text);
	return strbuf_steal(&out);
}

static void
the_former_schema_is_read(void **state)
{
	struct advice_doc doc;
	struct err err;
	size_t length;
	char *text, *former, *again;

	(void)state;
	make_doc(ADVISE_ANTIPHASE, &doc);
	text = advice_json_text(&doc, &length);
	advice_doc_fini(&doc);
	former = former_text(text);
	assert_non_null(strstr(former, "\"capacity_gbps\": 50,"));
	assert_int_equal(advice_json_parse("a", former, strlen(former), &doc, &err), 0);
	again = advice_json_text(&doc, &length);
	assert_string_equal(again, text);
	advice_doc_fini(&doc);
	free(again);
	free(former);
	free(text);
}

static void
finds_jobs_and_links_by_name(void **state)
{
	struct advice_doc doc;
	const struct advice_doc_link *link;

	(void)state;
	make_doc(ADVISE_ANTIPHASE, &doc);
	assert_ptr_equal(advice_doc_find_job(&doc, "bert"), &doc.jobs[1]);
	assert_null(advice_doc_find_job(&doc, "ber"));
	assert_true(doc.n_links > 0);
	link = &doc.links[0];
	assert_true(advice_doc_link_is(link, "leaf0:p3>spine0:p0"));
	assert_true(advice_doc_link_is(link, "leaf0:p3"));
	assert_true(advice_doc_link_is(link, "spine0:p0"));
	assert_false(advice_doc_link_is(link, "leaf0:p"));
	assert_false(advice_doc_link_is(link, "spine0"));
	assert_false(advice_doc_link_is(link, "leaf0:p3>"));
	assert_near(link->capacity_bps, 50e9, 0);
	assert_int_equal(link->n_jobs, 2);
	assert_string_equal(link->jobs[0], "vgg");
	assert_string_equal(link->jobs[1], "bert");
	advice_doc_fini(&doc);
}

/* ---- Bad files ------------------------------------------------------------------- */

/* Replaces the first 'from' in a valid file and reads the result. */
static void
assert_refused(const char *from, const char *to, const char *want)
{
	struct advice_doc doc;
	struct strbuf bad = STRBUF_EMPTY;
	struct err err = { .text = "" };
	size_t length;
	char *text, *at;

	make_doc(ADVISE_ANTIPHASE, &doc);
	text = advice_json_text(&doc, &length);
	advice_doc_fini(&doc);
	at = strstr(text, from);
	if (!at)
		fail_msg("no '%s' in the text", from);
	strbuf_add(&bad, text, (size_t)(at - text));
	strbuf_puts(&bad, to);
	strbuf_puts(&bad, at + strlen(from));
	assert_true(advice_json_parse("bad.json", bad.text, bad.length, &doc, &err) <
		    0);
	if (!strstr(err.text, want))
		fail_msg("'%s' -> '%s': \"%s\" does not say '%s'", from, to, err.text,
			 want);
	assert_string_equal(err.file, "bad.json");
	assert_true(err.line > 0);
	strbuf_free(&bad);
	free(text);
}

static void
says_what_is_wrong_with_a_file(void **state)
{
	(void)state;
	assert_refused("antiphase.advice/2", "antiphase.advice/3", "advice");
	assert_refused("\"policy\": \"antiphase\"", "\"policy\": \"antifase\"",
		       "did you mean 'antiphase'?");
	assert_refused("\"shift_us\"", "\"shfit_us\"", "did you mean 'shift_us'?");
	assert_refused("\"pacing\": \"gate\"", "\"pacing\": \"gat\"",
		       "did you mean 'gate'?");
	assert_refused("\"reason\": \"no-hosts\"", "\"reason\": \"no-host\"",
		       "did you mean 'no-hosts'?");
	assert_refused("\"job\": \"bert\"", "\"job\": \"vgg\"", "second advice");
	assert_refused("\"job\": \"bert\"", "\"job\": \"be\\u0007rt\"",
		       "control characters");
	assert_refused("\"job\": \"bert\"", "\"job\": \"\"", "name");
	assert_refused("\"has_loop\": ", "\"has_lop\": ", "has_loop");
	assert_refused("\"period_us\": 100000", "\"period_us\": 0", "period_us");
	assert_refused("\"score_before\": ", "\"score_before\": 1", "score_before");
	assert_refused("[\"vgg\", ", "[7, ", "string");
}

/* ---- Prose ----------------------------------------------------------------------- */

static void
assert_five_parts(const char *text)
{
	static const char *const parts[] = { "What we saw\n", "What we conclude\n",
					     "What we advise\n",
					     "What it should give\n",
					     "What would change our mind\n" };
	const char *at = text;

	for (int i = 0; i < 5; i++) {
		at = strstr(at, parts[i]);
		if (!at)
			fail_msg("'%s' is not there, or out of order, in:\n%s",
				 parts[i], text);
	}
	/* Every line has less than 80 columns. */
	for (const char *line = text; *line;) {
		size_t length = strcspn(line, "\n");

		assert_true(length <= 79);
		line += length + (line[length] == '\n');
	}
}

static void
every_job_and_link_is_explained_in_five_parts(void **state)
{
	(void)state;
	for (int policy = 0; policy < N_ADVISE_POLICIES; policy++) {
		struct advice_doc doc;

		make_doc((enum advise_policy)policy, &doc);
		for (size_t j = 0; j < doc.n_jobs; j++) {
			struct strbuf out = STRBUF_EMPTY;

			advice_prose_job(&doc, &doc.jobs[j], &out);
			assert_five_parts(out.text);
			assert_non_null(strstr(out.text, doc.jobs[j].name));
			strbuf_free(&out);
		}
		assert_true(doc.n_links > 0);
		for (size_t i = 0; i < doc.n_links; i++) {
			struct strbuf out = STRBUF_EMPTY;

			advice_prose_link(&doc, &doc.links[i], &out);
			assert_five_parts(out.text);
			assert_non_null(strstr(out.text, doc.links[i].name));
			strbuf_free(&out);
		}
		advice_doc_fini(&doc);
	}
}

static void
the_shift_and_its_slack_are_told(void **state)
{
	struct advice_doc doc;
	struct strbuf out = STRBUF_EMPTY;
	const struct advice_doc_job *job;

	(void)state;
	make_doc(ADVISE_ANTIPHASE, &doc);
	job = doc.jobs[0].shift_us ? &doc.jobs[0] : &doc.jobs[1];
	assert_int_equal(job->shift_us, 50000);
	advice_prose_job(&doc, job, &out);
	assert_non_null(strstr(out.text, "Delay its start by 50.000 ms"));
	assert_non_null(strstr(out.text, "10.000 ms either way"));
	assert_non_null(strstr(out.text, "Gate it"));
	strbuf_clear(&out);
	advice_prose_all(&doc, &out);
	assert_non_null(strstr(out.text, "4 jobs"));
	assert_non_null(strstr(out.text, "There are not enough free slots."));
	strbuf_free(&out);
	advice_doc_fini(&doc);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_back_what_it_writes),
		cmocka_unit_test(a_move_has_its_bill),
		cmocka_unit_test(a_bad_move_is_refused),
		cmocka_unit_test(the_former_schema_is_read),
		cmocka_unit_test(finds_jobs_and_links_by_name),
		cmocka_unit_test(says_what_is_wrong_with_a_file),
		cmocka_unit_test(every_job_and_link_is_explained_in_five_parts),
		cmocka_unit_test(the_shift_and_its_slack_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
