#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2317  # functions are handed on by name
#
# collector.sh - the daemon runs without root once everything is open, through failures
# of a host: interfaces and control groups go and come back, thousands of jobs are
# registered, a second collector starts, and the collector is killed and restarted
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
lab_begin
lab_need root netns veth bridge cgroup2 btf
chmod o+rx "$LAB_DIR" # For the collector, which runs as user nobody.
total='^antiphase_collector_interface_transmit_bytes_total\{.*interface="e0"'

collector() {
	lab_collector c h0 --source bpf --interface e0 --metrics 127.0.0.1:9471 \
		--user 65534
}
status_of() {
	awk -v name="$1:" '$1 == name { print $2 }' "/proc/${LAB_PID[c]}/status"
}
# The rights of all its threads, since capabilities are per thread.
permitted_of_threads() {
	awk '$1 == "CapPrm:" { print $2 }' "/proc/${LAB_PID[c]}/task/"*/status | sort -u
}
says() {
	grep -q "$1" "$LAB_DIR/c.log"
}
metric_is() {
	test "$(lab_metric h0 "$1")" "$2" "$3"
}
# Sends about this many bytes of UDP from h0 to an unused port of h1.
send() {
	lab_in h0 python3 - "$(lab_addr h1)" "$1" <<'PYTHON'
import socket
import sys
import time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(int(sys.argv[2]) // 1000):
    try:
        s.sendto(b"x" * 958, (sys.argv[1], 9))
    except ConnectionRefusedError:
        pass
    time.sleep(0.0005)
PYTHON
}
stats() {
	antiphase stats --runtime-dir "$LAB_DIR/c.run" "$@"
}

lab_star 2 none
lab_job system.slice/slurmstepd.scope/job_7 >/dev/null
collector
# By TCX (Linux 6.6), no capability is needed once the programs are loaded.
rights=0000000000000000
if ! antiphase doctor 2>/dev/null | grep -q '^OK  *tcx '; then
	rights=$(printf '%016x' $((1 << 12 | 1 << 38 | 1 << 39)))
fi

# ---- Without root -------------------------------------------------------------------
check "it is nobody" test "$(status_of Uid)" = 65534
check "with no capability where programs are attached by TCX, else three" \
	test "$(status_of CapEff) $(status_of CapPrm)" = "$rights $rights"
check "nor has a thread of it more" test "$(permitted_of_threads)" = "$rights"
check "and none to be inherited, or gained" \
	test "$(status_of CapInh) $(status_of CapAmb) $(status_of NoNewPrivs)" = \
	"0000000000000000 0000000000000000 1"
send 2000000
sleep 1.5
check "it counts" metric_is "$total" -ge 2000000

# ---- Requests ------------------------------------------------------------------------
check "stats" stats lost
check "doctor, in the same network" lab_in h0 antiphase doctor --interface e0 \
	--runtime-dir "$LAB_DIR/c.run"
check "the level of the log" antiphase ctl --runtime-dir "$LAB_DIR/c.run" collector log dbg
# shellcheck disable=SC2016  # expanded by the inner shell
check "a stranger may not change it" sh -c '
	chmod o+rw "$2/c.run/collector.sock"
	setpriv --reuid 4242 --clear-groups antiphase ctl --runtime-dir "$2/c.run" \
		collector log err
	[ $? = 5 ]' - x "$LAB_DIR"
lab_in h0 antiphase-collector --source netlink --endpoint none --metrics none \
	--runtime-dir "$LAB_DIR/c.run" >"$LAB_DIR/second.log" 2>&1
check "a second one in the same directory is refused" test $? = 2 \
	-a -n "$(grep 'another collector' "$LAB_DIR/second.log")"
kill -HUP "${LAB_PID[c]}"
lab_wait_for 3 "word that settings were read again" says "the settings are unchanged" &&
	pass "SIGHUP reads the settings again, and says so"

# ---- Errors are reported -------------------------------------------------------------
# Exit status and last message of a collector that ends, or is ended after 2 s.
other() {
	lab_in h0 timeout -s TERM 2 antiphase-collector --source bpf --metrics none \
		--runtime-dir "$LAB_DIR/o.run" "$@" >"$LAB_DIR/other.log" 2>&1
	status=$?
}
other_says() {
	grep -q "$1" "$LAB_DIR/other.log"
}
other --endpoint none --interface 'e1,bond*'
check "an interface that does not exist" \
	other_says "interface e1 does not exist; waiting for it (did you mean 'e0'?)"
check "and a pattern that none has" other_says 'interface bond\* does not exist'
other --endpoint none
check "no interface at all" other_says "nothing is counted: .* name others by --interface"
other --endpoint tcp://127.0.0.1:9471 --interface e0
check "a port that is taken" test $status = 3
check "and who may have it" other_says "in use; run 'ss -ltnp'"
other --endpoint none --interface e0 --cgroup-root /no/such/tree
check "no control groups" other_says "no jobs: /no/such/tree: "

# ---- Interfaces go and come back -----------------------------------------------------
before=$(lab_metric h0 "$total")
ip -n "$LAB-h0" link del e0
lab_wait_for 5 "word that e0 is gone" says "interface e0 is gone"
check "a gone interface is down" metric_is '^antiphase_collector_interface_up\{.*"e0"' = 0
lab_cable h0 e0 leaf0 swp9 none
ip -n "$LAB-leaf0" link set swp9 master br0
ip -n "$LAB-h0" addr add "$(lab_addr h0)/24" dev e0
lab_wait_for 5 "word that e0 is back" says "interface e0 is back"
lab_reaches h0 "$(lab_addr h1)"
send 1000000
sleep 1.5
after=$(lab_metric h0 "$total")
check "its totals go on ($before, then $after)" test "$after" -ge "$((before + 1000000))" \
	-a "$after" -lt "$((before + 1200000))"

# ---- Control groups disappear --------------------------------------------------------
mine=$(lab_job mine)
check "a job is named" lab_ctl c job add mine --cgroup "$mine"
# shellcheck disable=SC2016  # the inner shell expands
check "and listed" sh -c 'antiphase-collector job list --json --runtime-dir "$1" |
	grep -q "\"job\": \"mine\""' - "$LAB_DIR/c.run"
sleep 1.2
lab_spawn sender lab_in_job mine lab_in h0 python3 -c '
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(1000):
    try:
        s.sendto(b"x" * 958, ("'"$(lab_addr h1)"'", 9))
    except ConnectionRefusedError:
        pass
    time.sleep(0.0005)'
wait "${LAB_PID[sender]}"
sleep 1.5
near "its bytes are its own" \
	"$(lab_metric h0 '^antiphase_collector_job_transmit_bytes_total\{.*job="mine"')" 1000000 0.5
lab_job_gone mine
lab_wait_for 5 "word that the control group is gone" says "mine of job mine is gone"
check "which is counted" metric_is '^antiphase_collector_jobs_gone' = 1
check "and the job can be removed" lab_ctl c job remove mine

# ---- Ten thousand jobs ------------------------------------------------------------------
# Registers more jobs than fit over the socket, one request each.
many=$(lab_job many)
python3 - "$many" "$LAB_DIR/c.run/collector.sock" <<'PYTHON' >"$LAB_DIR/many.log" 2>&1
import json
import os
import socket
import sys
import time
root, path = sys.argv[1:]
begin, counts = time.monotonic(), {}
for i in range(10000):
    group = "%s/%d" % (root, i)
    os.mkdir(group)
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.settimeout(5)
    s.connect(path)
    body = json.dumps(["j%d" % i, group])
    s.sendall(("POST /control/job/add HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s" %
               (len(body), body)).encode())
    answer = b""
    while chunk := s.recv(4096):
        answer += chunk
    s.close()
    word = answer.split()[1].decode() if answer else "nothing"
    counts[word] = counts.get(word, 0) + 1
    if i == 9999:
        print(answer.decode())
print(counts, "%.1f s" % (time.monotonic() - begin))
PYTHON
cat "$LAB_DIR/many.log" >&2
check "thousands of jobs are named" metric_is '^antiphase_collector_jobs_registered' -ge 4000
check "and each that there is no room for is refused" \
	grep -q "jobs are registered" "$LAB_DIR/many.log"
send 1000000
sleep 1.5
now=$(lab_metric h0 "$total")
check "it counts on" test "$now" -ge "$((after + 1900000))"
case $LAB_B in
*address* | *thread*) skip "within 64 MB" "the sanitizer's own memory is in it" ;;
*) check "within 64 MB" metric_is '^process_resident_memory_bytes' -lt 64000000 ;;
esac

