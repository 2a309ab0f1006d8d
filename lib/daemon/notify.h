/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notify.h - notifications to the service manager.
 *
 * The protocol of sd_notify(3): datagrams of "KEY=VALUE" lines to the socket in
 * $NOTIFY_SOCKET.  Without this variable the functions do nothing.
 */
#ifndef LIB_DAEMON_NOTIFY_H
#define LIB_DAEMON_NOTIFY_H

#include <stdint.h>

struct loop;

/* Sends 'state', such as "READY=1".  0, also without a service manager; or -errno. */
int notify_send(const char *state);

/* Sends "STATUS=..." with a human-readable line. */
int notify_status(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The interval of "WATCHDOG=1": half of the manager's timeout; 0: none. */
int64_t notify_watchdog_ns(void);
/* Sends "WATCHDOG=1" at this interval while the loop runs. */
void notify_watchdog_join(struct loop *loop);

#endif
