#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# events.sh - collectives as antiphase-events observes them, compared with the programs'
# own records: real Open MPI, and stubs for NCCL and gloo
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
lab_begin
lab_need root netns veth bridge cgroup2 openmpi uprobe

here=$LAB_ROOT/tests/net
socket=$LAB_DIR/events.sock
# Watches with these options until events_end; EVENTS gets a line for each event: pid
# source launch begin_s end_s bytes lost.
events_begin() {
	EVENTS=$LAB_DIR/$1.events
	shift
	rm -f "$socket"
	lab_spawn receiver python3 "$here/events_receive.py" "$socket" "$EVENTS"
	lab_wait_for 5 "the receiver" test -S "$socket"
	: >"$LAB_DIR/watcher.log"
	lab_spawn watcher antiphase-events --socket "$socket" "$@"
	lab_wait_for 10 "antiphase-events" grep -q watching "$LAB_DIR/watcher.log"
}
events_end() {
	sleep 0.3
	lab_stop watcher
	check "antiphase-events ends with 0 ($1)" test $? = 0
	lab_stop receiver
}
# Compares the best matching process's events with the recorded begins and ends.
compare() {
	python3 "$here/events_compare.py" "$EVENTS" "$@"
}

cc -O2 -o "$LAB_DIR/call" "$here/events_call.c" -ldl || fail "the build" "cc failed"
cc -O2 -shared -fPIC -o "$LAB_DIR/libstub.so" "$here/events_stub.c" ||
	fail "the build" "cc failed"

# ---- MPI: four all-reduces per iteration, on two hosts -------------------------------
lab_star 2 none || fail "the network" "see the log"
lab_job job_1 >/dev/null
events_begin mpi
check "it keeps no capability" grep -q '^CapEff:[[:space:]]*0*$' \
	"/proc/${LAB_PID[watcher]}/status"
check "Open MPI runs while it is watched" \
	lab_mpi job_1 "$LAB_DIR/truth" h0,h1 40 4 60 0.1 4
events_end mpi
awk '{ print $3, $4 }' "$LAB_DIR/truth" >"$LAB_DIR/truth.spans"
compare "$LAB_DIR/truth.spans" 0 0 1000000 >"$LAB_DIR/mpi.result" 2>&1
sed 's/^/events: mpi: /' "$LAB_DIR/mpi.result" >&2
check "an event for each MPI_Allreduce of rank 0" grep -q "^count 160 of 160$" \
	"$LAB_DIR/mpi.result"
# Uprobes see all processes of the machine, so there may be others.
check "of both ranks" test "$(awk '$6 == 1000000 { n[$1]++ }
	END { for (pid in n) both += n[pid] == 160; print both + 0 }' "$EVENTS")" = 2
check "begin and end within 1 ms of the program's own ($(grep ^within \
	"$LAB_DIR/mpi.result"))" grep -q "^ok time$" "$LAB_DIR/mpi.result"
check "MPI: bytes and flags" grep -q "^ok fields$" "$LAB_DIR/mpi.result"
check "none was lost" test "$(awk '{ n += $7 } END { print n + 0 }' "$EVENTS")" = 0

# ---- NCCL: a stub whose ncclAllReduce() returns at once ------------------------------
events_begin nccl --nccl "$LAB_DIR/libstub.so"
"$LAB_DIR/call" "$LAB_DIR/libstub.so" ncclAllReduce 50 5 250000 >"$LAB_DIR/nccl.spans"
events_end nccl
compare "$LAB_DIR/nccl.spans" 2 1 1000000 >"$LAB_DIR/nccl.result" 2>&1
check "ncclAllReduce is a launch" grep -q "^ok fields$" "$LAB_DIR/nccl.result"
check "each of its calls" grep -q "^count 50 of 50$" "$LAB_DIR/nccl.result"
check "at its time" grep -q "^ok time$" "$LAB_DIR/nccl.result"

# ---- gloo: by its C++ name -----------------------------------------------------------
gloo=_ZN4gloo9allreduceERKNS_16AllreduceOptionsE
events_begin gloo --gloo "$LAB_DIR/libstub.so"
"$LAB_DIR/call" "$LAB_DIR/libstub.so" $gloo 50 5 1 >"$LAB_DIR/gloo.spans"
events_end gloo
compare "$LAB_DIR/gloo.spans" 1 0 0 >"$LAB_DIR/gloo.result" 2>&1
check "gloo::allreduce, of which the size is not known" \
	grep -q "^ok fields$" "$LAB_DIR/gloo.result"
check "and its calls, too" grep -q "^count 50 of 50$" "$LAB_DIR/gloo.result"
if lab_has_torch >/dev/null 2>&1; then
	events_begin torch --gloo libgloo.so.0
	export GLOO_SOCKET_IFNAME=lo
	lab_spawn rank1 lab_in h0 timeout 60 /usr/bin/python3 "$here/events_gloo.py" 1 \
		"$LAB_DIR/store"
	check "PyTorch over gloo runs" lab_in h0 timeout 60 /usr/bin/python3 \
		"$here/events_gloo.py" 0 "$LAB_DIR/store" "$LAB_DIR/torch.spans"
	events_end torch
	# PyTorch passes the work to its own thread, which must be scheduled first.
	compare "$LAB_DIR/torch.spans" 1 0 0 5 >"$LAB_DIR/torch.result" 2>&1
	sed 's/^/events: torch: /' "$LAB_DIR/torch.result" >&2
	check "PyTorch's all_reduce: each" grep -q "^count 20 of 20$" "$LAB_DIR/torch.result"
	check "PyTorch's all_reduce: at its time" grep -q "^ok time$" "$LAB_DIR/torch.result"
else
	skip "PyTorch over gloo" "$(lab_lacks torch)"
fi

# ---- Errors are reported -------------------------------------------------------------
refused() {
	local name=$1 status=$2 text=$3
	shift 3
	timeout 10 "$@" >"$LAB_DIR/refused.log" 2>&1
	check "$name: status" test $? = "$status"
	check "$name: reason" grep -q "$text" "$LAB_DIR/refused.log"
}
refused "a missing function" 2 "libstub.so: has no function 'no_such'" \
	antiphase-events --nccl "$LAB_DIR/libstub.so" --symbol no_such
refused "a missing library" 2 "/no/such/lib.so: library not found" \
	antiphase-events --mpi /no/such/lib.so
refused "a symbol of two" 2 "goes with one of" \
	antiphase-events --mpi x --nccl y --symbol z
chmod 755 "$LAB_DIR" && cp "$LAB_B/antiphase-events" "$LAB_DIR/antiphase-events"
refused "without rights" 5 "need CAP_" setpriv --reuid=65534 --regid=65534 --clear-groups \
	"$LAB_DIR/antiphase-events" --nccl "$LAB_DIR/libstub.so"

# ---- Nothing stays in the kernel -----------------------------------------------------
events_begin killed --nccl "$LAB_DIR/libstub.so"
lab_stop watcher KILL
lab_stop receiver
check "after SIGKILL the function is called as ever" \
	"$LAB_DIR/call" "$LAB_DIR/libstub.so" ncclAllReduce 10 0 1
lab_end
