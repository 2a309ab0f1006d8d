/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_priv.h - the live state, between its files: live.c owns the memory, live_frame.c
 * adds frames, live_time.c keeps the time, live_forget.c removes what is old, live_view.c
 * reads.
 */
#ifndef SCHEDULER_LIVE_LIVE_PRIV_H
#define SCHEDULER_LIVE_LIVE_PRIV_H

#include "scheduler/live/live.h"

#define uthash_fatal(msg) BUG("uthash: %s", msg)
#include <uthash.h>

#include "lib/base/alloc.h"
#include "lib/base/strtab.h"
#include "lib/base/vec.h"

#define NS_PER_MS INT64_C(1000000)

/*
 * In a ring: no frame has this bin; 0, the value of memory that was never written. A
 * bin of zero bytes is LIVE_ZERO, and larger counts are cut to one less.
 */
#define LIVE_UNTOLD 0u
#define LIVE_ZERO   (TELE_GAP - 1)

/* Bins [from_ms, to_ms) of the host's clock that raw frames reported. */
struct span {
	int64_t from_ms, to_ms;
};

/* A sending process, and the sequence numbers expected from it. */
struct sender {
	uint64_t start_id;
	uint64_t next_sequence[TELE_LAST_KIND + 1];
	bool has_sequence[TELE_LAST_KIND + 1];
};

struct host {
	struct live_host seen; /* Public. */
	uint8_t boot_id[16], boot_before[16];
	bool has_boot_before;
	struct sender sender, sender_before; /* Two may alternate. */
	int64_t raw_mono_ms; /* Host's clock: end of the newest raw frame. */
	/* 'elapsed' at the newest frame, the newest raw frame, the last summary. */
	int64_t heard_ns, raw_heard_ns, summary_heard_ns;
	int64_t mono_ns;       /* Host's clock: of the newest frame of this boot, */
	int64_t mono_heard_ns; /* and 'elapsed' then. */
	/* For the limits of one host: what it named, and what it takes. */
	uint32_t n_jobs, n_interfaces;
	size_t bytes;
};

struct interface {
	struct live_interface seen;
	VEC(struct span) covered; /* Ascending, disjoint, not touching. */
};

struct series {
	struct live_series seen;
	uint64_t key;
	int64_t end_ms;      /* Of the ring: it has [end_ms - keep_ms, end_ms). */
	uint32_t *ring;      /* Owned.  Bin m is at m modulo keep_ms.  NULL: none. */
	uint64_t kept_bytes; /* In it. */
	uint32_t number;
	UT_hash_handle hh; /* By 'key'. */
};

struct job {
	bool is_known;    /* False: its number is free. */
	int64_t heard_ns; /* 'elapsed' when a frame last named it. */
	VEC(struct live_event) events;
	bool has_room;  /* Their memory is counted. */
	uint32_t owner; /* The host that named it first; LIVE_NOBODY: it is gone. */
};

struct live {
	uint32_t keep_ms;
	size_t max_bytes, bytes;
	struct strtab *host_names, *interface_names, *job_names; /* Owned. */
	VEC(struct host) hosts;
	VEC(struct interface) interfaces;
	VEC(struct job) jobs; /* By number in 'job_names'. */
	uint32_t n_known_jobs;
	VEC(struct series *) series; /* Owned. */
	struct series *by_key;
	int64_t now_ns;
	int64_t elapsed_ns;     /* Never goes back. */
	int64_t now_elapsed_ns; /* When 'now' last advanced. */
	int64_t voted_ns;       /* 'elapsed' of the last vote on 'now'. */
	int64_t swept_ns;       /* 'elapsed' of the last search for outdated rings. */
	bool are_hosts_crowded, are_jobs_crowded; /* During live_forget(). */
	struct live_counts counts;
	live_iteration_fn *on_iteration; /* Or NULL. */
	void *on_iteration_ctx;
	VEC(uint32_t) interface_of, job_of; /* Of the frame being read. */
};

#define LIVE_NOBODY UINT32_MAX

/* Memory of an item besides its ring: structure, name and places in tables. */
#define LIVE_ITEM_BYTES 384

/* ---- Kept by live.c ------------------------------------------------------------ */

/*
 * The number of a name in a frame, made if it is new; UINT32_MAX, and counted, without
 * memory for it. For an interface, notes what the frame reports of it.
 */
uint32_t live_intern_host(struct live *live, const char *name);
uint32_t live_intern_interface(struct live *live, uint32_t host,
			       const struct tele_interface *told);
uint32_t live_intern_job(struct live *live, uint32_t host, const char *name);

/*
 * The series of a row of the present frame ('interface_of', 'job_of'); NULL: refused.
 */
struct series *live_intern_series(struct live *live, uint32_t told_interface,
				  uint32_t told_job, unsigned direction);

/* The host of a series. */
uint32_t live_host_of(const struct live *live, const struct series *s);

/* The series of live_series_key(), or NULL. */
struct series *live_series_of(const struct live *live, uint64_t key);

/* Counts that something of a host is refused; 'host' as named in its frame. */
void live_refuse(struct live *live, enum live_limit limit, const char *host);

/*
 * Reserves memory for rings and events of a host (or LIVE_NOBODY), which leave one part
 * in LIVE_ITEMS_SHARE to hosts and jobs; false, and counted, without memory.
 */
bool live_may_take_much(struct live *live, uint32_t host, size_t bytes);
/* Gives memory back. */
void live_give_back(struct live *live, uint32_t host, size_t bytes);

/* Makes the ring of a series if needed, ending at 'end_ms'; false: no memory. */
bool live_take_ring(struct live *live, struct series *s, int64_t end_ms);
/* Frees the ring, if there is one. */
void live_drop_ring(struct live *live, struct series *s);

/* ---- Kept by live_time.c ------------------------------------------------------- */

/* Frames with wall clock times beyond this are dropped. */
#define LIVE_MAX_TIME_NS INT64_C(4000000000000000000)

/* Of a frame that was not received at a known time. */
#define LIVE_NOT_RECEIVED INT64_MIN

/* 'elapsed' at a frame of this host. */
int64_t live_elapsed_at(const struct live *live, const struct host *host,
			const struct tele_frame *frame, int64_t received_ns);
/* Takes the host's times from the frame, and advances 'now'. */
void live_take_time(struct live *live, uint32_t host, const struct tele_frame *frame,
		    int64_t elapsed_ns);

/* ---- Arithmetic ---------------------------------------------------------------- */

static inline uint64_t
live_series_key(uint32_t interface, uint32_t job, unsigned direction)
{
	return (uint64_t)interface << 33 | (uint64_t)job << 1 | (direction & 1);
}

/* The index of a millisecond of the host's clock in a ring. */
static inline size_t
live_ring_at(const struct live *live, int64_t ms)
{
	int64_t at = ms % (int64_t)live->keep_ms;

	return (size_t)(at < 0 ? at + live->keep_ms : at);
}

static inline int64_t
live_ms_floor(int64_t ns)
{
	return ns / NS_PER_MS - (ns % NS_PER_MS < 0);
}

/* The host's offset in whole milliseconds, which moves its bins. */
static inline int64_t
live_offset_ms(const struct host *host)
{
	return live_ms_floor(host->seen.wall_offset_ns + NS_PER_MS / 2);
}

#endif
