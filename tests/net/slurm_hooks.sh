#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# slurm_hooks.sh - antiphase's hooks in a real Slurm: the gate, which opens by itself,
# the SPANK plug-in, TaskProlog and PrologSlurmctld.  None of them ever fails a job.
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
# shellcheck source=tests/net/slurm_lab.sh
. "$(dirname "$0")/slurm_lab.sh"
lab_begin
lab_need root netns slurm
hooks=$LAB_ROOT/scheduler/slurm/hooks
run=$LAB_DIR/run
mkdir -p "$run"
slurm_make

# A library that is recognizable in a process, in place of the pacer.
echo 'int antiphase_stand_in;' >"$LAB_DIR/preload.c"
gcc -shared -fPIC -o "$LAB_DIR/libpacer.so" "$LAB_DIR/preload.c"

# The gate as installed, except for the paths of its files.  Slurm reads a script again
# when its modification time in seconds has changed.
gate() {
	sleep 1.1
	sed -e "s|^local STOP = .*|local STOP = \"$run/stop\"|" "$@" \
		"$hooks/job_submit.lua" >"$SLURM_DIR/etc/job_submit.lua"
}
gate -e 's/^local GATE_S = .*/local GATE_S = 5/'
cgroup=
[ -z "$LAB_CG" ] || cgroup="cgroup=$LAB_CG/slurm_lab"
echo "optional $LAB_B/spank_antiphase.so preload=$LAB_DIR/libpacer.so" \
	"endpoint=$run/pacer.sock dir=$run $cgroup" >"$SLURM_DIR/etc/plugstack.conf"
sed -e "s|/run/antiphase-scheduler|$run|" -e "s|@bindir@|$LAB_B|" "$hooks/prolog_slurmctld.sh" \
	>"$LAB_DIR/poke.sh"
sed -e "s|@libdir@|$LAB_DIR|" -e "s|libantiphase-pacer|libpacer|" -e "s|/run/antiphase|$run|" \
	"$hooks/task_prolog.sh" >"$LAB_DIR/task_prolog.sh"
