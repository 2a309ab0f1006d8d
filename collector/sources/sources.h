/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sources.h - the open sources and their polling
 *
 * "auto" opens eBPF, or netlink if eBPF does not work, and RDMA devices if the host has
 * any.  A source is polled at the interval that it requests, which may change, and when
 * its descriptor is readable; a source that reads a file is polled as fast as the loop
 * allows.  Each source's status shows how regular the polls were.
 */
#ifndef COLLECTOR_SOURCES_SOURCES_H
#define COLLECTOR_SOURCES_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cgroups;
struct config;
struct err;
struct sources;
struct ingest;
struct loop;
struct source;

struct sources_options {
	const struct config *config; /* Borrowed. */
	struct loop *loop;           /* Borrowed, as the ingest. */
	struct ingest *ingest;
	struct cgroups *cgroups; /* Borrowed; NULL: no jobs. */
	/* Called after a poll; 'is_end' when all sources have reached their end. */
	void (*polled)(void *ctx, bool is_end);
	void *ctx;
};

/*
 * Opens the sources in the settings.  0; -EPERM or -EOPNOTSUPP if the kernel refuses;
 * or -errno; with 'err' filled.  Polling begins with sources_start().
 */
int sources_open(const struct sources_options *options, struct sources **ret_sources,
		 struct err *err);
void sources_close(struct sources *sources); /* Accepts NULL. */

void sources_start(struct sources *sources);
/* Polls all sources once, for the last time. */
void sources_poll(struct sources *sources);

/* Capabilities (caps.h) that the open sources still need. */
uint64_t sources_caps(const struct sources *sources);
/* True if times are not those of this host's clock: a capture, a recording. */
bool sources_is_offline(const struct sources *sources);
/* The open source of the class 'name' ("bpf"), or NULL. */
struct source *sources_source(const struct sources *sources, const char *name);

struct source_status {
	const char *name;
	uint64_t polls, errors, missed; /* missed: turns of the interval. */
	int64_t wanted_ns;              /* The interval that it requests; 0: a file. */
	int64_t sum_ns, longest_ns;     /* Of the times between polls. */
	int64_t busy_ns;                /* Wall time in poll(). */
	bool is_end;
};

size_t sources_n(const struct sources *sources);
const struct source_status *sources_status(const struct sources *sources, size_t i);

#endif
