#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench.sh - the collector's cost; the variants take turns in one run.  ns per packet
# from the kernel's statistics, less the cost of timing (a program that does nothing, at
# the same place); throughput per CPU second with and without; CPU and memory of user
# space with 16 interfaces.  It has no pass or fail.  ROUNDS (3) and SECONDS_EACH (2)
# make it longer.
# shellcheck disable=SC2317  # the functions of what takes turns are called by name
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
ROUNDS=${ROUNDS:-3} SECONDS_EACH=${SECONDS_EACH:-2}
lab_begin
lab_need root netns veth cgroup2 btf iperf3 ethtool
export LC_ALL=C
job=system.slice/slurmstepd.scope/job_7
results=$LAB_DIR/results

lab_node a && lab_node b && lab_cable a e0 b e0 none
ip -n "$(lab_ns a)" addr add 10.78.0.1/24 dev e0
ip -n "$(lab_ns b)" addr add 10.78.0.2/24 dev e0
lab_job $job >/dev/null
lab_job bench >/dev/null
lab_spawn server lab_in_job $job lab_in b iperf3 -s
lab_wait_for 5 "the server" lab_listens b 5201

# The variants.
begin_none() { :; }
end_none() { :; }
begin_floor() { ask "floor e0"; }
end_floor() { ask off; }
begin_clock() { ask "clock e0"; }
end_clock() { ask off; }
begin_link() { lab_collector c a --source bpf --interface e0 --link-only; }
end_link() { lab_stop c; }
# Watches an idle interface: the cost for packets of other interfaces.
begin_idle() { lab_collector c a --source bpf --interface lo; }
end_idle() { lab_stop c; }
begin_jobs() { lab_collector c a --source bpf --interface e0; }
end_jobs() { lab_stop c; }

# One TCP stream from a to b, in the job; prints Gb/s.  With -R: from b to a.
stream() {
	lab_in_job $job nsenter --net="/run/netns/$(lab_ns a)" iperf3 -J -c 10.78.0.2 -t "$SECONDS_EACH" "$@" \
		>"$LAB_DIR/iperf3.json"
	python3 -c 'import json, sys
print(json.load(sys.stdin)["end"]["sum_received"]["bits_per_second"] / 1e9)' \
		<"$LAB_DIR/iperf3.json"
}
segments() {
	local onoff=on node
	[ "$1" = large ] || onoff=off
	for node in a b; do
		lab_in $node ethtool -K e0 tso $onoff gso $onoff gro $onoff >/dev/null
	done
}

# ---- ns per packet -------------------------------------------------------------------

ask() {
	local line
	echo "$1" >&"${COST[1]}"
	while read -r -u "${COST[0]}" line && [ "$line" != . ]; do
		echo "$line"
	done
}

# Ids of the programs that these processes hold; other processes may use the same names.
programs_of() {
	local pid
	for pid; do
		cat "/proc/$pid/fdinfo/"* 2>/dev/null
	done | awk '$1 == "prog_id:" { print $2 }'
}

# between OURS BEFORE AFTER - our programs that ran between two snaps: name, runs, ns.
between() {
	awk 'FILENAME == ARGV[1] { ours[$1] = 1; next }
		FILENAME == ARGV[2] { runs[$2] = $3; ns[$2] = $4; next }
		$2 in ours && $3 > runs[$2] { print $1, $3 - runs[$2], $4 - ns[$2] }' "$@"
}

# The interface's own counters: packets and bytes sent, packets and bytes received.
counters() {
	echo "$(lab_bytes a e0 tx packets) $(lab_bytes a e0 tx)" \
		"$(lab_bytes a e0 rx packets) $(lab_bytes a e0 rx)"
}

