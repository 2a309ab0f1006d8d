#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bpf_counts.sh - the BPF source on its own (bpf_probe): bytes, packets, retransmissions
# and marks agree with the kernel's counters, iperf3 and the injector; jobs are told
# apart; nothing stays behind
# shellcheck disable=SC2317  # functions are called by name
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"

# probe_start TAG NODE ARGUMENTS... - in the background, with a pipe for commands.
probe_start() {
	local tag=$1 node=$2
	shift 2
	tool_start "$tag" "$node" bpf_probe --job-root "/$LAB" "$@"
}

tool_start() {
	local tag=$1 node=$2 tool=$3
	shift 3
	mkfifo "$LAB_DIR/$tag.in"
	: >"$LAB_DIR/$tag.log"
	# The shell opens the pipe and execs the command.
	# shellcheck disable=SC2016  # expanded by the inner shell
	lab_spawn "$tag" lab_in "$node" sh -c 'exec "$@" <"$0"' "$LAB_DIR/$tag.in" \
		"$LAB_B/tests/net/$tool" "$@"
	eval "exec {LAB_FD_$tag}>'$LAB_DIR/$tag.in'"
	lab_wait_for 10 "$tool $tag" grep -q '^ready' "$LAB_DIR/$tag.log"
}

# Writes the current reply to $LAB_DIR/TAG.now.
tool_ask() {
	local tag=$1 from fd=LAB_FD_$1 end=${2:-.}
	from=$(wc -l <"$LAB_DIR/$tag.log")
	echo >&"${!fd}"
	lab_wait_for 10 "an answer of $tag" tool_answered "$tag" "$from" "$end"
	tail -n +$((from + 1)) "$LAB_DIR/$tag.log" >"$LAB_DIR/$tag.now"
}

tool_answered() {
	tail -n +$(($2 + 1)) "$LAB_DIR/$1.log" | grep -q "$3\$"
}

tool_end() {
	local fd=LAB_FD_$1
	eval "exec {$fd}>&-"
	rm -f "$LAB_DIR/$1.in"
	lab_stop "$1"
}

# value TAG JOB tx|rx wire|offered COLUMN - of e0 in the last reply; 0 if absent.
value() {
	awk -v job="$2" -v dir="$3" -v what="$4" -v column="$5" '
		$1 == "e0" && $2 == job && $3 == dir && $4 == what { v = $column }
		END { print v + 0 }' "$LAB_DIR/$1.now"
}

bytes=5 packets=6 ce=7 retransmits=8

# iperf SERVER-NODE CLIENT-PREFIX... -- OPTIONS...
serve() {
	local node=$1 port=$2
	lab_spawn "server$port" lab_in "$node" iperf3 -s -1 -p "$port"
	lab_wait_for 5 "iperf3 on $port" lab_listens "$node" "$port"
}

counter_near() {
	local name=$1 tag=$2 node=$3 dir=$4 before=$5 before_probe=$6 after
	after=$(lab_bytes "$node" e0 "$dir")
	near "$name" $(($(value "$tag" "(link)" "$dir" wire $bytes) - before_probe)) \
		$((after - before)) 0.1
}

bytes_are_the_counters() {
	local mode dir before_tx before_rx probe_tx probe_rx
	lab_mtu_size h0 e0
	lab_mtu_size h1 e0
	for mode in "" --link-only --clsact; do
		probe_start bytes h0 ${mode:+$mode} e0
		tool_ask bytes
		before_tx=$(lab_bytes h0 e0 tx) before_rx=$(lab_bytes h0 e0 rx)
		probe_tx=$(value bytes "(link)" tx wire $bytes)
		probe_rx=$(value bytes "(link)" rx wire $bytes)
		for dir in "" -R; do
			serve h1 5201
			lab_in h0 iperf3 -c "$(lab_addr h1)" -t 2 ${dir:+$dir} >"$LAB_DIR/iperf.log"
		done
		# Missed packets are added once a second, later on a busy machine.
		sleep 2.5
		tool_ask bytes
		counter_near "bytes out ${mode:---jobs}" bytes h0 tx "$before_tx" "$probe_tx"
		counter_near "bytes in ${mode:---jobs}" bytes h0 rx "$before_rx" "$probe_rx"
		check "no bucket was lost ${mode:---jobs}" grep -qx 'lost 0' "$LAB_DIR/bytes.now"
		tool_end bytes
	done
}

# Large segments: the interface counts their headers once, the wire once a segment.
segments_are_the_wires() {
	local before_bytes before_packets sent extra
	lab_in h0 ethtool -K e0 tso on gso on >/dev/null
	probe_start large h0 --link-only e0
	before_bytes=$(lab_bytes h0 e0 tx) before_packets=$(lab_bytes h0 e0 tx packets)
	serve h1 5201
	lab_in h0 iperf3 -c "$(lab_addr h1)" -t 2 >"$LAB_DIR/iperf.log"
	sleep 1.2
	tool_ask large
	sent=$(($(lab_bytes h0 e0 tx packets) - before_packets))
	extra=$((66 * ($(value large "(link)" tx offered $packets) - sent)))
	near "bytes of large segments" "$(value large "(link)" tx wire $bytes)" \
		$(($(lab_bytes h0 e0 tx) - before_bytes + extra)) 0.1
	tool_end large
	lab_mtu_size h0 e0
}

