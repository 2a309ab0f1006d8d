/* SPDX-License-Identifier: Apache-2.0 */
/* tele_fixture.h - random frames, and the comparison of two frames */
#ifndef TESTS_UNIT_TELE_FIXTURE_H
#define TESTS_UNIT_TELE_FIXTURE_H

#include <stdio.h>
#include <string.h>

#include "lib/base/rng.h"
#include "lib/wire/tele.h"
#include "tests/unit/test.h"

/* A number of any magnitude. */
static inline uint64_t
random_magnitude(struct rng *rng)
{
	return rng_next(rng) >> rng_below(rng, 64);
}

static inline uint32_t
random_job(struct rng *rng, const struct tele_frame *frame)
{
	uint64_t job = rng_below(rng, frame->jobs.n + 2);

	if (job == 0)
		return TELE_LINK;
	return job == 1 ? TELE_OTHER : (uint32_t)job - 2;
}

/* Alternate stretches of zeros, gaps and values. */
static inline void
random_series(struct rng *rng, struct tele_frame *frame)
{
	uint32_t bins[300], n = (uint32_t)rng_below(rng, 300);

	for (uint32_t i = 0; i < n;) {
		uint64_t kind = rng_below(rng, 3), run = rng_below(rng, 60) + 1;

		for (; run && i < n; run--) {
			uint32_t value = (uint32_t)random_magnitude(rng);

			bins[i++] = kind == 0 ? 0 : kind == 1 ? TELE_GAP : value;
		}
	}
	tele_add_series(frame, (uint32_t)rng_below(rng, frame->interfaces.n),
			random_job(rng, frame), rng_next(rng) & 1, rng_next(rng) & 1,
			(int64_t)(rng_next(rng) >> 24), bins, n);
}

static inline void
random_traffic(struct rng *rng, struct tele_frame *frame)
{
	struct tele_traffic row = {
		.interface = (uint32_t)rng_below(rng, frame->interfaces.n),
		.job = random_job(rng, frame),
		.direction = rng_next(rng) & 1,
		.measure = rng_next(rng) & 1,
		.total_bytes = random_magnitude(rng),
		.total_packets = random_magnitude(rng),
		.total_ce = random_magnitude(rng),
		.total_retransmits = random_magnitude(rng),
		.window_bytes = random_magnitude(rng),
		.peak_bytes = (uint32_t)random_magnitude(rng),
		.busy_bins = (uint32_t)rng_below(rng, 1001),
		.gap_bins = (uint32_t)rng_below(rng, 1001),
		.flows = (uint32_t)random_magnitude(rng),
		.queue_bytes = (uint32_t)random_magnitude(rng),
	};

	vec_push(&frame->traffic, row);
}

static inline void
random_event(struct rng *rng, struct tele_frame *frame)
{
	int64_t begin_ns = (int64_t)(rng_next(rng) >> 3);
	struct tele_event event = {
		.job = random_job(rng, frame),
		.source = (uint8_t)rng_below(rng, 3),
		.is_launch = rng_next(rng) & 1,
		.pid = (uint32_t)random_magnitude(rng),
		.begin_ns = begin_ns,
		.end_ns = begin_ns + (int64_t)(rng_next(rng) >> 3),
		.bytes = random_magnitude(rng),
	};

	vec_push(&frame->events, event);
}

static inline void
random_iteration(struct rng *rng, struct tele_frame *frame)
{
	int64_t enter_ns = (int64_t)(rng_next(rng) >> 3);
	struct tele_iteration row = {
		.job = random_job(rng, frame),
		.source = (uint8_t)rng_below(rng, 3),
		.is_claimed = rng_next(rng) & 1,
		.is_observing = rng_next(rng) & 1,
		.is_over = rng_next(rng) & 1,
		.pid = (uint32_t)random_magnitude(rng),
		.rank = (uint32_t)random_magnitude(rng),
		.number = random_magnitude(rng),
		.enter_ns = enter_ns,
		.begin_ns = enter_ns + (int64_t)(rng_next(rng) >> 3),
		.comm_ns = (int64_t)(rng_next(rng) >> 3),
		.bytes = random_magnitude(rng),
		.n_collectives = (uint32_t)random_magnitude(rng),
		.gap_us = (uint32_t)random_magnitude(rng),
		.order = (uint32_t)random_magnitude(rng),
		.lost = (uint32_t)random_magnitude(rng),
	};

	vec_push(&frame->iterations, row);
}

