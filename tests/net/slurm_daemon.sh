#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# slurm_daemon.sh - antiphase-scheduler with a real Slurm: gated jobs are placed or let
# go, changes are undone, also by a daemon started after kill -9, and jobs run without
# the daemon
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
# shellcheck source=tests/net/slurm_lab.sh
. "$(dirname "$0")/slurm_lab.sh"
lab_begin
lab_need root netns slurm
slurm_make
run=$LAB_DIR/run
mkdir -p "$run"
sleep 1.1
sed -e "s|^local STOP = .*|local STOP = \"$run/stop\"|" -e 's/^local GATE_S = .*/local GATE_S = 8/' \
	"$LAB_ROOT/scheduler/slurm/hooks/job_submit.lua" >"$SLURM_DIR/etc/job_submit.lua"
echo "JobSubmitPlugins=lua" >>"$SLURM_CONF"
slurm_start || lab_end

echo 0123456789abcdef0123 >"$run/token"

daemon_start() {
	lab_spawn scheduler lab_in slurm antiphase-scheduler --runtime-dir "$run" \
		--bus "ipc://$run/bus" --topology "$SLURM_DIR/etc/topology.conf" \
		--store "$run/history.db" --announce "ipc://$run/announce" --scheduler slurm \
		--kill-switch "$run/stop" --token-file "$run/token" --poll-ms 300 "$@"
	lab_wait_for 10 "the daemon" test -S "$run/scheduler.sock"
}
ask() {
	slurm curl -s -m 5 "http://127.0.0.1:7470/api/v1/$1"
}
standing() {
	[ "$(ask changes | python3 -c '
import json, sys
print(" ".join(c["kind"] + ":" + c["job"] for c in json.load(sys.stdin)["standing"]))')" = "$1" ]
}
waited_s() {
	echo $(($(date -d "$(slurm_job_field "$1" StartTime)" +%s) - \
		$(date -d "$(slurm_job_field "$1" SubmitTime)" +%s)))
}
required() {
	[ "$(slurm_job_field "$1" ReqNodeList)" = "$2" ]
}
is_known() {
	slurm curl -sf -o /dev/null -m 5 "http://127.0.0.1:7470/api/v1/advice/$1"
}
pinned() {
	! required "$1" '(null)'
}
declared=(--comment 'antiphase: iter_us=255000 comm_us=102000')

# ---- Observing changes nothing -------------------------------------------------------
daemon_start
job=$(slurm_submit --exclusive -N2 "${declared[@]}")
slurm_wait_state 13 "$job" RUNNING
check "observe: the gate opens by itself ($(waited_s "$job") s)" test "$(waited_s "$job")" -ge 7
check "and no record is written" grep -q '^antiphase:v1;gate;until=[0-9]*$' \
	<(slurm_job_field "$job" AdminComment)
slurm_clear

# ---- Enforcing ---------------------------------------------------------------------------
lab_ctl_scheduler() {
	slurm antiphase ctl --runtime-dir "$run" scheduler "$@"
}
check "the mode is changed" grep -q enforce <(lab_ctl_scheduler mode enforce)
job=$(slurm_submit --exclusive -N2 "${declared[@]}")
slurm_wait_state 6 "$job" RUNNING
check "enforce: a job is placed before the gate opens ($(waited_s "$job") s)" \
	test "$(waited_s "$job")" -le 4
check "where it was advised" pinned "$job"
check "and its record says so" grep -q '^antiphase:v1;placed;.*pinned' \
	<(slurm_job_field "$job" AdminComment)
job=$(slurm_submit --exclusive -N2)
slurm_wait_state 6 "$job" RUNNING
check "a job that nothing is known of is let go at once ($(waited_s "$job") s)" \
	test "$(waited_s "$job")" -le 4
check "and told why" grep -q '^antiphase:v1;skipped=no_period' <(slurm_job_field "$job" AdminComment)
slurm_clear

# ---- Undoing -----------------------------------------------------------------------------
# A placed job in a partition that starts nothing keeps waiting.
slurm scontrol update PartitionName=train State=DOWN
job=$(slurm_submit --exclusive -N2 "${declared[@]}")
lab_wait_for 6 "the job to be placed" pinned "$job"
check "a job that waits is placed" pinned "$job"
check "and that stands" lab_wait_for 3 "the change" standing "pin:$job"
lab_stop scheduler KILL
check "killed, the pin stands" pinned "$job"
rm -f "$run/scheduler.sock"
daemon_start --mode enforce
check "started again, it is taken back: its place may be anybody's" \
	lab_wait_for 5 "the unpin" required "$job" '(null)'
check "and nothing stands" lab_wait_for 5 "no change" standing ""
slurm_clear
job=$(slurm_submit --exclusive -N2 "${declared[@]}")
lab_wait_for 6 "the job to be placed" pinned "$job"
touch "$run/stop"
check "the kill switch takes it back" lab_wait_for 5 "the unpin" required "$job" '(null)'
check "and nothing stands" lab_wait_for 5 "no change" standing ""
rm "$run/stop"
sleep 2
check "it is left alone then" required "$job" '(null)'
slurm_clear
job=$(slurm_submit --exclusive -N2 "${declared[@]}")
lab_wait_for 6 "the job to be placed" pinned "$job"
node=$(slurm_job_field "$job" ReqNodeList | sed 's/n\[\?\([0-9]*\).*/n\1/')
slurm scontrol update NodeName="$node" State=DOWN Reason=test
check "a node of its place goes down: it is unpinned" lab_wait_for 6 "the unpin" required "$job" '(null)'
slurm scontrol update NodeName="$node" State=RESUME
slurm_clear
job=$(slurm_submit --exclusive -N2 "${declared[@]}")
lab_wait_for 6 "the job to be placed" pinned "$job"
check "POST unpin" grep -q '"schema"' <(slurm curl -s -m 5 -X POST \
	-H "Authorization: Bearer 0123456789abcdef0123" \
	"http://127.0.0.1:7470/api/v1/jobs/$job/unpin")
check "takes it back" lab_wait_for 5 "the unpin" required "$job" '(null)'
slurm_clear
slurm scontrol update PartitionName=train State=UP
job=$(slurm_submit --exclusive -N2 "${declared[@]}")
slurm_wait_state 6 "$job" RUNNING
slurm scontrol requeue "$job"
check "requeued, a job is unpinned" lab_wait_for 5 "the unpin" required "$job" '(null)'
check "and Slurm's own delay stands" slurm_is_state "$job" PENDING
slurm_clear
lab_ctl_scheduler mode observe >/dev/null
job=$(slurm_submit --exclusive -N2 "${declared[@]}")
# The job is read with its gate, and changed just before the daemon may act.
lab_wait_for 5 "the job to be seen" is_known "$job"
slurm scontrol update jobid="$job" StartTime=now+300
lab_ctl_scheduler mode enforce >/dev/null
sleep 2
check "a begin time that its user gave since is his" test "$(($(date -d \
	"$(slurm_job_field "$job" StartTime)" +%s) - $(date +%s)))" -gt 200
slurm_clear
job=$(slurm sbatch --parsable -o /dev/null -N2 : -N2 --wrap 'sleep 60')
check "a heterogeneous job starts" slurm_wait_state 10 "$job" RUNNING
check "and nothing is done to it" test "$(slurm_job_field "$job" AdminComment)" = ''
slurm_clear
slurm scontrol update PartitionName=train State=DOWN
job=$(slurm_submit --exclusive -N2 "${declared[@]}")
lab_wait_for 6 "the job to be placed" pinned "$job"
lab_stop scheduler
check "ended, what was done is undone" required "$job" '(null)'
slurm_clear

# ---- Without the daemon --------------------------------------------------------------
slurm scontrol update PartitionName=train State=UP
rm -f "$run/scheduler.sock"
daemon_start --mode enforce
job=$(slurm_submit --exclusive -N3 "${declared[@]}") && lab_stop scheduler KILL
slurm_wait_state 14 "$job" RUNNING
check "killed, a gated job runs within the gate and two seconds ($(waited_s "$job") s)" \
	test "$(waited_s "$job")" -le 10
slurm_clear
lab_end
