/* SPDX-License-Identifier: Apache-2.0 */
/* test_contention.c - which jobs overlap on which links, and for how long */
#include <errno.h>

#include "scheduler/live/contention.h"
#include "scheduler/live/contention_series.h"
#include "scheduler/live/live.h"
#include "tests/unit/frames.h"
#include "tests/unit/test.h"
#include "topology/route.h"
#include "topology/topo.h"

#define T0 INT64_C(5000000)

/*
 * Two jobs on one link: a sends at 60 % in [0, 40) ms, b at 50 % in [30, 60) ms of each
 * 100 ms.  While they overlap, each gets half.
 */
static const struct frames_square job_a = { 100, 0, 40, 75000 };
static const struct frames_square job_b = { 100, 30, 30, 62500 };

static uint32_t
shared(const void *ctx, int64_t ms)
{
	uint32_t mine = frames_square(ctx, ms);
	uint32_t other = frames_square(ctx == &job_a ? &job_b : &job_a, ms);

	return mine && other ? FRAMES_GBPS / 2 : mine;
}

static uint32_t
total(const void *ctx, int64_t ms)
{
	(void)ctx;
	return shared(&job_a, ms) + shared(&job_b, ms);
}

/* Feeds 'n' frames of 100 ms of one host that runs both jobs on 'interface'. */
static void
feed_both(struct live *live, const char *host, const char *interface, int n)
{
	struct tele_frame frame = { 0 };

	for (int i = 0; i < n; i++) {
		frames_begin(&frame, TELE_RAW, host, T0 + 100 * i, T0 + 100 * (i + 1),
			     0, (uint64_t)i);
		frames_add(&frame, interface, 1e9, "a", TELE_TX, shared, &job_a);
		frames_add(&frame, interface, 1e9, "b", TELE_TX, shared, &job_b);
		frames_add(&frame, interface, 1e9, NULL, TELE_TX, total, NULL);
		live_frame(live, &frame);
	}
	tele_fini(&frame);
}

static const struct contention_link *
find(const struct contention *found, const char *name)
{
	for (size_t i = 0; i < found->n_links; i++)
		if (strcmp(found->links[i].name, name) == 0)
			return &found->links[i];
	return NULL;
}

static void
overlap_is_exact_to_the_millisecond(void **state)
{
	const struct contention_opts opts = { .window_ms = 2000 };
	struct live *live = live_new(NULL);
	struct contention found;
	const struct contention_link *link;

	(void)state;
	feed_both(live, "h0", "e0", 30);
	contention_find(live, &opts, &found);
	assert_int_equal(found.to_ms - found.from_ms, 2000);
	link = find(&found, "h0:e0>");
	assert_non_null(link);
	assert_int_equal(link->known_ms, 2000);
	assert_int_equal(link->n_jobs, 2);
	assert_int_equal(link->n_pairs, 1);
	assert_int_equal(link->pairs[0].overlap_ms, 20 * 10);
	assert_int_equal(link->pairs[0].over_ms, 20 * 10);
	assert_int_equal(link->over_ms, 20 * 10);
	assert_near(contention_over_frac(link), 0.1, 1e-12);
	assert_near(link->peak_bps, 1e9, 1);
	assert_near(link->now_bps, 1e9 * (0.6 * 30 + 1.0 * 10 + 0.5 * 20) / 100, 1);
	assert_int_equal(link->jobs[0].active_ms, 20 * 40);
	assert_int_equal(link->jobs[1].active_ms, 20 * 30);
	assert_near(link->jobs[0].isolated_bps, 0.6e9, 1);
	assert_near(link->jobs[1].isolated_bps, 0.5e9, 1);
	assert_near(link->jobs[0].overlap_bps, 0.5e9, 1);
	assert_near(link->jobs[1].overlap_bps, 0.5e9, 1);
	contention_fini(&found);
	live_free(live);
}

