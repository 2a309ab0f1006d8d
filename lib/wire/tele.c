/* SPDX-License-Identifier: Apache-2.0 */
/* tele.c - the frame in memory; tele_encode.c and tele_decode.c convert it. */
#include "lib/wire/tele.h"

#include <string.h>

#include "lib/base/utf8.h"

void
tele_clear(struct tele_frame *frame)
{
	struct tele_frame empty = { 0 };

	empty.interfaces.items = frame->interfaces.items;
	empty.interfaces.capacity = frame->interfaces.capacity;
	empty.jobs.items = frame->jobs.items;
	empty.jobs.capacity = frame->jobs.capacity;
	empty.traffic.items = frame->traffic.items;
	empty.traffic.capacity = frame->traffic.capacity;
	empty.series.items = frame->series.items;
	empty.series.capacity = frame->series.capacity;
	empty.bins.items = frame->bins.items;
	empty.bins.capacity = frame->bins.capacity;
	empty.events.items = frame->events.items;
	empty.events.capacity = frame->events.capacity;
	empty.iterations.items = frame->iterations.items;
	empty.iterations.capacity = frame->iterations.capacity;
	*frame = empty;
}

void
tele_fini(struct tele_frame *frame)
{
	vec_free(&frame->interfaces);
	vec_free(&frame->jobs);
	vec_free(&frame->traffic);
	vec_free(&frame->series);
	vec_free(&frame->bins);
	vec_free(&frame->events);
	vec_free(&frame->iterations);
	*frame = (struct tele_frame){ 0 };
}

/* Bytes of the character at 's' if it is safe for terminals and JSON; else 0. */
static size_t
printable_length(const char *s)
{
	const unsigned char *byte = (const unsigned char *)s;
	size_t length;

	if (byte[0] >= 0x20 && byte[0] < 0x7f)
		return 1;
	if (byte[0] <= 0x7f)
		return 0;
	length = utf8_length(s);
	/* U+0080 to U+009F are control characters, too. */
	if (length == 2 && byte[0] == 0xc2 && byte[1] < 0xa0)
		return 0;
	return length;
}

bool
tele_name_is_valid(const char *name)
{
	const char *at = name;

	while (*at) {
		size_t length = printable_length(at);

		if (!length)
			return false;
		at += length;
	}
	return at > name && at - name <= TELE_MAX_NAME;
}

void
tele_set_name(char ret_name[TELE_MAX_NAME + 1], const char *name)
{
	size_t n = 0;

	while (*name) {
		size_t length = printable_length(name);

		if (n + (length ? length : 1) > TELE_MAX_NAME)
			break;
		if (length)
			memcpy(ret_name + n, name, length);
		else
			ret_name[n] = '?';
		n += length ? length : 1;
		name += length ? length : 1;
	}
	if (n == 0)
		ret_name[n++] = '?';
	memset(ret_name + n, 0, TELE_MAX_NAME + 1 - n);
}

uint32_t
tele_add_interface(struct tele_frame *frame, const char *name)
{
	struct tele_interface interface = { .is_up = true };

	tele_set_name(interface.name, name);
	for (size_t i = 0; i < frame->interfaces.n; i++) {
		if (strcmp(frame->interfaces.items[i].name, interface.name) == 0)
			return (uint32_t)i;
	}
	BUG_ON(frame->interfaces.n == TELE_MAX_INTERFACES);
	vec_push(&frame->interfaces, interface);
	return (uint32_t)frame->interfaces.n - 1;
}

uint32_t
tele_add_job(struct tele_frame *frame, const char *name)
{
	struct tele_job job;

	tele_set_name(job.name, name);
	for (size_t i = 0; i < frame->jobs.n; i++) {
		if (strcmp(frame->jobs.items[i].name, job.name) == 0)
			return (uint32_t)i;
	}
	BUG_ON(frame->jobs.n == TELE_MAX_JOBS);
	vec_push(&frame->jobs, job);
	return (uint32_t)frame->jobs.n - 1;
}

void
tele_add_series(struct tele_frame *frame, uint32_t interface, uint32_t job,
		enum tele_direction direction, enum tele_measure measure,
		int64_t start_ms, const uint32_t *bins, uint32_t n)
{
	struct tele_series series = {
		.interface = interface,
		.job = job,
		.direction = (uint8_t)direction,
		.measure = (uint8_t)measure,
		.start_ms = start_ms,
		.n_bins = n,
		.bins_at = (uint32_t)frame->bins.n,
	};

	BUG_ON(n > TELE_MAX_BINS || frame->bins.n + n > TELE_MAX_FRAME_BINS);
	vec_push(&frame->series, series);
	if (!n)
		return;
	vec_reserve(&frame->bins, n);
	memcpy(frame->bins.items + frame->bins.n, bins, n * sizeof *bins);
	frame->bins.n += n;
}

const uint32_t *
tele_bins(const struct tele_frame *frame, const struct tele_series *s)
{
	return s->n_bins ? frame->bins.items + s->bins_at : NULL;
}

const char *
tele_job_name(const struct tele_frame *frame, uint32_t job)
{
	if (job == TELE_LINK)
		return "(all)";
	if (job == TELE_OTHER)
		return "(other)";
	BUG_ON(job >= frame->jobs.n);
	return frame->jobs.items[job].name;
}
