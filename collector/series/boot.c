/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/series/boot.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>

#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/file.h"

#define BOOT_ID_FILE "/proc/sys/kernel/random/boot_id"

/* Number of readings of both clocks; the fastest counts. */
#define READINGS 5

static int
nibble(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

bool
boot_parse_id(const char *text, uint8_t ret_id[16])
{
	uint8_t id[16];
	size_t n = 0;

	for (const char *c = text; *c && *c != '\n'; c++) {
		int high, low;

		if (*c == '-')
			continue;
		high = nibble(c[0]);
		low = high < 0 ? -1 : nibble(c[1]);
		if (low < 0 || n == sizeof id)
			return false;
		id[n++] = (uint8_t)(high * 16 + low);
		c++;
	}
	if (n != sizeof id)
		return false;
	memcpy(ret_id, id, sizeof id);
	return true;
}

int
boot_read_id(const char *file, uint8_t ret_id[16], struct err *err)
{
	char *text;
	size_t length;
	int rc;

	if (!file)
		file = BOOT_ID_FILE;
	rc = file_read(file, 4096, &text, &length, err);
	if (rc < 0)
		return rc;
	if (!boot_parse_id(text, ret_id))
		rc = err_set(err, file, 1, 0, "expected the id of a boot, a UUID");
	free(text);
	return rc;
}

bool
wall_update(struct wall *wall, int64_t monotonic_ns, int64_t wall_ns)
{
	int64_t offset_ns = wall_ns - monotonic_ns;
	int64_t moved_ns = offset_ns - wall->offset_ns;
	bool is_step =
		wall->is_known && (moved_ns > WALL_STEP_NS || moved_ns < -WALL_STEP_NS);

	/* A smaller difference is within the reading error: keep the first reading. */
	if (!wall->is_known || is_step)
		wall->offset_ns = offset_ns;
	wall->is_known = true;
	if (is_step) {
		wall->steps++;
		wall->last_step_ns = moved_ns;
	}
	return is_step;
}

void
boot_read_clocks(int64_t *ret_monotonic_ns, int64_t *ret_wall_ns)
{
	int64_t best_ns = INT64_MAX;

	for (int i = 0; i < READINGS; i++) {
		int64_t before_ns = clk_monotonic_ns();
		int64_t wall_ns = clk_wall_us() * 1000;
		int64_t took_ns = clk_monotonic_ns() - before_ns;

		if (took_ns >= best_ns)
			continue;
		best_ns = took_ns;
		*ret_monotonic_ns = before_ns + took_ns / 2;
		*ret_wall_ns = wall_ns;
	}
}

int64_t
boot_clock_error_ns(void)
{
	struct timex timex = { .modes = 0 };
	int state = adjtimex(&timex);

	if (state < 0 || state == TIME_ERROR || timex.status & STA_UNSYNC)
		return -1;
	return (int64_t)timex.maxerror * 1000;
}
