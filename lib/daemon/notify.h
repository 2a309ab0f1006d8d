/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notify.h - what a daemon tells the service manager that started it.
 *
 * sd_notify(3)'s protocol: a datagram of "KEY=VALUE" lines to the socket named in
 * $NOTIFY_SOCKET.  Without one, as when started by hand, all this does nothing.
 */
#ifndef LIB_DAEMON_NOTIFY_H
#define LIB_DAEMON_NOTIFY_H

#include <stdint.h>

struct loop;

/* Sends 'state', such as "READY=1".  0, also if nobody wants to know; or -errno. */
int notify_send(const char *state);

/* Sends "STATUS=..." with a line for people. */
int notify_status(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* How often "WATCHDOG=1" is due: half of what the manager allows; 0: never. */
int64_t notify_watchdog_ns(void);
/* Says so, that often, as long as the loop goes round. */
void notify_watchdog_join(struct loop *loop);

#endif
