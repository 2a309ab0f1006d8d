/* SPDX-License-Identifier: Apache-2.0 */
/* test_perfetto.c - traces in the format of Perfetto */
#include <inttypes.h>

#include "lib/base/json.h"
#include "sim/run/perfetto.h"
#include "tests/unit/experiment_fixture.h"

#define MAX_TRACKS 256

static void
on_iteration(void *ctx, uint32_t job, uint64_t iteration, double start_ns,
	     double end_ns)
{
	perfetto_iteration(ctx, job, iteration, start_ns, end_ns);
}

static void
on_flows(void *ctx, uint32_t job, uint32_t segment, double start_ns, double end_ns)
{
	perfetto_flows(ctx, job, segment, start_ns, end_ns);
}

/* Three contending jobs with jitter. */
#define THREE_JOBS                                                    \
	"[sim]\niterations = 50\n" LAB_JOB("A", "a0,b0", "25", "125", \
					   "jitter = 9 %\n")          \
		LAB_JOB("B", "a1,b1", "0.001", "60",                  \
			"segment = send 10 MB at 7 Gb/s\n")           \
			LAB_JOB("C", "a2,b2", "40", "100", "jitter = 2 %\n")

static char *
make_trace_of(const char *scenario, bool all_links, uint64_t max_bytes,
	      size_t *ret_length, uint64_t *ret_left_out)
{
	struct lab lab = lab_make(scenario);
	struct sim_plan plan = lab_plan(&lab, "none");
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_length);
	struct experiment_opts opts;
	struct experiment x;

	experiment_opts_init(&opts, lab.scenario, SIM_POLICY_NONE);
	opts.ctx =
		perfetto_new(out, lab.scenario, &plan, lab.topo, all_links, max_bytes);
	opts.on_iteration = on_iteration;
	opts.on_flows = on_flows;
	assert_int_equal(experiment_run(lab.scenario, &plan, lab.topo, &opts, &x), 0);
	*ret_left_out = perfetto_finish(opts.ctx, "antiphase-sim 0", "run \"x\"", 1);
	fclose(out);
	experiment_fini(&x);
	sim_plan_fini(&plan);
	lab_fini(&lab);
	return text;
}

static char *
make_trace(bool all_links, uint64_t max_bytes, size_t *ret_length,
	   uint64_t *ret_left_out)
{
	return make_trace_of(THREE_JOBS, all_links, max_bytes, ret_length,
			     ret_left_out);
}

/* A track: the end of its last slice, in ns. */
struct track {
	int64_t process, thread, end_ns;
	size_t n_slices;
};

static struct track *
track_of(struct track *tracks, size_t *n, int64_t process, int64_t thread)
{
	for (size_t i = 0; i < *n; i++)
		if (tracks[i].process == process && tracks[i].thread == thread)
			return &tracks[i];
	assert_true(*n < MAX_TRACKS);
	tracks[*n] = (struct track){ process, thread, 0, 0 };
	return &tracks[(*n)++];
}

/* Checks all events of the trace; returns the number of slices. */
static size_t
check_trace(const char *text, size_t length, struct track *tracks, size_t *n_tracks)
{
	struct json_doc *doc;
	struct err err = { 0 };
	const struct json *events;
	size_t n_events = 0, n_slices = 0;

	*n_tracks = 0;
	if (json_parse("trace.json", text, length, &doc, &err) < 0 ||
	    json_get_array(doc, json_root(doc), "traceEvents", &events, &n_events,
			   &err) < 0) {
		err_print(&err, stderr);
		fail();
	}
	assert_true(n_events > 0);
	for (const struct json *e = json_first(events); e; e = json_next(e)) {
		int64_t process = 0, thread = 0;
		const char *kind;
		double start_us, length_us;
		struct track *track;

		assert_int_equal(json_get_str(doc, e, "ph", &kind, NULL), 0);
		if (strcmp(kind, "X") != 0)
			continue;
		assert_int_equal(json_get_int(doc, e, "pid", 0, 1000, &process, NULL),
				 0);
		assert_int_equal(json_get_int(doc, e, "tid", 1, 9, &thread, NULL), 0);
		assert_int_equal(json_get_num(doc, e, "ts", 0, 1e12, &start_us, NULL),
				 0);
		assert_int_equal(json_get_num(doc, e, "dur", 0, 1e12, &length_us, NULL),
				 0);
		track = track_of(tracks, n_tracks, process, thread);
		assert_true(llround(start_us * 1e3) >= track->end_ns);
		track->end_ns = llround(start_us * 1e3) + llround(length_us * 1e3);
		track->n_slices++;
		n_slices++;
	}
	json_doc_free(doc);
	return n_slices;
}

