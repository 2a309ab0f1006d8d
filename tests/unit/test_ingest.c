/* SPDX-License-Identifier: Apache-2.0 */
/* test_ingest.c - from sources to frames: ingest, binner and publisher */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/series/binner.h"
#include "collector/series/ingest.h"
#include "collector/series/publish.h"
#include "collector/series/saved_totals.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "tests/unit/test.h"

#define MS     INT64_C(1000000)
#define SECOND INT64_C(1000000000)

struct lab {
	struct binner *binner;
	struct ingest *ingest;
	struct publisher *publisher;
	bool is_raw_wanted;
	/* The published frames, decoded. */
	struct tele_frame frames[64];
	size_t n;
};

static void
take(void *ctx, const struct tele_frame *frame, const struct tele_buffer *bytes)
{
	struct lab *lab = ctx;
	struct err err = { 0 };

	(void)frame;
	assert_true(lab->n < 64);
	assert_int_equal(
		tele_decode(bytes->bytes, bytes->n, &lab->frames[lab->n], &err), 0);
	lab->n++;
}

static bool
is_wanted(void *ctx, uint8_t kind)
{
	const struct lab *lab = ctx;

	return kind != TELE_RAW || lab->is_raw_wanted;
}

static struct lab *
new_lab(bool is_file)
{
	struct lab *lab = calloc(1, sizeof *lab);
	struct publish_options options = {
		.host = "n1",
		.boot_id = { 1, 2 },
		.start_id = 77,
		.flags = is_file ? TELE_IMPORTED : 0,
		.is_file = is_file,
		.raw_ms = 250,
		.is_wanted = is_wanted,
		.send = take,
		.ctx = lab,
	};

	lab->binner = binner_new();
	lab->ingest = ingest_new(lab->binner);
	lab->publisher = publisher_new(&options, lab->binner, lab->ingest);
	return lab;
}

static void
free_lab(struct lab *lab)
{
	for (size_t i = 0; i < 64; i++)
		tele_fini(&lab->frames[i]);
	publisher_free(lab->publisher);
	ingest_free(lab->ingest);
	binner_free(lab->binner);
	free(lab);
}

static uint32_t
names(struct lab *lab, size_t source, const char *name)
{
	struct tele_interface interface = { .capacity_bps = 1e9, .is_up = true };
	const struct source_sink *sink = ingest_sink(lab->ingest, source);

	tele_set_name(interface.name, name);
	return sink->interface(sink->ctx, &interface);
}

/* Reports 'bytes' in each ms of [from, to), and that the interval is complete. */
static void
sends(struct lab *lab, size_t source, uint32_t interface, uint32_t job, int64_t from_ms,
      int64_t to_ms, uint32_t bytes)
{
	const struct source_sink *sink = ingest_sink(lab->ingest, source);
	struct source_key key = { .interface = interface,
				  .job = job,
				  .direction = TELE_TX,
				  .measure = TELE_WIRE };

	for (int64_t ms = from_ms; ms < to_ms; ms++) {
		struct source_extra extra = { .packets = 2 };

		sink->bins(sink->ctx, &key, ms, &bytes, 1, &extra);
	}
	sink->complete(sink->ctx, interface, to_ms);
}

static const struct tele_traffic *
row_of(const struct tele_frame *frame, const char *interface, const char *job)
{
	for (size_t i = 0; i < frame->traffic.n; i++) {
		const struct tele_traffic *row = &frame->traffic.items[i];

		if (strcmp(frame->interfaces.items[row->interface].name, interface) ==
			    0 &&
		    strcmp(tele_job_name(frame, row->job), job) == 0)
			return row;
	}
	return NULL;
}

static const struct publish_state quiet = { .clock_error_ns = -1 };

