/* SPDX-License-Identifier: Apache-2.0 */
/*
 * boot.h - the boot id of the host and the offset of its wall clock
 *
 * Series are numbered by CLOCK_MONOTONIC, which is never stepped; hosts are compared by
 * their wall clocks, which can be.  On Linux slewing changes both clocks alike, so the
 * difference of the two changes only by steps (settimeofday, a leap second, a migrated
 * guest).  The arithmetic does not read the clocks, so that tests can step them.
 */
#ifndef COLLECTOR_SERIES_BOOT_H
#define COLLECTOR_SERIES_BOOT_H

#include <stdbool.h>
#include <stdint.h>

struct err;

/* The kernel's id of this boot, from 'file' (NULL: /proc's). 0 or -errno. */
int boot_read_id(const char *file, uint8_t ret_id[16], struct err *err);
/* Parses its text, "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"; false if invalid. */
bool boot_parse_id(const char *text, uint8_t ret_id[16]);

/* A difference beyond this is a step, not the time it took to read both clocks. */
#define WALL_STEP_NS INT64_C(1000000)

/* All zero before the first reading. */
struct wall {
	bool is_known;
	int64_t offset_ns; /* Wall clock less CLOCK_MONOTONIC. */
	uint64_t steps;
	int64_t last_step_ns; /* Size of the last step, with its sign. */
};

/* Takes a reading of both clocks; true if the wall clock was stepped. */
bool wall_update(struct wall *wall, int64_t monotonic_ns, int64_t wall_ns);

/* Both clocks at one moment: the closest of a few readings. */
void boot_read_clocks(int64_t *ret_monotonic_ns, int64_t *ret_wall_ns);

/* The kernel's bound of the wall clock's error; -1: not synchronized. */
int64_t boot_clock_error_ns(void);

#endif