static inline void
random_sender(struct rng *rng, struct tele_frame *frame)
{
	frame->kind = (uint8_t)(rng_below(rng, TELE_LAST_KIND) + 1);
	frame->flags = (uint32_t)random_magnitude(rng);
	snprintf(frame->host, sizeof frame->host, "n%d", (int)rng_below(rng, 10000));
	for (size_t i = 0; i < sizeof frame->boot_id; i++)
		frame->boot_id[i] = (uint8_t)rng_next(rng);
	frame->start_id = rng_next(rng);
	frame->sequence = random_magnitude(rng);
	frame->time_ns = (int64_t)(rng_next(rng) >> 2);
	frame->window_ns = (int64_t)(rng_next(rng) >> 2);
	frame->wall_offset_ns =
		(int64_t)(rng_next(rng) >> 2) - (int64_t)(rng_next(rng) >> 2);
	frame->clock_error_ns = (int64_t)rng_below(rng, 1000) - 1;
	frame->lost_records = random_magnitude(rng);
	frame->unplaced_jobs = random_magnitude(rng);
}

/* Any contents that a frame may have, regardless of its kind. */
static inline void
random_frame(struct rng *rng, struct tele_frame *frame)
{
	size_t n;

	tele_clear(frame);
	random_sender(rng, frame);
	n = rng_below(rng, 4);
	for (size_t i = 0; i < n; i++) {
		char name[32];
		uint32_t interface;

		snprintf(name, sizeof name, "mlx5_%zu/\xc3\xa9", i);
		interface = tele_add_interface(frame, name);
		frame->interfaces.items[interface].capacity_bps =
			1e9 * (double)rng_below(rng, 400);
		frame->interfaces.items[interface].is_up = rng_next(rng) & 1;
		frame->interfaces.items[interface].is_rdma = rng_next(rng) & 1;
	}
	for (size_t i = rng_below(rng, 4); i; i--) {
		char name[32];

		snprintf(name, sizeof name, "%d", (int)rng_below(rng, 100000));
		tele_add_job(frame, name);
	}
	for (size_t i = rng_below(rng, 5); i && frame->interfaces.n; i--)
		random_traffic(rng, frame);
	for (size_t i = rng_below(rng, 5); i && frame->interfaces.n; i--)
		random_series(rng, frame);
	for (size_t i = rng_below(rng, 5); i; i--)
		random_event(rng, frame);
	for (size_t i = rng_below(rng, 5); i; i--)
		random_iteration(rng, frame);
}

static inline void
assert_same_traffic(const struct tele_traffic *a, const struct tele_traffic *b)
{
	assert_int_equal(a->interface, b->interface);
	assert_int_equal(a->job, b->job);
	assert_int_equal(a->direction, b->direction);
	assert_int_equal(a->measure, b->measure);
	assert_true(a->total_bytes == b->total_bytes);
	assert_true(a->total_packets == b->total_packets);
	assert_true(a->total_ce == b->total_ce);
	assert_true(a->total_retransmits == b->total_retransmits);
	assert_true(a->window_bytes == b->window_bytes);
	assert_int_equal(a->peak_bytes, b->peak_bytes);
	assert_int_equal(a->busy_bins, b->busy_bins);
	assert_int_equal(a->gap_bins, b->gap_bins);
	assert_int_equal(a->flows, b->flows);
	assert_int_equal(a->queue_bytes, b->queue_bytes);
}

static inline void
assert_same_series(const struct tele_frame *a, const struct tele_frame *b, size_t i)
{
	const struct tele_series *x = &a->series.items[i], *y = &b->series.items[i];

	assert_int_equal(x->interface, y->interface);
	assert_int_equal(x->job, y->job);
	assert_int_equal(x->direction, y->direction);
	assert_int_equal(x->measure, y->measure);
	assert_true(x->start_ms == y->start_ms);
	assert_int_equal(x->n_bins, y->n_bins);
	if (x->n_bins)
		assert_memory_equal(tele_bins(a, x), tele_bins(b, y),
				    x->n_bins * sizeof(uint32_t));
}

