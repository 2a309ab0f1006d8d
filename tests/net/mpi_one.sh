#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# mpi_one.sh - one real Open MPI job on four hosts with collectors: its period and bytes
# per iteration, live from the bus and from a recording
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
lab_begin
lab_need root netns veth bridge tbf cgroup2 btf openmpi
job=system.slice/slurmstepd.scope/job_4711/step_0
hosts=(h0 h1 h2 h3)

lab_star 4 1gbit
lab_plan >"$LAB_DIR/plan.json"
lab_job $job >/dev/null
from=() buses=()
for host in "${hosts[@]}"; do
	lab_collector "$host" "$host" --source bpf --interface e0
	from+=(--from "$(lab_endpoint "$host")")
	buses+=(--bus "$(lab_endpoint "$host")")
done

# 10 MB in a ring of four: each sends 15 MB per iteration, 120 ms at 1 Gb/s.
lab_mpi $job "$LAB_DIR/truth" h0,h1,h2,h3 75 10 150 0.05 >"$LAB_DIR/mpi.log" 2>&1 &
mpi=$!
antiphase record "${buses[@]}" --for "21 s" --output "$LAB_DIR/run.tele" \
	>"$LAB_DIR/record.log" 2>&1 &
record=$!
sleep 5
antiphase job 4711 "${from[@]}" --fabric "$LAB_DIR/plan.json" --window "12 s" --json \
	>"$LAB_DIR/live.json" 2>"$LAB_DIR/live.log"
check "mpirun succeeds" wait $mpi
check "antiphase record succeeds" wait $record
antiphase job 4711 --from "$LAB_DIR/run.tele" --fabric "$LAB_DIR/plan.json" --json \
	>"$LAB_DIR/replayed.json" 2>"$LAB_DIR/replayed.log"

# Each 1448 bytes have 66 bytes of headers on the wire.
bytes=$((15000000 * 1514 / 1448))
for how in live replayed; do
	read -r period own found _ <<<"$(lab_judge "$LAB_DIR/$how.json" 4711 "$LAB_DIR/truth")"
	near "period, $how, ms" "$period" "$own" 2
	near "bytes an iteration, $how" "$found" "$bytes" 5
done
check "all four hosts are named" grep -q '"h0", "h1", "h2", "h3"' "$LAB_DIR/live.json"
lab_end
