# SPDX-License-Identifier: Apache-2.0
# path_lab.sh - a fabric with equally short paths, collectors that move flows, and
# antiphase-scheduler, for tests of wire ports
#
# Bash scripts source it after lab.sh:
#
#	path_lab SPINES RATE       hosts h0 and h1 below leaf0 and leaf1; uplinks of RATE
#	path_collector HOST        a collector that may move flows; also restarts one
#	                           (PATH_USER is the user that it changes to)
#	path_scheduler MODE        between them (PATH_FABRIC is the file of the fabric)
#	path_flow TAG PORT FROM SECONDS [6]
#	                           bytes of job 7 from h0 (port FROM) to h1 (port PORT);
#	                           output in TAG-send.log and TAG-serve.log
#	path_ends FROM PORT [6]    sets path_source and path_destination: "ADDRESS:PORT"
#	path_move JOB SOURCE DESTINATION PORT
#	path_wire HOST out|in      lines of 'port list' of this direction
#	path_foretold LEAF FROM-HOST FROM-PORT TO-HOST TO-PORT [6]
#	                           the uplink that 'ip route get' names for these ports
#	path_busy LEAF SECONDS     the uplink that sends most, and its share in percent
#	path_end
# shellcheck shell=bash disable=SC2034  # the scripts use the variables

path_range=61000-61999
path_job=system.slice/slurmstepd.scope/job_7

path_lab() {
	local host
	PATH_SPINES=$1
	lab_leaf_spine 2 "$1" 1 none "$2" || return
	mkdir "$LAB_DIR/bpf" && mount -t bpf bpf "$LAB_DIR/bpf" || return
	for host in h0 h1; do
		lab_in $host sysctl -qw "net.ipv4.ip_local_reserved_ports=$path_range" || return
		lab_in $host tc qdisc add dev e0 clsact || return
		lab_in $host tc filter add dev e0 egress bpf direct-action \
			object-file "$LAB_ROOT/build/bpf/wire_hash.bpf.o" section tc || return
	done
	lab_job $path_job >/dev/null
	lab_wait_for 10 "the fabric" lab_reaches h0 "$(lab_addr h1)"
}

path_collector() {
	lab_collector "$1" "$1" --source bpf --interface e0 --log dbg \
		--pacer-orders "ipc://$LAB_DIR/orders.sock" --wire-ports $path_range \
		--wire-ports-dir "$LAB_DIR/bpf/$1" --metrics 127.0.0.1:9471 \
		${PATH_USER:+--user "$PATH_USER"}
}

path_scheduler() {
	mkdir -p "$LAB_DIR/scheduler.run"
	lab_spawn scheduler antiphase-scheduler --mode "$1" --store off \
		--topology "${PATH_FABRIC:-none}" --http off --runtime-dir "$LAB_DIR/scheduler.run" --log dbg \
		--kill-switch "$LAB_DIR/stop" --announce "ipc://$LAB_DIR/orders.sock" \
		--bus "$(lab_endpoint h0),$(lab_endpoint h1)"
	lab_wait_for 10 "antiphase-scheduler" path_ctl ping || return
	# For collectors that are not root.
	chmod 777 "$LAB_DIR/orders.sock"
}

path_ctl() {
	antiphase ctl --runtime-dir "$LAB_DIR/scheduler.run" scheduler "$@"
}

path_flow() {
	local tag=$1 port=$2 from=$3 seconds=$4 to
	to=$(lab_addr"${5:-}" h1)
	lab_spawn "$tag-serve" lab_in_job $path_job lab_in h1 \
		python3 "$LAB_ROOT/tests/net/flow_bytes.py" serve "$to" "$port"
	lab_wait_for 10 "the server" lab_listens h1 "$port" || return
	lab_spawn "$tag-send" lab_in_job $path_job lab_in h0 \
		python3 "$LAB_ROOT/tests/net/flow_bytes.py" send "$to" "$port" "$from" "$seconds"
	lab_wait_for 10 "bytes" grep -q '^[0-9]' "$LAB_DIR/$tag-serve.log"
}

path_ends() {
	path_source=$(lab_addr h0):$1 path_destination=$(lab_addr h1):$2
	if [ -n "${3:-}" ]; then
		path_source=[$(lab_addr6 h0)]:$1 path_destination=[$(lab_addr6 h1)]:$2
	fi
}

path_move() {
	path_ctl flow move "$@"
}

path_wire() {
	lab_ctl "$1" port list | grep "^$2 "
}

path_foretold() {
	local leaf=$1 from to
	from=$(lab_addr"${6:-}" "$2") to=$(lab_addr"${6:-}" "$4")
	lab_in "$leaf" ip route get "$to" from "$from" iif br0 ipproto tcp sport "$3" \
		dport "$5" | sed -n 's/.* dev \(up[0-9]*\) .*/\1/p' | head -n 1
}

# Bytes that each uplink has sent, one per line.
path_sent() {
	local i
	for ((i = 0; i < PATH_SPINES; i++)); do
		echo "up$i $(lab_bytes "$1" "up$i" tx)"
	done
}

path_busy() {
	path_sent "$1" >"$LAB_DIR/sent.before"
	sleep "$2"
	path_sent "$1" | paste - "$LAB_DIR/sent.before" | awk '
		{ n = $2 - $4; all += n }
		n > most { most = n; name = $1 }
		END { printf "%s %.0f\n", name, all ? 100 * most / all : 0 }'
}

# Pins keep programs and maps in the kernel until they are removed.
path_end() {
	local tag direction
	for tag in scheduler h0 h1; do
		[ -z "${LAB_PID[$tag]:-}" ] || lab_stop "$tag"
	done
	for direction in out in; do
		for tag in h0 h1; do
			antiphase-collector port remove $direction \
				--wire-ports-dir "$LAB_DIR/bpf/$tag"
		done
	done
	if [ -e "$LAB_DIR/bpf/h0" ] || [ -e "$LAB_DIR/bpf/h1" ]; then
		fail "pins are removed" "some are left"
	fi
	umount "$LAB_DIR/bpf"
	for tag in h0 h1; do
		lab_in $tag tc qdisc del dev e0 clsact
	done
}
