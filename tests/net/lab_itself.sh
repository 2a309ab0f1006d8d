#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lab_itself.sh - the network of lab.sh behaves as documented, since the other tests
# rely on it; antiphase is not involved
# shellcheck disable=SC2317  # functions are called by check
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
lab_begin
lab_need root netns veth bridge tbf cgroup2 iperf3 openmpi

lab_leaf_spine 2 2 2 1gbit 500mbit || fail "the network" "see the log"

for host in h1 h2; do
	check "h0 reaches $host by IPv4" lab_reaches h0 "$(lab_addr $host)"
	check "h0 reaches $host by IPv6" lab_reaches h0 "$(lab_addr6 $host)"
done
# With a way out, name look-ups would wait for an answer from there.
no_way_to() {
	! lab_in h0 ip route get "$1"
}
check "h0 has no way out by IPv4" no_way_to 192.0.2.1
check "h0 has no way out by IPv6" no_way_to 2001:db8::1
check "the plan is read by antiphase topology" sh -c "antiphase topology check \"\$1\"" - \
	<(lab_plan)

# tbf passes 1 Gb/s including Ethernet headers.
lab_spawn server lab_in h1 iperf3 -s -1
lab_wait_for 5 "the server" lab_listens h1 5201
lab_in h0 iperf3 -J -c "$(lab_addr h1)" -t 2 >"$LAB_DIR/iperf3.json"
near "iperf3 at the rate of the link" "$(python3 -c 'import json, sys
print(round(json.load(sys.stdin)["end"]["sum_received"]["bits_per_second"] / 1e6))' \
	<"$LAB_DIR/iperf3.json")" 940 15

# Processes started in a job are in its control group and no other.
lab_job job_1/step_0 >/dev/null
lab_spawn sleeper lab_in_job job_1/step_0 lab_in h0 sleep 60
lab_wait_for 2 "the sleeper" grep -q . "$LAB_CG/job_1/step_0/cgroup.procs"
check "the pid of a job's process" test "$(cat "$LAB_CG/job_1/step_0/cgroup.procs")" = \
	"${LAB_PID[sleeper]}"
check "a job that is gone" lab_job_gone job_1
check "its cgroup, too" test ! -e "$LAB_CG/job_1"

# Four ranks all-reduce 4 MB: each sends 2 x 3/4 of it, plus acknowledgements.
lab_job job_2 >/dev/null
before=$(lab_bytes h3 e0 tx)
check "Open MPI without ssh" lab_mpi job_2 "$LAB_DIR/truth" h0,h1,h2,h3 10 4 20 0.05
check "the truth has a line an iteration" test "$(wc -l <"$LAB_DIR/truth")" = 10
near "the ring's bytes from a rank" "$(($(lab_bytes h3 e0 tx) - before))" 60000000 6
lab_end
