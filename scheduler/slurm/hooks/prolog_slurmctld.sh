#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# prolog_slurmctld.sh - PrologSlurmctld and EpilogSlurmctld of Slurm: tells
# antiphase-scheduler that a job starts or has ended, so that it looks now and not only
# at its next poll.  In slurm.conf, for either or both:
#
#	PrologSlurmctld=/usr/local/lib/antiphase/prolog_slurmctld.sh
#	EpilogSlurmctld=/usr/local/lib/antiphase/prolog_slurmctld.sh
#
# Slurm holds the job back until this has ended, and requeues it if it fails: so it takes
# a second at most, and always succeeds.  It runs as SlurmUser, who must be able to read
# the token (config key token_file of antiphase-scheduler).
#
# Where nobody answers at all the daemon is dead: what it pinned is taken back, in the
# background and 2 s later, for all that asked for it in the meantime.  If slurm.conf is in
# no usual place, or comes from SLURM_CONF, export that here.
url=${ANTIPHASE_URL:-http://127.0.0.1:7470}
token_file=${ANTIPHASE_TOKEN_FILE:-@sysconfdir@/antiphase/token}
antiphase=${ANTIPHASE:-@bindir@/antiphase}

poke() {
	token=$(head -c 512 "$token_file" | tr -cd 'A-Za-z0-9._~+/=-')
	# Handed over where no list of processes shows it.
	printf 'header = "Authorization: Bearer %s"\n' "$token" |
		timeout 1 curl --config - --silent --max-time 1 --noproxy '*' \
			--request POST "$url/api/v1/poke"
}
# In a session of its own, as Slurm kills what a prolog leaves in its group the moment it
# ends: until it has left, it holds the pipe that is read here.  One at a time, for which
# this very file is the lock.
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
