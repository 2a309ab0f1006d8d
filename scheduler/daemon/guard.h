/*
 * guard.h - a small process that takes back what the daemon pinned, if the daemon goes
 * without having done so.
 *
 * Slurm lets a pin stand for ever, and a daemon that is killed takes nothing back.  So one
 * that may pin has a guardian: a child in a session of its own, at the end of a pipe whose
 * other end only the daemon has.  When the daemon goes, however that is, the kernel ends
 * the pipe.  If nothing came of it, as the word that all is undone, the guardian does what
 * 'antiphase slurm release --pins' does; but as soon as a daemon answers at the control
 * socket it is for that one to look after pins, and the guardian ends.
 *
 * Nobody can lose a pin between the two: a daemon has its guardian before it listens at
 * its socket, and listens before it pins.  So whatever is pinned by a new daemon is seen
 * with its socket there; and if it was killed before it took over, its own guardian is
 * there.  Taking back twice is as good as once.
 *
 * What ends all processes at once takes the guardian along: the loss of power, the end of
 * a container, systemd if it has to kill.  Then it is for what comes after: ExecStopPost=
 * of the unit, Slurm's own hooks, the next start of the daemon.
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