# Segments that TCP retransmitted, from the kernel; iperf3 takes its figure before the
# last of them.
sent_again() {
	# shellcheck disable=SC2016  # awk expands it
	lab_in h0 awk '$1 == "Tcp:" && !column { for (i = 1; i <= NF; i++)
			if ($i == "RetransSegs") column = i; next }
		$1 == "Tcp:" { print $column }' /proc/net/snmp
}

retransmits_are_the_kernels() {
	local lost again
	# Without tail loss probes each loss is one retransmission.
	lab_mtu_size h0 e0
	lab_mtu_size h1 e0
	lab_in h0 sysctl -q net.ipv4.tcp_early_retrans=0
	probe_start retx h0 e0
	tool_start loss h1 bpf_inject loss ingress 400 e0
	again=$(sent_again)
	serve h1 5201
	lab_in h0 iperf3 -c "$(lab_addr h1)" -t 4 -b 400M >"$LAB_DIR/iperf.log"
	sleep 0.5
	tool_ask retx
	tool_ask loss '[0-9]'
	again=$(($(sent_again) - again))
	read -r lost _ <"$LAB_DIR/loss.now"
	near "retransmits as the kernel says" "$(value retx "(link)" tx wire $retransmits)" \
		"$again" 0
	# A busy CPU loses other packets, and has some retransmitted needlessly.
	check "each of the $lost injected losses was sent again ($again in all)" \
		test "$lost" -gt 100 -a "$lost" -le "$again"
	near "retransmits of the job they belong to" \
		"$(value retx "(other)" tx wire $retransmits)" "$again" 0
	tool_end loss
	tool_end retx
}

marks_are_the_injected() {
	local marked mode
	for mode in "" --link-only; do
		probe_start marks h1 ${mode:+$mode} e0
		tool_start mark h0 bpf_inject ce egress 10 e0
		serve h1 5201
		lab_in h0 iperf3 -c "$(lab_addr h1)" -u -b 100M -S 2 -t 2 >"$LAB_DIR/iperf.log"
		serve h1 5202
		lab_in h0 iperf3 -c "$(lab_addr6 h1)" -p 5202 -u -b 50M -S 2 -t 1 \
			>>"$LAB_DIR/iperf.log"
		sleep 0.3
		tool_ask marks
		tool_ask mark '[0-9]'
		read -r marked _ <"$LAB_DIR/mark.now"
		near "congestion marks, IPv4 and IPv6 ${mode:---jobs}" \
			"$(value marks "(link)" rx wire $ce)" "$marked" 0
		check "some were marked ${mode:---jobs}" test "$marked" -gt 100
		tool_end mark
		tool_end marks
	done
}

# Slots in use; other jobs of this machine have slots, too.
slots_used() {
	tool_ask "$1" && awk '$1 == "slots" { print $2 }' "$LAB_DIR/$1.now"
}

slots_at_most() {
	test "$(slots_used "$1")" -le "$2"
}

