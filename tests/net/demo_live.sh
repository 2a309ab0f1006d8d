#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# demo_live.sh [--json] - real MPI jobs under a real Slurm on a contended fabric of
# namespaces: isolated, together, and together under antiphase
#
# Each case has pairs of runs with equal starts and compute times, one with
# antiphase-scheduler in observe and one in enforce, and in between each job isolated
# (demo_plan.py explains the choice); once all jobs run at the same time on separate
# links, which shows the effect of the machine's CPUs; and the simulator repeats the
# pairs.  It prints tables and verdicts, or with --json one document,
# antiphase.demo_live/2 (demo_live.py; docs/json.md).  Progress goes to stderr.
#
#	DEMO_CASES    some of: equal ratio incommensurate change part paths (default: all)
#	DEMO_PAIRS    pairs per case; DEMO_SECONDS, DEMO_ALONE_SECONDS: seconds per run, of
#	              pairs and isolated; DEMO_SEED (demo_plan.py)
#	DEMO_KEEP     a folder for the measurements, which demo_live.py can read again; each
#	              run's scheduler.log has all reports, decisions and orders
#	DEMO_CHECK    1: a test instead (live_demo.sh): PASS and FAIL lines
#
# Exit status 0 if everything was measured, whatever the results.
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
# shellcheck source=tests/net/slurm_lab.sh
. "$(dirname "$0")/slurm_lab.sh"
# shellcheck source=tests/net/live_lab.sh
. "$(dirname "$0")/live_lab.sh"
export PYTHONDONTWRITEBYTECODE=1
cases=${DEMO_CASES:-equal ratio incommensurate change part paths}
[[ " $cases " != *" paths "* ]] || export LIVE_PATHS=1
how=${1:-}
began=$SECONDS

# Only measurements go to stdout.
if [ -n "${DEMO_CHECK:-}" ]; then
	how=--check
else
	# shellcheck disable=SC2317  # lab.sh calls it
	fail() {
		echo "demo_live: $1: $2" >&2
		LAB_FAILED=1
	}
	skip() {
		fail "$@"
	}
fi

say() {
	echo "[$((SECONDS - began)) s] $*" >&2
}

# One run, as demo_plan.py describes it; its measurements go to its own folder.
run() {
	local case=$1 name=$2 mode=$3 links=$4 seconds=$5 job before words names=()
	shift 5
	LIVE_OUT=$LAB_DIR/out/$case/$name
	mkdir -p "$LIVE_OUT"
	live_links "$links" && live_scheduler "$mode" || return
	before=$(live_retransmits)
	for job; do
		IFS=: read -ra words <<<"$job"
		names+=("${words[0]}")
		live_submit "${words[@]}" "$LIVE_OUT/go" >/dev/null || return
	done
	if [ "$links" = paths ]; then
		lab_wait_for 30 "the jobs" are_ready "${names[@]}" && live_collide || return
		live_connections >"$LIVE_OUT/connections"
		(sleep "$((seconds * 3 / 4))" && live_connections >"$LIVE_OUT/connections.later") &
		[[ $name != killed.* ]] || (sleep "$((seconds / 2))" && live_kill) &
	fi
	lab_in slurm python3 "$LAB_ROOT/tests/net/demo_watch.py" "$LIVE_OUT" "$LAB_CG" \
		$((seconds * 3 + 30)) "${names[@]}" || return
	echo "$(($(live_retransmits) - before))" >"$LIVE_OUT/retransmits"
	live_wait_jobs 30 || return
	live_scheduler_stop
	mv "$LAB_DIR/scheduler.log" "$LIVE_OUT/"
}

# All ranks are connected.
are_ready() {
	local job
	for job; do
		[ -e "$LIVE_OUT/truth.$job" ] && [ -e "$LIVE_OUT/truth.$job.1" ] || return
	done
}

# Jobs left by a failed run would disturb the next one.
run_or_clear() {
	run "$@" && return
	fail "case $1" "run $2 failed"
	slurm scancel -u root
	live_wait_jobs 30
	live_scheduler_stop
	return 1
}

lab_begin
lab_need root netns veth bridge htb cgroup2 btf openmpi slurm
if [ ! -e "$LAB_B/spank_antiphase.so" ]; then
	skip "everything" "Slurm's header spank.h is not installed"
	lab_end
fi
# Other load of this machine must not look like contention.
renice -n -5 $$ >/dev/null
mkdir "$LAB_DIR/out"
# shellcheck disable=SC2086  # cases are words
plan=$(python3 "$LAB_ROOT/tests/net/demo_plan.py" "$LAB_DIR/out" $cases) || exit 1
say "a fabric of namespaces, $LIVE_MBPS Mb/s; Slurm; six collectors"
{ live_fabric 2>/dev/null && live_slurm && live_collectors; } || exit 1
cp "$LAB_DIR/plan.json" "$LAB_DIR/out/fabric.json"
[ -z "${LIVE_PATHS:-}" ] || cp "$LAB_DIR/plan.paths.json" "$LAB_DIR/out/paths.json"
while read -ra words; do
	say "${words[0]}: ${words[1]}"
	run_or_clear "${words[@]}" </dev/null
done <<<"$plan"
say "the same in the simulator"
python3 "$LAB_ROOT/tests/net/demo_sim.py" "$LAB_DIR/out" || LAB_FAILED=1
[ -z "${DEMO_KEEP:-}" ] || cp -r "$LAB_DIR/out/." "$DEMO_KEEP"
# shellcheck disable=SC2086  # an option, or none
python3 "$LAB_ROOT/tests/net/demo_live.py" "$LAB_DIR/out" $how || LAB_FAILED=1
say "done"
lab_end
