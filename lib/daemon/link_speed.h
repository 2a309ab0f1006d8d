/* SPDX-License-Identifier: Apache-2.0 */
/* link_speed.h - speed of a network interface as its driver reports it (ethtool). */
#ifndef LIB_DAEMON_LINK_SPEED_H
#define LIB_DAEMON_LINK_SPEED_H

/* Bits per second, or 0 if unknown.  'fd' is any socket of the network namespace. */
double link_speed_bps(int fd, const char *name);

#endif