# A job's bytes: its payload plus 66 of headers per packet (86 with IPv6, 42 for UDP).
payload_near() {
	local name=$1 job=$2 dir=$3 json=$4 header=$5 key=$6 payload
	payload=$(python3 -c 'import json, sys
print(json.load(open(sys.argv[1]))["end"][sys.argv[2]]["bytes"])' "$json" "$key")
	near "$name" "$(value jobs "$job" "$dir" wire $bytes)" \
		$((payload + header * $(value jobs "$job" "$dir" wire $packets))) 0.5
}

jobs_are_told_apart() {
	local one two three used
	one=$(lab_job one) && two=$(lab_job slurm/uid_0/job_4711/step_0) && three=$(lab_job three)
	probe_start jobs h0 --job one="$one" --job three="$three" e0
	for port in 5201 5202 5203; do serve h1 $port; done
	lab_in_job one nsenter --net="/run/netns/$(lab_ns h0)" iperf3 -J -c "$(lab_addr h1)" \
		-p 5201 -b 200M -t 3 >"$LAB_DIR/one.json" &
	lab_in_job slurm/uid_0/job_4711/step_0 nsenter --net="/run/netns/$(lab_ns h0)" \
		iperf3 -J -c "$(lab_addr6 h1)" -p 5202 -R -b 120M -t 3 >"$LAB_DIR/two.json" &
	lab_in_job three nsenter --net="/run/netns/$(lab_ns h0)" iperf3 -J -c "$(lab_addr h1)" \
		-p 5203 -u -b 40M -t 3 >"$LAB_DIR/three.json" &
	wait %% 2>/dev/null
	sleep 4.5
	tool_ask jobs
	payload_near "job one out, IPv4 TCP" one tx "$LAB_DIR/one.json" 66 sum_sent
	payload_near "job 4711 in, IPv6 TCP" 4711 rx "$LAB_DIR/two.json" 86 sum_received
	payload_near "job three out, UDP" three tx "$LAB_DIR/three.json" 42 sum
	# The other direction has only the replies, and nothing of another job.
	near "job one in: 66 bytes a packet" "$(value jobs one rx wire $bytes)" \
		$((66 * $(value jobs one rx wire $packets))) 5
	near "job 4711 out: 86 bytes a packet" "$(value jobs 4711 tx wire $bytes)" \
		$((86 * $(value jobs 4711 tx wire $packets))) 5
	check "hardly anything is other" test "$(value jobs "(other)" tx wire $bytes)" \
		-lt $(($(value jobs "(link)" tx wire $bytes) / 200))
	near "all together are the link" $(($(value jobs one rx wire $bytes) + \
		$(value jobs 4711 rx wire $bytes) + $(value jobs three rx wire $bytes) + \
		$(value jobs "(other)" rx wire $bytes))) "$(value jobs "(link)" rx wire $bytes)" 0.01
	: "$two"
	used=$(slots_used jobs)
	lab_job_gone one
	lab_job_gone three
	lab_job_gone slurm
	lab_wait_for 10 "the slots of control groups that are gone" \
		slots_at_most jobs $((used - 3)) &&
		pass "control groups that went gave their slots back"
	tool_end jobs
}

many_jobs_are_other_and_counted() {
	lab_job slurm >/dev/null
	probe_start many h0 --slots 64 e0
	lab_in h0 python3 - "$LAB_CG/slurm" "$(lab_addr h1)" <<'PYTHON' || fail "10,000 jobs" "not made"
import os, socket, sys
root, to = sys.argv[1:]
for i in range(10000):
    group = f"{root}/job_{i}"
    os.mkdir(group)
    with open(group + "/cgroup.procs", "w") as f:
        f.write("0")
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.sendto(b"x" * 1000, (to, 9))
    s.close()
PYTHON
	sleep 4
	tool_ask many
	check "those without a place are counted" \
		test "$(awk '$1 == "unplaced" { print $2 }' "$LAB_DIR/many.now")" -gt 100
	check "and said, once" test "$(grep -c 'count as other' "$LAB_DIR/many.log")" = 1
	check "their bytes are there" \
		test "$(value many "(link)" tx wire $bytes)" -ge $((10000 * 1042))
	tool_end many
	lab_job_gone slurm
}

nothing_stays() {
	local ns
	ns=$(lab_ns h0)
	probe_start killed h0 e0
	lab_stop killed KILL
	lab_bpf_none_left "nothing is left after SIGKILL, TCX"
	eval "exec {LAB_FD_killed}>&-"
	rm "$LAB_DIR/killed.in"

	probe_start killed2 h0 --clsact e0
	lab_stop killed2 KILL
	eval "exec {LAB_FD_killed2}>&-"
	check "with clsact the filters are (or this tests nothing)" \
		grep -q antiphase <<<"$(tc -n "$ns" filter show dev e0 ingress)"
	probe_start again h0 --clsact e0
	probe_start beside h0 e0
	check "a live collector's filters are not taken for stale ones" \
		grep -q antiphase <<<"$(tc -n "$ns" filter show dev e0 ingress)"
	tool_end beside
	tool_end again
	check "nothing is left after SIGKILL and a restart, clsact" \
		test -z "$(tc -n "$ns" filter show dev e0 ingress)$(tc -n "$ns" qdisc show dev e0 | grep clsact)"
	lab_bpf_none_left "no program either"
}

gone_and_back() {
	probe_start gone h0 e0
	ip -n "$(lab_ns h0)" link del e0
	lab_wait_for 5 "that the interface is gone" grep -q '^gone e0' "$LAB_DIR/gone.log"
	lab_cable h0 e0 leaf0 swp9 none
	ip -n "$(lab_ns h0)" addr add 10.99.0.1/24 dev e0
	sleep 1.5
	tool_ask gone
	local before
	before=$(value gone "(link)" tx wire $bytes)
	lab_in h0 python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
for i in range(100): s.sendto(b"x" * 1000, ("10.99.0.255", 9))'
	sleep 0.3
	tool_ask gone
	check "an interface that came back is counted" \
		test $(($(value gone "(link)" tx wire $bytes) - before)) -ge 104200
	tool_end gone
}

lab_begin
lab_need root btf netns veth iperf3 ethtool cgroup2 clsact
lab_star 2 none
if [ $# -gt 0 ]; then
	for name; do "$name"; done
	lab_end
fi
bytes_are_the_counters
segments_are_the_wires
retransmits_are_the_kernels
marks_are_the_injected
jobs_are_told_apart
many_jobs_are_other_and_counted
nothing_stays
gone_and_back
lab_end