chmod +x "$LAB_DIR"/*.sh
cat >>"$SLURM_CONF" <<X
JobSubmitPlugins=lua
PartitionName=other Nodes=n[01-12] MaxTime=INFINITE State=UP
PlugStackConfig=$SLURM_DIR/etc/plugstack.conf
PrologSlurmctld=$LAB_DIR/poke.sh
EpilogSlurmctld=$LAB_DIR/poke.sh
X
slurm_start || lab_end

probe() {
	slurm "$LAB_B/tests/net/slurm_probe" "$@"
}
look() {
	probe look | python3 -c '
import json, sys
doc = json.load(sys.stdin)
jobs = {j["id"]: j for j in doc["jobs"]}
print(eval(sys.argv[1]))' "$1"
}
is() {
	[ "$(look "$1")" = "$2" ]
}
gated() {
	is "jobs['$1']['is_gated']" "$2"
}
ms() {
	date +%s%3N
}
# Seconds from submission to start, from Slurm.
waited_s() {
	echo $(($(date -d "$(slurm_job_field "$1" StartTime)" +%s) - \
		$(date -d "$(slurm_job_field "$1" SubmitTime)" +%s)))
}

# The output of 'antiphase slurm' for this cluster.
status() {
	slurm antiphase slurm status --hooks "$hooks" | grep -E "^$1"
}
check "status: slurmctld answers" status 'OK +slurmctld .* UP'
check "status: the gate is there" status 'OK +setup .*there: JobSubmitPlugins=lua'
check "status: pokes are by hand, as this script has another name" status 'WARN +setup .*by hand'
[ ! -e "$LAB_B/spank_antiphase.so" ] || check "status: the plug-in is loaded" status 'OK +spank'
check "status: the daemon is not there" status 'FAIL +daemon .*refused'

# ---- The gate --------------------------------------------------------------------------
# Without an answer it opens by itself.
job=$(slurm_submit --exclusive -N2)
check "a job of several nodes is gated" gated "$job" True
check "and waits" slurm_is_state "$job" PENDING
slurm_wait_state 12 "$job" RUNNING
waited=$(waited_s "$job")
check "nobody answers, and it runs within the gate and two seconds ($waited s)" \
	test "$waited" -ge 4 -a "$waited" -le 7
check "it is not gated then" gated "$job" False
slurm_clear
# With an answer the job is placed at once.
job=$(slurm_submit --exclusive -N3)
from=$(ms)
check "a gated job is placed" grep -q "done" <(probe place "$job" 'n[03,07,11]' 'antiphase:v1;shift_us=32000')
slurm_wait_state 5 "$job" RUNNING
took=$(($(ms) - from))
check "and starts there before the gate opens ($took ms)" test "$took" -lt 4000
check "on the nodes asked for" test "$(slurm_nodes "$job")" = 'n[03,07,11]'
check "with the record" is "jobs['$job']['record']" 'antiphase:v1;shift_us=32000;pinned'
job=$(slurm_submit --exclusive -N2)
check "let go, wherever" grep -q "done" <(probe let-go "$job" 'antiphase:v1;skipped=thin')
slurm_wait_state 4 "$job" RUNNING
check "and told so" is "jobs['$job']['record'], jobs['$job']['is_pinned']" \
	"('antiphase:v1;skipped=thin', False)"
check "twice is nothing" grep -q 'does not wait' <(probe let-go "$job")
slurm_clear
array=$(slurm_submit --exclusive -N2 --array=1-3)
check "an array is gated" gated "${array}_1" True
check "its first task is placed" grep -q "done" <(probe place "${array}_1" 'n[09,12]')
slurm_wait_state 5 "${array}_1" RUNNING
check "there" test "$(slurm_nodes "${array}_1")" = 'n[09,12]'
check "while the others wait" is "jobs['${array}_2']['is_gated']" True
slurm_wait_state 12 "${array}_3" RUNNING
slurm_clear
# Jobs that pass the gate.
not_gated() {
	local name=$1
	shift
	id=$("$@") || {
		fail "not gated: $name" "it was not taken"
		return
	}
	check "not gated: $name" test "$(slurm_job_field "$id" AdminComment)" = ''
}
not_gated "one node" slurm_submit -N1
not_gated "tasks alone" slurm_submit -n 16
not_gated "nodes of the user's own" slurm_submit -N2 -w 'n[01-02]'
not_gated "a begin time of the user's own" slurm_submit -N2 --begin=now+100
not_gated "held" slurm_submit -N2 --hold
not_gated "--antiphase=off" slurm_submit -N2 --antiphase=off
not_gated "off by the comment" slurm_submit -N2 --comment='antiphase: off'
not_gated "a heterogeneous job" slurm sbatch --parsable -o /dev/null -N2 : -N2 --wrap 'sleep 60'
check "nor its second part" test "$(slurm_job_field "$id+1" AdminComment)" = ''
check "it runs" slurm_wait_state 10 "$id" RUNNING
slurm_clear
check "salloc of a heterogeneous job gets through" slurm salloc -N2 : -N2 true
touch "$run/stop"
not_gated "the kill switch" slurm_submit -N2
rm "$run/stop"
job=$(slurm_submit -N2 --antiphase=profile --comment=$'x\n"; antiphase offside')
check "others are gated" gated "$job" True
slurm_clear
from=$(ms)
check "srun of one node is not held up" slurm srun -N1 true
check "(it took $(($(ms) - from)) ms)" test $(($(ms) - from)) -lt 4000
check "srun of two nodes gets through the gate" slurm srun -N2 true
# Only tasks, which need more than one node.
job=$(slurm_submit -n 4 --ntasks-per-node=2)
check "gated: more tasks than a node may have" gated "$job" True
slurm_clear
gate -e 's/^local GATE_S = .*/local GATE_S = 5/' -e 's/^local CPUS_PER_NODE = .*/local CPUS_PER_NODE = 4/'
not_gated "tasks that one node has room for" slurm_submit -n 4
not_gated "as wide ones" slurm_submit -n 2 -c 2
job=$(slurm_submit -n 3 -c 2)
check "gated: wide tasks that need two nodes" gated "$job" True
slurm_clear
job=$(slurm_submit -n 16)
check "gated: tasks that need four nodes" gated "$job" True
check "which Slurm knows before it starts" is "jobs['$job']['n_nodes']" 4
check "it is placed" grep -q "done" <(probe place "$job" 'n[02,05,06,11]')
check "and starts" slurm_wait_state 5 "$job" RUNNING
check "there" test "$(slurm_nodes "$job")" = 'n[02,05-06,11]'
slurm_clear
gate -e 's/^local GATE_S = .*/local GATE_S = 5/' \
	-e 's/^local CPUS_PER_NODE = .*/local CPUS_PER_NODE = { train = 4 }/'
