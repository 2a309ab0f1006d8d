#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016  # what is in single quotes is awk's
# torch_pacer.sh - training by PyTorch (DistributedDataParallel over gloo) paced through
# the communication hook antiphase_ddp.py: iterations reach the bus, an order is
# followed, and the parameters equal those of a run without the hook.  'make
# test-torch'.
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
lab_begin
lab_need root netns cgroup2 torch
job=system.slice/slurmstepd.scope/job_4713/step_0

lab_node n0
lab_job "$job" >/dev/null
orders=ipc://$LAB_DIR/orders.sock
lab_collector n0 n0 --source netlink --interface lo --pacer-orders "$orders"
lab_spawn steer "$LAB_B/tests/net/pace_steer" "$(lab_endpoint n0)" "$orders" n0 12:50
lab_wait_for 10 "the announcer" test -S "$LAB_DIR/orders.sock"

# TAG [SETTING...]: two ranks over the loopback.
train() {
	local tag=$1 i status=0
	shift
	for i in 0 1; do
		lab_spawn "$tag$i" lab_in_job "$job" lab_in n0 env "RANK=$i" WORLD_SIZE=2 \
			MASTER_ADDR=127.0.0.1 MASTER_PORT=29518 GLOO_SOCKET_IFNAME=lo \
			OMP_NUM_THREADS=1 "$@" /usr/bin/python3 \
			"$LAB_ROOT/tests/net/ddp.py" "$LAB_DIR/$tag.truth" 25 60
	done
	for i in 0 1; do
		wait "${LAB_PID[$tag$i]}" || status=1
	done
	return "$status"
}

check "a paced job ends well" train paced DDP_PACED="$LAB_ROOT/pacer" ANTIPHASE_VERBOSE=1 \
	ANTIPHASE_PACER="$LAB_B/libantiphase-pacer.so" \
	ANTIPHASE_ENDPOINT="$LAB_DIR/n0.run/sockets/pacer.sock"
sleep 0.3
rows=$(awk '$1 == "4713" && $13 == 0' "$LAB_DIR/steer.log" | wc -l)
check "each of its 25 iterations is on the bus ($rows)" test "$rows" = 25
bytes=$(awk '$1 == "4713" && $3 == 10 { print $7 }' "$LAB_DIR/steer.log")
near "with the bytes of all gradients" "$bytes" $((3673344 * 4)) 0
waited_ms=$(awk '$13 == 0 && $5 > $4 { n++; ms = 1000 * ($5 - $4) }
	END { print n == 1 ? ms : "none or many" }' "$LAB_DIR/steer.log")
near "the wait for an order of 50 ms, ms" "$waited_ms" 50 5
check "without a library the same line does no harm" train without DDP_PACED="$LAB_ROOT/pacer" \
	ANTIPHASE_PACER=/nowhere.so
check "nor is it needed" train plain
paced=$(grep -h '^sum' "$LAB_DIR/paced0.log")
plain=$(grep -h '^sum' "$LAB_DIR/plain0.log")
check "the parameters are the same with it and without ($paced)" test "$paced" = "$plain"
lab_end
