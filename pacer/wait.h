/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait.h - the pacer's clock, and waiting until a time on it to within microseconds: it
 * sleeps, and spins for the last of it
 */
#ifndef PACER_WAIT_H
#define PACER_WAIT_H

#include <stdint.h>

/* A process that sleeps is woken up to so much too late (timer slack is 50 us). */
#define WAIT_AWAKE_NS INT64_C(80000)

/* CLOCK_MONOTONIC. */
int64_t wait_now_ns(void);
/* Returns what the time is then. */
int64_t wait_until(int64_t until_ns);

#endif
