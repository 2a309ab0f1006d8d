/* SPDX-License-Identifier: Apache-2.0 */
/* live_frame.c - frames into the state: their sender, their time, their content. */
#include <string.h>

#include "scheduler/live/live.h"
#include "scheduler/live/live_priv.h"

/* Of one interface; beyond it the oldest is dropped. */
#define MAX_SPANS 512

/* Bins that end this much later than their frame are dropped. */
#define MAX_EARLY_MS 1000

/* ---- Bins ------------------------------------------------------------------------ */

/* Bytes of a bin, as a ring has them. */
static uint32_t
bytes_of(uint32_t bin)
{
	return bin == LIVE_ZERO || bin == TELE_GAP ? 0 : bin;
}

/* Moves the ring's end to 'end_ms'; the new bins are LIVE_UNTOLD. */
static void
advance(const struct live *live, struct series *s, int64_t end_ms)
{
	int64_t from = s->end_ms;
	size_t at;

	if (end_ms <= s->end_ms)
		return;
	if (end_ms - from > live->keep_ms)
		from = end_ms - live->keep_ms;
	at = live_ring_at(live, from);
	for (int64_t ms = from; ms < end_ms; ms++) {
		s->kept_bytes -= bytes_of(s->ring[at]);
		s->ring[at] = LIVE_UNTOLD;
		if (++at == live->keep_ms)
			at = 0;
	}
	s->end_ms = end_ms;
}

static void
put_bins(struct live *live, struct series *s, int64_t start_ms, const uint32_t *bins,
	 uint32_t n)
{
	int64_t end_ms = start_ms + n;
	size_t at = live_ring_at(live, start_ms);

	if (!live_take_ring(live, s, end_ms))
		return;
	advance(live, s, end_ms);
	for (uint32_t i = 0; i < n; i++, at = at + 1 == live->keep_ms ? 0 : at + 1) {
		int64_t ms = start_ms + i;
		uint32_t bytes = bins[i];

		if (ms < s->end_ms - live->keep_ms) {
			live->counts.late_bins++;
			continue;
		}
		if (bytes && bytes != TELE_GAP && ms > s->seen.last_ms)
			s->seen.last_ms = ms;
		if (bytes == LIVE_ZERO)
			bytes--;
		s->kept_bytes -= bytes_of(s->ring[at]);
		s->ring[at] = bytes ? bytes : LIVE_ZERO;
		s->kept_bytes += bytes_of(s->ring[at]);
	}
}

/* Adds [from, to) to the covered time; forgets time before 'oldest_ms'. */
static void
cover(struct interface *interface, int64_t from_ms, int64_t to_ms, int64_t oldest_ms)
{
	struct span *spans = interface->covered.items, all = { from_ms, to_ms };
	size_t n = interface->covered.n, kept = 0, at;

	for (size_t i = 0; i < n; i++) {
		if (spans[i].from_ms <= all.to_ms && spans[i].to_ms >= all.from_ms) {
			if (spans[i].from_ms < all.from_ms)
				all.from_ms = spans[i].from_ms;
			if (spans[i].to_ms > all.to_ms)
				all.to_ms = spans[i].to_ms;
		} else if (spans[i].to_ms > oldest_ms) {
			spans[kept++] = spans[i];
		}
	}
	if (kept == MAX_SPANS)
		memmove(spans, spans + 1, --kept * sizeof *spans);
	interface->covered.n = kept;
	vec_push(&interface->covered, all);
	spans = interface->covered.items;
	for (at = kept; at > 0 && spans[at - 1].from_ms > all.from_ms; at--)
		spans[at] = spans[at - 1];
	spans[at] = all;
}

/* ---- One frame ----------------------------------------------------------------- */

/* Whether sums and differences of such times do not overflow. */
static bool
is_time(int64_t ns)
{
	return ns >= -LIVE_MAX_TIME_NS && ns <= LIVE_MAX_TIME_NS;
}

/* A new boot has a new clock, unrelated to the last. */
static void
forget_boot(struct live *live, uint32_t host)
{
	live->hosts.items[host].raw_mono_ms = LIVE_NEVER;
	live->hosts.items[host].seen.raw_ns = LIVE_NEVER;
	live->counts.reboots++;
	for (size_t i = 0; i < live->interfaces.n; i++)
		if (live->interfaces.items[i].seen.host == host)
			live->interfaces.items[i].covered.n = 0;
	for (size_t i = 0; i < live->series.n; i++) {
		struct series *s = live->series.items[i];

		if (live->interfaces.items[s->seen.interface].seen.host == host)
			live_drop_ring(live, s);
	}
}

/*
 * Checks sequence numbers by kind, host and start of the sender. Those of the last two
 * starts are kept, as a host may have two senders: a collector and an importer.
 */
