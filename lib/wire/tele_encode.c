/* SPDX-License-Identifier: Apache-2.0 */
/* tele_encode.c - encoder of frames (docs/wire-format.md). */
#include <math.h>
#include <string.h>

#include "lib/wire/crc32c.h"
#include "lib/wire/pace.h"
#include "lib/wire/pack.h"
#include "lib/wire/tele.h"
#include "lib/wire/tele_layout.h"

/* More than any item needs, except the bins of a series. */
#define ITEM_ROOM_BYTES (TELE_MAX_NAME + 16 * PACK_MAX_VARINT)

/* ---- Bytes ---------------------------------------------------------------------- */

static uint8_t *
make_room(struct tele_buffer *out, size_t more)
{
	if (out->n + more > out->capacity) {
		size_t want = out->capacity * 2 + 1024;

		if (want < out->n + more)
			want = out->n + more;
		out->bytes = xreallocarray(out->bytes, want, 1);
		out->capacity = want;
	}
	return out->bytes + out->n;
}

static void
put_u8(struct tele_buffer *out, uint8_t value)
{
	*make_room(out, 1) = value;
	out->n++;
}

static void
put_u64(struct tele_buffer *out, uint64_t value)
{
	pack_u64_at(make_room(out, 8), value);
	out->n += 8;
}

static void
put_varint(struct tele_buffer *out, uint64_t value)
{
	uint8_t *at = make_room(out, PACK_MAX_VARINT);

	out->n += (size_t)(pack_varint_at(at, value) - at);
}

static void
put_name(struct tele_buffer *out, const char name[TELE_MAX_NAME + 1])
{
	size_t length = strnlen(name, TELE_MAX_NAME + 1);

	if (length > TELE_MAX_NAME || !tele_name_is_valid(name))
		BUG("a frame's name is empty, too long or not printable");
	put_u8(out, (uint8_t)length);
	memcpy(make_room(out, length), name, length);
	out->n += length;
}

static void
put_job(struct tele_buffer *out, const struct tele_frame *frame, uint32_t job)
{
	if (job == TELE_LINK) {
		put_varint(out, TELE_JOB_LINK);
	} else if (job == TELE_OTHER) {
		put_varint(out, TELE_JOB_OTHER);
	} else {
		BUG_ON(job >= frame->jobs.n);
		put_varint(out, (uint64_t)job + TELE_JOB_FIRST);
	}
}

/* ---- Sections -------------------------------------------------------------------- */

/* Returns where the section's contents begin, for end_section(). */
static size_t
begin_section(struct tele_buffer *out, enum tele_section type)
{
	make_room(out, TELE_SECTION_HEAD_BYTES)[0] = (uint8_t)type;
	out->n += TELE_SECTION_HEAD_BYTES;
	return out->n;
}

static void
end_section(struct tele_buffer *out, size_t begin)
{
	pack_u32_at(out->bytes + begin - 4, (uint32_t)(out->n - begin));
}

static void
check_sender(const struct tele_frame *frame)
{
	BUG_ON(frame->time_ns < 0 || frame->time_ns > TELE_MAX_NS);
	BUG_ON(frame->window_ns < 0 || frame->window_ns > TELE_MAX_NS);
	BUG_ON(frame->wall_offset_ns < -TELE_MAX_NS);
	BUG_ON(frame->wall_offset_ns > TELE_MAX_NS);
	BUG_ON(frame->clock_error_ns < -1 || frame->clock_error_ns > TELE_MAX_NS);
}

static void
put_sender(struct tele_buffer *out, const struct tele_frame *frame)
{
	size_t begin = begin_section(out, TELE_SECTION_SENDER);

	check_sender(frame);
	pack_u32_at(make_room(out, 4), frame->flags);
	out->n += 4;
	memcpy(make_room(out, 16), frame->boot_id, 16);
	out->n += 16;
	put_u64(out, frame->start_id);
	put_u64(out, frame->sequence);
	put_u64(out, (uint64_t)frame->time_ns);
	put_u64(out, (uint64_t)frame->window_ns);
	put_u64(out, (uint64_t)frame->wall_offset_ns);
	put_u64(out, (uint64_t)frame->clock_error_ns);
	put_u64(out, frame->lost_records);
	put_u64(out, frame->unplaced_jobs);
	put_name(out, frame->host);
	end_section(out, begin);
}