static void
slices_never_overlap_on_a_track(void **state)
{
	struct track tracks[MAX_TRACKS];
	size_t length, n_tracks;
	uint64_t n_left_out;
	char *text = make_trace(false, PERFETTO_MAX_BYTES, &length, &n_left_out);

	(void)state;
	assert_true(check_trace(text, length, tracks, &n_tracks) > 3 * 50 * 3);
	assert_int_equal(n_left_out, 0);
	/* Three jobs, and each on both directions of the link. */
	assert_int_equal(n_tracks, 9);
	for (size_t i = 0; i < n_tracks; i++)
		assert_true(tracks[i].n_slices >= 50);
	free(text);
}

/* Segments of A that overlap get lanes of their own; the job still counts once. */
static void
overlapping_segments_have_a_lane_each(void **state)
{
	struct track tracks[MAX_TRACKS];
	size_t length, n_tracks, n_lanes = 0;
	uint64_t n_left_out;
	char *text = make_trace_of(
		"[sim]\niterations = 50\n" LAB_JOB(
			"A", "a0,b0", "25", "125",
			"segment = send 40 MB needs start\n"
			"segment = send 30 MB needs start\njitter = 9 %\n")
			LAB_JOB("B", "a1,b1", "30", "60", ""),
		false, PERFETTO_MAX_BYTES, &length, &n_left_out);

	(void)state;
	assert_true(check_trace(text, length, tracks, &n_tracks) >= 50 * (1 + 2 * 3));
	/* Two jobs, and on both directions of the link B and the lanes of A. */
	assert_int_equal(n_tracks, 2 + 2 * 3);
	for (size_t i = 0; i < n_tracks; i++)
		n_lanes += tracks[i].thread > 2;
	assert_int_equal(n_lanes, 2);
	assert_non_null(strstr(text, "\"args\":{\"jobs\":2}"));
	assert_null(strstr(text, "\"args\":{\"jobs\":3}"));
	free(text);
}

static void
all_links_are_in_the_trace_if_asked_for(void **state)
{
	struct track tracks[MAX_TRACKS];
	size_t length, n_tracks;
	uint64_t n_left_out;
	char *text = make_trace(true, PERFETTO_MAX_BYTES, &length, &n_left_out);

	(void)state;
	check_trace(text, length, tracks, &n_tracks);
	/* In addition, four links of hosts for each job. */
	assert_int_equal(n_tracks, 9 + 3 * 4);
	free(text);
}

static void
a_trace_that_is_cut_is_whole_json_with_a_note(void **state)
{
	struct track tracks[MAX_TRACKS];
	size_t length, n_tracks, n_whole;
	uint64_t n_left_out;
	char *text = make_trace(false, PERFETTO_MAX_BYTES, &length, &n_left_out);

	(void)state;
	n_whole = check_trace(text, length, tracks, &n_tracks);
	free(text);
	text = make_trace(false, 20000, &length, &n_left_out);
	assert_true(length <= 20000);
	assert_true(n_left_out > 0);
	assert_int_equal(check_trace(text, length, tracks, &n_tracks) + n_left_out,
			 n_whole);
	assert_non_null(strstr(text, "cut here: "));
	free(text);
}

static void
the_counter_of_a_link_is_the_number_of_its_slices(void **state)
{
	size_t length, n = 0;
	uint64_t n_left_out;
	char *text = make_trace(false, PERFETTO_MAX_BYTES, &length, &n_left_out);
	int64_t process = 0, last = 0, value = 0, most = 0;
	const struct json *events;
	struct json_doc *doc;
	double last_us = 0;

	(void)state;
	assert_int_equal(json_parse("trace.json", text, length, &doc, NULL), 0);
	assert_int_equal(
		json_get_array(doc, json_root(doc), "traceEvents", &events, &n, NULL),
		0);
	n = 0;
	for (const struct json *e = json_first(events); e; e = json_next(e)) {
		const char *kind;
		double at_us;

		assert_int_equal(json_get_str(doc, e, "ph", &kind, NULL), 0);
		if (strcmp(kind, "C") != 0)
			continue;
		assert_int_equal(json_get_int(doc, e, "pid", 2, 1000, &process, NULL),
				 0);
		assert_int_equal(json_get_num(doc, e, "ts", 0, 1e12, &at_us, NULL), 0);
		if (process != last)
			assert_int_equal(value, 0); /* All have ended. */
		else
			assert_true(at_us > last_us);
		assert_int_equal(json_get_int(doc, json_find(e, "args"), "jobs", 0, 3,
					      &value, NULL),
				 0);
		if (value > most)
			most = value;
		last = process;
		last_us = at_us;
		n++;
	}
	assert_true(n > 100);
	assert_int_equal(most, 3);
	json_doc_free(doc);
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_never_overlap_on_a_track),
		cmocka_unit_test(overlapping_segments_have_a_lane_each),
		cmocka_unit_test(all_links_are_in_the_trace_if_asked_for),
		cmocka_unit_test(the_counter_of_a_link_is_the_number_of_its_slices),
		cmocka_unit_test(a_trace_that_is_cut_is_whole_json_with_a_note),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
