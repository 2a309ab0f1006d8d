/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tele_decode.c - decoder of frames.
 *
 * The bytes are untrusted.  Each number is checked before use, and counts also against
 * the remaining bytes.  So allocations respect the limits of tele.h and are
 * proportional to the input, except runs of bins, of which a frame has at most
 * TELE_MAX_FRAME_BINS.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/wire/crc32c.h"
#include "lib/wire/pace.h"
#include "lib/wire/pack.h"
#include "lib/wire/tele.h"
#include "lib/wire/tele_layout.h"

/* ---- Items ----------------------------------------------------------------------- */

/* Reads a count of items that take at least 'item_bytes' each. */
static size_t
take_count(struct unpack *in, uint64_t max, size_t item_bytes)
{
	uint64_t n = unpack_varint_max(in, max);

	if (n > unpack_left(in) / item_bytes) {
		unpack_fail(in);
		return 0;
	}
	return (size_t)n;
}

static void
take_name(struct unpack *in, char ret_name[TELE_MAX_NAME + 1])
{
	size_t length = unpack_u8(in);
	const uint8_t *bytes = unpack_bytes(in, length);

	ret_name[0] = '\0';
	if (!bytes || length > TELE_MAX_NAME || memchr(bytes, 0, length)) {
		unpack_fail(in);
		return;
	}
	memcpy(ret_name, bytes, length);
	ret_name[length] = '\0';
	if (!tele_name_is_valid(ret_name))
		unpack_fail(in);
}

static uint32_t
take_job(struct unpack *in, const struct tele_frame *frame)
{
	uint64_t job = unpack_varint(in);

	if (job == TELE_JOB_LINK)
		return TELE_LINK;
	if (job == TELE_JOB_OTHER)
		return TELE_OTHER;
	if (job - TELE_JOB_FIRST >= frame->jobs.n) {
		unpack_fail(in);
		return TELE_OTHER;
	}
	return (uint32_t)(job - TELE_JOB_FIRST);
}

static uint32_t
take_interface(struct unpack *in, const struct tele_frame *frame)
{
	uint64_t interface = unpack_varint(in);

	if (interface >= frame->interfaces.n) {
		unpack_fail(in);
		return 0;
	}
	return (uint32_t)interface;
}

static void
take_what(struct unpack *in, uint8_t *ret_direction, uint8_t *ret_measure)
{
	uint8_t what = unpack_u8(in);

	*ret_direction = what & TELE_DIRECTION_BIT;
	*ret_measure = what >> TELE_MEASURE_SHIFT;
	if (*ret_measure > TELE_OFFERED)
		unpack_fail(in);
}

static int64_t
take_ns(struct unpack *in, int64_t min_ns)
{
	int64_t ns = (int64_t)unpack_u64(in);

	if (ns < min_ns || ns > TELE_MAX_NS) {
		unpack_fail(in);
		return 0;
	}
	return ns;
}

/* ---- Sections -------------------------------------------------------------------- */

static void
take_sender(struct unpack *in, struct tele_frame *frame)
{
	const uint8_t *boot_id;

	frame->flags = unpack_u32(in);
	boot_id = unpack_bytes(in, sizeof frame->boot_id);
	if (boot_id)
		memcpy(frame->boot_id, boot_id, sizeof frame->boot_id);
	frame->start_id = unpack_u64(in);
	frame->sequence = unpack_u64(in);
	frame->time_ns = take_ns(in, 0);
	frame->window_ns = take_ns(in, 0);
	frame->wall_offset_ns = take_ns(in, -TELE_MAX_NS);
	frame->clock_error_ns = take_ns(in, -1);
	frame->lost_records = unpack_u64(in);
	frame->unplaced_jobs = unpack_u64(in);
	take_name(in, frame->host);
}

