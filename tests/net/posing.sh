#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# posing.sh - what another user's processes can make the collector believe: processes in
# real control groups with the names of a job, in subtrees that belong to that user
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
lab_begin
lab_need root netns cgroup2
chmod o+rx "$LAB_DIR"
bus=ipc://$LAB_DIR/n0.sock
user=65534

# Reports an iteration as a user's process in this control group.
report() {
	local group=$1
	shift
	lab_in_job "$group" python3 "$LAB_ROOT/tests/net/pose.py" $user "$LAB_DIR/n0.run/sockets/pacer.sock" "$@" \
		>>"$LAB_DIR/pose.log" 2>&1
}
# A control group that belongs to the user, and what he makes in it.
delegate() {
	lab_job "$1" >/dev/null
	chown $user "$LAB_CG/$1" "$LAB_CG/$1/cgroup.procs"
	setpriv --reuid $user --regid $user --clear-groups mkdir -p "$LAB_CG/$1/$2"
}
# The number of iterations reported for a job.
rows() {
	awk -v job="$1" '$1 == job && $13 == 0 { n++ } END { print n + 0 }' "$LAB_DIR/rows.log"
}

lab_node n0
lab_collector n0 n0 --source netlink --interface lo --metrics 127.0.0.1:9471
lab_spawn rows "$LAB_B/tests/net/pace_steer" "$bus" "ipc://$LAB_DIR/orders.sock" n0
lab_wait_for 10 "the listener" test -S "$LAB_DIR/orders.sock"
sleep 0.5

job=system.slice/slurmstepd.scope/job_4711
pod=6e1a2b3c-0001-0002-0003-0123456789ab
lab_job $job/step_0 >/dev/null
report $job/step_0
check "the job itself is heard ($(rows 4711) of 1)" lab_wait_for 3 "its row" \
	sh -c "grep -q '^4711 ' '$LAB_DIR/rows.log'"
n=$(rows 4711)

# ---- Posing ----------------------------------------------------------------------------
delegate user.slice/user-1000.slice/user@1000.service slurm_x/job_4711
delegate slurm_x job_4711
delegate slurm_y uid_1000/job_4711
delegate kubepods pod$pod
lab_job theirs >/dev/null
delegate theirs system.slice/slurmstepd.scope/job_4711
for group in user.slice/user-1000.slice/user@1000.service/slurm_x/job_4711 slurm_x/job_4711 \
	slurm_y/uid_1000/job_4711 kubepods/pod$pod theirs/system.slice/slurmstepd.scope/job_4711; do
	report "$group"
done
sleep 0.5
check "job 4711 has no report of others ($(($(rows 4711) - n)) of 4)" test "$(rows 4711)" = "$n"
check "and a pod has none ($(rows pod-$pod) of 1)" test "$(rows pod-$pod)" = 0
check "they belong to no job" test "$(lab_metric n0 '^antiphase_collector_iterations_unknown_job')" = 5

# ---- Root in a container -----------------------------------------------------------------
# Its user is 0, too: 1,100 connections, which would be all there are.
lab_job docker/3f0c >/dev/null
lab_spawn crowd lab_in_job docker/3f0c unshare --pid --fork --mount-proc python3 \
	"$LAB_ROOT/tests/net/pose.py" 0 "$LAB_DIR/n0.run/sockets/pacer.sock" 4711 1100
sleep 1.2
report $job/step_0
check "beside a crowd of no job the job is heard ($(($(rows 4711) - n)) of 1)" \
	test "$(rows 4711)" = $((n + 1))
wait "${LAB_PID[crowd]}"
check "which gets 256 of 1,024 places ($(tail -n 1 "$LAB_DIR/crowd.log"))" \
	test "$(tail -n 1 "$LAB_DIR/crowd.log")" = 256

lab_end
