#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# topology.sh - antiphase-topology with real lldpd daemons: cables that match the plan
# are accepted, and others are reported
# shellcheck disable=SC2317  # functions are called by lab_wait_for and check
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
lab_begin
lab_need root netns veth bridge lldpd
lab_star 3 none
chmod 711 "$LAB_DIR" # lldpd drops root, then opens its own socket.
plan=$LAB_DIR/plan.json
service=unix:$LAB_DIR/topology.sock
lab_plan >"$plan"

# lldpd of a node, with the node's name and its own socket, sending every second.
start_lldpd() {
	lab_spawn "lldpd-$1" lab_in "$1" unshare -u sh -c \
		"hostname $1; exec lldpd -d -u $LAB_DIR/lldp-$1 -I '$2'"
	lab_wait_for 5 "lldpd of $1" lldpcli -u "$LAB_DIR/lldp-$1" configure lldp tx-interval 1
}

# The hosts report; the daemon runs on leaf0 and reads its neighbors itself.
report() {
	local host
	for host in h0 h1 h2; do
		lab_in "$host" antiphase topology report --to "$service" --node "$host" \
			--lldp-socket "$LAB_DIR/lldp-$host" || return
	done
}

# True when a diff has this exit status and contains this text.
diff_says() {
	local status=$1
	shift
	report
	antiphase topology diff --from "$service" >"$LAB_DIR/diff.txt" 2>&1
	[ $? = "$status" ] && grep -q -- "$*" "$LAB_DIR/diff.txt"
}

expect_diff() {
	local name=$1
	shift
	if lab_wait_for 15 "$name" diff_says "$@"; then
		pass "$name"
	else
		cat "$LAB_DIR/diff.txt"
	fi
}

metrics() {
	lab_in leaf0 curl -sf http://127.0.0.1:9472/metrics
}

start_lldpd leaf0 'swp*'
for host in h0 h1 h2; do start_lldpd "$host" e0; done
lab_spawn topology lab_in leaf0 antiphase-topology --listen "$LAB_DIR/topology.sock" \
	--publish "ipc://$LAB_DIR/pub" --host leaf0 --lldp-socket "$LAB_DIR/lldp-leaf0" \
	--every 1 "$plan"
lab_wait_for 5 "antiphase-topology" antiphase topology show "$service"

# ---- As planned -------------------------------------------------------------------------
expect_diff "what is cabled as planned has no differences" 0 "3 of 3 cables compared"
antiphase topology import "$service" >"$LAB_DIR/asked.json"
antiphase topology import "$plan" >"$LAB_DIR/read.json"
check "the service's plan is what the file has" cmp "$LAB_DIR/asked.json" \
	"$LAB_DIR/read.json"
check "a flow is routed by the service's plan" \
	sh -c "antiphase topology path '$service' h0 h2 | grep -q 'leaf0:swp2>h2:e0'"

# ---- A link down ------------------------------------------------------------------------
lab_spawn watch antiphase topology watch --from "ipc://$LAB_DIR/pub" --timeout 20
sleep 0.5
ip -n "$(lab_ns h2)" link set e0 down
if lab_wait_for 5 "a link that goes down is announced" \
	grep -q '"kind": "link_down", "node": "leaf0", "port": "swp2"' "$LAB_DIR/watch.log"; then
	pass "a link that goes down is announced"
fi
check "the announcement names both links of the cable" \
	grep -q '"links": \["leaf0:swp2>h2:e0", "h2:e0>leaf0:swp2"\]' "$LAB_DIR/watch.log"
expect_diff "a link without carrier is down, not missing" 1 "^! .* has no link"
lab_wait_for 5 "the difference is announced" grep -q '"new": true' "$LAB_DIR/watch.log" &&
	pass "the difference is announced"
ip -n "$(lab_ns h2)" link set e0 up
expect_diff "and is as planned when it is back" 0 "3 of 3 cables compared"
if lab_wait_for 5 "which is announced, too" grep -q '"new": false' "$LAB_DIR/watch.log"; then
	pass "which is announced, too"
