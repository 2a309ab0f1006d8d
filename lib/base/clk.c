/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/clk.h"

#include <time.h>

#include "lib/base/alloc.h"

static struct timespec
read_clock(clockid_t id)
{
	struct timespec now;

	if (clock_gettime(id, &now) < 0)
		BUG("clock %d cannot be read", (int)id);
	return now;
}

static int64_t
read_ns(clockid_t id)
{
	struct timespec now = read_clock(id);

	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t
clk_monotonic_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

int64_t
clk_cpu_ns(void)
{
	return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t
clk_thread_cpu_ns(void)
{
	return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

int64_t
clk_wall_us(void)
{
	struct timespec now = read_clock(CLOCK_REALTIME);

	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}
