/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ingest.h - the sink of the sources: names to numbers, one owner per interface
 *
 * Several sources may see one interface: eBPF and netlink both count eth0.  The first
 * source that names an interface owns it; counts from other sources are dropped and
 * counted, because they are the same bytes.  The interface is free again when its owner
 * reports it as gone.
 *
 * Ingest also carries totals over a restart: totals from saved_totals.h are added to a
 * series when its interface and job appear again, and saved unchanged until then.
 */
#ifndef COLLECTOR_SERIES_INGEST_H
#define COLLECTOR_SERIES_INGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/sources/source.h"

struct binner;
struct ingest;
struct saved_totals;
struct saved_totals_row;

#define INGEST_MAX_SOURCES 8

struct ingest_interface {
	struct tele_interface info;
	bool is_present;
	uint8_t source;      /* Its owner, or its last one. */
	int64_t complete_ms; /* Everything before it has been emitted; 0: nothing yet. */
};

/* 'binner' is borrowed. */
struct ingest *ingest_new(struct binner *binner);
void ingest_free(struct ingest *ingest); /* Accepts NULL. */

/* The sink of source number 'i'; borrowed from the ingest. */
const struct source_sink *ingest_sink(struct ingest *ingest, size_t i);

size_t ingest_n_interfaces(const struct ingest *ingest);
const struct ingest_interface *ingest_interface(const struct ingest *ingest,
						uint32_t number);
size_t ingest_n_jobs(const struct ingest *ingest);
const char *ingest_job_name(const struct ingest *ingest, uint32_t number);

/*
 * The time up to which all present interfaces have been emitted, without waiting for
 * those behind 'floor_ms'; 'floor_ms' if there are none.
 */
int64_t ingest_complete_ms(const struct ingest *ingest, int64_t floor_ms);

/* Rows of saved_totals_found(); copied. */
void ingest_resume(struct ingest *ingest, const struct saved_totals_row *rows,
		   size_t n);
/* Saves all totals; returns how many had no room. */
size_t ingest_save(const struct ingest *ingest, struct saved_totals *totals);

struct ingest_counts {
	uint64_t lost;               /* Reported by sources as unaccounted. */
	uint64_t doubled;            /* Counts of an interface of another source. */
	uint64_t refused_interfaces; /* Beyond TELE_MAX_INTERFACES. */
	uint64_t refused_counts;     /* Counts for which the binner had no room. */
	uint64_t gone, back;         /* Interfaces. */
	uint64_t resumed;            /* Series continued from an earlier process. */
};
const struct ingest_counts *ingest_counts(const struct ingest *ingest);

#endif
