#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# slurm_driver.sh - the Slurm driver by slurm_probe with a real Slurm: what it reads and
# each change it makes; hostile names, arrays, requeues, nodes that go down, a slurmctld
# that hangs or is gone
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
# shellcheck source=tests/net/slurm_lab.sh
. "$(dirname "$0")/slurm_lab.sh"
lab_begin
lab_need root netns slurm
slurm_make
slurm_start || lab_end

probe() {
	slurm "$LAB_B/tests/net/slurm_probe" "$@"
}
# look PYTHON-EXPRESSION: evaluates 'jobs' (by id) and 'nodes' (by name) in a new
# snapshot.
look() {
	probe look | python3 -c '
import json, sys
doc = json.load(sys.stdin)
jobs = {j["id"]: j for j in doc["jobs"]}
nodes = {n["name"]: n for n in doc["nodes"]}
print(eval(sys.argv[1]))' "$1"
}
is() {
	[ "$(look "$1")" = "$2" ]
}
says() {
	local want=$1
	shift
	"$@" 2>&1 | grep -F -- "$want"
}
# A job that waits for antiphase, and one that its user wants to begin later.
held_job() {
	slurm_submit --exclusive --begin=now+300 "$@"
}

# ---- Reading --------------------------------------------------------------------------
probe topology >"$LAB_DIR/topology.conf"
check "switches are read" diff "$LAB_DIR/topology.conf" "$SLURM_DIR/etc/topology.conf"
check "and make a fabric of hosts and leaves" \
	antiphase topology show "$LAB_DIR/topology.conf"
check "the version is known" is 'doc["version"] >= 2205' True
check "twelve free nodes of four CPUs" \
	is 'sorted({(n["state"], n["n_slots"], n["partitions"]) for n in nodes.values()}), len(nodes)' \
	"([('free', 4, 'train')], 12)"
check "no jobs are an empty list" is 'jobs' '{}'

evil=$'a|b "c" \'d\' %s\n4712|RUNNING|;$(id)\e[31m'
job=$(held_job -N2 -x n01 --job-name="$evil" --comment=$'antiphase: iter_us=1\n|x')
check "a hostile name makes one job, as it is but for control characters" \
	is "len(jobs), jobs['$job']['name']" \
	"(1, 'a|b \"c\" \\'d\\' %s?4712|RUNNING|;\$(id)?[31m')"
check "and its comment" is "jobs['$job']['comment']" 'antiphase: iter_us=1?|x'
check "excluded nodes, state, number of nodes" \
	is "[jobs['$job'][k] for k in ('excluded', 'state', 'n_nodes', 'is_gated')]" \
	"['n01', 'waiting', 2, False]"
slurm_clear

# ---- Placing --------------------------------------------------------------------------
job=$(held_job -N2)
check "more nodes than the job wants are refused before they are sent" \
	says "wants 2 nodes, and cannot be placed on 3" probe place "$job" 'n[03,07,11]'
check "nodes that Slurm does not have are refused" \
	says "Slurm has no node n99" probe place "$job" 'n[03,99]'
check "a job that is not there is refused" says "has no job 99999" probe place 99999 n03
check "what is no job is refused" says "is not a job of Slurm" probe place "$job jobid=1" n03
check "a record of several lines is refused" \
	says "one line" probe record "$job" $'antiphase:v1\nx'
check "nothing of that got to Slurm" is "jobs['$job']['required']" ''
check "a waiting job is pinned" says "done" \
	probe place "$job" 'n[03,07]' 'antiphase:v1;shift_us=32000'
check "and told so in its record" is "[jobs['$job'][k] for k in ('required', 'record')]" \
	"['n[03,07]', 'antiphase:v1;shift_us=32000;pinned']"
check "a start time of its user's is left alone" is "jobs['$job']['state']" waiting
slurm scontrol update jobid="$job" StartTime=now
slurm_wait_state 10 "$job" RUNNING
check "it runs there" test "$(slurm_nodes "$job")" = 'n[03,07]'
check "a running job is not moved" says "does not wait any more" probe place "$job" 'n[01-02]'
check "but its record can be written" says "done" probe record "$job" 'antiphase:v1;shift_us=5'
check "as it was asked for, with the mark of the pin" \
	is "jobs['$job']['record']" 'antiphase:v1;shift_us=5;pinned'
job=$(held_job -N2 -w 'n[05-06]')
check "nodes that the user asked for are not touched" \
	says "the user of job $job asked for nodes" probe place "$job" 'n[01-02]'
check "nor un-pinned" says "was not pinned by us" probe un-pin "$job"
slurm_clear

# ---- Un-pinning ------------------------------------------------------------------------
job=$(held_job -N2)
check "a job is pinned to a node that goes down" says "done" probe place "$job" 'n[02,10]'
slurm scontrol update nodename=n10 state=down reason="test it|x"
check "the node is seen to be down" is "nodes['n10']['state']" down
slurm scontrol update jobid="$job" StartTime=now
lab_wait_for 10 "Slurm to see that it cannot start" is "jobs['$job']['reason'][:15]" ReqNodeNotAvail
check "it waits" is "jobs['$job']['state']" waiting
check "un-pinned" says "done" probe un-pin "$job"
slurm_wait_state 10 "$job" RUNNING
check "it runs elsewhere, and is nobody's pin any more" \
	is "jobs['$job']['record'], 'n10' in jobs['$job']['nodes']" "('antiphase:v1', False)"
