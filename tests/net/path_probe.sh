#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# path_probe.sh - probes name the uplink that the routing table foretells, for 16 source
# ports over 4 spines, IPv4 and IPv6, without a packet at the destination; a collector
# probes on the scheduler's order, which then knows a port for each spine; it refuses
# orders for destinations without a connection of a job.
# shellcheck disable=SC2317  # functions are called by name
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
# shellcheck source=tests/net/path_lab.sh
. "$(dirname "$0")/path_lab.sh"
PATH_USER=${PATH_USER-nobody}
lab_begin
lab_need root netns veth bridge tbf clsact cgroup2 btf tcx

# TCP segments that a node has received.
segments() {
	lab_in "$1" nstat -asz TcpInSegs | awk '/TcpInSegs/ { print $2 }'
}

# probe_and_check NAME DESTINATION [6] - 16 ports of 'antiphase path --probe' against the
# routing table, and how long it takes.
probe_and_check() {
	local name=$1 port link rest wrong=0 n=0 before since=$SECONDS
	before=$(segments h1)
	lab_in h0 antiphase path --probe "$2" --ports 61000-61015 \
		--fabric "$LAB_DIR/fabric.json" >"$LAB_DIR/probed" 2>"$LAB_DIR/probe.err" ||
		fail "$name" "$(cat "$LAB_DIR/probed" "$LAB_DIR/probe.err")"
	since=$((SECONDS - since))
	while read -r port rest; do
		link=$(path_foretold leaf0 h0 "$port" h1 5001 "${3:-}")
		n=$((n + 1))
		[ "$rest" = "leaf0 spine${link#up} leaf1  probed" ] && continue
		wrong=$((wrong + 1))
		echo "$port: $rest, foretold $link"
	done < <(sed -n 's/^ *\(61[0-9]*\)  */\1 /p' "$LAB_DIR/probed")
	if [ "$n" = 16 ] && [ $wrong = 0 ]; then
		pass "$name: 16 ports over $(awk '/spine/ { print $3 }' "$LAB_DIR/probed" |
			sort -u | wc -l) spines as foretold, in $since s"
	else
		fail "$name" "$wrong of $n ports are not as foretold"
	fi
	check "$name: no packet arrives at the destination" \
		test "$(segments h1)" = "$before"
}

# The port that the scheduler knows for a spine.
find_port() {
	path_ctl flow port "$path_source" "$path_destination" "leaf0,spine$1,leaf1" \
		>"$LAB_DIR/port.log" &&
		port=$(sed -n 's/^port \([0-9]*\), found by probing$/\1/p' "$LAB_DIR/port.log") &&
		[ -n "$port" ]
}

has_port() {
	path_wire h0 out | grep -q " port $port "
}

is_reported() {
	path_ctl flow list | grep -q ":${path_source##*:} > .*:${path_destination##*:} port"
}

is_unknown() {
	path_ctl flow port "${path_source%:*}:41999" "${path_destination%:*}:5999" \
		leaf0,spine0,leaf1 | grep -q '^not known: '
}

# Ports of all spines for the flow of path_source and path_destination.
ports_and_check() {
	local name=$1 spine link wrong=0
	lab_wait_for 15 "a report of the flow" is_reported
	for ((spine = 0; spine < 4; spine++)); do
		port=
		lab_wait_for 30 "$name: a port over spine$spine" find_port "$spine"
		link=$(path_foretold leaf0 h0 "${port:-1}" h1 "${path_destination##*:}" "${2:-}")
		[ "$link" = "up$spine" ] || wrong=$((wrong + 1))
	done
	check "$name: ports of 4 spines are as foretold" test $wrong = 0
	path_move 7 "$path_source" "$path_destination" "$port" >/dev/null
	lab_wait_for 5 "$name: a move" has_port
	sleep 0.3
	check "$name: the flow takes the path of the last one" \
		test "$(path_busy leaf0 1 | cut -d' ' -f1)" = "$link"
}

path_lab 4 200mbit
lab_plan >"$LAB_DIR/fabric.json"
probe_and_check "IPv4" "$(lab_addr h1):5001"
probe_and_check "IPv6" "[$(lab_addr6 h1)]:5001" 6
lab_in h0 antiphase path --probe "$(lab_addr h1):5001" --ports 61000-61003 --hops 2 \
	--json >"$LAB_DIR/json"
check "JSON names addresses" test "$(grep -c '"address": "10.79.' "$LAB_DIR/json")" = 4
lab_in spine1 sysctl -qw net.ipv4.ip_forward=0
lab_in h0 antiphase path --probe "$(lab_addr h1):5001" --ports 61000-61015 --hops 2 \
	>"$LAB_DIR/silent"
check "a switch that does not answer is not known" grep -q 'not known: a switch does not answer' \
	"$LAB_DIR/silent"
lab_in spine1 sysctl -qw net.ipv4.ip_forward=1
lab_in h0 antiphase path --probe "$(lab_addr h1):5001" --ports 61000-61015 --hops 4 \
	>"$LAB_DIR/reached"
check "a packet that arrives ends it" \
	test "$(grep -c 'not known: a packet arrived' "$LAB_DIR/reached")" = 16

PATH_FABRIC=$LAB_DIR/fabric.json
path_collector h0
path_collector h1
path_scheduler enforce
path_flow four 5001 41000 60
path_ends 41000 5001
ports_and_check "IPv4, by the scheduler"
check "a destination without a connection of a job is not probed" \
	lab_wait_for 40 "a refusal" is_unknown
check "the collector counts it" test \
	"$(lab_metric h0 '^antiphase_collector_probe_orders_refused_total')" -ge 1
path_flow six 5006 41006 40 6
path_ends 41006 5006 6
ports_and_check "IPv6, by the scheduler" 6
lab_ctl h0 port release >/dev/null
lab_stop four-send
lab_stop six-send
path_end
lab_bpf_none_left "no program or map is left"
lab_end