static void
count_sequence(struct host *host, const struct tele_frame *frame)
{
	struct sender *sender = &host->sender;
	unsigned kind = frame->kind;

	if (host->seen.n_frames > 0 && sender->start_id != frame->start_id) {
		struct sender before = host->sender_before;

		host->sender_before = *sender;
		if (before.start_id != frame->start_id || host->seen.restarts == 0) {
			host->seen.restarts++;
			before = (struct sender){ .start_id = frame->start_id };
		}
		*sender = before;
	}
	sender->start_id = frame->start_id;
	if (sender->has_sequence[kind] && frame->sequence > sender->next_sequence[kind])
		host->seen.gaps += frame->sequence - sender->next_sequence[kind];
	if (!sender->has_sequence[kind] ||
	    frame->sequence >= sender->next_sequence[kind])
		sender->next_sequence[kind] = frame->sequence + 1;
	sender->has_sequence[kind] = true;
}

static bool
is_boot(const uint8_t boot_id[16], const struct tele_frame *frame)
{
	return memcmp(boot_id, frame->boot_id, 16) == 0;
}

/* A boot that was followed by another is over: its sender is another machine. */
static bool
is_double(const struct host *host, const struct tele_frame *frame, int64_t elapsed_ns)
{
	return host->has_boot_before && is_boot(host->boot_before, frame) &&
	       !is_boot(host->boot_id, frame) &&
	       elapsed_ns - host->heard_ns <= LIVE_SILENT_NS;
}

static void
note_boot(struct live *live, uint32_t id, const struct tele_frame *frame)
{
	struct host *host = &live->hosts.items[id];

	if (host->seen.n_frames > 0 && !is_boot(host->boot_id, frame)) {
		memcpy(host->boot_before, host->boot_id, sizeof host->boot_before);
		host->has_boot_before = true;
		forget_boot(live, id);
		host->seen.time_ns = LIVE_NEVER;
	}
	memcpy(host->boot_id, frame->boot_id, sizeof host->boot_id);
}

static void
take_header(struct live *live, uint32_t id, const struct tele_frame *frame,
	    int64_t elapsed_ns)
{
	struct host *host = &live->hosts.items[id];

	note_boot(live, id, frame);
	count_sequence(host, frame);
	live_take_time(live, id, frame, elapsed_ns);
	host->seen.n_frames++;
	host->seen.flags = frame->flags;
	host->seen.clock_error_ns = frame->clock_error_ns;
	host->seen.lost_records = frame->lost_records;
	host->seen.unplaced_jobs = frame->unplaced_jobs;
}

static void
take_names(struct live *live, uint32_t host, const struct tele_frame *frame)
{
	live->interface_of.n = live->job_of.n = 0;
	for (size_t i = 0; i < frame->interfaces.n; i++)
		vec_push(
			&live->interface_of,
			live_intern_interface(live, host, &frame->interfaces.items[i]));
	for (size_t i = 0; i < frame->jobs.n; i++) {
		uint32_t job = live_intern_job(live, host, frame->jobs.items[i].name);

		vec_push(&live->job_of, job);
		if (job != UINT32_MAX)
			live->jobs.items[job].heard_ns = live->elapsed_ns;
	}
}

static void
take_raw(struct live *live, uint32_t id, const struct tele_frame *frame)
{
	struct host *host = &live->hosts.items[id];
	int64_t to_ms = live_ms_floor(frame->time_ns);
	int64_t from_ms =
		live_ms_floor(frame->time_ns - frame->window_ns + NS_PER_MS - 1);

	for (size_t i = 0; i < frame->series.n; i++) {
		const struct tele_series *told = &frame->series.items[i];
		struct series *s;

		if (told->measure != TELE_WIRE)
			continue;
		if (told->start_ms < to_ms - live->keep_ms - TELE_MAX_BINS ||
		    told->start_ms > to_ms + MAX_EARLY_MS - told->n_bins) {
			live->counts.late_bins += told->n_bins;
			continue;
		}
		s = live_intern_series(live, told->interface, told->job,
				       told->direction);
		if (s)
			put_bins(live, s, told->start_ms, tele_bins(frame, told),
				 told->n_bins);
	}
	if (to_ms > host->raw_mono_ms)
		host->raw_mono_ms = to_ms;
	host->seen.raw_ns = (host->raw_mono_ms + live_offset_ms(host)) * NS_PER_MS;
	host->raw_heard_ns = live->elapsed_ns;
	for (size_t i = 0; i < live->interface_of.n && from_ms < to_ms; i++)
		if (live->interface_of.items[i] != UINT32_MAX)
			cover(&live->interfaces.items[live->interface_of.items[i]],
			      from_ms, to_ms, host->raw_mono_ms - live->keep_ms);
}

