#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# pacer_mpi.sh - libantiphase-pacer.so under Open MPI and MPICH, in C and Fortran (use
# mpi, use mpi_f08) and with threads: results are correct, each collective is counted
# with its bytes, and an order is followed
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
lab_begin
lab_need root netns cgroup2 openmpi
job=system.slice/slurmstepd.scope/job_4711/step_0
lab_node n0
lab_job "$job" >/dev/null
bus=$(lab_endpoint n0)
orders=ipc://$LAB_DIR/orders.sock
lab_collector n0 n0 --source netlink --interface lo --pacer-orders "$orders"

# KIND PROGRAM ARGUMENT...: three ranks over loopback.  The gap is given: learning is
# tested elsewhere, and a busy machine causes gaps of any length.
launch() {
	local kind=$1 command
	shift
	case $kind in
	openmpi)
		command=(mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none
			--mca orte_tmpdir_base "$LAB_DIR" --mca btl "tcp,self" --mca pml ob1
			--mca btl_tcp_if_include lo --mca oob_tcp_if_include lo
			--mca mpi_yield_when_idle 1 -np 3)
		;;
	mpich) command=(mpiexec.hydra -launcher fork -iface lo -np 3) ;;
	esac
	lab_in_job "$job" nsenter --net="/run/netns/$LAB-n0" -- \
		env TMPDIR="$LAB_DIR" ANTIPHASE_GAP_US=10000 ANTIPHASE_VERBOSE=1 \
		LD_PRELOAD="$LAB_B/libantiphase-pacer.so" \
		ANTIPHASE_ENDPOINT="$LAB_DIR/n0.run/sockets/pacer.sock" \
		timeout --kill-after=5 60 "${command[@]}" "$@" >"$LAB_DIR/mpi.log" 2>&1
}

# The rows of the last job with exactly the expected values, and all rows; a gap caused
# by the machine splits one now and then.
count_rows() {
	local bytes collectives
	read -r _ bytes _ _ collectives _ <<<"$(grep '^expected' "$LAB_DIR/mpi.log")"
	awk -v bytes="$bytes" -v n="$collectives" '
		$13 == 0 && $3 > 0 { all++; right += $7 == bytes && $8 == n }
		END { print right + 0, all + 0 }' "$LAB_DIR/steer.log"
}

# KIND NAME PROGRAM
try() {
	local kind=$1 name=$2 right all waits
	shift 2
	: >"$LAB_DIR/steer.log"
	lab_spawn steer "$LAB_B/tests/net/pace_steer" "$bus" "$orders" n0 12:8
	lab_wait_for 10 "the announcer" test -S "$LAB_DIR/orders.sock"
	check "$kind, $name: it ends well, and its results are right" launch "$kind" "$@" 30
	sleep 0.3
	lab_stop steer
	rm -f "$LAB_DIR/orders.sock"
	read -r right all <<<"$(count_rows)"
	check "$kind, $name: iterations have the bytes and collectives that they should ($right of $all)" \
		test "$right" -ge 15
	waits=$(sed -n 's/^antiphase: .* \([0-9]*\) waits of .*/\1/p' "$LAB_DIR/mpi.log")
	check "$kind, $name: rank 0 alone waits once for an order" test "$waits" = 1
}

for kind in openmpi mpich; do
	if ! command -v "mpicc.$kind" >/dev/null || [ ! -x "$LAB_B/tests/net/collectives.$kind" ]; then
		skip "$kind" "it is not installed"
		continue
	fi
	try $kind "C" "$LAB_B/tests/net/collectives.$kind"
	try $kind "Fortran" "$LAB_B/tests/net/collectives-f90.$kind"
	try $kind "Fortran 2008" "$LAB_B/tests/net/collectives-f08.$kind"
	if check "$kind, threads: they end well, and results are right" \
		launch $kind "$LAB_B/tests/net/collectives.$kind" 100 threads; then
		! grep -q 'no threads' "$LAB_DIR/mpi.log" || skip "$kind, threads" "it has none"
	fi
done
lab_end
