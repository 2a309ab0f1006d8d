/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.h - the guardian: a small process that takes pins back if the daemon is killed.
 *
 * Slurm keeps a pin for ever, and a killed daemon takes nothing back. So a daemon that
 * may pin starts a guardian: a child in a session of its own, at the end of a pipe
 * whose other end only the daemon has. When the daemon ends, for whatever reason, the
 * kernel closes the pipe. Unless the daemon wrote first that all is undone, the
 * guardian does what 'antiphase slurm release --pins' does. As soon as another daemon
 * answers at the control socket, that daemon is responsible for pins, and the guardian
 * ends.
 *
 * No pin is lost between the two: a daemon starts its guardian before it listens at its
 * socket, and listens before it pins. So a new daemon pins only while its socket
 * answers, and if it is killed before that, its own guardian runs. Taking a pin back
 * twice does no harm.
 *
 * Some events also end the guardian: loss of power, the end of a container, a kill by
 * systemd. Then ExecStopPost= of the unit, Slurm's own hooks or the next start of the
 * daemon take pins back.
 */
#ifndef SCHEDULER_DAEMON_GUARD_H
#define SCHEDULER_DAEMON_GUARD_H

#include <stdbool.h>
#include <stdint.h>

struct guard;
struct loop;

/* The guardian's process name, by which main() recognizes it. */
#define GUARD_NAME "antiphase-guard"

/* Texts are borrowed until guard_new() returns. */
struct guard_opts {
	const char *program; /* NULL: this program, even if its file was replaced. */
	const char *socket;  /* Where a daemon answers (control.h). */
	const char *bindir;  /* Of Slurm's commands; "": by $PATH. */
	int64_t again_ns;    /* Least time between two starts; 0: 10 s. */
};

/* Does not start it yet. */
struct guard *guard_new(struct loop *loop, const struct guard_opts *opts);
/*
 * Starts the guardian if it does not run; returns when the process exists. A guardian
 * that ends is started again, with a message. A failed start is logged, and the daemon
 * goes on.
 */
void guard_start(struct guard *guard);
/*
 * Releases the guardian. It takes pins back, unless 'is_undone': then this waits for
 * its end, for a second at most. Accepts NULL.
 */
void guard_free(struct guard *guard, bool is_undone);

/* ---- guard_main.c: the guardian itself --------------------------------------------- */

/*
 * Whether this process was started as a guardian; and its main function: argv is
 * GUARD_NAME, the socket and bindir; standard input is the pipe. Returns the exit
 * status.
 */
bool guard_is_called(int argc, char **argv);
int guard_main(int argc, char **argv);

#endif
