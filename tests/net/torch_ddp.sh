#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# torch_ddp.sh - training by PyTorch (DistributedDataParallel over gloo) on four hosts:
# its period and its bytes per iteration, measured by antiphase.  'make test-torch'.
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
lab_begin
lab_need root netns veth bridge tbf cgroup2 btf torch
job=system.slice/slurmstepd.scope/job_4712/step_0

lab_star 4 1gbit
lab_plan >"$LAB_DIR/plan.json"
lab_job $job >/dev/null
from=() ranks=()
for i in 0 1 2 3; do
	lab_collector h$i h$i --source bpf --interface e0
	from+=(--from "$(lab_endpoint h$i)")
done
for i in 0 1 2 3; do
	lab_spawn rank$i lab_in_job $job lab_in h$i env RANK=$i WORLD_SIZE=4 \
		MASTER_ADDR="$(lab_addr h0)" MASTER_PORT=29517 GLOO_SOCKET_IFNAME=e0 \
		OMP_NUM_THREADS=1 \
		/usr/bin/python3 "$LAB_ROOT/tests/net/ddp.py" "$LAB_DIR/truth" 100 100
	ranks+=("${LAB_PID[rank$i]}")
done
# Loading PyTorch four times takes a while, and the first iterations differ.
lab_wait_for 60 "ten iterations" grep -q '^9 ' "$LAB_DIR/truth"
antiphase job 4712 "${from[@]}" --fabric "$LAB_DIR/plan.json" --window "24 s" --json \
	>"$LAB_DIR/live.json" 2>"$LAB_DIR/live.log"
for rank in "${ranks[@]}"; do
	check "a rank ends with 0" wait "$rank"
done

# 3,673,344 parameters of 4 bytes; each of four ranks sends 2 x 3/4 of them; 1448 bytes
# have 66 bytes of headers on the wire.
read -r period own found _ <<<"$(lab_judge "$LAB_DIR/live.json" 4712 "$LAB_DIR/truth")"
near "period, ms" "$period" "$own" 2
near "bytes an iteration" "$found" "$((3673344 * 6 * 1514 / 1448))" 5
lab_end
