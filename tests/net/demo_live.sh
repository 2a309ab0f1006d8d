#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# demo_live.sh [--json] - the proof: real MPI jobs under a real Slurm, on a fabric of
# namespaces that is contended: alone, together, and together under antiphase.
#
# For each case pairs of runs with the same starts and compute times, one with
# antiphase-scheduler in observe and one in enforce, and between them each job alone
# (demo_plan.py says which, and why); once all jobs at the same time on links of their
# own, which shows what the machine's CPUs cost; and the pairs in the simulator.  Then
# tables and verdicts, or with --json one document, antiphase.demo_live/1 (demo_live.py;
# docs/json.md).  Progress goes to stderr.
#
#	DEMO_CASES    of: equal ratio incommensurate change part (all)
#	DEMO_PAIRS    how many pairs of each case; DEMO_SECONDS of each of their runs,
#	              if alone; DEMO_ALONE_SECONDS; DEMO_SEED (demo_plan.py)
#	DEMO_KEEP     a folder for what was measured; demo_live.py reads it again.  Of each
#	              run there is scheduler.log, too: every report, what was made of it,
#	              and every order
#	DEMO_CHECK    1: a test instead (live_demo.sh): PASS and FAIL lines
#
# Ends with status 0 if all was measured, whatever the figures are.
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
# shellcheck source=tests/net/slurm_lab.sh
. "$(dirname "$0")/slurm_lab.sh"
# shellcheck source=tests/net/live_lab.sh
. "$(dirname "$0")/live_lab.sh"
export PYTHONDONTWRITEBYTECODE=1
cases=${DEMO_CASES:-equal ratio incommensurate change part}
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
	lab_in slurm python3 "$LAB_ROOT/tests/net/demo_watch.py" "$LIVE_OUT" "$LAB_CG" \
		$((seconds * 3 + 30)) "${names[@]}" || return
	echo "$(($(live_retransmits) - before))" >"$LIVE_OUT/retransmits"
	live_wait_jobs 30 || return
	live_scheduler_stop
	mv "$LAB_DIR/scheduler.log" "$LIVE_OUT/"
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
