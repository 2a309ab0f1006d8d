#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# killed.sh - SIGKILL of the collector while iperf3 runs: nothing stays in the kernel,
# the traffic continues, and after a restart the totals continue, too
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
lab_begin
lab_need root netns veth bridge tbf cgroup2 btf iperf3 ethtool
total='^antiphase_collector_interface_transmit_bytes_total\{.*interface="e0"'
job=system.slice/slurmstepd.scope/job_7

collector() {
	lab_collector c h0 --source bpf --interface e0 --metrics 127.0.0.1:9471
}
attached() {
	lab_in h0 tc qdisc show dev e0 | grep -v tbf
	lab_in h0 tc filter show dev e0 egress
	lab_in h0 tc filter show dev e0 ingress
}
stream() {
	lab_spawn server lab_in_job $job lab_in h1 iperf3 -s -1
	lab_wait_for 5 "the server" lab_listens h1 5201
	lab_spawn client lab_in_job $job lab_in h0 iperf3 -c "$(lab_addr h1)" -t "$1"
}

# Only without GSO the interface's counter and ours count the same segments.
lab_star 2 400mbit
lab_mtu_size h0 e0
lab_job $job >/dev/null
collector
from=$(lab_bytes h0 e0 tx)
stream 6
sleep 4
before=$(lab_metric h0 "$total")
lab_stop c KILL
counter=$(lab_bytes h0 e0 tx)
check "metrics had the traffic" test "$before" -gt 50000000
check "and no more than the interface had" test "$before" -le "$((counter - from))"
lab_bpf_none_left "no program or map is left"
check "no qdisc or filter is left" test -z "$(attached)"
check "the traffic goes on" test "$(lab_bytes h0 e0 tx)" -gt "$((counter + 1000000))"
wait "${LAB_PID[client]}"

# Traffic while it was dead is not counted and not estimated.
collector
lab_reaches h0 "$(lab_addr h1)"
sleep 2
resumed=$(lab_metric h0 "$total")
check "the totals go on" test "$resumed" -ge "$before"
check "nothing is made up" test "$resumed" -le "$((counter - from))"
counter=$(lab_bytes h0 e0 tx)
stream 3
wait "${LAB_PID[client]}"
sleep 1.5
near "bytes counted since" "$(($(lab_metric h0 "$total") - resumed))" \
	"$(($(lab_bytes h0 e0 tx) - counter))" 0.1
lab_stop c
lab_bpf_none_left "no program or map is left of an orderly end"
check "nothing else is" test -z "$(attached)"
lab_end
