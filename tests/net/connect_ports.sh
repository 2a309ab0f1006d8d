#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# connect_ports.sh - new TCP connections of a real job under a real Slurm get source ports
# of its chosen path when they are opened: the first packet leaves over the wanted uplink,
# and nothing is translated.  Sockets that are bound first, as those of Open MPI, other
# processes, and connections without antiphase (SIGKILL, observe, the kill switch) are as
# before.
# shellcheck disable=SC2317  # functions are called by name
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
# shellcheck source=tests/net/slurm_lab.sh
. "$(dirname "$0")/slurm_lab.sh"
# shellcheck source=tests/net/live_lab.sh
. "$(dirname "$0")/live_lab.sh"
export LIVE_PATHS=1
lab_begin
lab_need root netns veth bridge htb clsact cgroup2 btf tcx openmpi slurm
if [ ! -e "$LAB_B/spank_antiphase.so" ]; then
	skip "everything" "Slurm's header spank.h is not installed"
	lab_end
fi
LIVE_OUT=$LAB_DIR/out
PORT=5001
FIRST=61750 LAST=61999 # Ports of new connections.
mkdir "$LIVE_OUT"
n_clients=0

ctl() {
	antiphase ctl --runtime-dir "$LAB_DIR/scheduler.run" scheduler "$@"
}

# A new connection from h0 to h3, in the job (JOB) or elsewhere; sets 'client', the tag of
# its process, and 'port', its source port.
open_one() {
	local where=$1
	shift
	client=client$((++n_clients))
	lab_spawn "$client" lab_in_job "$where" lab_in h0 \
		python3 "$LAB_ROOT/tests/net/connect_again.py" connect "$(lab_addr h3)" $PORT "$@"
	lab_wait_for 5 "a connection" test -s "$LAB_DIR/$client.log" || return
	port=$(head -n 1 "$LAB_DIR/$client.log")
}

# The uplink over which a connection's SYN has left.
uplink_of() {
	awk -v port="$1" '$2 == port { print $1 }' "$LAB_DIR/watch.log"
}

offers() {
	lab_ctl h0 port list | grep '^connect '
}

has_offer() {
	offers | grep -q "^connect $(lab_addr h3):$PORT ports 61[7-9][0-9][0-9].* job $job\$"
}

has_no_offer() {
	[ -z "$(offers)" ]
}

line_of() {
	ctl flow list | grep "^h0 $(lab_addr h0):$1 > $(lab_addr h3):$PORT "
}

is_settled() {
	line_of "$1" | grep -q ' settled$'
}

are_ready() {
	[ "$(find "$LIVE_OUT" -name 'truth.*' | wc -l)" = 2 ]
}

is_for_new() {
	[ "$port" -ge "$FIRST" ] && [ "$port" -le "$LAST" ]
}

is_drawn() {
	! is_for_new
}

live_fabric 2>/dev/null && live_slurm && live_collectors && live_links paths &&
	live_scheduler enforce || exit 1
job=$(live_submit A h0,h3 200 4.2 400 0.02 1 0 1@0 1 meet)
lab_wait_for 30 "the job" are_ready
in_job=slurm_live/job_$job
lab_job other >/dev/null
lab_spawn watch lab_in leaf0 python3 "$LAB_ROOT/tests/net/connect_again.py" watch $PORT up0 up1
lab_spawn serve lab_in_job "$in_job" lab_in h3 \
	python3 "$LAB_ROOT/tests/net/connect_again.py" serve "$(lab_addr h3)" $PORT
lab_wait_for 5 "the server" lab_listens h3 $PORT

# ---- The first connection, and the next ---------------------------------------------

open_one "$in_job"
first=$client
check "the first connection has a drawn port" is_drawn
check "it is put on the chosen path" lab_wait_for 40 "a path" is_settled "$port"
wire=$(line_of "$port" | sed 's/.* port \([0-9]*\) job .*/\1/')
wanted=$(lab_in leaf0 ip route get "$(lab_addr h3)" from "$(lab_addr h0)" iif br0 ipproto tcp \
	sport "$wire" dport $PORT | sed -n 's/.* dev \(up[0-9]*\) .*/\1/p' | head -n 1)
check "ports for new connections are offered" lab_wait_for 40 "an offer" has_offer
check "for no destination of Open MPI, which binds first" test "$(offers | wc -l)" = 1
open_one other
check "a process of no job gets none" is_drawn
lab_stop "$client"
open_one "$in_job" bind
check "a socket that was bound first keeps its port" is_drawn
lab_stop "$client"
for i in 1 2; do
	open_one "$in_job"
	check "new connection $i gets a port: $port" is_for_new
	check "and its first packet takes $wanted" test "$(uplink_of "$port")" = "$wanted"
	check "which the scheduler finds right" lab_wait_for 20 "the report" is_settled "$port"
	check "without translation" test -z "$(lab_ctl h0 port list | grep "^out .*:$port >")"
done
kept=$client

# ---- Without antiphase --------------------------------------------------------------

lab_stop h0 KILL
open_one "$in_job"
check "with the collector killed a connection is as without it" is_drawn
check "and those with a given port go on" kill -0 "${LAB_PID[$kept]}"
lab_stop "$client"
live_collector h0
check "the next collector gets the offer again" lab_wait_for 40 "an offer" has_offer
# It may have the offer before it has seen the job's control group.
for _ in 1 2 3 4 5 6 7 8 9 10; do
	open_one "$in_job"
	is_for_new && break
	lab_stop "$client"
	sleep 0.5
done
check "and gives ports: $port" is_for_new
lab_stop "$client"
ctl mode observe >/dev/null
check "in observe the offer is withdrawn" lab_wait_for 10 "no offer" has_no_offer
open_one "$in_job"
check "and a connection is as without it" is_drawn
lab_stop "$client"
ctl mode enforce >/dev/null
check "in enforce it comes again" lab_wait_for 60 "an offer" has_offer
touch "$LAB_DIR/stop"
check "the kill switch withdraws it" lab_wait_for 10 "no offer" has_no_offer
lab_stop "$first"
slurm scancel "$job"
live_wait_jobs 30
live_scheduler_stop
lab_end