static void
each_second_has_its_summary_and_names(void **state)
{
	struct lab *lab = new_lab(false);
	const struct source_sink *sink = ingest_sink(lab->ingest, 0);
	uint32_t eth0 = names(lab, 0, "eth0"), job = sink->job(sink->ctx, "4711");
	const struct tele_traffic *row;

	(void)state;
	publisher_run(lab->publisher, 5000, &quiet);
	sends(lab, 0, eth0, TELE_LINK, 5000, 7300, 1000);
	sends(lab, 0, eth0, job, 5000, 7300, 600);
	publisher_run(lab->publisher, ingest_complete_ms(lab->ingest, 0), &quiet);
	assert_int_equal(lab->n, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct tele_frame *frame = &lab->frames[i];

		assert_int_equal(frame->kind, TELE_SUMMARY);
		assert_string_equal(frame->host, "n1");
		assert_int_equal(frame->start_id, 77);
		assert_int_equal(frame->sequence, i);
		assert_int_equal(frame->time_ns, (int64_t)(6 + i) * SECOND);
		assert_int_equal(frame->window_ns, SECOND);
		row = row_of(frame, "eth0", "(all)");
		assert_int_equal(row->window_bytes, 1000000);
		assert_int_equal(row->peak_bytes, 1000);
		assert_int_equal(row->gap_bins, 0);
		row = row_of(frame, "eth0", "4711");
		assert_int_equal(row->window_bytes, 600000);
	}
	free_lab(lab);
}

static void
series_are_made_only_while_somebody_wants_them(void **state)
{
	struct lab *lab = new_lab(false);
	uint32_t eth0 = names(lab, 0, "eth0");
	size_t n_raw = 0;

	(void)state;
	publisher_run(lab->publisher, 1000, &quiet);
	sends(lab, 0, eth0, TELE_LINK, 1000, 2000, 9);
	publisher_run(lab->publisher, 2000, &quiet);
	assert_int_equal(lab->n, 1);
	lab->is_raw_wanted = true;
	sends(lab, 0, eth0, TELE_LINK, 2000, 3000, 9);
	publisher_run(lab->publisher, 3000, &quiet);
	for (size_t i = 1; i < lab->n; i++) {
		const struct tele_frame *frame = &lab->frames[i];

		if (frame->kind != TELE_RAW)
			continue;
		assert_int_equal(frame->sequence, n_raw);
		assert_int_equal(frame->series.n, 1);
		assert_int_equal(frame->series.items[0].start_ms, 2000 + 250 * n_raw);
		assert_int_equal(frame->series.items[0].n_bins, 250);
		n_raw++;
	}
	assert_int_equal(n_raw, 4);
	assert_int_equal(lab->frames[lab->n - 1].kind, TELE_SUMMARY);
	free_lab(lab);
}

static void
an_interface_belongs_to_the_source_that_named_it_first(void **state)
{
	struct lab *lab = new_lab(false);
	uint32_t eth0 = names(lab, 0, "eth0");
	const struct source_sink *first = ingest_sink(lab->ingest, 0);

	(void)state;
	assert_int_equal(names(lab, 1, "eth0"), eth0);
	publisher_run(lab->publisher, 1000, &quiet);
	sends(lab, 1, eth0, TELE_LINK, 1000, 2000, 5);
	sends(lab, 0, eth0, TELE_LINK, 1000, 2000, 7);
	publisher_run(lab->publisher, 2000, &quiet);
	assert_int_equal(row_of(&lab->frames[0], "eth0", "(all)")->window_bytes, 7000);
	assert_true(ingest_counts(lab->ingest)->doubled >= 1000);
	/* When the first source lets go of an interface, the second one takes over. */
	first->gone(first->ctx, eth0);
	assert_int_equal(names(lab, 1, "eth0"), eth0);
	sends(lab, 1, eth0, TELE_LINK, 2000, 3000, 5);
	publisher_run(lab->publisher, 3000, &quiet);
	assert_int_equal(row_of(&lab->frames[1], "eth0", "(all)")->window_bytes, 5000);
	free_lab(lab);
}

