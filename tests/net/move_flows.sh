#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# move_flows.sh - a running TCP flow of a job is moved between four uplinks by its source
# port on the wire, each time to the one that the routing table foretells; its bytes
# arrive; SIGKILL of collectors and the scheduler strands nothing; orders for others are
# refused.  KILLS (8) is how often a collector is killed during a move.
# shellcheck disable=SC2317  # functions are called by name
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
# shellcheck source=tests/net/path_lab.sh
. "$(dirname "$0")/path_lab.sh"
KILLS=${KILLS:-8} PATH_USER=${PATH_USER-nobody}
lab_begin
lab_need root netns veth bridge tbf clsact cgroup2 btf tcx

received() {
	tail -n 1 "$LAB_DIR/$1-serve.log"
}

is_growing() {
	local from
	from=$(received "$1")
	sleep 0.5
	[ "$(received "$1")" -gt "$((from + 100000))" ]
}

has_port() {
	path_wire "$1" out | grep -q " port $2 "
}

has_no_entries() {
	[ -z "$(lab_ctl h0 port list)$(lab_ctl h1 port list)" ]
}

has_none_in_use() {
	! path_wire h0 out && ! path_wire h1 out
}

is_known() {
	path_wire h0 out | grep -q " port $port job 7"
}

is_refused() {
	! path_move 7 "$path_source" "$path_destination" 61501
}

# Sets 'port' and 'link' to the next port of the range that takes another uplink.
next_port() {
	local from=$1 was=$link
	shift
	for ((port = from + 1; port <= 61999; port++)); do
		link=$(path_foretold "$1" "$2" $port "$3" "$4" "${5:-}")
		[ "$link" = "$was" ] || return 0
	done
}

check_link() {
	local name=$1 leaf=$2 busy
	# What was in flight arrives first.
	sleep 0.3
	busy=$(path_busy "$leaf" 1)
	if [ "${busy% *}" = "$link" ] && [ "${busy#* }" -ge 95 ]; then
		pass "$name: $link, with ${busy#* } % of the bytes"
	else
		fail "$name" "$busy % of the bytes, instead of $link"
	fi
}

# move_and_check NAME [6] - the flow of path_source and path_destination, from h0.
move_and_check() {
	path_move 7 "$path_source" "$path_destination" "$port" >/dev/null &&
		lab_wait_for 5 "$1" has_port h0 "$port" && check_link "$1" leaf0
}

path_lab 4 200mbit
path_collector h0
path_collector h1
path_scheduler enforce

# ---- Moves --------------------------------------------------------------------------

path_flow four 5001 41000 $((110 + 4 * KILLS))
path_ends 41000 5001
link=$(path_foretold leaf0 h0 41000 h1 5001)
check_link "a flow takes the link of its own port" leaf0
port=61000
for i in 1 2 3 4 5; do
	next_port "$port" leaf0 h0 h1 5001
	move_and_check "move $i"
done
link=$(path_foretold leaf1 h1 5001 h0 41000)
next_port "$port" leaf1 h1 h0 41000
path_move 7 "$path_destination" "$path_source" "$port" >/dev/null
lab_wait_for 5 "the move of the acknowledgements" has_port h1 "$port"
check_link "the opposite direction moves by itself" leaf1
check "the scheduler knows both" test "$(path_ctl flow moved | wc -l)" = 2
is_reported() {
	path_ctl flow list | grep -q "^h0 $path_source > $path_destination port .* job 7 [0-9]* bytes"
}
check "and the flow of the job" lab_wait_for 10 "a report" is_reported

# ---- Refusals -----------------------------------------------------------------------

port=61500
refused_before=$(lab_metric h0 '^antiphase_collector_flow_moves_failed_total')
path_move 8 "$path_source" "$path_destination" $port >/dev/null
path_move 7 "$path_source" "$path_destination" 60999 >/dev/null
path_move 7 "${path_source%:*}:41001" "$path_destination" $port >/dev/null
refused() {
	[ "$(lab_metric h0 '^antiphase_collector_flow_moves_failed_total')" = \
		$((refused_before + 3)) ]
}
check "orders for other jobs, ports and flows are refused" \
	lab_wait_for 5 "three refusals" refused
lab_spawn other lab_in h1 python3 "$LAB_ROOT/tests/net/flow_bytes.py" serve "$(lab_addr h1)" 5002
lab_wait_for 5 "another server" lab_listens h1 5002
lab_spawn client lab_in h0 python3 "$LAB_ROOT/tests/net/flow_bytes.py" send \
	"$(lab_addr h1)" 5002 41002 2
lab_wait_for 5 "another flow" grep -q '^[0-9]' "$LAB_DIR/other.log"
path_move 7 "${path_source%:*}:41002" "${path_destination%:*}:5002" $port >/dev/null
sleep 0.5
check "a flow of no job is left alone" test -z "$(path_wire h0 out | grep :41002)"
lab_stop client
lab_stop other
path_ctl mode observe >/dev/null
check "in observe nothing is ordered" is_refused
check "and flows go back to their own ports" lab_wait_for 15 "no entries in use" \
	has_none_in_use
path_ctl mode enforce >/dev/null

# ---- SIGKILL ------------------------------------------------------------------------

link=$(path_foretold leaf0 h0 41000 h1 5001)
next_port "$port" leaf0 h0 h1 5001
move_and_check "a move before the kills"
lab_stop h0 KILL
check "with the sender's collector dead the flow goes on" is_growing four
lab_stop h1 KILL
check "with both dead" is_growing four
lab_stop scheduler KILL
check_link "with the scheduler dead, too" leaf0
path_collector h1
path_collector h0
path_scheduler enforce
check "a new collector knows the flow and its job" is_known
next_port "$port" leaf0 h0 h1 5001
move_and_check "and moves it"
for ((i = 1; i <= KILLS; i++)); do
	host=h$((RANDOM % 2))
	next_port "$port" leaf0 h0 h1 5001
	path_move 7 "$path_source" "$path_destination" "$port" >/dev/null
	sleep "0.0$((RANDOM % 60 + 10))"
	lab_stop $host KILL
	is_growing four || fail "kill $i during a move" "the flow stands still"
	path_collector $host
	is_growing four || fail "restart $i after a move" "the flow stands still"
done
check "after $KILLS kills during moves the flow goes on" is_growing four

# ---- The end ------------------------------------------------------------------------

lab_ctl h0 port release >/dev/null
lab_ctl h1 port release >/dev/null
link=$(path_foretold leaf0 h0 41000 h1 5001)
check_link "released, it takes the link of its own port" leaf0
check "entries are removed some seconds later" lab_wait_for 20 "no entries" has_no_entries
lab_stop four-send
wait "${LAB_PID[four-serve]}"
again=$(lab_in h0 nstat -asz TcpRetransSegs | awk '/Retrans/ { print $2 }')
check "all bytes arrived: $(received four), $again segments sent again" test "$(received four)" = "$(tail -n 1 "$LAB_DIR/four-send.log")"
check "bit for bit" grep -q '^ok' "$LAB_DIR/four-serve.log"

path_flow six 5006 41006 8 6
path_ends 41006 5006 6
link=$(path_foretold leaf0 h0 41006 h1 5006 6)
check_link "IPv6: the link of its own port" leaf0
next_port 61000 leaf0 h0 h1 5006 6
move_and_check "IPv6: a move"
wait "${LAB_PID[six-send]}" "${LAB_PID[six-serve]}"
check "IPv6: bit for bit" grep -q '^ok' "$LAB_DIR/six-serve.log"
path_end
lab_bpf_none_left "no program or map is left"
lab_end
