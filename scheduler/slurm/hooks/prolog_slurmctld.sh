#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# prolog_slurmctld.sh - PrologSlurmctld and EpilogSlurmctld of Slurm: tells
# antiphase-scheduler that a job starts or has ended, so that it polls at once.  In
# slurm.conf, for either or both:
#
#	PrologSlurmctld=@hookdir@/prolog_slurmctld.sh
#	EpilogSlurmctld=@hookdir@/prolog_slurmctld.sh
#
# Slurm holds the job back until this script has ended, and requeues the job if it fails.
# So it takes a second at most, and always succeeds.  It runs as SlurmUser, who must be
# able to connect to the daemon's control socket, as root and the daemon's group are.  Only
# the daemon can listen there, and no secret is sent.
#
# If no process listens there, the daemon is dead: its pins are taken back, in the background, 2 s
# later, once for all calls in between.  If slurm.conf is in an unusual place, or comes
# from SLURM_CONF, export that here.
socket=${ANTIPHASE_SOCKET:-/run/antiphase-scheduler/scheduler.sock}
antiphase=${ANTIPHASE:-@bindir@/antiphase}

poke() {
	timeout 1 curl --silent --max-time 1 --unix-socket "$socket" --request POST \
		http://daemon/control/poke
}
# Runs in a session of its own, as Slurm kills the rest of a prolog's group when the prolog
# ends; the pipe read here closes once it has its session.  This file is the lock that
# allows one at a time.
release() {
	# shellcheck disable=SC2016  # of the inner shell
	: "$(setsid sh -c 'exec >/dev/null 2>&1 9<"$1"
		flock -n 9 || exit
		sleep 2
		timeout 20 "$2" slurm release --pins' sh "$0" "$antiphase" </dev/null &)"
}
status=0
poke >/dev/null 2>&1 || status=$?
# curl: it could not connect.
[ "$status" != 7 ] || release >/dev/null 2>&1
exit 0
