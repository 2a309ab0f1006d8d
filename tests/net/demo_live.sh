#!/bin/bash
# demo_live.sh [--json] - the proof: real MPI jobs under a real Slurm, on a fabric of
# namespaces that is contended, alone, together, and together under antiphase.
#
# For each case of DEMO_CASES: each job alone; all of them with antiphase-scheduler in
# observe; all of them in enforce; and the same in the simulator.  Then a table, or
# with --json one document, antiphase.demo_live/1.  Progress goes to stderr.
#
#	DEMO_SECONDS  how long the jobs of a run run (60; shorter is less exact)
#	DEMO_CASES    of: equal ratio incommensurate change ("equal ratio")
#	DEMO_KEEP     a folder for what was measured
#
# Ends with status 0 if all was measured, whatever the figures are.
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
# shellcheck source=tests/net/slurm_lab.sh
. "$(dirname "$0")/slurm_lab.sh"
# shellcheck source=tests/net/live_lab.sh
. "$(dirname "$0")/live_lab.sh"
seconds=${DEMO_SECONDS:-60}
cases=${DEMO_CASES:-equal ratio}
rate=300
hosts=("h0,h3" "h1,h4" "h2,h5")
names=(A B C)
began=$SECONDS

# On stdout is what was measured, and nothing else.
# shellcheck disable=SC2317  # lab.sh calls it
pass() { :; }
fail() {
	echo "demo_live: $1: $2" >&2
	LAB_FAILED=1
}
skip() {
	fail "$@"
}

say() {
	echo "[$((SECONDS - began)) s] $*" >&2
}

# The jobs of a case, a line each: MBYTES COMPUTE_MS CHANGE.  2 % to both sides.
jobs_of() {
	case $1 in
	equal) printf '%s\n' '3.5 258 1@0' '3.5 260 1@0' '3.5 262 1@0' ;;
	ratio) printf '%s\n' '3.5 260 1@0' '6 549 1@0' '6 551 1@0' ;;
	incommensurate) printf '%s\n' '3.5 260 1@0' '3.5 341 1@0' '3.5 429 1@0' ;;
	change)
		printf '%s\n' '3.5 258 1@0' '3.5 260 1@0' \
			"3.5 262 1.3@$((seconds * 1000 / 2 / 380))"
		;;
	*)
		echo "demo_live: no case is called '$1'" >&2
		return 1
		;;
	esac
}

# Iterations that take so many seconds alone: the fluid rate, and what latency adds.
iterations() {
	awk -v mb="$1" -v ms="$2" -v s="$3" -v r="$rate" 'BEGIN {
		print int(s * 1000 / (ms + mb * 8000 / r + 4)) }'
}

submit() {
	local case=$1 i=$2 for=$3 mbytes compute change
	read -r mbytes compute change < <(jobs_of "$case" | sed -n "$((i + 1))p")
	live_submit "${names[i]}" "${hosts[i]}" "$(iterations "$mbytes" "$compute" "$for")" \
		"$mbytes" "$compute" 0.02 1 0 "$change" "$((i + 1))" meet >/dev/null
}

# Orders announced so far, and when: each half a second, until it is stopped.
watch_orders() {
	while :; do
		echo "$(cut -d' ' -f1 /proc/uptime) $(live_ask /metrics |
			awk '/^antiphase_orders_total/ { n += $2 } END { print n + 0 }')"
		sleep 0.5
	done
}

# One run: its jobs, and all that is measured of it in a folder of its own.
run() {
	local case=$1 name=$2 mode=$3 for=$4 job before watcher
	shift 4
	LIVE_OUT=$LAB_DIR/out/$case/$name
	mkdir -p "$LIVE_OUT"
	live_scheduler "$mode" || return
	before=$(live_retransmits)
	watch_orders >"$LIVE_OUT/orders" 2>/dev/null &
	watcher=$!
	for job; do
		submit "$case" "$job" "$for"
	done
	sleep 2
	live_wait_jobs $((for * 3 + 30)) || return
	kill "$watcher" && wait "$watcher" 2>/dev/null
	echo "$(($(live_retransmits) - before))" >"$LIVE_OUT/retransmits"
	cut -d' ' -f1-3 /proc/loadavg >"$LIVE_OUT/load"
	live_scheduler_stop
}

simulate() {
	local case=$1 to=$LAB_DIR/out/$1 i mbytes compute change
	{
		echo "[sim]"
		echo "iterations = 400"
		echo "warmup_iterations = 40"
		echo "phases = random"
		echo "[fabric]"
		echo "file = $LAB_DIR/plan.json"
		for i in 0 1 2; do
			read -r mbytes compute change < <(jobs_of "$case" | sed -n "$((i + 1))p")
			echo "[job ${names[i]}]"
			echo "hosts = ${hosts[i]}"
			echo "segment = compute $compute ms"
			echo "segment = allreduce $mbytes MB"
			# What is uniform between -2 % and 2 % has this deviation.
			echo "jitter = 1.15 %"
		done
	} >"$to/sim.ini"
	antiphase sim run "$to/sim.ini" --pacing none --json >"$to/sim.observe.json" &&
		antiphase sim run "$to/sim.ini" --pacing steer --json >"$to/sim.enforce.json"
}

measure() {
	local case=$1 i
	jobs_of "$case" >"$LAB_DIR/jobs" || return
	mkdir -p "$LAB_DIR/out/$case"
	for i in 0 1 2; do
		say "$case: job ${names[i]} alone"
		run "$case" "alone.${names[i]}" observe $((seconds / 3 + 5)) "$i" || return
	done
	say "$case: together, in observe"
	run "$case" observe observe "$seconds" 0 1 2 || return
	say "$case: together, in enforce"
	run "$case" enforce enforce "$seconds" 0 1 2 || return
	say "$case: in the simulator"
	[ "$case" = change ] || simulate "$case"
}

lab_begin
lab_need root netns veth bridge htb cgroup2 btf openmpi slurm
# What else this machine does is not to look like contention.
renice -n -5 $$ >/dev/null
say "a fabric of namespaces, $rate Mb/s; Slurm; six collectors"
{ live_fabric "${rate}mbit" 2>/dev/null && live_slurm && live_collectors; } || exit 1
status=0
for case in $cases; do
	measure "$case" || {
		fail "demo_live" "case $case"
		status=1
	}
done
[ -z "${DEMO_KEEP:-}" ] || cp -r "$LAB_DIR/out" "$DEMO_KEEP"
# shellcheck disable=SC2086  # options and cases are words
python3 "$LAB_ROOT/tests/net/demo_live.py" "$LAB_DIR/out" ${1:-} $cases || status=1
say "done"
LAB_FAILED=$status
lab_end
