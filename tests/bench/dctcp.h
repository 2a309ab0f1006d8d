/* SPDX-License-Identifier: Apache-2.0 */
/* dctcp.h - DCTCP (tests/net/dctcp.bpf.c) for a kernel that is built without it. */
#ifndef TESTS_BENCH_DCTCP_H
#define TESTS_BENCH_DCTCP_H

/*
 * Registers it for as long as this process runs, however it ends; if another process has
 * registered it, that one is used, which connections keep.  Returns the name for
 * TCP_CONGESTION, or NULL with errno.
 */
const char *dctcp_register(void);

#endif
