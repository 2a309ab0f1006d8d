/*
 * live.c - frames in, state out.  Names of interfaces are interned as
 * "HOST\x1fINTERFACE"; series are found by a hash of what they are of.
 */
#include "scheduler/live/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define uthash_fatal(msg) BUG("uthash: %s", msg)
#include <uthash.h>

#include "lib/base/alloc.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"

#define NS_PER_MS INT64_C(1000000)

/*
 * In a ring: no frame has told this bin; 0, so that memory that nobody wrote to says
 * so.  A bin of no bytes is ZERO there, larger counts are cut to one less.
 */
#define UNTOLD 0u
#define ZERO   (TELE_GAP - 1)

/* Of one interface: later ones take the place of the oldest. */
#define MAX_SPANS 512

/* Rings are not looked through more often for those that are out of date. */
#define SWEEP_NS INT64_C(1000000000)

/* What an item costs beside its ring: its structure, name and places in tables. */
#define ITEM_BYTES 384

/* Wall clock stamps beyond this are no time of ours; frames with them are dropped. */
#define MAX_TIME_NS INT64_C(4000000000000000000)

/* Bins that end so much later than their frame are no bins of it. */
#define MAX_EARLY_MS 1000

/* Bins [from_ms, to_ms) of the host's clock that raw frames told. */
struct span {
	int64_t from_ms, to_ms;
};

/* One process that sends, and the sequence numbers that are to come. */
struct sender {
	uint64_t start_id;
	uint64_t next_sequence[TELE_MARKS + 1];
	bool has_sequence[TELE_MARKS + 1];
};

struct host {
	struct live_host seen; /* What others see. */
	uint8_t boot_id[16], boot_before[16];
	bool has_boot_before;
	struct sender sender, sender_before; /* Two may take turns. */
	int64_t raw_mono_ms; /* Host's clock: end of the newest raw frame. */
};

struct interface {
	struct live_interface seen;
	VEC(struct span) covered; /* Ascending, disjoint, not touching. */
};

struct series {
	struct live_series seen;
	uint64_t key;
	int64_t end_ms; /* Of the ring: it has [end_ms - keep_ms, end_ms). */
	uint32_t *ring; /* Owned.  Bin m is at m modulo keep_ms.  NULL: none. */
	uint32_t number;
	UT_hash_handle hh; /* By 'key'. */
};

struct job {
	VEC(struct live_mark) marks;
	bool has_room; /* Their memory is reckoned. */
};

struct live {
	uint32_t keep_ms;
	size_t max_bytes, bytes;
	struct strtab *host_names, *interface_names, *job_names; /* Owned. */
	VEC(struct host) hosts;
	VEC(struct interface) interfaces;
	VEC(struct job) jobs;
	VEC(struct series *) series; /* Owned. */
	struct series *by_key;
	int64_t now_ns;
	bool is_leaping; /* Somebody is far ahead of 'now': */
	int64_t leap_from_ns, leap_to_ns;
	int64_t swept_ns; /* 'now' when stale rings were looked for. */
	struct live_counts counts;
	VEC(uint32_t) interface_of, job_of; /* Of the frame being read. */
};

/* ---- Life ---------------------------------------------------------------------- */

struct live *
live_new(const struct live_opts *opts)
{
	struct live *live = xcalloc(1, sizeof *live);

	live->keep_ms = opts && opts->keep_ms ? opts->keep_ms : LIVE_DEFAULT_KEEP_MS;
	live->max_bytes =
		opts && opts->max_bytes ? opts->max_bytes : LIVE_DEFAULT_MAX_BYTES;
	live->host_names = strtab_new();
	live->interface_names = strtab_new();
	live->job_names = strtab_new();
	live->now_ns = live->swept_ns = LIVE_NEVER;
	return live;
}

