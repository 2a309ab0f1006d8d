/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait.h - the pacer's clock, and waits to within microseconds: sleep, then spin.
 */
#ifndef PACER_WAIT_H
#define PACER_WAIT_H

#include <stdint.h>

/* Waits spin for this time: sleep may end that late (timer slack is 50 us). */
#define WAIT_AWAKE_NS INT64_C(80000)

/* CLOCK_MONOTONIC. */
int64_t wait_now_ns(void);
/* Returns the time at the end. */
int64_t wait_until(int64_t until_ns);

#endif