static void
found_in_steps_it_is_what_it_was_at_the_first(void **state)
{
	const struct contention_opts opts = { .window_ms = 2000 };
	struct live *live = live_new(NULL);
	struct contention_finder *finder;
	struct contention whole, found;

	(void)state;
	for (int h = 0; h < 40; h++) {
		char host[16];

		snprintf(host, sizeof host, "h%d", h);
		feed_both(live, host, "e0", 30);
	}
	contention_find(live, &opts, &whole);
	finder = contention_begin(live, &opts);
	for (int i = 30; !contention_step(finder); i++) {
		struct tele_frame frame = { 0 };

		/* New frames arrive in between, also of new hosts. */
		frames_begin(&frame, TELE_RAW, i % 2 ? "new" : "h0", T0 + 100 * i,
			     T0 + 100 * (i + 1), 0, (uint64_t)i);
		frames_add(&frame, "e0", 1e9, i % 2 ? "c" : "a", TELE_TX, shared,
			   &job_a);
		live_frame(live, &frame);
		tele_fini(&frame);
	}
	contention_end(finder, &found);
	assert_int_equal(found.n_links, whole.n_links);
	assert_int_equal(found.to_ms, whole.to_ms);
	for (size_t i = 0; i < found.n_links; i++) {
		const struct contention_link *a = &found.links[i], *b = &whole.links[i];

		assert_string_equal(a->name, b->name);
		assert_int_equal(a->n_jobs, b->n_jobs);
		assert_int_equal(a->over_ms, b->over_ms);
		assert_near(a->mean_bps, b->mean_bps, 1e-6);
	}
	contention_fini(&found);
	contention_fini(&whole);
	/* This search is abandoned. */
	finder = contention_begin(live, &opts);
	contention_step(finder);
	contention_end(finder, NULL);
	contention_end(NULL, NULL);
	live_free(live);
}

static void
overlap_below_the_threshold_is_not_over(void **state)
{
	struct contention_opts opts = { .window_ms = 1000 };
	const struct frames_square low_a = { 100, 0, 50, 50000 };
	const struct frames_square low_b = { 100, 25, 50, 50000 };
	struct live *live = live_new(NULL);
	struct tele_frame frame = { 0 };
	struct contention found;

	(void)state;
	frames_begin(&frame, TELE_RAW, "h0", T0, T0 + 1000, 0, 0);
	frames_add(&frame, "e0", 1e9, "a", TELE_TX, frames_square, &low_a);
	frames_add(&frame, "e0", 1e9, "b", TELE_TX, frames_square, &low_b);
	live_frame(live, &frame);
	contention_find(live, &opts, &found);
	assert_int_equal(found.links[0].over_ms, 0);
	assert_int_equal(found.links[0].pairs[0].overlap_ms, 250);
	assert_int_equal(found.links[0].since_ms, INT64_MIN);
	contention_fini(&found);
	opts.over_frac = 0.8;
	contention_find(live, &opts, &found);
	assert_int_equal(found.links[0].over_ms, 250);
	contention_fini(&found);
	tele_fini(&frame);
	live_free(live);
}

static uint32_t
late(const void *ctx, int64_t ms)
{
	return ms < T0 + 6000 ? 0 : shared(ctx, ms);
}

static void
contention_is_since_its_first_moment(void **state)
{
	const struct contention_opts opts = { .window_ms = 10000 };
	struct live *live = live_new(NULL);
	struct tele_frame frame = { 0 };
	struct contention found;

	(void)state;
	frames_begin(&frame, TELE_RAW, "h0", T0, T0 + 10000, 0, 0);
	frames_add(&frame, "e0", 1e9, "a", TELE_TX, shared, &job_a);
	frames_add(&frame, "e0", 1e9, "b", TELE_TX, late, &job_b);
	live_frame(live, &frame);
	contention_find(live, &opts, &found);
	/* T0 is a multiple of the period: the overlap begins at 30 of each 100 ms. */
	assert_int_equal(found.links[0].since_ms, T0 + 6030);
	assert_false(found.links[0].is_since_older);
	contention_fini(&found);
	tele_fini(&frame);
	live_free(live);
}

static uint32_t
holed(const void *ctx, int64_t ms)
{
	return ms >= T0 + 500 && ms < T0 + 750 ? TELE_GAP : shared(ctx, ms);
}