job=$(slurm_submit -n 16 -p train)
check "gated: by partition" gated "$job" True
not_gated "in another partition" slurm_submit -n 16 -p other
slurm_clear
# Listed partitions.
gate -e 's/^local GATE_S = .*/local GATE_S = 5/' -e 's/^local PARTITIONS = .*/local PARTITIONS = { other = true }/'
not_gated "a partition that is not listed" slurm_submit -N2 -p train
job=$(slurm_submit -N2 -p other)
check "one that is" gated "$job" True
slurm_clear
# The table replaces the gate.
gate -e "s|^local TABLE = .*|local TABLE = \"$run/table\"|" -e 's/^local GATE_S = .*/local GATE_S = 0/'
echo "$(date +%s) 2 n[04,12] 0.97" >"$run/table"
job=$(slurm_submit --exclusive -N2)
slurm_wait_state 5 "$job" RUNNING
check "by the table, at once" test "$(slurm_nodes "$job")" = 'n[04,12]'
check "and told so" is "jobs['$job']['record'], jobs['$job']['is_pinned']" \
	"('antiphase:v1;pinned;score=0.97', True)"
array=$(slurm_submit --exclusive -N2 --array=1-2)
check "but for an array" is "jobs['${array}_1']['required'] if '${array}_1' in jobs else ''" ''
echo "$(($(date +%s) - 60)) 2 n[04,12] 0.97" >"$run/table"
job=$(slurm_submit --exclusive -N2)
check "a table that is old is not used" is "jobs['$job']['record']" 'antiphase:v1;skipped=stale'
printf '\0\377garbage %s\n' "$(head -c 3000 /dev/zero | tr '\0' x)" >"$run/table"
job=$(slurm_submit --exclusive -N2)
check "nor one that is none" is "jobs['$job']['record']" 'antiphase:v1;skipped=no entry'
# Together with a script of the site.
gate -e 's/^local GATE_S = .*/local GATE_S = 5/'
mv "$SLURM_DIR/etc/job_submit.lua" "$LAB_DIR/ours.lua"
cat >"$SLURM_DIR/etc/job_submit.lua" <<X
dofile("$LAB_DIR/ours.lua")
function slurm_job_submit(job_desc, part_list, submit_uid)
	job_desc.comment = "the site"
	antiphase_submit(job_desc)
	return slurm.SUCCESS
end
function slurm_job_modify() return slurm.SUCCESS end
return slurm.SUCCESS
X
for i in first second; do
	job=$(slurm_submit --exclusive -N2)
	check "the gate and the site's own script, the $i time" \
		is "jobs['$job']['is_gated'], jobs['$job']['comment']" "(True, 'the site')"