void
live_free(struct live *live)
{
	if (!live)
		return;
	HASH_CLEAR(hh, live->by_key);
	for (size_t i = 0; i < live->series.n; i++) {
		free(live->series.items[i]->ring);
		free(live->series.items[i]);
	}
	for (size_t i = 0; i < live->interfaces.n; i++)
		vec_free(&live->interfaces.items[i].covered);
	for (size_t i = 0; i < live->jobs.n; i++)
		vec_free(&live->jobs.items[i].marks);
	vec_free(&live->series);
	vec_free(&live->interfaces);
	vec_free(&live->jobs);
	vec_free(&live->hosts);
	vec_free(&live->interface_of);
	vec_free(&live->job_of);
	strtab_free(live->host_names);
	strtab_free(live->interface_names);
	strtab_free(live->job_names);
	free(live);
}

/* ---- Memory -------------------------------------------------------------------- */

static size_t
ring_bytes(const struct live *live)
{
	return live->keep_ms * sizeof(uint32_t);
}

/*
 * Gives back the rings of series without traffic in what is kept.  Not at each series
 * that there is no room for: there may be very many of both.
 */
static void
free_stale_rings(struct live *live)
{
	if (live->swept_ns != LIVE_NEVER && live->now_ns - live->swept_ns < SWEEP_NS)
		return;
	live->swept_ns = live->now_ns;
	for (size_t i = 0; i < live->series.n; i++) {
		struct series *s = live->series.items[i];
		const struct host *host;

		if (!s->ring)
			continue;
		host = &live->hosts.items[live->interfaces.items[s->seen.interface]
						  .seen.host];
		if (s->seen.last_ms != LIVE_NEVER && host->raw_mono_ms != LIVE_NEVER &&
		    s->seen.last_ms >= host->raw_mono_ms - live->keep_ms)
			continue;
		free(s->ring);
		s->ring = NULL;
		s->seen.has_bins = false;
		live->bytes -= ring_bytes(live);
	}
}

/* Reserves memory for something new; false, and counted, if there is none. */
static bool
may_take(struct live *live, size_t bytes)
{
	if (live->bytes + bytes > live->max_bytes)
		free_stale_rings(live);
	if (live->bytes + bytes > live->max_bytes) {
		live->counts.refused++;
		return false;
	}
	live->bytes += bytes;
	return true;
}

/* ---- Names to numbers; UINT32_MAX: refused --------------------------------------- */

static uint32_t
find_host(struct live *live, const char *name)
{
	uint32_t id = strtab_find(live->host_names, name);

	if (id != STRTAB_NONE)
		return id;
	if (!may_take(live, ITEM_BYTES))
		return UINT32_MAX;
	id = strtab_intern(live->host_names, name);
	vec_push(&live->hosts,
		 ((struct host){
			 .seen = { .name = strtab_name(live->host_names, id),
				   .time_ns = LIVE_NEVER,
				   .raw_ns = LIVE_NEVER,
				   .summary_ns = LIVE_NEVER },
			 .raw_mono_ms = LIVE_NEVER,
		 }));
	return id;
}

static uint32_t
find_interface(struct live *live, uint32_t host, const struct tele_interface *told)
{
	char key[2 * TELE_MAX_NAME + 3];
	size_t at = strlen(live->hosts.items[host].seen.name) + 1;
	struct live_interface *known;
	uint32_t id;

	snprintf(key, sizeof key, "%s\x1f%s", live->hosts.items[host].seen.name,
		 told->name);
	id = strtab_find(live->interface_names, key);
	if (id == STRTAB_NONE) {
		if (!may_take(live, ITEM_BYTES))
			return UINT32_MAX;
		id = strtab_intern(live->interface_names, key);
		vec_push(&live->interfaces,
			 ((struct interface){
				 .seen = { .host = host,
					   .name = strtab_name(live->interface_names,
							       id) +
						   at } }));
	}
	known = &live->interfaces.items[id].seen;
	known->capacity_bps = told->capacity_bps;
	known->is_up = told->is_up;
	known->is_rdma = told->is_rdma;
	return id;
}

static uint32_t
intern_job(struct live *live, const char *name)
{
	uint32_t id = strtab_find(live->job_names, name);

	if (id != STRTAB_NONE)
		return id;
	if (!may_take(live, ITEM_BYTES))
		return UINT32_MAX;
	vec_push(&live->jobs, ((struct job){ .marks = VEC_EMPTY }));
	return strtab_intern(live->job_names, name);
}