static inline void
assert_same_event(const struct tele_event *a, const struct tele_event *b)
{
	assert_int_equal(a->job, b->job);
	assert_int_equal(a->source, b->source);
	assert_int_equal(a->is_launch, b->is_launch);
	assert_int_equal(a->pid, b->pid);
	assert_true(a->begin_ns == b->begin_ns);
	assert_true(a->end_ns == b->end_ns);
	assert_true(a->bytes == b->bytes);
}

static inline void
assert_same_iteration(const struct tele_iteration *a, const struct tele_iteration *b)
{
	assert_int_equal(a->job, b->job);
	assert_int_equal(a->source, b->source);
	assert_int_equal(a->is_claimed, b->is_claimed);
	assert_int_equal(a->is_observing, b->is_observing);
	assert_int_equal(a->is_over, b->is_over);
	assert_int_equal(a->pid, b->pid);
	assert_int_equal(a->rank, b->rank);
	assert_true(a->number == b->number);
	assert_true(a->enter_ns == b->enter_ns);
	assert_true(a->begin_ns == b->begin_ns);
	assert_true(a->comm_ns == b->comm_ns);
	assert_true(a->bytes == b->bytes);
	assert_int_equal(a->n_collectives, b->n_collectives);
	assert_int_equal(a->gap_us, b->gap_us);
	assert_int_equal(a->order, b->order);
	assert_int_equal(a->lost, b->lost);
}

static inline void
assert_same_sender(const struct tele_frame *a, const struct tele_frame *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->flags, b->flags);
	assert_string_equal(a->host, b->host);
	assert_memory_equal(a->boot_id, b->boot_id, sizeof a->boot_id);
	assert_true(a->start_id == b->start_id);
	assert_true(a->sequence == b->sequence);
	assert_true(a->time_ns == b->time_ns);
	assert_true(a->window_ns == b->window_ns);
	assert_true(a->wall_offset_ns == b->wall_offset_ns);
	assert_true(a->clock_error_ns == b->clock_error_ns);
	assert_true(a->lost_records == b->lost_records);
	assert_true(a->unplaced_jobs == b->unplaced_jobs);
}

static inline void
assert_same_frame(const struct tele_frame *a, const struct tele_frame *b)
{
	assert_same_sender(a, b);
	assert_int_equal(a->interfaces.n, b->interfaces.n);
	for (size_t i = 0; i < a->interfaces.n; i++) {
		const struct tele_interface *x = &a->interfaces.items[i];
		const struct tele_interface *y = &b->interfaces.items[i];

		assert_string_equal(x->name, y->name);
		assert_true(x->capacity_bps == y->capacity_bps);
		assert_int_equal(x->is_up, y->is_up);
		assert_int_equal(x->is_rdma, y->is_rdma);
	}
	assert_int_equal(a->jobs.n, b->jobs.n);
	for (size_t i = 0; i < a->jobs.n; i++)
		assert_string_equal(a->jobs.items[i].name, b->jobs.items[i].name);
	assert_int_equal(a->traffic.n, b->traffic.n);
	for (size_t i = 0; i < a->traffic.n; i++)
		assert_same_traffic(&a->traffic.items[i], &b->traffic.items[i]);
	assert_int_equal(a->series.n, b->series.n);
	for (size_t i = 0; i < a->series.n; i++)
		assert_same_series(a, b, i);
	assert_int_equal(a->events.n, b->events.n);
	for (size_t i = 0; i < a->events.n; i++)
		assert_same_event(&a->events.items[i], &b->events.items[i]);
	assert_int_equal(a->iterations.n, b->iterations.n);
	for (size_t i = 0; i < a->iterations.n; i++)
		assert_same_iteration(&a->iterations.items[i], &b->iterations.items[i]);
}

#endif
