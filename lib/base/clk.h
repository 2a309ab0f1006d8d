/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clk.h - clocks of the system; no other module reads them.
 */
#ifndef LIB_BASE_CLK_H
#define LIB_BASE_CLK_H

#include <stdint.h>

/* Monotonic, from an arbitrary start. */
int64_t clk_monotonic_ns(void);
/* CPU time of this process, user and system. */
int64_t clk_cpu_ns(void);
/* CPU time of this thread. */
int64_t clk_thread_cpu_ns(void);
/* Microseconds since 1970, UTC. */
int64_t clk_wall_us(void);

#endif