static uint64_t
series_key(uint32_t interface, uint32_t job, unsigned direction)
{
	return (uint64_t)interface << 33 | (uint64_t)job << 1 | (direction & 1);
}

static struct series *
find_series(const struct live *live, uint64_t key)
{
	struct series *s;

	HASH_FIND(hh, live->by_key, &key, sizeof key, s);
	return s;
}

/* The series of a row of the frame; NULL: refused. */
static struct series *
take_series(struct live *live, uint32_t told_interface, uint32_t told_job,
	    unsigned direction)
{
	uint32_t interface = live->interface_of.items[told_interface];
	uint32_t job = told_job >= TELE_OTHER ? told_job : live->job_of.items[told_job];
	uint64_t key = series_key(interface, job, direction);
	struct series *s;

	if (interface == UINT32_MAX || (told_job < TELE_OTHER && job == UINT32_MAX))
		return NULL;
	s = find_series(live, key);
	if (s)
		return s;
	if (!may_take(live, ITEM_BYTES))
		return NULL;
	s = xcalloc(1, sizeof *s);
	s->key = key;
	s->number = (uint32_t)live->series.n;
	s->seen = (struct live_series){ .interface = interface,
					.job = job,
					.direction = direction & 1,
					.last_ms = LIVE_NEVER };
	HASH_ADD(hh, live->by_key, key, sizeof s->key, s);
	vec_push(&live->series, s);
	return s;
}

/* ---- Bins ------------------------------------------------------------------------ */

static size_t
ring_at(const struct live *live, int64_t ms)
{
	int64_t at = ms % (int64_t)live->keep_ms;

	return (size_t)(at < 0 ? at + live->keep_ms : at);
}

/* Moves the ring's end on to 'end_ms'; what is new in it is untold. */
static void
advance(const struct live *live, struct series *s, int64_t end_ms)
{
	int64_t from = s->end_ms;

	if (end_ms <= s->end_ms)
		return;
	if (end_ms - from > live->keep_ms)
		from = end_ms - live->keep_ms;
	for (int64_t ms = from; ms < end_ms; ms++)
		s->ring[ring_at(live, ms)] = UNTOLD;
	s->end_ms = end_ms;
}

static bool
has_ring(struct live *live, struct series *s, int64_t end_ms)
{
	if (s->ring)
		return true;
	if (!may_take(live, ring_bytes(live)))
		return false;
	s->ring = xcalloc(live->keep_ms, sizeof *s->ring);
	s->seen.has_bins = true;
	s->seen.last_ms = LIVE_NEVER;
	s->end_ms = end_ms;
	return true;
}

static void
put_bins(struct live *live, struct series *s, int64_t start_ms, const uint32_t *bins,
	 uint32_t n)
{
	int64_t end_ms = start_ms + n;

	if (!has_ring(live, s, end_ms))
		return;
	advance(live, s, end_ms);
	for (uint32_t i = 0; i < n; i++) {
		int64_t ms = start_ms + i;
		uint32_t bytes = bins[i];

		if (ms < s->end_ms - live->keep_ms) {
			live->counts.late_bins++;
			continue;
		}
		if (bytes && bytes != TELE_GAP && ms > s->seen.last_ms)
			s->seen.last_ms = ms;
		if (bytes == ZERO)
			bytes--;
		s->ring[ring_at(live, ms)] = bytes ? bytes : ZERO;
	}
}

/* Adds [from, to) to what is covered; forgets what is before 'oldest_ms'. */
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

/* Whether sums and differences of such stamps are numbers. */
static bool
is_time(int64_t ns)
{
	return ns >= -MAX_TIME_NS && ns <= MAX_TIME_NS;
}

static int64_t
ms_floor(int64_t ns)
{
	return ns / NS_PER_MS - (ns % NS_PER_MS < 0);
}

/* The host's offset in whole milliseconds, by which its bins are moved. */
static int64_t
offset_ms(const struct host *host)
{
	return ms_floor(host->seen.wall_offset_ns + NS_PER_MS / 2);
}

/* Another boot is another clock: nothing of before can be compared with it. */
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

		if (live->interfaces.items[s->seen.interface].seen.host != host ||
		    !s->ring)
			continue;
		free(s->ring);
		s->ring = NULL;
		s->seen.has_bins = false;
		live->bytes -= ring_bytes(live);
	}
}