static void
gaps_are_left_out_and_not_counted_as_silence(void **state)
{
	const struct contention_opts opts = { .window_ms = 1000 };
	struct live *live = live_new(NULL);
	struct tele_frame frame = { 0 };
	struct contention found;

	(void)state;
	frames_begin(&frame, TELE_RAW, "h0", T0, T0 + 1000, 0, 0);
	frames_add(&frame, "e0", 1e9, "a", TELE_TX, holed, &job_a);
	frames_add(&frame, "e0", 1e9, "b", TELE_TX, shared, &job_b);
	live_frame(live, &frame);
	contention_find(live, &opts, &found);
	assert_int_equal(found.links[0].known_ms, 750);
	/* Of ten overlaps, those at 530, 630 and 730 ms are in the gap. */
	assert_int_equal(found.links[0].over_ms, 7 * 10);
	assert_near(found.links[0].jobs[0].overlap_bps, 0.5e9, 1);
	contention_fini(&found);
	tele_fini(&frame);
	live_free(live);
}

/* Two leaves, one spine, two hosts a leaf, 1 Gb/s everywhere. */
static struct topo *
small_fabric(void)
{
	struct topo_builder *b = topo_builder_new("lab");
	uint32_t hosts[4], leaves[2], spine;
	char name[16], port[16];

	for (uint32_t i = 0; i < 4; i++) {
		snprintf(name, sizeof name, "h%u", i);
		assert_int_equal(topo_builder_host(b, name, 1, &hosts[i]), 0);
	}
	assert_int_equal(topo_builder_switch(b, "leaf0", 1, &leaves[0]), 0);
	assert_int_equal(topo_builder_switch(b, "leaf1", 1, &leaves[1]), 0);
	assert_int_equal(topo_builder_switch(b, "spine", 2, &spine), 0);
	for (uint32_t i = 0; i < 4; i++) {
		snprintf(port, sizeof port, "p%u", i % 2);
		topo_builder_cable(b, hosts[i], "e0", leaves[i / 2], port, 1e9, 1e9);
	}
	topo_builder_cable(b, leaves[0], "up", spine, "p0", 1e9, 1e9);
	topo_builder_cable(b, leaves[1], "up", spine, "p1", 1e9, 1e9);
	return topo_builder_finish(b);
}

/* Job a on h0 and h2, job b on h1 and h3: each ring crosses the spine. */
static void
feed_lab(struct live *live)
{
	static const int64_t offsets_ns[] = { 0, 7000000000, -3000000, 86400000000000 };
	struct tele_frame frame = { 0 };

	for (int i = 0; i < 20; i++) {
		for (int h = 0; h < 4; h++) {
			char name[16];
			const char *job = h % 2 ? "b" : "a";
			const void *ctx = h % 2 ? &job_b : &job_a;

			snprintf(name, sizeof name, "h%d", h);
			frames_begin(&frame, TELE_RAW, name, T0 + 100 * i,
				     T0 + 100 * (i + 1), offsets_ns[h], (uint64_t)i);
			frames_add(&frame, "e0", 1e9, job, TELE_TX, shared, ctx);
			frames_add(&frame, "e0", 1e9, job, TELE_RX, shared, ctx);
			live_frame(live, &frame);
		}
	}
	tele_fini(&frame);
}

static void
two_jobs_on_a_link_between_switches_are_told_apart(void **state)
{
	struct topo *topo = small_fabric();
	struct routes *routes = routes_new(topo, 0);
	struct contention_opts opts = { .topo = topo,
					.routes = routes,
					.window_ms = 1000 };
	struct live *live = live_new(NULL);
	struct contention found;
	const struct contention_link *link;

	(void)state;
	feed_lab(live);
	contention_find(live, &opts, &found);
	contention_sort(&found, CONTENTION_BY_CONTENTION);
	assert_int_equal(found.n_links, 12); /* All links of the fabric. */
	assert_int_equal(found.n_unattached, 0);
	assert_string_equal(found.links[0].name, "leaf0:up>spine:p0");
	link = find(&found, "leaf0:up>spine:p0");
	assert_int_equal(link->basis, CONTENTION_COMPUTED);
	assert_int_equal(link->n_jobs, 2);
	assert_int_equal(link->pairs[0].overlap_ms, 10 * 10);
	assert_int_equal(link->over_ms, 10 * 10);
	assert_near(link->jobs[0].isolated_bps, 0.6e9, 1);
	assert_near(link->jobs[1].overlap_bps, 0.5e9, 1);
	/* A link to a host carries one job, and is measured. */
	link = find(&found, "h1:e0>leaf0:p1");
	assert_int_equal(link->basis, CONTENTION_MEASURED);
	assert_int_equal(link->n_jobs, 1);
	assert_int_equal(link->n_pairs, 0);
	assert_near(link->jobs[0].mean_bps, 0.15e9, 1);
	link = find(&found, "leaf0:p1>h1:e0");
	assert_int_equal(link->basis, CONTENTION_MEASURED);
	contention_fini(&found);
	live_free(live);
	routes_free(routes);
	topo_unref(topo);
}