# ---- Killed and restarted ------------------------------------------------------------
lab_stop c KILL
lab_wait_for 3 "the end of programs and maps after SIGKILL" lab_bpf_is_clean &&
	pass "SIGKILL leaves no program and no map"
collector
lab_reaches h0 "$(lab_addr h1)"
sleep 2
again=$(lab_metric h0 "$total")
check "totals go on ($now, then $again)" test "$again" -ge "$now" \
	-a "$again" -lt "$((now + 100000))"
check "the jobs are known" metric_is '^antiphase_collector_jobs_registered' -ge 4000
lab_job_gone many
lab_stop c
check "it ends at once when told to" test $? = 0
lab_wait_for 3 "the end of programs and maps" lab_bpf_is_clean && pass "and leaves nothing"

# ---- As systemd starts it: never root, with ambient capabilities ---------------------------
rm -rf "$LAB_DIR/c.run"
mkdir "$LAB_DIR/c.run"
chown 65534 "$LAB_DIR/c.run"
lab_spawn c lab_in h0 setpriv --reuid 65534 --regid 65534 --clear-groups \
	--inh-caps -all,+bpf,+net_admin,+perfmon --ambient-caps -all,+bpf,+net_admin,+perfmon \
	--bounding-set -all,+bpf,+net_admin,+perfmon --no-new-privs \
	antiphase-collector --source bpf --interface e0 --endpoint none \
	--metrics 127.0.0.1:9471 --runtime-dir "$LAB_DIR/c.run"
lab_wait_for 5 "the collector of the unit" test -S "$LAB_DIR/c.run/sockets/events.sock"
sleep 1
send 1000000
sleep 2
check "as systemd starts it, it counts" metric_is "$total" -ge 1000000
check "with the same rights" test "$(status_of Uid) $(status_of CapEff)" = "65534 $rights"
lab_stop c
lab_end