static void
an_interface_that_is_gone_and_back_goes_on_counting(void **state)
{
	struct lab *lab = new_lab(false);
	const struct source_sink *sink = ingest_sink(lab->ingest, 0);
	uint32_t eth0 = names(lab, 0, "eth0"), eth1 = names(lab, 0, "eth1");
	const struct tele_traffic *row;

	(void)state;
	publisher_run(lab->publisher, 1000, &quiet);
	sends(lab, 0, eth0, TELE_LINK, 1000, 2000, 7);
	sends(lab, 0, eth1, TELE_LINK, 1000, 2000, 1);
	publisher_run(lab->publisher, ingest_complete_ms(lab->ingest, 0), &quiet);
	assert_int_equal(lab->n, 1);
	sink->gone(sink->ctx, eth0);
	assert_false(ingest_interface(lab->ingest, eth0)->is_present);
	/* It does not delay the other source. */
	sends(lab, 0, eth1, TELE_LINK, 2000, 4000, 1);
	publisher_run(lab->publisher, ingest_complete_ms(lab->ingest, 0), &quiet);
	assert_int_equal(lab->n, 3);
	assert_int_equal(names(lab, 0, "eth0"), eth0);
	assert_true(ingest_interface(lab->ingest, eth0)->is_present);
	sends(lab, 0, eth0, TELE_LINK, 4500, 5000, 7);
	sends(lab, 0, eth1, TELE_LINK, 4000, 5000, 1);
	publisher_run(lab->publisher, ingest_complete_ms(lab->ingest, 0), &quiet);
	assert_int_equal(lab->n, 4);
	row = row_of(&lab->frames[3], "eth0", "(all)");
	assert_int_equal(row->total_bytes, 7000 + 3500);
	assert_int_equal(row->window_bytes, 3500);
	assert_int_equal(ingest_counts(lab->ingest)->gone, 1);
	assert_int_equal(ingest_counts(lab->ingest)->back, 1);
	free_lab(lab);
}

/* As after SIGKILL: a new process in the same boot. */
static void
totals_go_on_in_the_next_process(void **state)
{
	static const uint8_t boot[16] = { 1 };
	struct lab *lab = new_lab(false);
	const struct source_sink *sink = ingest_sink(lab->ingest, 0);
	const struct saved_totals_row *rows;
	const struct tele_traffic *row;
	struct saved_totals *totals;
	struct err err = { 0 };
	uint32_t eth0 = names(lab, 0, "eth0"), job;
	char file[64];
	size_t n;

	(void)state;
	snprintf(file, sizeof file, "/tmp/ap-ingest-%d", (int)getpid());
	unlink(file);
	assert_int_equal(saved_totals_open(file, boot, &totals, &err), 0);
	sends(lab, 0, eth0, TELE_LINK, 1000, 1100, 10);
	sends(lab, 0, eth0, sink->job(sink->ctx, "j1"), 1000, 1100, 4);
	sends(lab, 0, names(lab, 0, "eth9"), TELE_LINK, 1000, 1100, 1);
	assert_int_equal(ingest_save(lab->ingest, totals), 0);
	saved_totals_close(totals);
	free_lab(lab);

	lab = new_lab(false);
	sink = ingest_sink(lab->ingest, 0);
	assert_int_equal(saved_totals_open(file, boot, &totals, &err), 0);
	rows = saved_totals_found(totals, &n);
	assert_int_equal(n, 3);
	ingest_resume(lab->ingest, rows, n);
	eth0 = names(lab, 0, "eth0");
	publisher_run(lab->publisher, 2000, &quiet);
	sends(lab, 0, eth0, TELE_LINK, 2000, 3000, 10);
	job = sink->job(sink->ctx, "j1");
	sends(lab, 0, eth0, job, 2000, 3000, 4);
	publisher_run(lab->publisher, 3000, &quiet);
	row = row_of(&lab->frames[0], "eth0", "(all)");
	assert_int_equal(row->total_bytes, 11000);
	assert_int_equal(row->total_packets, 2200);
	assert_int_equal(row->window_bytes, 10000);
	assert_int_equal(row_of(&lab->frames[0], "eth0", "j1")->total_bytes, 4400);
	assert_int_equal(ingest_counts(lab->ingest)->resumed, 2);

	/* The third process saw eth9, this one did not. */
	assert_int_equal(ingest_save(lab->ingest, totals), 0);
	saved_totals_close(totals);
	assert_int_equal(saved_totals_open(file, boot, &totals, &err), 0);
	rows = saved_totals_found(totals, &n);
	assert_int_equal(n, 3);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(rows[i].interface, "eth9") == 0)
			assert_int_equal(rows[i].bytes, 100);
	}
	saved_totals_close(totals);
	unlink(file);
	free_lab(lab);
}