static uint32_t
louder(const void *ctx, int64_t ms)
{
	(void)ctx;
	(void)ms;
	return 100000;
}

static void
what_a_switch_says_of_its_port_is_the_total(void **state)
{
	struct topo *topo = small_fabric();
	struct routes *routes = routes_new(topo, 0);
	struct contention_opts opts = { .topo = topo,
					.routes = routes,
					.window_ms = 1000 };
	struct live *live = live_new(NULL);
	struct tele_frame frame = { 0 };
	struct contention found;
	const struct contention_link *link;

	(void)state;
	feed_lab(live);
	frames_begin(&frame, TELE_RAW, "leaf0", T0, T0 + 2000, 0, 0);
	frame.flags = TELE_IMPORTED;
	frames_add(&frame, "up", 1e9, NULL, TELE_TX, louder, NULL);
	live_frame(live, &frame);
	contention_find(live, &opts, &found);
	link = find(&found, "leaf0:up>spine:p0");
	assert_int_equal(link->basis, CONTENTION_MEASURED);
	assert_int_equal(link->n_jobs, 2);
	assert_near(link->mean_bps, 0.8e9, 1);
	assert_near(link->other_bps, 0.8e9 - 1e9 * (18 + 10 + 10) / 100, 1);
	contention_fini(&found);
	tele_fini(&frame);
	live_free(live);
	routes_free(routes);
	topo_unref(topo);
}

static void
summaries_alone_say_nothing_of_overlap(void **state)
{
	const struct contention_opts opts = { .window_ms = 1000 };
	struct live *live = live_new(NULL);
	struct tele_frame frame = { 0 };
	struct contention found;
	uint32_t e0;

	(void)state;
	frames_begin(&frame, TELE_SUMMARY, "h0", T0, T0 + 1000, 0, 0);
	e0 = tele_add_interface(&frame, "e0");
	frame.interfaces.items[e0].capacity_bps = 1e9;
	vec_push(&frame.traffic, ((struct tele_traffic){ .interface = e0,
							 .job = TELE_LINK,
							 .window_bytes = 62500000,
							 .peak_bytes = 100000 }));
	live_frame(live, &frame);
	contention_find(live, &opts, &found);
	assert_int_equal(found.n_links, 1);
	assert_int_equal(found.links[0].basis, CONTENTION_SUMMARY);
	assert_null(found.links[0].history_bps);
	assert_near(found.links[0].now_bps, 0.5e9, 1);
	assert_near(found.links[0].peak_bps, 0.8e9, 1);
	assert_near(contention_over_frac(&found.links[0]), -1, 0);
	contention_fini(&found);
	tele_fini(&frame);
	live_free(live);
}

static void
feed_summary(struct live *live, const char *host, int second, uint64_t window_bytes)
{
	struct tele_frame frame = { 0 };
	uint32_t e0;

	frames_begin(&frame, TELE_SUMMARY, host, T0 + 1000 * second,
		     T0 + 1000 * (second + 1), 0, (uint64_t)second);
	e0 = tele_add_interface(&frame, "e0");
	frame.interfaces.items[e0].capacity_bps = 1e9;
	if (window_bytes)
		vec_push(&frame.traffic,
			 ((struct tele_traffic){ .interface = e0,
						 .job = TELE_LINK,
						 .total_ce = 7,
						 .total_retransmits = 3,
						 .queue_bytes = 250000,
						 .window_bytes = window_bytes,
						 .peak_bytes = 100000 }));
	live_frame(live, &frame);
	tele_fini(&frame);
}