static void
take_interfaces(struct unpack *in, struct tele_frame *frame)
{
	size_t n = take_count(in, TELE_MAX_INTERFACES, TELE_MIN_INTERFACE_BYTES);

	vec_reserve(&frame->interfaces, n);
	for (size_t i = 0; i < n && !in->is_bad; i++) {
		struct tele_interface *interface = &frame->interfaces.items[i];
		uint64_t bits;
		uint8_t flags;

		take_name(in, interface->name);
		bits = unpack_u64(in);
		memcpy(&interface->capacity_bps, &bits, 8);
		if (!isfinite(interface->capacity_bps) ||
		    signbit(interface->capacity_bps))
			unpack_fail(in);
		flags = unpack_u8(in);
		interface->is_up = flags & TELE_UP_BIT;
		interface->is_rdma = flags & TELE_RDMA_BIT;
		frame->interfaces.n = i + 1;
	}
}

static void
take_jobs(struct unpack *in, struct tele_frame *frame)
{
	size_t n = take_count(in, TELE_MAX_JOBS, TELE_MIN_JOB_BYTES);

	vec_reserve(&frame->jobs, n);
	for (size_t i = 0; i < n && !in->is_bad; i++) {
		take_name(in, frame->jobs.items[i].name);
		frame->jobs.n = i + 1;
	}
}

static void
take_traffic(struct unpack *in, struct tele_frame *frame)
{
	size_t n = take_count(in, TELE_MAX_TRAFFIC, TELE_MIN_TRAFFIC_BYTES);

	vec_reserve(&frame->traffic, n);
	for (size_t i = 0; i < n && !in->is_bad; i++) {
		struct tele_traffic *row = &frame->traffic.items[i];

		row->interface = take_interface(in, frame);
		row->job = take_job(in, frame);
		take_what(in, &row->direction, &row->measure);
		row->total_bytes = unpack_varint(in);
		row->total_packets = unpack_varint(in);
		row->total_ce = unpack_varint(in);
		row->total_retransmits = unpack_varint(in);
		row->window_bytes = unpack_varint(in);
		row->peak_bytes = (uint32_t)unpack_varint_max(in, UINT32_MAX);
		row->busy_bins = (uint32_t)unpack_varint_max(in, UINT32_MAX);
		row->gap_bins = (uint32_t)unpack_varint_max(in, UINT32_MAX);
		row->flows = (uint32_t)unpack_varint_max(in, UINT32_MAX);
		row->queue_bytes = (uint32_t)unpack_varint_max(in, UINT32_MAX);
		frame->traffic.n = i + 1;
	}
}

/* Fills 'n' bins from tokens, which must end with the bins. */
static void
take_bins(struct unpack *in, uint32_t *bins, size_t n)
{
	size_t i = 0;

	while (i < n && !in->is_bad) {
		uint64_t token = unpack_varint(in), run;

		if (!(token & TELE_TOKEN_RUN)) {
			if (token >> 1 >= TELE_GAP)
				unpack_fail(in);
			bins[i++] = (uint32_t)(token >> 1);
			continue;
		}
		run = token >> TELE_TOKEN_RUN_LOG;
		if (run >= n - i) {
			unpack_fail(in);
			return;
		}
		/* Both values repeat one byte. */
		memset(bins + i, token & TELE_TOKEN_GAP ? 0xff : 0,
		       (size_t)(run + 1) * sizeof *bins);
		i += (size_t)run + 1;
	}
}

static void
take_series(struct unpack *in, struct tele_frame *frame)
{
	size_t n = take_count(in, TELE_MAX_SERIES, TELE_MIN_SERIES_BYTES);

	vec_reserve(&frame->series, n);
	for (size_t i = 0; i < n && !in->is_bad; i++) {
		struct tele_series *series = &frame->series.items[i];

		series->interface = take_interface(in, frame);
		series->job = take_job(in, frame);
		take_what(in, &series->direction, &series->measure);
		series->start_ms =
			(int64_t)unpack_varint_max(in, TELE_MAX_NS / 1000000);
		series->n_bins = (uint32_t)unpack_varint_max(in, TELE_MAX_BINS);
		series->bins_at = (uint32_t)frame->bins.n;
		if (frame->bins.n + series->n_bins > TELE_MAX_FRAME_BINS) {
			unpack_fail(in);
			return;
		}
		if (series->n_bins) {
			vec_reserve(&frame->bins, series->n_bins);
			take_bins(in, frame->bins.items + frame->bins.n,
				  series->n_bins);
			frame->bins.n += series->n_bins;
		}
		frame->series.n = i + 1;
	}
}