static void
a_step_of_the_clock_is_said_once_in_each_kind_of_frame(void **state)
{
	struct lab *lab = new_lab(false);
	struct publish_state stepped = { .is_stepped = true,
					 .wall_offset_ns = 5 * SECOND,
					 .clock_error_ns = 1000 };
	struct publish_state after = stepped;
	uint32_t eth0 = names(lab, 0, "eth0");

	(void)state;
	after.is_stepped = false;
	lab->is_raw_wanted = true;
	publisher_run(lab->publisher, 1000, &quiet);
	sends(lab, 0, eth0, TELE_LINK, 1000, 3000, 1);
	publisher_run(lab->publisher, 1100, &stepped);
	publisher_run(lab->publisher, 3000, &after);
	assert_int_equal(lab->n, 10);
	for (size_t i = 0; i < lab->n; i++) {
		const struct tele_frame *frame = &lab->frames[i];
		bool is_first = frame->sequence == 0;

		assert_int_equal(frame->flags, is_first ? TELE_CLOCK_STEPPED : 0);
		assert_int_equal(frame->wall_offset_ns, 5 * SECOND);
		assert_int_equal(frame->clock_error_ns, 1000);
	}
	free_lab(lab);
}

static void
who_comes_late_gets_all_windows_and_much_too_late_says_so(void **state)
{
	struct lab *lab = new_lab(false);
	uint32_t eth0 = names(lab, 0, "eth0");

	(void)state;
	publisher_run(lab->publisher, 1000, &quiet);
	sends(lab, 0, eth0, TELE_LINK, 1000, 5000, 1);
	publisher_run(lab->publisher, 5000, &quiet);
	assert_int_equal(lab->n, 4);
	assert_int_equal(publisher_counts(lab->publisher)->skipped_ms, 0);
	sends(lab, 0, eth0, TELE_LINK, 19000, 20500, 1);
	log_set_level(LOG_LEVEL_ERR);
	publisher_run(lab->publisher, 20500, &quiet);
	log_set_level(LOG_LEVEL_ERR);
	assert_int_equal(lab->n, 4);
	assert_true(publisher_counts(lab->publisher)->skipped_ms >= 15000);
	sends(lab, 0, eth0, TELE_LINK, 20500, 21000, 1);
	publisher_run(lab->publisher, 21000, &quiet);
	assert_int_equal(lab->n, 5);
	assert_int_equal(lab->frames[4].time_ns, 21 * SECOND);
	assert_int_equal(lab->frames[4].sequence, 4);
	free_lab(lab);
}

static void
the_rest_is_published_at_the_end(void **state)
{
	struct lab *lab = new_lab(true);
	uint32_t eth0 = names(lab, 0, "eth0");

	(void)state;
	/* In a file, the part before the first whole second counts, too. */
	sends(lab, 0, eth0, TELE_LINK, 1300, 1700, 2);
	publisher_flush(lab->publisher, 1700, &quiet);
	assert_int_equal(lab->n, 1);
	assert_int_equal(lab->frames[0].flags, TELE_IMPORTED);
	assert_int_equal(lab->frames[0].time_ns, 1700 * MS);
	assert_int_equal(row_of(&lab->frames[0], "eth0", "(all)")->window_bytes, 800);
	free_lab(lab);
}