static void
of_a_silent_host_nothing_is_known_and_no_zero_is_told(void **state)
{
	const struct contention_opts opts = { .window_ms = 1000 };
	struct live *live = live_new(NULL);
	struct tele_frame frame = { 0 };
	struct contention found;

	(void)state;
	/* Both hosts send for a second; h1 then stops, h0 continues for 2.5 s. */
	for (int h = 0; h < 2; h++)
		feed_summary(live, h ? "h1" : "h0", 0, 62500000);
	feed_both(live, "h1", "e0", 10);
	feed_both(live, "h0", "e0", 35);
	contention_find(live, &opts, &found);
	/* In h0's last second h1 is silent, but not long enough to be left out. */
	assert_true(find(&found, "h0:e0>")->now_bps > 0);
	assert_true(find(&found, "h0:e0>")->has_counts);
	assert_int_equal(find(&found, "h0:e0>")->total_ce, 7);
	assert_int_equal(find(&found, "h0:e0>")->total_retransmits, 3);
	assert_int_equal(find(&found, "h0:e0>")->queue_bytes, 250000);
	contention_fini(&found);
	for (int i = 35; i < 50; i++) {
		frames_begin(&frame, TELE_RAW, "h0", T0 + 100 * i, T0 + 100 * (i + 1),
			     0, (uint64_t)i);
		frames_add(&frame, "e0", 1e9, "a", TELE_TX, shared, &job_a);
		live_frame(live, &frame);
	}
	contention_find(live, &opts, &found);
	assert_int_equal(find(&found, "h1:e0>")->known_ms, 0);
	assert_near(find(&found, "h1:e0>")->now_bps, -1, 0);
	assert_near(find(&found, "h1:e0>")->peak_bps, -1, 0);
	assert_near(contention_now_frac(find(&found, "h1:e0>")), -1, 0);
	assert_int_equal(find(&found, "h1:e0>")->n_jobs, 0);
	contention_fini(&found);

	/* A longer window has data, but none in its last second. */
	contention_find(live, &(const struct contention_opts){ .window_ms = 5000 },
			&found);
	assert_int_equal(find(&found, "h1:e0>")->known_ms, 1000);
	assert_near(find(&found, "h1:e0>")->peak_bps, 1e9, 1);
	assert_near(find(&found, "h1:e0>")->now_bps, -1, 0);
	assert_near(find(&found, "h1:e0>")->jobs[0].now_bps, -1, 0);
	assert_false(find(&found, "h1:e0>")->has_counts);
	contention_fini(&found);
	tele_fini(&frame);
	live_free(live);
}

static void
a_summary_without_a_row_is_one_of_no_traffic(void **state)
{
	struct live *live = live_new(NULL);
	struct contention found;

	(void)state;
	feed_summary(live, "h0", 0, 62500000);
	feed_summary(live, "h0", 1, 0);
	contention_find(live, &(const struct contention_opts){ 0 }, &found);
	assert_near(found.links[0].now_bps, 0, 0);
	assert_near(found.links[0].peak_bps, 0, 0);
	contention_fini(&found);
	live_free(live);
}

static void
feed_job_summary(struct live *live, const char *host, const char *job, int second)
{
	struct tele_frame frame = { 0 };
	uint32_t e0, id;

	frames_begin(&frame, TELE_SUMMARY, host, T0 + 1000 * second,
		     T0 + 1000 * (second + 1), 0, (uint64_t)second);
	e0 = tele_add_interface(&frame, "e0");
	id = tele_add_job(&frame, job);
	for (uint8_t direction = TELE_TX; direction <= TELE_RX; direction++)
		vec_push(&frame.traffic,
			 ((struct tele_traffic){ .interface = e0,
						 .job = id,
						 .direction = direction,
						 .window_bytes = 25000000,
						 .peak_bytes = 100000 }));
	live_frame(live, &frame);
	tele_fini(&frame);
}