static void
take_summary(struct live *live, uint32_t id, const struct tele_frame *frame)
{
	struct host *host = &live->hosts.items[id];

	host->seen.summary_ns = frame->time_ns + frame->wall_offset_ns;
	host->seen.summary_window_ns = frame->window_ns;
	host->summary_heard_ns = live->elapsed_ns;
	for (size_t i = 0; i < frame->traffic.n; i++) {
		const struct tele_traffic *told = &frame->traffic.items[i];
		struct series *s;

		if (told->measure != TELE_WIRE)
			continue;
		s = live_intern_series(live, told->interface, told->job,
				       told->direction);
		if (!s)
			continue;
		s->seen.has_summary = true;
		s->seen.summary_ns = host->seen.summary_ns;
		s->seen.total_bytes = told->total_bytes;
		s->seen.total_ce = told->total_ce;
		s->seen.total_retransmits = told->total_retransmits;
		s->seen.window_bytes = told->window_bytes;
		s->seen.peak_bytes = told->peak_bytes;
		s->seen.queue_bytes = told->queue_bytes;
	}
}

static void
take_events(struct live *live, uint32_t host, const struct tele_frame *frame)
{
	for (size_t i = 0; i < frame->events.n; i++) {
		const struct tele_event *told = &frame->events.items[i];
		uint32_t id = told->job >= TELE_OTHER ? UINT32_MAX
						      : live->job_of.items[told->job];
		struct job *job;

		if (id == UINT32_MAX || !is_time(told->begin_ns) ||
		    !is_time(told->begin_ns + frame->wall_offset_ns))
			continue;
		job = &live->jobs.items[id];
		if (!job->has_room &&
		    !live_may_take_much(live, job->owner,
					LIVE_MAX_EVENTS * sizeof *job->events.items))
			continue;
		job->has_room = true;
		if (job->events.n >= LIVE_MAX_EVENTS) { /* The older half goes. */
			job->events.n = LIVE_MAX_EVENTS / 2;
			memmove(job->events.items, job->events.items + job->events.n,
				job->events.n * sizeof *job->events.items);
		}
		vec_push(&job->events,
			 ((struct live_event){ host, told->pid, told->is_launch,
					       told->begin_ns + frame->wall_offset_ns,
					       told->bytes }));
	}
}

static void
hand_on_iterations(struct live *live, uint32_t host, const struct tele_frame *frame)
{
	for (size_t i = 0; i < frame->iterations.n && live->on_iteration; i++) {
		const struct tele_iteration *told = &frame->iterations.items[i];
		uint32_t id = told->job >= TELE_OTHER ? UINT32_MAX
						      : live->job_of.items[told->job];
		int64_t offset_ns = frame->wall_offset_ns;

		if (id == UINT32_MAX || !is_time(told->enter_ns) ||
		    !is_time(told->begin_ns) || !is_time(told->enter_ns + offset_ns) ||
		    !is_time(told->begin_ns + offset_ns))
			continue;
		live->on_iteration(live->on_iteration_ctx,
				   &(struct live_iteration){
					   .host = host,
					   .job = id,
					   .pid = told->pid,
					   .rank = told->rank,
					   .source = told->source,
					   .is_claimed = told->is_claimed,
					   .is_observing = told->is_observing,
					   .is_over = told->is_over,
					   .number = told->number,
					   .enter_ns = told->enter_ns + offset_ns,
					   .begin_ns = told->begin_ns + offset_ns,
					   .comm_ns = told->comm_ns,
					   .bytes = told->bytes,
					   .n_collectives = told->n_collectives,
					   .gap_us = told->gap_us,
					   .order = told->order,
					   .lost = told->lost,
				   });
	}
}

void
live_on_iteration(struct live *live, live_iteration_fn *fn, void *ctx)
{
	live->on_iteration = fn;
	live->on_iteration_ctx = ctx;
}

static void
take_frame(struct live *live, const struct tele_frame *frame, int64_t received_ns)
{
	int64_t elapsed_ns;
	uint32_t host;

	if (!is_time(frame->time_ns) || !is_time(frame->wall_offset_ns) ||
	    !is_time(frame->time_ns + frame->wall_offset_ns) || frame->window_ns < 0 ||
	    frame->window_ns > LIVE_MAX_TIME_NS || frame->kind < TELE_SUMMARY ||
	    frame->kind > TELE_LAST_KIND) {
		live_refuse(live, LIVE_LIMIT_TIMES, frame->host);
		return;
	}
	host = live_intern_host(live, frame->host);
	if (host == UINT32_MAX)
		return;
	elapsed_ns =
		live_elapsed_at(live, &live->hosts.items[host], frame, received_ns);
	if (is_double(&live->hosts.items[host], frame, elapsed_ns)) {
		live->counts.doubled++;
		return;
	}
	take_header(live, host, frame, elapsed_ns);
	take_names(live, host, frame);
	if (frame->kind == TELE_RAW)
		take_raw(live, host, frame);
	else if (frame->kind == TELE_SUMMARY)
		take_summary(live, host, frame);
	else if (frame->kind == TELE_EVENTS)
		take_events(live, host, frame);
	else
		hand_on_iterations(live, host, frame);
}

void
live_frame(struct live *live, const struct tele_frame *frame)
{
	take_frame(live, frame, LIVE_NOT_RECEIVED);
}

void
live_receive(struct live *live, const struct tele_frame *frame, int64_t received_ns)
{
	take_frame(live, frame, received_ns);
}