static void
take_events(struct unpack *in, struct tele_frame *frame)
{
	size_t n = take_count(in, TELE_MAX_EVENTS, TELE_MIN_EVENT_BYTES);

	vec_reserve(&frame->events, n);
	for (size_t i = 0; i < n && !in->is_bad; i++) {
		struct tele_event *event = &frame->events.items[i];
		uint8_t flags;
		uint64_t duration_ns;

		event->job = take_job(in, frame);
		flags = unpack_u8(in);
		event->source = flags & (TELE_LAUNCH_BIT - 1);
		event->is_launch = flags & TELE_LAUNCH_BIT;
		if (event->source > TELE_EVENT_NCCL)
			unpack_fail(in);
		event->pid = (uint32_t)unpack_varint_max(in, UINT32_MAX);
		event->begin_ns = (int64_t)unpack_varint_max(in, TELE_MAX_NS);
		duration_ns = unpack_varint_max(
			in, (uint64_t)(TELE_MAX_NS - event->begin_ns));
		event->end_ns = event->begin_ns + (int64_t)duration_ns;
		event->bytes = unpack_varint(in);
		frame->events.n = i + 1;
	}
}

static void
take_iterations(struct unpack *in, struct tele_frame *frame)
{
	size_t n = take_count(in, TELE_MAX_ITERATIONS, TELE_MIN_ITERATION_BYTES);

	vec_reserve(&frame->iterations, n);
	for (size_t i = 0; i < n && !in->is_bad; i++) {
		struct tele_iteration *row = &frame->iterations.items[i];
		uint8_t flags;

		row->job = take_job(in, frame);
		row->source = unpack_u8(in);
		if (row->source > PACE_API)
			unpack_fail(in);
		flags = unpack_u8(in);
		row->is_claimed = flags & TELE_CLAIMED_BIT;
		row->is_observing = flags & TELE_OBSERVING_BIT;
		row->is_over = flags & TELE_OVER_BIT;
		row->pid = (uint32_t)unpack_varint_max(in, UINT32_MAX);
		row->rank = (uint32_t)unpack_varint_max(in, UINT32_MAX);
		row->number = unpack_varint(in);
		row->enter_ns = (int64_t)unpack_varint_max(in, TELE_MAX_NS);
		row->begin_ns = row->enter_ns +
				(int64_t)unpack_varint_max(
					in, (uint64_t)(TELE_MAX_NS - row->enter_ns));
		row->comm_ns = (int64_t)unpack_varint_max(in, TELE_MAX_NS);
		row->bytes = unpack_varint(in);
		row->n_collectives = (uint32_t)unpack_varint_max(in, UINT32_MAX);
		row->gap_us = (uint32_t)unpack_varint_max(in, UINT32_MAX);
		row->order = (uint32_t)unpack_varint_max(in, UINT32_MAX);
		row->lost = (uint32_t)unpack_varint_max(in, UINT32_MAX);
		frame->iterations.n = i + 1;
	}
}

static const struct section {
	const char *name;
	void (*take)(struct unpack *in, struct tele_frame *frame);
} sections[] = {
	[TELE_SECTION_SENDER] = { "sender", take_sender },
	[TELE_SECTION_INTERFACES] = { "interfaces", take_interfaces },
	[TELE_SECTION_JOBS] = { "jobs", take_jobs },
	[TELE_SECTION_TRAFFIC] = { "traffic", take_traffic },
	[TELE_SECTION_SERIES] = { "series", take_series },
	[TELE_SECTION_EVENTS] = { "events", take_events },
	[TELE_SECTION_ITERATIONS] = { "iterations", take_iterations },
};

#define N_SECTIONS (sizeof sections / sizeof sections[0])

/* ---- Frames ---------------------------------------------------------------------- */

static int __attribute__((format(printf, 2, 3)))
damaged(struct err *err, const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	err_set(err, NULL, 0, 0, "damaged frame: %s", text);
	return -EBADMSG;
}