static void
of_a_link_that_silent_hosts_share_no_part_is_told_as_the_whole(void **state)
{
	struct topo *topo = small_fabric();
	struct routes *routes = routes_new(topo, 0);
	struct contention_opts opts = { .topo = topo, .routes = routes };
	struct live *live = live_new(NULL);
	struct contention found;
	const struct contention_link *link;

	(void)state;
	for (int h = 0; h < 4; h++)
		feed_job_summary(live, (const char *[]){ "h0", "h1", "h2", "h3" }[h],
				 h % 2 ? "b" : "a", 0);
	contention_find(live, &opts, &found);
	link = find(&found, "leaf0:up>spine:p0");
	assert_int_equal(link->basis, CONTENTION_SUMMARY);
	assert_near(link->now_bps, 0.4e9, 1);
	assert_int_equal(link->n_jobs, 2);
	contention_fini(&found);
	/* h1, which runs b, is silent from now on. */
	for (int s = 1; s < 8; s++)
		for (int h = 0; h < 4; h++)
			if (h != 1)
				feed_job_summary(
					live,
					(const char *[]){ "h0", "h1", "h2", "h3" }[h],
					h % 2 ? "b" : "a", s);
	contention_find(live, &opts, &found);
	link = find(&found, "leaf0:up>spine:p0");
	assert_near(link->now_bps, -1, 0);
	assert_near(find(&found, "h1:e0>leaf0:p1")->now_bps, -1, 0);
	assert_near(find(&found, "h0:e0>leaf0:p0")->now_bps, 0.2e9, 1);
	contention_fini(&found);
	live_free(live);
	routes_free(routes);
	topo_unref(topo);
}

/* The series of a link are those that were fed, and as new as the last frame. */
static void
the_series_of_a_link_are_what_its_jobs_sent(void **state)
{
	const struct contention_opts opts = { .window_ms = 2000, .keeps_parts = true };
	static const struct frames_square *const jobs[] = { &job_a, &job_b };
	struct live *live = live_new(NULL);
	struct contention_series series;
	struct contention found;
	const struct contention_link *link;

	(void)state;
	feed_both(live, "h0", "e0", 30);
	contention_find(live, &opts, &found);
	link = find(&found, "h0:e0>");
	assert_int_equal(contention_series_make(live, &found, link, 250, 750, &series),
			 0);
	assert_int_equal(series.step_ms, 1);
	assert_int_equal(series.n, 250);
	assert_int_equal(series.from_ms + 250, found.to_ms);
	assert_int_equal(series.n_jobs, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(live_job_name(live, series.jobs[i]), i ? "b" : "a");
		for (size_t t = 0; t < series.n; t++)
			assert_near(series.job_bps[i * series.n + t],
				    8e3 * shared(jobs[i], series.from_ms + (int64_t)t),
				    100);
	}
	for (size_t t = 0; t < series.n; t++)
		assert_near(series.bps[t],
			    8e3 * total(NULL, series.from_ms + (int64_t)t), 100);
	contention_series_fini(&series);
	/* Too many values: the steps are longer, and end at the same time. */
	assert_int_equal(contention_series_make(live, &found, link, 250, 749, &series),
			 0);
	assert_int_equal(series.step_ms, 2);
	assert_int_equal(series.n, 125);
	assert_near(
		series.bps[0],
		4e3 * (total(NULL, series.from_ms) + total(NULL, series.from_ms + 1)),
		100);
	contention_series_fini(&series);
	/* No longer than what is kept. */
	assert_int_equal(
		contention_series_make(live, &found, link, 99999, 99999, &series), 0);
	assert_int_equal(series.n * series.step_ms, live_span_ms(live));
	contention_series_fini(&series);
	contention_drop_parts(&found);
	assert_int_equal(contention_series_make(live, &found, link, 250, 750, &series),
			 -ESTALE);
	contention_fini(&found);
	live_free(live);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(overlap_is_exact_to_the_millisecond),
		cmocka_unit_test(the_series_of_a_link_are_what_its_jobs_sent),
		cmocka_unit_test(overlap_below_the_threshold_is_not_over),
		cmocka_unit_test(found_in_steps_it_is_what_it_was_at_the_first),
		cmocka_unit_test(contention_is_since_its_first_moment),
		cmocka_unit_test(gaps_are_left_out_and_not_counted_as_silence),
		cmocka_unit_test(two_jobs_on_a_link_between_switches_are_told_apart),
		cmocka_unit_test(what_a_switch_says_of_its_port_is_the_total),
		cmocka_unit_test(summaries_alone_say_nothing_of_overlap),
		cmocka_unit_test(of_a_silent_host_nothing_is_known_and_no_zero_is_told),
		cmocka_unit_test(a_summary_without_a_row_is_one_of_no_traffic),
		cmocka_unit_test(
			of_a_link_that_silent_hosts_share_no_part_is_told_as_the_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