static void
put_interfaces(struct tele_buffer *out, const struct tele_frame *frame)
{
	size_t begin = begin_section(out, TELE_SECTION_INTERFACES);

	BUG_ON(frame->interfaces.n > TELE_MAX_INTERFACES);
	put_varint(out, frame->interfaces.n);
	for (size_t i = 0; i < frame->interfaces.n; i++) {
		const struct tele_interface *interface = &frame->interfaces.items[i];
		uint64_t bits;

		BUG_ON(!isfinite(interface->capacity_bps));
		BUG_ON(signbit(interface->capacity_bps));
		memcpy(&bits, &interface->capacity_bps, 8);
		put_name(out, interface->name);
		put_u64(out, bits);
		put_u8(out, (uint8_t)((interface->is_up ? TELE_UP_BIT : 0) |
				      (interface->is_rdma ? TELE_RDMA_BIT : 0)));
	}
	end_section(out, begin);
}

static void
put_jobs(struct tele_buffer *out, const struct tele_frame *frame)
{
	size_t begin = begin_section(out, TELE_SECTION_JOBS);

	BUG_ON(frame->jobs.n > TELE_MAX_JOBS);
	put_varint(out, frame->jobs.n);
	for (size_t i = 0; i < frame->jobs.n; i++)
		put_name(out, frame->jobs.items[i].name);
	end_section(out, begin);
}

static uint8_t
what_byte(uint8_t direction, uint8_t measure)
{
	BUG_ON(direction > TELE_RX || measure > TELE_OFFERED);
	return (uint8_t)(direction | measure << TELE_MEASURE_SHIFT);
}

static void
put_traffic(struct tele_buffer *out, const struct tele_frame *frame)
{
	size_t begin = begin_section(out, TELE_SECTION_TRAFFIC);

	BUG_ON(frame->traffic.n > TELE_MAX_TRAFFIC);
	put_varint(out, frame->traffic.n);
	for (size_t i = 0; i < frame->traffic.n; i++) {
		const struct tele_traffic *row = &frame->traffic.items[i];

		make_room(out, ITEM_ROOM_BYTES);
		BUG_ON(row->interface >= frame->interfaces.n);
		put_varint(out, row->interface);
		put_job(out, frame, row->job);
		put_u8(out, what_byte(row->direction, row->measure));
		put_varint(out, row->total_bytes);
		put_varint(out, row->total_packets);
		put_varint(out, row->total_ce);
		put_varint(out, row->total_retransmits);
		put_varint(out, row->window_bytes);
		put_varint(out, row->peak_bytes);
		put_varint(out, row->busy_bins);
		put_varint(out, row->gap_bins);
		put_varint(out, row->flows);
		put_varint(out, row->queue_bytes);
	}
	end_section(out, begin);
}

static void
put_bins(struct tele_buffer *out, const uint32_t *bins, size_t n)
{
	/* A bin's value has one bit more than 32, which takes up to five bytes. */
	uint8_t *at = make_room(out, 5 * n + PACK_MAX_VARINT);

	for (size_t i = 0; i < n;) {
		size_t from = i;

		if (bins[i] != 0 && bins[i] != TELE_GAP) {
			at = pack_varint_at(at, (uint64_t)bins[i++] << 1);
			continue;
		}
		while (i < n && bins[i] == bins[from])
			i++;
		at = pack_varint_at(at, (i - from - 1) << TELE_TOKEN_RUN_LOG |
						(bins[from] ? TELE_TOKEN_GAP : 0) |
						TELE_TOKEN_RUN);
	}
	out->n = (size_t)(at - out->bytes);
}

static void
put_series(struct tele_buffer *out, const struct tele_frame *frame)
{
	size_t begin = begin_section(out, TELE_SECTION_SERIES), n_bins = 0;

	BUG_ON(frame->series.n > TELE_MAX_SERIES);
	put_varint(out, frame->series.n);
	for (size_t i = 0; i < frame->series.n; i++) {
		const struct tele_series *series = &frame->series.items[i];

		n_bins += series->n_bins;
		BUG_ON(series->interface >= frame->interfaces.n);
		BUG_ON(series->n_bins > TELE_MAX_BINS || n_bins > TELE_MAX_FRAME_BINS);
		BUG_ON((uint64_t)series->bins_at + series->n_bins > frame->bins.n);
		BUG_ON(series->start_ms < 0 ||
		       series->start_ms > TELE_MAX_NS / 1000000);
		put_varint(out, series->interface);
		put_job(out, frame, series->job);
		put_u8(out, what_byte(series->direction, series->measure));
		put_varint(out, (uint64_t)series->start_ms);
		put_varint(out, series->n_bins);
		put_bins(out, tele_bins(frame, series), series->n_bins);
	}
	end_section(out, begin);
}

