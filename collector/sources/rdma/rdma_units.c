/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/sources/rdma/rdma_units.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Units of the drivers; all follow the specification. */
static const struct {
	const char *driver;
	unsigned bytes;
} units[] = {
	{ "mlx5_core", 4 }, /* mlx5_ib: octets of the virtual port >> 2. */
	{ "mlx4_core", 4 }, /* mlx4_ib: tx_bytes >> 2. */
	{ "bnxt_en", 4 },   /* bnxt_re: tx_roce_bytes / 4. */
	{ "hfi1", 4 },      /* Words on the link. */
	{ "ib_qib", 4 },    /* Words. */
	{ "be2net", 4 },    /* ocrdma: ocrdma_sysfs_xmit_data(). */
	{ "rdma_rxe", 4 },  /* Sent bytes >> 2, if it has them. */
};

/* Reads "DRIVER=BYTES" up to a comma; returns the rest, or NULL. */
static const char *
parse_pair(const char *text, size_t *ret_length, unsigned long *ret_bytes)
{
	const char *equals = strchr(text, '=');
	char *end;

	if (!equals || equals == text || memchr(text, ',', (size_t)(equals - text)) ||
	    equals[1] < '0' || equals[1] > '9')
		return NULL;
	*ret_length = (size_t)(equals - text);
	*ret_bytes = strtoul(equals + 1, &end, 10);
	if (*ret_bytes < 1 || *ret_bytes > 64 || (*end != ',' && *end != '\0'))
		return NULL;
	return end + (*end == ',');
}

bool
rdma_override_is_valid(const char *override)
{
	unsigned long bytes;
	size_t length;

	if (!override)
		return true;
	do {
		override = parse_pair(override, &length, &bytes);
	} while (override && *override);
	return override != NULL;
}

unsigned
rdma_unit_bytes(const char *driver, const char *override)
{
	unsigned long bytes;
	size_t length;

	while (override && *override) {
		const char *name = override;

		override = parse_pair(override, &length, &bytes);
		if (override && strlen(driver) == length &&
		    !strncmp(name, driver, length))
			return (unsigned)bytes;
	}
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (!strcmp(units[i].driver, driver))
			return units[i].bytes;
	return RDMA_UNIT_BYTES;
}

bool
rdma_counter_take(struct rdma_counter *counter, uint64_t value)
{
	if (value > UINT32_MAX)
		counter->is_wide = true;
	if (value == UINT32_MAX && !counter->is_wide)
		return false;
	counter->last = value;
	return true;
}

double
rdma_parse_rate_bps(const char *text)
{
	char *end;
	double rate = strtod(text, &end);

	if (end == text || !(rate > 0) || !isfinite(rate) ||
	    strncmp(end, " Gb/sec", 7) != 0)
		return 0;
	return rate * 1e9;
}

void
rdma_pace_note(struct rdma_pace *pace, int64_t read_ns)
{
	if (read_ns > pace->slow_ns) {
		pace->n_quick = 0;
		pace->interval_ns *= 2;
		if (pace->interval_ns > pace->most_ns)
			pace->interval_ns = pace->most_ns;
	} else if (++pace->n_quick >= RDMA_QUICK_READS) {
		pace->n_quick = 0;
		pace->interval_ns /= 2;
		if (pace->interval_ns < pace->least_ns)
			pace->interval_ns = pace->least_ns;
	}
}