/*
 * Sequence numbers are of a kind, host and start of the sender.  Of the last two starts
 * they go on: a host may have two senders, as a collector and an importer.
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

/* A boot that another one followed is over: who still sends from it is another machine. */
static bool
is_double(const struct host *host, const struct tele_frame *frame)
{
	return host->has_boot_before && is_boot(host->boot_before, frame) &&
	       !is_boot(host->boot_id, frame) &&
	       frame->time_ns + frame->wall_offset_ns - host->seen.time_ns <=
		       LIVE_SILENT_NS;
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

/* Moves "now" on, unless one host alone says so and is far ahead. */
static void
note_now(struct live *live, int64_t wall_ns)
{
	if (live->now_ns == LIVE_NEVER || live->hosts.n == 1) {
		live->is_leaping = false;
		if (wall_ns > live->now_ns)
			live->now_ns = wall_ns;
		return;
	}
	if (wall_ns - live->now_ns <= LIVE_LEAP_NS) {
		if (wall_ns >= live->now_ns - LIVE_LEAP_NS)
			live->is_leaping = false;
		if (wall_ns > live->now_ns)
			live->now_ns = wall_ns;
		return;
	}
	if (!live->is_leaping)
		live->leap_from_ns = live->leap_to_ns = wall_ns;
	live->is_leaping = true;
	if (wall_ns > live->leap_to_ns)
		live->leap_to_ns = wall_ns;
	if (live->leap_to_ns - live->leap_from_ns < LIVE_SILENT_NS)
		return;
	live->is_leaping = false;
	live->now_ns = live->leap_to_ns;
}

static void
take_header(struct live *live, uint32_t id, const struct tele_frame *frame)
{
	struct host *host = &live->hosts.items[id];
	int64_t wall_ns = frame->time_ns + frame->wall_offset_ns;

	note_boot(live, id, frame);
	count_sequence(host, frame);
	host->seen.n_frames++;
	host->seen.flags = frame->flags;
	host->seen.steps += (frame->flags & TELE_CLOCK_STEPPED) != 0;
	host->seen.wall_offset_ns = frame->wall_offset_ns;
	host->seen.clock_error_ns = frame->clock_error_ns;
	host->seen.lost_records = frame->lost_records;
	host->seen.unplaced_jobs = frame->unplaced_jobs;
	if (wall_ns > host->seen.time_ns || (frame->flags & TELE_CLOCK_STEPPED))
		host->seen.time_ns = wall_ns;
	note_now(live, wall_ns);
}

static void
take_names(struct live *live, uint32_t host, const struct tele_frame *frame)
{
	live->interface_of.n = live->job_of.n = 0;
	for (size_t i = 0; i < frame->interfaces.n; i++)
		vec_push(&live->interface_of,
			 find_interface(live, host, &frame->interfaces.items[i]));
	for (size_t i = 0; i < frame->jobs.n; i++)
		vec_push(&live->job_of, intern_job(live, frame->jobs.items[i].name));
}

static void
take_raw(struct live *live, uint32_t id, const struct tele_frame *frame)
{
	struct host *host = &live->hosts.items[id];
	int64_t to_ms = ms_floor(frame->time_ns);
	int64_t from_ms = ms_floor(frame->time_ns - frame->window_ns + NS_PER_MS - 1);

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
		s = take_series(live, told->interface, told->job, told->direction);
		if (s)
			put_bins(live, s, told->start_ms, tele_bins(frame, told),
				 told->n_bins);
	}
	if (to_ms > host->raw_mono_ms)
		host->raw_mono_ms = to_ms;
	host->seen.raw_ns = (host->raw_mono_ms + offset_ms(host)) * NS_PER_MS;
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
	for (size_t i = 0; i < frame->traffic.n; i++) {
		const struct tele_traffic *told = &frame->traffic.items[i];
		struct series *s;

		if (told->measure != TELE_WIRE)
			continue;
		s = take_series(live, told->interface, told->job, told->direction);
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
take_marks(struct live *live, uint32_t host, const struct tele_frame *frame)
{
	for (size_t i = 0; i < frame->marks.n; i++) {
		const struct tele_mark *told = &frame->marks.items[i];
		uint32_t id = told->job >= TELE_OTHER ? UINT32_MAX
						      : live->job_of.items[told->job];
		struct job *job;

		if (id == UINT32_MAX || !is_time(told->begin_ns) ||
		    !is_time(told->begin_ns + frame->wall_offset_ns))
			continue;
		job = &live->jobs.items[id];
		if (!job->has_room &&
		    !may_take(live, LIVE_MAX_MARKS * sizeof *job->marks.items))
			continue;
		job->has_room = true;
		if (job->marks.n >= LIVE_MAX_MARKS) { /* The older half goes. */
			job->marks.n = LIVE_MAX_MARKS / 2;
			memmove(job->marks.items, job->marks.items + job->marks.n,
				job->marks.n * sizeof *job->marks.items);
		}
		vec_push(&job->marks,
			 ((struct live_mark){ host, told->pid, told->is_launch,
					      told->begin_ns + frame->wall_offset_ns,
					      told->bytes }));
	}
}

void
live_frame(struct live *live, const struct tele_frame *frame)
{
	uint32_t host;

	if (!is_time(frame->time_ns) || !is_time(frame->wall_offset_ns) ||
	    !is_time(frame->time_ns + frame->wall_offset_ns) || frame->window_ns < 0 ||
	    frame->window_ns > MAX_TIME_NS || frame->kind < TELE_SUMMARY ||
	    frame->kind > TELE_MARKS) {
		live->counts.refused++;
		return;
	}
	host = find_host(live, frame->host);
	if (host == UINT32_MAX)
		return;
	if (is_double(&live->hosts.items[host], frame)) {
		live->counts.doubled++;
		return;
	}
	take_header(live, host, frame);
	take_names(live, host, frame);
	if (frame->kind == TELE_RAW)
		take_raw(live, host, frame);
	else if (frame->kind == TELE_SUMMARY)
		take_summary(live, host, frame);
	else
		take_marks(live, host, frame);
}

/* ---- Asking --------------------------------------------------------------------- */

int64_t
live_now_ns(const struct live *live)
{
	return live->now_ns;
}

int64_t
live_complete_ms(const struct live *live)
{
	int64_t least_ns = LIVE_NEVER;

	for (uint32_t i = 0; i < live->hosts.n; i++) {
		const struct live_host *host = &live->hosts.items[i].seen;

		if (host->raw_ns == LIVE_NEVER || live_is_silent(live, i) ||
		    live->now_ns - host->raw_ns > LIVE_SILENT_NS)
			continue;
		if (least_ns == LIVE_NEVER || host->raw_ns < least_ns)
			least_ns = host->raw_ns;
	}
	return least_ns == LIVE_NEVER ? LIVE_NEVER : ms_floor(least_ns);
}

uint32_t
live_span_ms(const struct live *live)
{
	int64_t to_ms = live_complete_ms(live), first_ms = to_ms;

	for (size_t i = 0; i < live->interfaces.n && to_ms != LIVE_NEVER; i++) {
		const struct interface *it = &live->interfaces.items[i];
		int64_t at_ms;

		if (it->covered.n == 0)
			continue;
		at_ms = it->covered.items[0].from_ms +
			offset_ms(&live->hosts.items[it->seen.host]);
		if (at_ms < first_ms)
			first_ms = at_ms;
	}
	if (to_ms - first_ms > live->keep_ms)
		return live->keep_ms;
	return (uint32_t)(to_ms - first_ms);
}

uint32_t
live_n_hosts(const struct live *live)
{
	return (uint32_t)live->hosts.n;
}

uint32_t
live_n_interfaces(const struct live *live)
{
	return (uint32_t)live->interfaces.n;
}

uint32_t
live_n_jobs(const struct live *live)
{
	return (uint32_t)live->jobs.n;
}

uint32_t
live_n_series(const struct live *live)
{
	return (uint32_t)live->series.n;
}

const struct live_host *
live_host(const struct live *live, uint32_t host)
{
	return &live->hosts.items[host].seen;
}

const struct live_interface *
live_interface(const struct live *live, uint32_t interface)
{
	return &live->interfaces.items[interface].seen;
}

const struct live_series *
live_series(const struct live *live, uint32_t series)
{
	return &live->series.items[series]->seen;
}

const char *
live_job_name(const struct live *live, uint32_t job)
{
	if (job == TELE_LINK)
		return "(all)";
	return job == TELE_OTHER ? "(other)" : strtab_name(live->job_names, job);
}

uint32_t
live_find_job(const struct live *live, const char *name)
{
	uint32_t id = strtab_find(live->job_names, name);

	return id == STRTAB_NONE ? TELE_LINK : id;
}

uint32_t
live_find_series(const struct live *live, uint32_t interface, uint32_t job,
		 enum tele_direction direction)
{
	const struct series *s =
		find_series(live, series_key(interface, job, direction));

	return s ? s->number : UINT32_MAX;
}

int64_t
live_age_ns(const struct live *live, uint32_t host)
{
	int64_t age_ns = live->now_ns - live->hosts.items[host].seen.time_ns;

	return age_ns > 0 ? age_ns : 0;
}

bool
live_is_silent(const struct live *live, uint32_t host)
{
	return live_age_ns(live, host) > LIVE_SILENT_NS;
}

bool
live_has_summary(const struct live *live, uint32_t host)
{
	const struct live_host *told = live_host(live, host);

	return told->summary_ns != LIVE_NEVER && told->summary_window_ns > 0 &&
	       live->now_ns - told->summary_ns <= LIVE_SILENT_NS;
}

uint64_t
live_window_bytes(const struct live *live, uint32_t series)
{
	const struct live_series *s = live_series(live, series);
	uint32_t host = live_interface(live, s->interface)->host;

	if (!s->has_summary || s->summary_ns != live_host(live, host)->summary_ns)
		return 0;
	return s->window_bytes;
}

bool
live_has_traffic(const struct live *live, uint32_t series)
{
	const struct series *s = live->series.items[series];
	const struct live_interface *it =
		&live->interfaces.items[s->seen.interface].seen;
	int64_t end_ms = live->hosts.items[it->host].raw_mono_ms;

	if (live_age_ns(live, it->host) > live->keep_ms * NS_PER_MS)
		return false;
	if (s->ring && s->seen.last_ms != LIVE_NEVER && end_ms != LIVE_NEVER &&
	    s->seen.last_ms >= end_ms - live->keep_ms)
		return true;
	return live_window_bytes(live, series) > 0 &&
	       live->now_ns - live_host(live, it->host)->summary_ns <=
		       live->keep_ms * NS_PER_MS;
}

void
live_bins(const struct live *live, uint32_t series, int64_t from_ms, size_t n,
	  uint32_t *ret_bins)
{
	const struct series *s = live->series.items[series];
	const struct interface *interface = &live->interfaces.items[s->seen.interface];
	int64_t from = from_ms - offset_ms(&live->hosts.items[interface->seen.host]);
	int64_t to = from + (int64_t)n;

	for (size_t i = 0; i < n; i++)
		ret_bins[i] = TELE_GAP;
	for (size_t k = 0; k < interface->covered.n; k++) {
		const struct span *span = &interface->covered.items[k];
		int64_t a = span->from_ms > from ? span->from_ms : from;
		int64_t b = span->to_ms < to ? span->to_ms : to;

		for (int64_t ms = a; ms < b; ms++)
			ret_bins[ms - from] = 0;
	}
	if (!s->ring)
		return;
	for (size_t i = 0; i < n; i++) {
		int64_t ms = from + (int64_t)i;
		uint32_t bytes;

		if (ms < s->end_ms - live->keep_ms || ms >= s->end_ms)
			continue;
		bytes = s->ring[ring_at(live, ms)];
		if (bytes != UNTOLD)
			ret_bins[i] = bytes == ZERO ? 0 : bytes;
	}
}

const struct live_mark *
live_marks(const struct live *live, uint32_t job, size_t *ret_n)
{
	*ret_n = live->jobs.items[job].marks.n;
	return live->jobs.items[job].marks.items;
}

const struct live_counts *
live_counts(const struct live *live)
{
	return &live->counts;
}