static void
put_events(struct tele_buffer *out, const struct tele_frame *frame)
{
	size_t begin = begin_section(out, TELE_SECTION_EVENTS);

	BUG_ON(frame->events.n > TELE_MAX_EVENTS);
	put_varint(out, frame->events.n);
	for (size_t i = 0; i < frame->events.n; i++) {
		const struct tele_event *event = &frame->events.items[i];

		BUG_ON(event->source > TELE_EVENT_NCCL || event->begin_ns < 0 ||
		       event->end_ns < event->begin_ns || event->end_ns > TELE_MAX_NS);
		put_job(out, frame, event->job);
		put_u8(out, (uint8_t)(event->source |
				      (event->is_launch ? TELE_LAUNCH_BIT : 0)));
		put_varint(out, event->pid);
		put_varint(out, (uint64_t)event->begin_ns);
		put_varint(out, (uint64_t)(event->end_ns - event->begin_ns));
		put_varint(out, event->bytes);
	}
	end_section(out, begin);
}

static void
put_iterations(struct tele_buffer *out, const struct tele_frame *frame)
{
	size_t begin = begin_section(out, TELE_SECTION_ITERATIONS);

	BUG_ON(frame->iterations.n > TELE_MAX_ITERATIONS);
	put_varint(out, frame->iterations.n);
	for (size_t i = 0; i < frame->iterations.n; i++) {
		const struct tele_iteration *row = &frame->iterations.items[i];

		make_room(out, ITEM_ROOM_BYTES);
		BUG_ON(row->source > PACE_API || row->enter_ns < 0 ||
		       row->begin_ns < row->enter_ns || row->begin_ns > TELE_MAX_NS ||
		       row->comm_ns < 0 || row->comm_ns > TELE_MAX_NS);
		put_job(out, frame, row->job);
		put_u8(out, row->source);
		put_u8(out, (uint8_t)((row->is_claimed ? TELE_CLAIMED_BIT : 0) |
				      (row->is_observing ? TELE_OBSERVING_BIT : 0) |
				      (row->is_over ? TELE_OVER_BIT : 0)));
		put_varint(out, row->pid);
		put_varint(out, row->rank);
		put_varint(out, row->number);
		put_varint(out, (uint64_t)row->enter_ns);
		put_varint(out, (uint64_t)(row->begin_ns - row->enter_ns));
		put_varint(out, (uint64_t)row->comm_ns);
		put_varint(out, row->bytes);
		put_varint(out, row->n_collectives);
		put_varint(out, row->gap_us);
		put_varint(out, row->order);
		put_varint(out, row->lost);
	}
	end_section(out, begin);
}

/* ---- Frames ---------------------------------------------------------------------- */

void
tele_encode(const struct tele_frame *frame, struct tele_buffer *out)
{
	size_t begin = out->n, length;
	uint8_t *header = make_room(out, TELE_HEADER_BYTES);
	uint32_t crc;

	BUG_ON(frame->kind < TELE_SUMMARY || frame->kind > TELE_LAST_KIND);
	memset(header, 0, TELE_HEADER_BYTES);
	pack_u32_at(header + TELE_AT_MAGIC, TELE_MAGIC);
	header[TELE_AT_MAJOR] = TELE_VERSION_MAJOR;
	header[TELE_AT_MINOR] = TELE_VERSION_MINOR;
	header[TELE_AT_KIND] = frame->kind;
	out->n += TELE_HEADER_BYTES;

	put_sender(out, frame);
	if (frame->interfaces.n)
		put_interfaces(out, frame);
	if (frame->jobs.n)
		put_jobs(out, frame);
	if (frame->traffic.n)
		put_traffic(out, frame);
	if (frame->series.n)
		put_series(out, frame);
	if (frame->events.n)
		put_events(out, frame);
	if (frame->iterations.n)
		put_iterations(out, frame);

	length = out->n - begin;
	BUG_ON(length > TELE_MAX_BYTES);
	header = out->bytes + begin;
	pack_u32_at(header + TELE_AT_LENGTH, (uint32_t)length);
	crc = crc32c(0, header, TELE_AT_CRC);
	crc = crc32c(crc, header + TELE_HEADER_BYTES, length - TELE_HEADER_BYTES);
	pack_u32_at(header + TELE_AT_CRC, crc);
}

void
tele_buffer_fini(struct tele_buffer *buffer)
{
	free(buffer->bytes);
	*buffer = (struct tele_buffer){ 0 };
}
