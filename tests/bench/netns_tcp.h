/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netns_tcp.h - TCP connections between network namespaces, of one process
 *
 * Host N is the namespace PREFIX-hN.  A socket stays in the namespace in which it was
 * made, so one thread can have both ends of a connection.
 */
#ifndef TESTS_BENCH_NETNS_TCP_H
#define TESTS_BENCH_NETNS_TCP_H

#include <stdbool.h>
#include <stdint.h>

/* Whether this kernel has the congestion control 'algorithm'. */
bool netns_tcp_has(const char *algorithm);

/*
 * Connects host 'src' to host 'dst': flow number f sends from 10.0.0.0 + 2 f + 1 to
 * 10.0.0.0 + 2 f + 2.  Both ends are non-blocking and send each write at once.
 */
int netns_tcp_connect(const char *prefix, uint32_t flow, uint32_t src, uint32_t dst,
		      const char *algorithm, int *ret_sender, int *ret_receiver);

/* Packets with an ECN mark that hosts 0 .. 'n_hosts' - 1 have received. */
int netns_tcp_marked(const char *prefix, uint32_t n_hosts, uint64_t *ret_marked);

#endif