# Lines "ROUND SIZE KIND PROGRAM RUNS NS"; the programs "sent" and "received" are the
# interface's own packets and bytes.  Waits until user space is idle.
packets() {
	local size kind round was is
	for ((round = 0; round < ROUNDS; round++)); do
		for size in large mtu; do
			segments $size
			for kind in floor clock idle link jobs; do
				begin_$kind
				sleep 0.5
				read -ra was <<<"$(counters)"
				ask snap >"$LAB_DIR/before"
				stream >/dev/null
				stream -R >/dev/null
				ask snap >"$LAB_DIR/after"
				# shellcheck disable=SC2086  # none while no collector runs
				programs_of "$cost_pid" ${LAB_PID[c]:-} >"$LAB_DIR/ours"
				end_$kind
				read -ra is <<<"$(counters)"
				echo "$round $size $kind sent $((is[0] - was[0])) $((is[1] - was[1]))"
				echo "$round $size $kind received $((is[2] - was[2]))" \
					"$((is[3] - was[3]))"
				between "$LAB_DIR/ours" "$LAB_DIR/before" "$LAB_DIR/after" |
					sed "s/^/$round $size $kind /"
			done
		done
	done >"$results.packets"
}

# ---- Throughput per CPU second -------------------------------------------------------

throughput() {
	local size kind round cpu gbps
	for ((round = 0; round < ROUNDS; round++)); do
		for size in large mtu; do
			segments $size
			for kind in none link jobs; do
				begin_$kind
				cpu=$(cpu_us "$LAB_CG/$job")
				gbps=$(stream)
				cpu=$(($(cpu_us "$LAB_CG/$job") - cpu))
				end_$kind
				echo "$round $size $kind $gbps $cpu $SECONDS_EACH"
			done
		done
	done >"$results.throughput"
}
cpu_us() {
	awk '$1 == "usage_usec" { print $2 }' "$1/cpu.stat"
}

# ---- User space with 16 interfaces ---------------------------------------------------

sixteen() {
	local i
	lab_node c && lab_node d || return
	for ((i = 0; i < 16; i++)); do
		lab_cable c "e$i" d "e$i" none
		ip -n "$(lab_ns c)" addr add "10.78.$((100 + i)).1/24" dev "e$i"
		ip -n "$(lab_ns d)" addr add "10.78.$((100 + i)).2/24" dev "e$i"
	done
	# A packet per ms from each host: no bin is empty.
	lab_spawn ticks lab_in_job $job lab_in c python3 -c '
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
due = time.monotonic()
while True:
    for i in range(16):
        s.sendto(b"x" * 1000, ("10.78.%d.2" % (100 + i), 9))
    due += 0.001
    time.sleep(max(0, due - time.monotonic()))'
	lab_collector c16 c --source bpf --interface "$(echo e{0..15} | tr ' ' ,)"
	sleep 3
	drain summaries
	lab_spawn record antiphase record --bus "$(lab_endpoint c16)" --for "14 s" \
		--output /dev/null
	sleep 2
	drain raw
	kill -0 "${LAB_PID[record]}" || tail -n 3 "$LAB_DIR/record.log" >&2
	echo "rss $(awk '$1 == "VmRSS:" { print $2 }' "/proc/${LAB_PID[c16]}/status")" \
		>>"$results.drain"
	lab_stop record
	lab_stop c16
	lab_stop ticks KILL
}
# CPU time over ten seconds, in ns.
drain() {
	local from at
	from=$(cut -d' ' -f1 "/proc/${LAB_PID[c16]}/schedstat")
	at=$(date +%s%N)
	sleep 10
	echo "$1 $(($(cut -d' ' -f1 "/proc/${LAB_PID[c16]}/schedstat") - from)) \
$(($(date +%s%N) - at))" >>"$results.drain"
}

coproc COST { exec nsenter --net="/run/netns/$(lab_ns a)" "$LAB_B/tests/net/bpf_cost"; }
# shellcheck disable=SC2153  # the shell sets it
cost_pid=$COST_PID
packets
# Closing its input ends it and the kernel's statistics.
eval "exec ${COST[1]}>&-"
throughput
sixteen
python3 "$LAB_ROOT/tests/net/bench.py" "$results"
lab_end