done
slurm_clear
gate
# A broken gate.
sleep 1.1
sed -i 's/^local function is_alive()/local function is_alive() error("broken")/' "$SLURM_DIR/etc/job_submit.lua"
sed -i 's/^local GATE_S = .*/local GATE_S = 5/' "$SLURM_DIR/etc/job_submit.lua"
job=$(slurm_submit --exclusive -N2)
slurm_wait_state 5 "$job" RUNNING
check "a gate that fails lets jobs through" grep -q 'the gate failed' "$SLURM_DIR/log/slurmctld.log"
slurm_clear

# ---- SPANK -----------------------------------------------------------------------------
gate -e 's/^local GATE_S = .*/local GATE_S = 0/'
env_of() {
	slurm srun "$@" env | grep -E '^(ANTIPHASE_[A-Z_]*|LD_PRELOAD)=' | sort | tr '\n' ' '
}
if [ -e "$LAB_B/spank_antiphase.so" ]; then
	got=$(env_of -N1 --antiphase=profile)
	job=$(grep -o 'ANTIPHASE_JOB=[0-9]*' <<<"$got" | cut -d= -f2)
	check "a task has its mode, job, endpoint and the pacer" test "$got" = \
		"ANTIPHASE_ENDPOINT=$run/pacer.sock ANTIPHASE_JOB=$job ANTIPHASE_MODE=profile LD_PRELOAD=$LAB_DIR/libpacer.so "
	check "by default it is on" grep -q 'ANTIPHASE_MODE=on ' <<<"$(env_of -N1)"
	check "off is off" test "$(env_of -N1 --antiphase=off)" = 'ANTIPHASE_MODE=off '
	check "what the user preloads comes behind" grep -q "LD_PRELOAD=$LAB_DIR/libpacer.so:/none.so " \
		<<<"$(LD_PRELOAD=/none.so env_of -N1 2>/dev/null)"
	check "it is loaded" grep -q libpacer <<<"$(slurm srun -N1 cat /proc/self/maps)"
	check "another word is refused" grep -q 'is on, off or profile' \
		<<<"$(slurm srun -N1 --antiphase=maybe true 2>&1)"
	check "the help tells of it" grep -q -- '--antiphase=on|off|profile' <<<"$(slurm sbatch --help)"
	cat >"$LAB_DIR/batch.sh" <<X
#!/bin/bash
sleep 1
echo "batch \$ANTIPHASE_JOB \$ANTIPHASE_MODE \$LD_PRELOAD \$ANTIPHASE_SHIFT_US"
srun sh -c 'echo "task \$ANTIPHASE_JOB \$ANTIPHASE_MODE \$LD_PRELOAD \$ANTIPHASE_SHIFT_US"'
grep . /proc/self/cgroup
X
	out=$SLURM_DIR/out/batch
	job=$(slurm sbatch --parsable -N1 --antiphase=profile --array=7 -o "$out" "$LAB_DIR/batch.sh")
	lab_wait_for 15 "the batch job" grep -q task "$out"
	sleep 0.5
	check "the batch script of an array's task" grep -qx "batch ${job}_7 profile $LAB_DIR/libpacer.so " "$out"
	check "and its step have it, once" grep -qx "task ${job}_7 profile $LAB_DIR/libpacer.so " "$out"
	if [ -n "$cgroup" ] && lab_has_cgroup2; then
		check "its control group is the job's" grep -q "/slurm_lab/job_$job\$" "$out"
		check "which is gone with it" lab_wait_for 10 "the job's cgroup to go" \
			test ! -e "$LAB_CG/slurm_lab/job_$job"
	else
		skip "a control group for each job" "no cgroup v2"
	fi
	next=$((job + 1))
	mkdir -p "$run/$next"
	echo 32000 >"$run/$next/shift"
	slurm sbatch --parsable -N1 -o "$out.2" "$LAB_DIR/batch.sh" >/dev/null
	lab_wait_for 15 "the second batch job" grep -q task "$out.2"
	check "a shift that is there is told" grep -qx "task $next on $LAB_DIR/libpacer.so 32000" "$out.2"
	mv "$LAB_DIR/libpacer.so" "$LAB_DIR/gone.so"
	check "without the library there is no LD_PRELOAD, and the job runs" \
		test "$(env_of -N1 2>/dev/null | grep -c LD_PRELOAD)" = 0
	mv "$LAB_DIR/gone.so" "$LAB_DIR/libpacer.so"
	sed -i "s|$LAB_B/spank|/nowhere/spank|" "$SLURM_DIR/etc/plugstack.conf"
	check "without the plug-in jobs run" slurm srun -N1 true
