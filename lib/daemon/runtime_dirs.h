/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime_dirs.h - the directories of the daemons' sockets on a host
 *
 * Each daemon has one of its own, because systemd gives it to the daemon's user: of two
 * units that share one, the second to start takes it from the first.  The units name the
 * same (RuntimeDirectory=; tests/units.sh compares them).
 */
#ifndef LIB_DAEMON_RUNTIME_DIRS_H
#define LIB_DAEMON_RUNTIME_DIRS_H

#define COLLECTOR_RUNTIME_DIR "/run/antiphase"
#define SCHEDULER_RUNTIME_DIR "/run/antiphase-scheduler"

/* Below the collector's: sockets for jobs, and nothing else, to be mounted into pods. */
#define COLLECTOR_SOCKETS_DIR "sockets"

#endif
