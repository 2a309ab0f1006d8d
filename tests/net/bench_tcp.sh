#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench_tcp.sh FOLDER - runs a flow scenario with TCP of this kernel; used by
# tests/bench/fidelity_tcp.py, which makes the folder and reads FOLDER/ends.
#
#	nodes       a name a line
#	cables      "TAIL IFACE HEAD IFACE marks|none" a line: one per link, which TAIL sends
#	            into at the rate; acknowledgments return without a limit
#	NODE.ip     commands for 'ip -batch' in that namespace: addresses and routes
#	flows.scn   for tests/bench/tcp_flows.c
#	settings    RATE_BYTES_PER_S, MARK_BYTES, ITERATIONS, CONGESTION_CONTROL,
#	            WARM_BYTES and LIMIT_S, as shell variables
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
BURST_BYTES=16384
lab_begin
lab_need root netns veth tbf clsact

folder=$1
# shellcheck source=/dev/null
. "$folder/settings"

# No ECN without the first; without the second, a connection starts slowly after each
# time of computing.  Segments as large as a packet, since a queue of large ones marks
# many packets at once.
node() {
	lab_node "$1" && lab_in "$1" sysctl -qw net.ipv4.ip_forward=1 \
		net.ipv4.tcp_ecn=1 net.ipv4.tcp_slow_start_after_idle=0 \
		net.ipv4.tcp_no_metrics_save=1 net.ipv6.conf.all.disable_ipv6=1 \
		net.ipv4.conf.all.rp_filter=0
}

# Marks come from BPF: this kernel may have no qdisc with ECN.
link() {
	lab_cable "$1" "$2" "$3" "$4" none || return
	{
		echo "qdisc add dev $2 root tbf rate $((8 * RATE_BYTES_PER_S))bit burst $BURST_BYTES limit 64mb"
		[ "$5" != marks ] || echo "qdisc add dev $2 clsact"
		[ "$5" != marks ] ||
			echo "filter add dev $2 egress bpf direct-action object-file $LAB_DIR/mark.o section tc"
	} | tc -n "$LAB-$1" -batch -
}

build() {
	local name a iface b peer marks
	"${CLANG:-clang-14}" -g -O2 -mcpu=v3 -target bpf -I/usr/include/x86_64-linux-gnu \
		-DBYTES_PER_S="$RATE_BYTES_PER_S" -DMARK_BYTES="$MARK_BYTES" \
		-DBURST_BYTES=$BURST_BYTES -c "$LAB_ROOT/tests/net/mark_queue.bpf.c" \
		-o "$LAB_DIR/mark.o" || return
	while read -r name; do
		node "$name" || return
	done <"$folder/nodes"
	while read -r a iface b peer marks; do
		link "$a" "$iface" "$b" "$peer" "$marks" || return
	done <"$folder/cables"
	while read -r name; do
		ip -n "$LAB-$name" -batch "$folder/$name.ip" || return
	done <"$folder/nodes"
}

if build; then
	"$LAB_B/tests/bench/tcp_flows" "$LAB" "$folder/flows.scn" "$ITERATIONS" \
		"$CONGESTION_CONTROL" "$WARM_BYTES" "$LIMIT_S" >"$folder/ends"
	case $? in
	0) ;;
	5) skip "$CONGESTION_CONTROL" "the kernel has none, and takes none by BPF" ;;
	*) fail "the flows" "see above" ;;
	esac
else
	fail "the network" "see above"
fi
lab_end