fi
lab_stop watch

# ---- Two cables crossed -------------------------------------------------------------------
ip -n "$(lab_ns h0)" link del e0
ip -n "$(lab_ns h1)" link del e0
lab_cable h0 e0 leaf0 swp1 none
lab_cable h1 e0 leaf0 swp0 none
expect_diff "two cables crossed are one finding" 1 "^1 swapped; 3 of 3"
check "with both cables as planned and as seen" \
	[ "$(grep -c '^[-+] h[01]:e0 -- leaf0:swp[01]$' "$LAB_DIR/diff.txt")" = 4 ]

# ---- Another plan -----------------------------------------------------------------------------
python3 - "$plan" <<'PYTHON'
import json, sys
plan = json.load(open(sys.argv[1]))
for cable in plan["cables"]:
    cable["b"] = {"leaf0:swp0": "leaf0:swp1", "leaf0:swp1": "leaf0:swp0"}.get(
        cable["b"], cable["b"])
    if cable["a"] == "h2:e0":
        cable["gbps"] = 25
json.dump(plan, open(sys.argv[1], "w"))
PYTHON
kill -HUP "${LAB_PID[topology]}"
expect_diff "a plan read anew; its other speed is found" 1 "^1 speed; 3 of 3"
check "and the differences of the plans are logged" \
	grep -q "link h2:e0>leaf0:swp2 has 25 Gb/s instead of 10" "$LAB_DIR/topology.log"
echo '{"schema":' >"$plan"
kill -HUP "${LAB_PID[topology]}"
lab_wait_for 5 "a bad plan is refused" grep -q "the plan is unchanged" \
	"$LAB_DIR/topology.log"
expect_diff "a bad plan leaves the old one in place" 1 "^1 speed; 3 of 3"

# ---- Metrics ------------------------------------------------------------------------------------
if command -v curl >/dev/null && command -v promtool >/dev/null; then
	metrics >"$LAB_DIR/metrics.txt"
	check "promtool finds nothing wrong with the metrics" \
		sh -c "promtool check metrics <'$LAB_DIR/metrics.txt'"
	check "a difference is counted by its kind" \
		grep -q 'antiphase_topology_differences{kind="speed"} 1' "$LAB_DIR/metrics.txt"
else
	skip "metrics" "curl or promtool is not installed"
fi

# ---- Faults of lldpd -------------------------------------------------------------------------------
lab_stop lldpd-leaf0
if lab_wait_for 10 "lldpd gone" grep -q "continuing without this host's neighbors" \
	"$LAB_DIR/topology.log"; then
	pass "without lldpd it says so and goes on"
fi
expect_diff "and what the hosts see still serves" 1 "^1 speed; 3 of 3"
printf '#!/bin/sh\nsleep 61 & wait\n' >"$LAB_DIR/stuck"
chmod +x "$LAB_DIR/stuck"
lab_in h0 antiphase topology report --to "$service" --node h0 --lldpcli "$LAB_DIR/stuck" \
	2>"$LAB_DIR/stuck.log"
check "lldpcli that hangs is given up" grep -q "did not end within 5 s" "$LAB_DIR/stuck.log"
check "and killed with its children" sh -c "! pgrep -f '^sleep 61$'"
printf '#!/bin/sh\nexec yes\n' >"$LAB_DIR/endless"
chmod +x "$LAB_DIR/endless"
lab_in h0 antiphase topology report --to "$service" --node h0 --lldpcli "$LAB_DIR/endless" \
	2>"$LAB_DIR/endless.log"
check "lldpcli that prints without end is stopped" grep -q "more than 4 MiB" \
	"$LAB_DIR/endless.log"
kill -TERM "${LAB_PID[topology]}"
wait "${LAB_PID[topology]}"
status=$?
check "SIGTERM ends it well" [ $status = 0 ]
antiphase topology show "$service" 2>"$LAB_DIR/gone.log"
status=$?
check "nobody there is exit status 3" [ $status = 3 ]
lab_end
