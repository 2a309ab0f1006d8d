/* SPDX-License-Identifier: Apache-2.0 */
#include "pacer/wait.h"

#include <errno.h>
#include <time.h>

int64_t
wait_now_ns(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec * INT64_C(1000000000) + at.tv_nsec;
}

int64_t
wait_until(int64_t until_ns)
{
	int64_t now_ns = wait_now_ns(), wake_ns = until_ns - WAIT_AWAKE_NS;

	if (wake_ns > now_ns) {
		const struct timespec at = {
			.tv_sec = wake_ns / 1000000000,
			.tv_nsec = wake_ns % 1000000000,
		};

		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) ==
		       EINTR)
			;
	}
	while ((now_ns = wait_now_ns()) < until_ns) {
#ifdef __x86_64__
		__builtin_ia32_pause();
#endif
	}
	return now_ns;
}