size_t
tele_frame_bytes(const uint8_t header[TELE_HEADER_BYTES])
{
	uint32_t length = unpack_u32_at(header + TELE_AT_LENGTH);

	if (unpack_u32_at(header + TELE_AT_MAGIC) != TELE_MAGIC ||
	    length < TELE_HEADER_BYTES || length > TELE_MAX_BYTES)
		return 0;
	return length;
}

static int
check_header(const uint8_t *bytes, size_t n, struct err *err)
{
	uint32_t crc, want;

	if (n < TELE_HEADER_BYTES)
		return damaged(err, "%zu bytes, where the header alone has %d", n,
			       TELE_HEADER_BYTES);
	if (unpack_u32_at(bytes + TELE_AT_MAGIC) != TELE_MAGIC)
		return damaged(err, "it does not begin with a7 41 50 46");
	if (tele_frame_bytes(bytes) != n)
		return damaged(err, "%zu bytes, where its header says %u", n,
			       (unsigned)unpack_u32_at(bytes + TELE_AT_LENGTH));
	want = unpack_u32_at(bytes + TELE_AT_CRC);
	crc = crc32c(0, bytes, TELE_AT_CRC);
	crc = crc32c(crc, bytes + TELE_HEADER_BYTES, n - TELE_HEADER_BYTES);
	if (crc != want)
		return damaged(err, "its checksum is %08x, where its header says %08x",
			       (unsigned)crc, (unsigned)want);

	if (bytes[TELE_AT_MAJOR] != TELE_VERSION_MAJOR) {
		err_set(err, NULL, 0, 0,
			"a frame of version %d.%d, where this program knows %d", //
			bytes[TELE_AT_MAJOR], bytes[TELE_AT_MINOR], TELE_VERSION_MAJOR);
		return -EPROTONOSUPPORT;
	}
	if (bytes[TELE_AT_KIND] < TELE_SUMMARY ||
	    bytes[TELE_AT_KIND] > TELE_LAST_KIND) {
		err_set(err, NULL, 0, 0,
			"a frame of kind %d, where this program knows 1 to %d",
			bytes[TELE_AT_KIND], TELE_LAST_KIND);
		return -EPROTONOSUPPORT;
	}
	return 0;
}

/* Reads the sections, in ascending order of type, each at most once. */
static int
take_sections(const uint8_t *bytes, size_t n, struct tele_frame *frame, struct err *err)
{
	struct unpack in = { bytes + TELE_HEADER_BYTES, bytes + n, false };
	bool is_later = bytes[TELE_AT_MINOR] > TELE_VERSION_MINOR;
	unsigned last_type = 0;

	while (unpack_left(&in)) {
		size_t at = (size_t)(in.at - bytes);
		unsigned type = unpack_u8(&in);
		const uint8_t *contents = unpack_bytes(&in, unpack_u32(&in));
		struct unpack part;

		if (!contents)
			return damaged(err, "the section at byte %zu is cut off", at);
		if (type <= last_type || (!last_type && type != TELE_SECTION_SENDER))
			return damaged(err,
				       "a section of type %u at byte %zu, "
				       "after one of type %u",
				       type, at, last_type);
		last_type = type;
		if (type >= N_SECTIONS)
			continue;
		part = (struct unpack){ contents, in.at, false };
		sections[type].take(&part, frame);
		if (part.is_bad)
			return damaged(err, "the section '%s' at byte %zu",
				       sections[type].name, at);
		if (unpack_left(&part) && !is_later)
			return damaged(err,
				       "the section '%s' at byte %zu has %zu "
				       "bytes too many",
				       sections[type].name, at, unpack_left(&part));
	}
	if (!last_type)
		return damaged(err, "it has no section 'sender'");
	return 0;
}

int
tele_decode(const uint8_t *bytes, size_t n, struct tele_frame *frame, struct err *err)
{
	int error = check_header(bytes, n, err);

	tele_clear(frame);
	if (error < 0)
		return error;
	frame->kind = bytes[TELE_AT_KIND];
	error = take_sections(bytes, n, frame, err);
	if (error < 0)
		tele_clear(frame);
	return error;
}