/* More names than a frame can hold: the rest is counted. */
static void
ten_thousand_jobs_fill_a_frame_and_are_counted(void **state)
{
	struct lab *lab = new_lab(false);
	const struct source_sink *sink = ingest_sink(lab->ingest, 0);
	uint32_t eth0 = names(lab, 0, "eth0");
	char name[16];

	(void)state;
	publisher_run(lab->publisher, 1000, &quiet);
	for (int i = 0; i < 10000; i++) {
		snprintf(name, sizeof name, "j%d", i);
		sends(lab, 0, eth0, sink->job(sink->ctx, name), 1500, 1501, 10);
	}
	sends(lab, 0, eth0, TELE_LINK, 1500, 1501, 100000);
	publisher_run(lab->publisher, 2000, &quiet);
	assert_int_equal(lab->n, 1);
	assert_int_equal(lab->frames[0].jobs.n, TELE_MAX_JOBS);
	assert_int_equal(lab->frames[0].traffic.n, TELE_MAX_JOBS + 1);
	assert_int_equal(publisher_counts(lab->publisher)->unnamed_rows,
			 10000 - TELE_MAX_JOBS);
	free_lab(lab);
}

static void
too_many_interfaces_are_refused_not_counted_wrongly(void **state)
{
	struct lab *lab = new_lab(false);
	char name[16];

	(void)state;
	log_set_level(LOG_LEVEL_ERR);
	for (int i = 0; i < TELE_MAX_INTERFACES + 5; i++) {
		snprintf(name, sizeof name, "v%d", i);
		sends(lab, 0, names(lab, 0, name), TELE_LINK, 1000, 1001, 1);
	}
	log_set_level(LOG_LEVEL_ERR);
	assert_int_equal(ingest_n_interfaces(lab->ingest), TELE_MAX_INTERFACES);
	assert_int_equal(ingest_counts(lab->ingest)->refused_interfaces, 5);
	free_lab(lab);
}

static void
one_that_says_nothing_holds_others_up_only_so_long(void **state)
{
	struct lab *lab = new_lab(false);
	uint32_t eth0 = names(lab, 0, "eth0");

	(void)state;
	names(lab, 1, "eth1");
	sends(lab, 0, eth0, TELE_LINK, 1000, 3000, 1);
	assert_int_equal(ingest_complete_ms(lab->ingest, 2000), 2000);
	sends(lab, 1, 1, TELE_LINK, 1000, 2500, 1);
	assert_int_equal(ingest_complete_ms(lab->ingest, 2000), 2500);
	free_lab(lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_second_has_its_summary_and_names),
		cmocka_unit_test(series_are_made_only_while_somebody_wants_them),
		cmocka_unit_test(
			an_interface_belongs_to_the_source_that_named_it_first),
		cmocka_unit_test(an_interface_that_is_gone_and_back_goes_on_counting),
		cmocka_unit_test(totals_go_on_in_the_next_process),
		cmocka_unit_test(
			a_step_of_the_clock_is_said_once_in_each_kind_of_frame),
		cmocka_unit_test(
			who_comes_late_gets_all_windows_and_much_too_late_says_so),
		cmocka_unit_test(the_rest_is_published_at_the_end),
		cmocka_unit_test(ten_thousand_jobs_fill_a_frame_and_are_counted),
		cmocka_unit_test(too_many_interfaces_are_refused_not_counted_wrongly),
		cmocka_unit_test(one_that_says_nothing_holds_others_up_only_so_long),
	};

	return cmocka_run_group_tests_name("ingest", tests, NULL, NULL);
}
