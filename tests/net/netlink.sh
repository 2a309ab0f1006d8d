#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# netlink.sh - the netlink source, and live capture for hosts without eBPF: the
# collector's bytes equal the interface's counters, also when the interface goes and
# comes back
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"

lab_begin
lab_need root netns veth iperf3
lab_star 2 none
lab_mtu_size h0 e0
lab_mtu_size h1 e0

# Bytes that the collector counted on e0 of h0, up to the last whole second.
counted() {
	sleep 2.5
	lab_metric h0 "^antiphase_collector_interface_$1_bytes_total.*e0"
}

# stream [OPTION] - two seconds of TCP from h0 to h1, or back (-R).
stream() {
	lab_spawn server lab_in h1 iperf3 -s -1
	lab_wait_for 5 "the server" lab_listens h1 5201
	lab_in h0 iperf3 -c "$(lab_addr h1)" -t 2 -b 200M "$@" >"$LAB_DIR/client.log"
	lab_stop server
}

# compare SOURCE tx|rx transmit|receive [OPTION]
compare() {
	local source=$1 direction=$2 figure=$3 bytes figures
	shift 3
	bytes=$(lab_bytes h0 e0 "$direction")
	figures=$(counted "$figure")
	stream "$@"
	figures=$(($(counted "$figure") - figures))
	near "$source: bytes of $direction as the interface counts" "$figures" \
		$(($(lab_bytes h0 e0 "$direction") - bytes)) 0.1
}

lab_collector nl h0 --source netlink --interface e0 --metrics 127.0.0.1:9471
compare netlink tx transmit
compare netlink rx receive -R

# Removed and back with another index; its counters restart, the totals continue.
before=$(counted transmit)
lab_in h0 ip link del e0
sleep 0.5
lab_cable h0 e0 leaf0 swp9 none
lab_in leaf0 ip link set swp9 master br0
lab_in h0 ip addr add "$(lab_addr h0)/24" dev e0
lab_mtu_size h0 e0
after=$(counted transmit)
check "the totals of an interface that came back do not fall" [ "$after" -ge "$before" ]
check "the interface is back" [ "$(lab_metric h0 '^antiphase_collector_interface_up.*e0')" != none ]
lab_stop nl

# Packet capture, without eBPF.
lab_collector live h0 --source pcap --interface e0 --metrics 127.0.0.1:9471
compare pcap tx transmit
compare pcap rx receive -R
check "no packet was dropped" [ "$(lab_metric h0 '^antiphase_collector_lost_total')" = 0 ]
lab_stop live

lab_end
