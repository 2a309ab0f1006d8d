/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcp_diag.h - the TCP socket with given ends, as sock_diag(7) reports it for the network
 * namespace of the process.  Needs no privileges.
 */
#ifndef LIB_DAEMON_TCP_DIAG_H
#define LIB_DAEMON_TCP_DIAG_H

#include <stdint.h>
#include <sys/types.h>

/* Addresses as in lib/base/address.h; ports in the network's byte order. */
struct tcp_diag_ends {
	uint8_t local[16], remote[16];
	uint16_t local_port, remote_port;
};

struct tcp_diag_socket {
	uid_t user;
	uint32_t inode;  /* 0: no process has it open. */
	uint64_t cgroup; /* Id of its control group; 0: the kernel does not tell. */
};

/* A descriptor for tcp_diag_find(), or -errno. */
int tcp_diag_open(void);

/*
 * Finds the socket, in any state except listening.  'sequence' differs from that of the
 * last question on 'fd'.  Returns 1; 0 if there is no such socket; or -errno.
 */
int tcp_diag_find(int fd, uint32_t sequence, const struct tcp_diag_ends *ends,
		  struct tcp_diag_socket *ret_socket);

#endif
