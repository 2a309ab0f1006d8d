/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.h - the guardian: a small process that takes pins back if the daemon is killed.
 *
 * Slurm keeps a pin for ever, and a daemon that is killed takes nothing back.  So a daemon
 * that may pin has a guardian: a child in a session of its own, at the end of a pipe whose
 * other end only the daemon has.  When the daemon ends, for whatever reason, the kernel
 * closes the pipe.  If the daemon has not written before that all is undone, the guardian
 * does what 'antiphase slurm release --pins' does.  As soon as a daemon answers at the
 * control socket, that one is responsible for pins, and the guardian ends.
 *
 * No pin is lost between the two: a daemon starts its guardian before it listens at its
 * socket, and listens before it pins.  So any pin of a new daemon is made while its socket
 * answers; and if the new daemon was killed before that, its own guardian runs.  Taking a
 * pin back twice does no harm.
 *
 * What ends all processes at once ends the guardian, too: loss of power, the end of a
 * container, systemd if it has to kill.  Then ExecStopPost= of the unit, Slurm's own hooks
 * or the next start of the daemon take pins back.
 */
#ifndef SCHEDULER_DAEMON_GUARD_H
#define SCHEDULER_DAEMON_GUARD_H

#include <stdbool.h>
#include <stdint.h>

struct guard;
struct loop;

/* What the guardian is called, and known by to main(). */
#define GUARD_NAME "antiphase-guard"

/* Texts are borrowed until guard_new() returns. */
struct guard_opts {
	const char *program; /* NULL: this very program, whatever became of its file. */
	const char *socket;  /* Where a daemon answers (control.h). */
	const char *bindir;  /* Of Slurm's commands; "": by $PATH. */
	int64_t again_ns;    /* Least time between two starts; 0: 10 s. */
};

/* Nothing is started yet. */
struct guard *guard_new(struct loop *loop, const struct guard_opts *opts);
/*
 * Starts it if it does not run; returns when it is a process.  From then on one that ends
 * is started again, which is said.  One that cannot be started is said, too, and no reason
 * not to go on.
 */
void guard_start(struct guard *guard);
/*
 * Lets go of it: it takes back what is pinned, unless 'is_undone'; then its end is waited
 * for, for a second at most.  Accepts NULL.
 */
void guard_free(struct guard *guard, bool is_undone);

/* ---- guard_main.c: the guardian itself --------------------------------------------- */

/*
 * Whether we were started as one, and its life: argv is GUARD_NAME, the socket and bindir,
 * the pipe is its standard input.  Returns the exit status.
 */
bool guard_is_called(int argc, char **argv);
int guard_main(int argc, char **argv);

#endif
