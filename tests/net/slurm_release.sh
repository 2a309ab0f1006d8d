#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# slurm_release.sh - without the daemon, our changes to waiting jobs are undone in a
# real Slurm: by 'antiphase slurm release', and by the hooks when the daemon does not
# answer
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
# shellcheck source=tests/net/slurm_lab.sh
. "$(dirname "$0")/slurm_lab.sh"
lab_begin
lab_need root netns slurm
slurm_make
hooks=$LAB_ROOT/scheduler/slurm/hooks
sed -e "s|^local STOP = .*|local STOP = \"$LAB_DIR/stop\"|" -e 's/^local GATE_S = .*/local GATE_S = 60/' \
	"$hooks/job_submit.lua" >"$SLURM_DIR/etc/job_submit.lua"
sed -e "s|/run/antiphase-scheduler|$LAB_DIR|" -e "s|@bindir@|$LAB_B|" \
	-e "s|^poke() {|export SLURM_CONF=$SLURM_CONF\n&|" \
	"$hooks/prolog_slurmctld.sh" >"$LAB_DIR/poke.sh"
chmod +x "$LAB_DIR/poke.sh"
cat >>"$SLURM_CONF" <<X
JobSubmitPlugins=lua
PrologSlurmctld=$LAB_DIR/poke.sh
X
slurm_start || lab_end

place() {
	slurm "$LAB_B/tests/net/slurm_probe" place "$@" >/dev/null
}
required() {
	[ "$(slurm_job_field "$1" ReqNodeList)" = "$2" ]
}
release() {
	slurm antiphase slurm release "$@"
}
# As after a kill: a pin to nodes where the job cannot start, without a daemon.
pin_to_a_node_that_goes() {
	slurm scontrol update NodeName=n05 State=DRAIN Reason=test
	job=$(slurm_submit --exclusive -N2)
	place "$job" 'n[05-06]' 'antiphase:v1;placed'
}

pin_to_a_node_that_goes
his=$(slurm_submit --exclusive -N2 -w 'n[05-06]')
gated=$(slurm_submit --exclusive -N2)
array=$(slurm_submit --exclusive -N2 --array=1-2)
sleep 3
check "a job that is pinned to a node that is gone waits for it" slurm_is_state "$job" PENDING
check "dry: it is told" grep -qx "job $job: would be un-pinned" <(release --dry-run)
check "and nothing is done" required "$job" 'n[05-06]'
check "the daemon of another scheduler releases nothing" grep -q 'nothing to release' \
	<(release --config /dev/null)
check "pins are released" grep -qx "job $job: un-pinned" <(release --pins)
check "and the job runs elsewhere" slurm_wait_state 5 "$job" RUNNING
check "its record says so" test "$(slurm_job_field "$job" AdminComment)" = 'antiphase:v1;released'
check "what its user chose is his" required "$his" 'n[05-06]'
check "gates open by themselves" slurm_is_state "$gated" PENDING
check "or with the rest" test "$(release | sort | tr '\n' ';')" = \
	"job $gated: let go;job ${array}_1: let go;job ${array}_2: let go;"
for i in "$gated" "${array}_1" "${array}_2"; do
	check "job $i runs" slurm_wait_state 5 "$i" RUNNING
done
check "again is nothing" grep -q 'no waiting job has a change' <(release)
slurm scontrol update NodeName=n05 State=RESUME
slurm_clear

# ---- The hooks -----------------------------------------------------------------------
# The hooks of the jobs above may still be running.
sleep 4
pin_to_a_node_that_goes
sleep 2
check "pinned to a node that is gone, without a daemon" slurm_is_state "$job" PENDING
check "another job starts" slurm srun -N1 true
check "which releases it" lab_wait_for 8 "the release" required "$job" '(null)'
check "and it runs" slurm_wait_state 5 "$job" RUNNING
lab_end