else
	skip "SPANK" "libslurm-dev is not installed"
fi
: >"$SLURM_DIR/etc/plugstack.conf"

# ---- TaskProlog ------------------------------------------------------------------------
echo "TaskProlog=$LAB_DIR/task_prolog.sh" >>"$SLURM_CONF"
slurm scontrol reconfigure
got=$(env_of -N1)
job=$(grep -o 'ANTIPHASE_JOB=[0-9]*' <<<"$got" | cut -d= -f2)
check "TaskProlog gives a task its mode, job and the pacer" test "$got" = \
	"ANTIPHASE_JOB=$job ANTIPHASE_MODE=on LD_PRELOAD=$LAB_DIR/libpacer.so "
check "off is off there, too" test "$(ANTIPHASE_MODE=off env_of -N1)" = 'ANTIPHASE_MODE=off '

# ---- PrologSlurmctld -------------------------------------------------------------------
# So far there was no listener, and all jobs ran.  Now there is one that answers, then
# one that accepts connections and never answers.
cat >"$LAB_DIR/listen.py" <<'X'
import http.server, os, socketserver, sys, threading
class Poke(http.server.BaseHTTPRequestHandler):
    def address_string(self):
        return "-"
    def do_POST(self):
        print("POKE", self.path, self.headers["Authorization"], flush=True)
        self.send_response(204)
        self.end_headers()
    do_GET = do_POST
class Unix(socketserver.ThreadingUnixStreamServer):
    pass
# As the daemon's port, which anybody may take while the daemon is down.
tcp = http.server.HTTPServer(("127.0.0.1", 7470), Poke)
threading.Thread(target=tcp.serve_forever, daemon=True).start()
if len(sys.argv) > 1:
    Unix(sys.argv[1], Poke).serve_forever()
threading.Event().wait()
X
lab_spawn listener lab_in slurm python3 "$LAB_DIR/listen.py" "$run/scheduler.sock"
lab_wait_for 5 "the listener" test -S "$run/scheduler.sock"
slurm srun -N1 true
pokes() {
	[ "$(grep -c '^POKE /control/poke None$' "$LAB_DIR/listener.log")" = 2 ]
}
check "start and end of a job are told to the daemon" lab_wait_for 5 "two pokes" pokes
lab_stop listener
rm -f "$run/scheduler.sock"
lab_spawn impostor lab_in slurm python3 "$LAB_DIR/listen.py"
lab_wait_for 5 "the impostor" lab_listens slurm 7470
slurm srun -N1 true
check "who takes the port of a dead daemon hears nothing" \
	test "$(grep -c POKE "$LAB_DIR/impostor.log")" = 0
lab_stop impostor
lab_spawn mute lab_in slurm python3 -c '
import socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1]); s.listen(9); time.sleep(60)' "$run/scheduler.sock"
lab_wait_for 5 "the mute one" test -S "$run/scheduler.sock"
from=$(ms)
check "a daemon that does not answer" slurm srun -N1 true
check "holds a job up for a second or so ($(($(ms) - from)) ms)" test $(($(ms) - from)) -lt 4000
check "no job was ever requeued" test "$(grep -c 'Requeuing\|requeue' "$SLURM_DIR/log/slurmctld.log")" = 0
lab_end
