/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traffic_map_ports.c - assumed source ports of jobs, by the natural order of their
 * names.
 *
 * In steps, as there may be very many jobs.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/sorter.h"
#include "scheduler/live/live.h"
#include "scheduler/live/traffic_map.h"

#define MOVES_A_STEP 8192

/* As in scenario files, for jobs without a port of their own. */
#define FIRST_PORT(i) ((uint16_t)(1024 + (uint64_t)(i)*251 % 64000))

struct traffic_map_ports {
	const struct live *live;
	uint32_t n_numbers;
	struct sorter *sorter; /* Owned. */
};

static int
compare_names(uint32_t x, uint32_t y, void *live)
{
	const char *nx = live_job_name(live, x), *ny = live_job_name(live, y);
	int order = strverscmp(nx, ny);

	return order ? order : strcmp(nx, ny);
}

struct traffic_map_ports *
traffic_map_ports_begin(const struct live *live)
{
	struct traffic_map_ports *f = xcalloc(1, sizeof *f);
	uint32_t n_numbers = live_n_jobs(live), n = 0;
	uint32_t *numbers = xcalloc(n_numbers + 1, sizeof *numbers);

	for (uint32_t j = 0; j < n_numbers; j++)
		if (live_is_job(live, j))
			numbers[n++] = j;
	f->live = live;
	f->n_numbers = n_numbers;
	f->sorter = sorter_new(n_numbers, compare_names, (void *)live);
	sorter_set(f->sorter, numbers, n);
	free(numbers);
	return f;
}

bool
traffic_map_ports_step(struct traffic_map_ports *f)
{
	return sorter_step(f->sorter, MOVES_A_STEP);
}

uint16_t *
traffic_map_ports_end(struct traffic_map_ports *f)
{
	const uint32_t *order;
	uint16_t *ports;
	size_t n;

	if (!f)
		return NULL;
	ports = xcalloc(f->n_numbers + 1, sizeof *ports);
	order = sorter_items(f->sorter, &n);
	for (uint32_t i = 0; i < n; i++)
		ports[order[i]] = FIRST_PORT(i);
	sorter_free(f->sorter);
	free(f);
	return ports;
}
