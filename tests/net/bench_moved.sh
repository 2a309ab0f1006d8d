#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench_moved.sh - ns a packet of the programs that translate ports, beside the counting
# ones, for one TCP stream between two hosts, before and after it has been moved in both
# directions.  From the kernel's statistics, less the cost of timing (a program that does
# nothing at the same hook).  It has no pass or fail.  ROUNDS (3), SECONDS_EACH (3).
# shellcheck disable=SC2317  # functions are called by name
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
# shellcheck source=tests/net/path_lab.sh
. "$(dirname "$0")/path_lab.sh"
ROUNDS=${ROUNDS:-3} SECONDS_EACH=${SECONDS_EACH:-3}
lab_begin
lab_need root netns veth bridge clsact cgroup2 btf tcx

ask() {
	local line
	echo "$1" >&"${COST[1]}"
	while read -r -u "${COST[0]}" line && [ "$line" != . ]; do
		echo "$line"
	done
}

# Ids of the programs that these processes hold.
programs_of() {
	local pid
	for pid; do
		cat "/proc/$pid/fdinfo/"* 2>/dev/null
	done | awk '$1 == "prog_id:" { print $2 }'
}

# measure KIND - appends lines "KIND PROGRAM RUNS NS" of both hosts' programs together.
measure() {
	ask snap >"$LAB_DIR/before"
	sleep "$SECONDS_EACH"
	ask snap >"$LAB_DIR/after"
	programs_of "$cost_pid" "${LAB_PID[h0]}" "${LAB_PID[h1]}" >"$LAB_DIR/ours"
	awk -v kind="$1" 'FILENAME == ARGV[1] { ours[$1] = 1; next }
		FILENAME == ARGV[2] { runs[$2] = $3; ns[$2] = $4; next }
		$2 in ours && $3 > runs[$2] { print kind, $1, $3 - runs[$2], $4 - ns[$2] }' \
		"$LAB_DIR/ours" "$LAB_DIR/before" "$LAB_DIR/after" >>"$LAB_DIR/results"
}

path_lab 2 none
path_collector h0
path_collector h1
path_scheduler enforce
path_flow four 5001 41000 140
path_ends 41000 5001
coproc COST { exec nsenter --net="/run/netns/$(lab_ns h0)" "$LAB_B/tests/net/bpf_cost"; }
# shellcheck disable=SC2153  # the shell sets it
cost_pid=$COST_PID
has_port() {
	path_wire "$1" out | grep -q " port $2 "
}
for ((round = 0; round < ROUNDS; round++)); do
	measure "not-moved"
	path_move 7 "$path_source" "$path_destination" 61000 >/dev/null
	path_move 7 "$path_destination" "$path_source" 61001 >/dev/null
	lab_wait_for 5 "a moved flow" has_port h0 61000
	lab_wait_for 5 "a moved flow" has_port h1 61001
	measure "moved"
	lab_ctl h0 port release >/dev/null
	lab_ctl h1 port release >/dev/null
	ask "floor e0"
	measure "floor"
	ask off
done
eval "exec ${COST[1]}>&-"
lab_stop four-send
echo "ns a run of each program, of both hosts together:"
awk '{ runs[$1 " " $2] += $3; ns[$1 " " $2] += $4 }
	END {
		for (key in runs) printf "  %-32s %7.1f  %d runs\n", key, ns[key] / runs[key], runs[key]
	}' "$LAB_DIR/results" | sort
path_end
lab_end