slurm scontrol update nodename=n10 state=resume
slurm_clear

# ---- Preferring ------------------------------------------------------------------------
slurm scontrol update nodename='n[03-06]' AvailableFeatures=fast,ib ActiveFeatures=fast
features() {
	slurm sinfo -h -N -n "$1" -o '%f %b' | sort -u
}
job=$(held_job -N2)
check "nodes are preferred" says "done" probe prefer "$job" 'n[04,09]' 'antiphase:v1;score=0.9'
check "by a feature behind the site's" test "$(features n04)" = "fast,ib,AP$job fast,AP$job"
check "on nodes without any, too" test "$(features n09)" = "AP$job AP$job"
check "which is not shown as a node's own" is "nodes['n04']['features']" fast
slurm scontrol update jobid="$job" StartTime=now
slurm_wait_state 10 "$job" RUNNING
check "it runs on the preferred nodes" test "$(slurm_nodes "$job")" = 'n[04,09]'
probe watch 2 >"$LAB_DIR/watch.log"
check "the feature is taken away when it has started" \
	test "$(features 'n[04,09]' | tr '\n' ';')" = '(null) ;fast,ib fast;'
busy=$job
job=$(held_job -N2)
check "a preferred node that is busy" says "done" probe prefer "$job" 'n[04,10]'
slurm scontrol update jobid="$job" StartTime=now
slurm_wait_state 15 "$job" RUNNING
check "is no hindrance" test "$(slurm_nodes "$job" | grep -c n04)" = 0
probe watch 2 >"$LAB_DIR/watch.log"
slurm scontrol requeue "$job"
lab_wait_for 10 "the requeued job" is "jobs['$job']['state']" waiting
check "a requeued job is seen as such" \
	is "jobs['$job']['n_restarts'], jobs['$job']['is_pinned']" '(1, True)'
check "and is un-pinned" says "done" probe un-pin "$job"
check "so that it prefers nothing" is "jobs['$job']['preferred']" ''
job=$(held_job -N2)
probe prefer "$job" 'n[01-02]' >/dev/null
check "from preferred to pinned" says "done" probe place "$job" 'n[07-08]'
check "is one or the other" \
	is "[jobs['$job'][k] for k in ('required', 'preferred', 'record')]" \
	"['n[07-08]', '', 'antiphase:v1;pinned']"
probe watch 2 >"$LAB_DIR/watch.log"
check "no feature is left over" test "$(features 'n[01-02]')" = '(null) '
slurm scancel "$busy"
slurm_clear

# ---- Arrays and het jobs ---------------------------------------------------------------
array=$(held_job -N2 --array=3-6%2)
check "of an array the next task is the one that waits" is 'list(jobs)' "['${array}_3']"
check "it is placed alone" says "done" probe place "${array}_3" 'n[06,08]'
check "the others stay" \
	is "[(j['id'], j['required']) for j in jobs.values()]" \
	"[('${array}_3', 'n[06,08]'), ('${array}_4', '')]"
slurm scontrol update jobid="$array" StartTime=now
slurm_wait_state 10 "${array}_3" RUNNING
check "and runs where it was placed" test "$(slurm_nodes "${array}_3")" = 'n[06,08]'
check "its hosts know it under a number of its own" \
	test "$(look "jobs['${array}_3']['local_id']")" = \
	"$(slurm scontrol show job "${array}_3" | sed -n 's/^JobId=\([0-9]*\) .*/\1/p')"
slurm_clear
het=$(slurm sbatch --parsable -o /dev/null --begin=now+300 -N1 : -N2 --wrap 'sleep 60')
check "a heterogeneous job is two" is 'list(jobs)' "['$het+0', '$het+1']"
check "which are not placed" says "is not a job of Slurm that can be changed" \
	probe place "$het+0" n01
slurm_clear

# ---- A Slurm that does not answer ------------------------------------------------------
kill -STOP "${LAB_PID[slurmctld]}"
SLURM_PROBE_TIMEOUT_MS=1000 probe watch 4 >"$LAB_DIR/watch.log"
check "a slurmctld that hangs is told" grep -q 'none: .* did not end within 1 s' "$LAB_DIR/watch.log"
check "and holds up nothing" test "$(grep -c late "$LAB_DIR/watch.log")" = 0
kill -CONT "${LAB_PID[slurmctld]}"
lab_wait_for 20 "slurmctld to go on" probe look
slurm_daemon_stop slurmctld
SLURM_PROBE_TIMEOUT_MS=2000 probe watch 4 >"$LAB_DIR/watch.log"
check "a slurmctld that is gone is told" grep -q '^none: ' "$LAB_DIR/watch.log"
check "and no look is made up" test "$(grep -c '^look' "$LAB_DIR/watch.log")" = 0
slurm_daemon_start slurmctld
lab_wait_for 20 "slurmctld to come back" is 'len(nodes)' 12
check "no commands are without a Slurm to find" \
	says "is it installed?" env PATH=/nowhere "$LAB_B/tests/net/slurm_probe" look
lab_end
