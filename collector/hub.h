/*
 * hub.h - between the sources and the binner: names to numbers, and whose word counts.
 *
 * Several sources may see one interface (eBPF and netlink both know eth0).  It
 * belongs to the first that names it; what the others count on it is dropped, and
 * counted, as the same bytes would be there twice.  It is free again when its source
 * says that it is gone.
 *
 * The hub also keeps totals over a restart: what totals.h found is added to a series
 * once its interface and job are seen again, and until then handed on as it was.
 */
#ifndef COLLECTOR_HUB_H
#define COLLECTOR_HUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/source.h"

struct binner;
struct hub;
struct totals;
struct totals_row;

#define HUB_MAX_SOURCES 8

struct hub_interface {
	struct tele_interface info;
	bool is_present;
	uint8_t source;      /* Whose it is, or was last. */
	int64_t complete_ms; /* Everything before it has been emitted; 0: nothing yet. */
};

/* 'binner' is borrowed. */
struct hub *hub_new(struct binner *binner);
void hub_free(struct hub *hub); /* Accepts NULL. */

/* What source number 'i' talks to; borrowed from the hub. */
const struct source_sink *hub_sink(struct hub *hub, size_t i);

size_t hub_n_interfaces(const struct hub *hub);
const struct hub_interface *hub_interface(const struct hub *hub, uint32_t number);
size_t hub_n_jobs(const struct hub *hub);
const char *hub_job_name(const struct hub *hub, uint32_t number);

/*
 * Up to where all interfaces that are there have been emitted, those that lag behind
 * 'floor_ms' not waited for; 'floor_ms' if there are none.
 */
int64_t hub_complete_ms(const struct hub *hub, int64_t floor_ms);

/* Rows of totals_found(); copied. */
void hub_resume(struct hub *hub, const struct totals_row *rows, size_t n);
/* Writes all totals; returns how many there was no room for. */
size_t hub_save(const struct hub *hub, struct totals *totals);

struct hub_counts {
	uint64_t lost;               /* What sources could not account for. */
	uint64_t doubled;            /* Counts of an interface of another source. */
	uint64_t refused_interfaces; /* Beyond TELE_MAX_INTERFACES. */
	uint64_t refused_counts;     /* For which the binner had no room. */
	uint64_t gone, back;         /* Interfaces. */
	uint64_t resumed;            /* Series that went on from an earlier process. */
};
const struct hub_counts *hub_counts(const struct hub *hub);

#endif
