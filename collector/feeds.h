/*
 * feeds.h - the sources that are open, and when each is polled.
 *
 * "auto" is eBPF where it works and netlink where it does not, and RDMA devices if
 * there are any.  A source is polled at the interval that it asks for, which may
 * change, and when its descriptor is readable; one that reads a file, as fast as the
 * loop allows.  How evenly that went is measured.
 */
#ifndef COLLECTOR_FEEDS_H
#define COLLECTOR_FEEDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cgroups;
struct config;
struct err;
struct feeds;
struct hub;
struct loop;
struct source;

struct feeds_options {
	const struct config *config; /* Borrowed. */
	struct loop *loop;           /* Borrowed, as the hub. */
	struct hub *hub;
	struct cgroups *cgroups; /* Borrowed; NULL: no jobs. */
	/* After a poll; 'is_end' when all sources have come to their end. */
	void (*polled)(void *ctx, bool is_end);
	void *ctx;
};

/*
 * Opens what the settings ask for.  0; -EPERM or -EOPNOTSUPP if the kernel does not let
 * us; or -errno; with 'err' filled.  Polling begins with feeds_start().
 */
int feeds_open(const struct feeds_options *options, struct feeds **ret_feeds,
	       struct err *err);
void feeds_close(struct feeds *feeds); /* Accepts NULL. */

void feeds_start(struct feeds *feeds);
/* Polls all once, now: the last time, before the end. */
void feeds_poll(struct feeds *feeds);

/* Capabilities (caps.h) that the open sources go on needing. */
uint64_t feeds_caps(const struct feeds *feeds);
/* True if the times are not those of this host's clock: a capture, a recording. */
bool feeds_is_offline(const struct feeds *feeds);
/* The open source of the class 'name' ("bpf"), or NULL. */
struct source *feeds_source(const struct feeds *feeds, const char *name);

struct feed_status {
	const char *name;
	uint64_t polls, errors, missed; /* Missed: turns of the interval. */
	int64_t wanted_ns;              /* The interval that it asks for; 0: a file. */
	int64_t sum_ns, longest_ns;     /* Of the times between polls. */
	int64_t busy_ns;                /* Wall time in poll(). */
	bool is_end;
};

size_t feeds_n(const struct feeds *feeds);
const struct feed_status *feeds_status(const struct feeds *feeds, size_t i);
/* Forgets 'longest_ns' so far. */
void feeds_forget_longest(struct feeds *feeds);

#endif
