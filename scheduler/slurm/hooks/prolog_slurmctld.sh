#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# prolog_slurmctld.sh - PrologSlurmctld and EpilogSlurmctld of Slurm: tells
# antiphase-scheduler that a job starts or has ended, so that it polls at once.  In
# slurm.conf, for either or both:
#
#	PrologSlurmctld=/usr/local/lib/antiphase/prolog_slurmctld.sh
#	EpilogSlurmctld=/usr/local/lib/antiphase/prolog_slurmctld.sh
#
# Slurm holds the job back until this script has ended, and requeues the job if it fails.
# So it takes a second at most, and always succeeds.  It runs as SlurmUser, who must be
# able to read the token (config key token_file of antiphase-scheduler).
#
# If the connection is refused, the daemon is dead: its pins are taken back, in the
# background, 2 s later, once for all calls in between.  If slurm.conf is in an unusual
# place, or comes from SLURM_CONF, export that here.
url=${ANTIPHASE_URL:-http://127.0.0.1:7470}
token_file=${ANTIPHASE_TOKEN_FILE:-@sysconfdir@/antiphase/token}
antiphase=${ANTIPHASE:-@bindir@/antiphase}

poke() {
	token=$(head -c 512 "$token_file" | tr -cd 'A-Za-z0-9._~+/=-')
	# On standard input, as a list of processes shows arguments.
	printf 'header = "Authorization: Bearer %s"\n' "$token" |
		timeout 1 curl --config - --silent --max-time 1 --noproxy '*' \
			--request POST "$url/api/v1/poke"
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
# curl: the connection was refused.
[ "$status" != 7 ] || release >/dev/null 2>&1
exit 0
