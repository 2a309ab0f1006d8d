/*
 * ingest.h - between the sources and the binner: names to numbers, and whose word counts.
 *
 * Several sources may see one interface (eBPF and netlink both know eth0).  It
 * belongs to the first that names it; what the others count on it is dropped, and
 * counted, as the same bytes would be there twice.  It is free again when its source
 * says that it is gone.
 *
 * The ingest also keeps totals over a restart: what totals.h found is added to a series
 * once its interface and job are seen again, and until then handed on as it was.
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
	uint8_t source;      /* Whose it is, or was last. */
	int64_t complete_ms; /* Everything before it has been emitted; 0: nothing yet. */
};

/* 'binner' is borrowed. */
struct ingest *ingest_new(struct binner *binner);
void ingest_free(struct ingest *ingest); /* Accepts NULL. */

/* What source number 'i' talks to; borrowed from the ingest. */
const struct source_sink *ingest_sink(struct ingest *ingest, size_t i);

size_t ingest_n_interfaces(const struct ingest *ingest);
const struct ingest_interface *ingest_interface(const struct ingest *ingest,
						uint32_t number);
size_t ingest_n_jobs(const struct ingest *ingest);
const char *ingest_job_name(const struct ingest *ingest, uint32_t number);

/*
 * Up to where all interfaces that are there have been emitted, those that lag behind
 * 'floor_ms' not waited for; 'floor_ms' if there are none.
 */
int64_t ingest_complete_ms(const struct ingest *ingest, int64_t floor_ms);

/* Rows of saved_totals_found(); copied. */
void ingest_resume(struct ingest *ingest, const struct saved_totals_row *rows,
		   size_t n);
/* Writes all totals; returns how many there was no room for. */
size_t ingest_save(const struct ingest *ingest, struct saved_totals *totals);

struct ingest_counts {
	uint64_t lost;               /* What sources could not account for. */
	uint64_t doubled;            /* Counts of an interface of another source. */
	uint64_t refused_interfaces; /* Beyond TELE_MAX_INTERFACES. */
	uint64_t refused_counts;     /* For which the binner had no room. */
	uint64_t gone, back;         /* Interfaces. */
	uint64_t resumed;            /* Series that went on from an earlier process. */
};
const struct ingest_counts *ingest_counts(const struct ingest *ingest);

#endif
