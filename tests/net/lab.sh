# SPDX-License-Identifier: Apache-2.0
# lab.sh - networks of network namespaces, for the tests of this folder
#
# Bash scripts source it.  This is a complete test:
#
#	# shellcheck source=tests/net/lab.sh
#	. "$(dirname "$0")/lab.sh"
#	lab_begin                          # private names, traps, a cgroup
#	lab_need root netns veth tbf       # otherwise prints SKIP, exits 0
#	lab_star 2 1gbit                   # hosts h0 and h1, one switch leaf0
#	lab_spawn server lab_in h1 iperf3 -s -1
#	lab_wait_for 5 "the server" lab_listens h1 5201
#	check "iperf3 gets through" lab_in h0 iperf3 -c "$(lab_addr h1)" -t 1
#	lab_end
#
# Networks: every host has one interface e0; a switch has the ports swp0, swp1, ... to
# hosts and up0, up1, ... to spines; a spine has swp0, ..., one per leaf.  Both ends of
# a cable send through tbf at RATE ("none": unlimited).  A lab has one network.
#
#	lab_star N RATE                    h0 .. hN-1 on the bridge leaf0
#	lab_leaf_spine LEAVES SPINES HOSTS RATE [UP_RATE]
#	                                   HOSTS per leaf; leaves and spines are routers,
#	                                   ECMP by the 5-tuple; h0 .. on leaf0, and so on;
#	                                   no host has a route out of the lab
#	lab_cable A IFACE B IFACE RATE     adds a cable between two nodes (veth and tbf)
#	lab_node NAME                      adds an empty node
#	lab_addr HOST / lab_addr6 HOST     its addresses
#	lab_plan                           the network as antiphase.topology/1, on stdout
#
# Nodes: NAME is short ("h0"); the namespace behind it is $(lab_ns NAME).
#
#	lab_in NODE COMMAND...             in its network namespace, with the host's /sys
#	lab_bytes NODE IFACE tx|rx [packets]
#	                                   the interface's counter; bytes count the headers
#	                                   of a large segment (GSO) once, so switch that
#	                                   off (lab_mtu_size) or allow for it
#	lab_mtu_size NODE IFACE            sends no segments larger than the MTU
#	lab_reaches NODE ADDRESS           succeeds if it answers, IPv4 or IPv6
#
# Jobs: a PATH of cgroup v2 below the lab's cgroup, as a batch system would make it.
#
#	lab_job PATH                       makes it ("job_7/step_0"); prints its full path
#	lab_in_job PATH COMMAND...         runs a command in it
#	lab_job_gone PATH                  kills its processes and removes it
#
# Processes: everything that a lab starts is in its cgroup and is killed with it.
#
#	lab_spawn TAG COMMAND...           in the background; output in $LAB_DIR/TAG.log
#	                                   ${LAB_PID[TAG]} is its pid (of the command)
#	lab_stop TAG [SIGNAL]              sends TERM or SIGNAL, waits; returns its status
#	lab_wait_for SECONDS WHAT COMMAND... until it succeeds; otherwise FAIL with WHAT
#	lab_listens NODE PORT              succeeds if a TCP socket listens there
#	lab_mpi JOB_PATH TRUTH HOST[,HOST...] ARL-ARGUMENTS...
#	                                   real Open MPI, one rank per host (arl.c)
#	lab_collector TAG NODE OPTION...   a private antiphase-collector: runtime directory
#	                                   $LAB_DIR/TAG.run, frames at $(lab_endpoint TAG),
#	                                   metrics only by option; returns when it publishes
#	lab_ctl TAG WORD...                antiphase-collector WORD... to this collector
#	lab_metric NODE REGEX              the sum of the matching lines of its /metrics
#	                                   (of a collector with --metrics 127.0.0.1:9471)
#	lab_judge JOBS_JSON JOB TRUTH      "PERIOD_MS OWN_MEDIAN_MS BYTES ITERATIONS ..."
#	                                   (judge.py)
#
# Results: one line each.
#
#	pass NAME / fail NAME WHY / skip NAME WHY
#	check NAME COMMAND...              PASS if it succeeds
#	near NAME VALUE EXPECTED PERCENT   PASS if within; always prints both values
#	lab_bpf_left                       our programs and maps that no process holds
#	lab_bpf_none_left NAME             fails NAME if any remain after some seconds
#
# $LAB_DIR is a private directory, removed at the end.  LAB_KEEP=1 keeps it.
# A trap removes everything, also on failure and ctrl-C; after a killed script,
# tests/net/run calls lab_sweep.
# shellcheck shell=bash

set -u
LAB_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
LAB_B=${B:-build/release}
case $LAB_B in /*) ;; *) LAB_B=$LAB_ROOT/$LAB_B ;; esac
export PATH=$LAB_B:$PATH:/usr/sbin:/sbin
LAB=${LAB:-apl$$}
LAB_TEST=$(basename "$0" .sh)
LAB_FAILED=0
declare -A LAB_PID=() LAB_ADDR=() LAB_ADDR6=()
LAB_HOSTS=() LAB_SWITCHES=() LAB_CABLES=()

# ---- Results ----------------------------------------------------------------------

pass() {
	echo "PASS $LAB_TEST: $1"
}

fail() {
	echo "FAIL $LAB_TEST: $1: $2"
	LAB_FAILED=1
}

skip() {
	echo "SKIP $LAB_TEST: $1: $2"
}

check() {
	local name=$1
	shift
	if "$@" >"$LAB_DIR/check.log" 2>&1; then
		pass "$name"
	else
		fail "$name" "$* failed: $(tail -n 3 "$LAB_DIR/check.log" | tr '\n' ' ')"
		return 1
	fi
}

near() {
	local line
	line=$(awk -v v="$2" -v e="$3" -v p="$4" 'BEGIN {
		off = e == 0 ? (v == 0 ? 0 : 999) : 100 * (v - e) / e
		ok = v ~ /^-?[0-9.]/ && e ~ /^-?[0-9.]/ && off <= p && off >= -p
		printf "%s %s against %s, %+.3f %% (at most %s %%)", ok, v, e, off, p }')
	if [ "${line%% *}" = 1 ]; then
		pass "$1: ${line#* }"
	else
		fail "$1" "${line#* }"
		return 1
	fi
}

# ---- Begin and end ------------------------------------------------------------------

# The mount point of cgroup v2.
lab_cgroup_root() {
	awk '{ for (i = 7; i < NF; i++) if ($i == "-" && $(i + 1) == "cgroup2") {
		print $5; exit } }' /proc/self/mountinfo
}

lab_begin() {
	LAB_DIR=$(mktemp -d "/tmp/$LAB.XXXXXX")
	# A collector that drops root binds its bus here.
	chmod 1777 "$LAB_DIR"
	LAB_CG=
	trap 'lab_at_exit $?' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	[ "$(id -u)" = 0 ] || return 0
	if [ -n "$(lab_cgroup_root)" ]; then
		LAB_CG=$(lab_cgroup_root)/$LAB
		mkdir -p "$LAB_CG/self" && echo $$ >"$LAB_CG/self/cgroup.procs"
	fi
}

# A script that ends early reports it as a failure.
lab_end() {
	LAB_ENDED=1
	exit "$LAB_FAILED"
}

lab_at_exit() {
	trap '' INT TERM HUP
	if [ -z "${LAB_ENDED:-}" ]; then
		fail "the script" "ended early, with status $1"
		tail -n 5 "$LAB_DIR"/*.log >&2 2>/dev/null
	fi
	if [ -n "$LAB_CG" ]; then
		echo $$ >"$(lab_cgroup_root)/cgroup.procs"
	fi
	[ -z "${LAB_KEEP:-}" ] || cp -r "$LAB_DIR" "$LAB_DIR.kept"
	if [ "$(id -u)" = 0 ]; then
		# Without bash's own message for each killed process.
		lab_sweep "$LAB" 2>/dev/null || fail "sweeping up" "$LAB is still there"
	fi
	rm -rf "$LAB_DIR"
	exit "$LAB_FAILED"
}

# Removes all that the lab with this prefix made.
lab_sweep() {
	local prefix=${1:?} root ns mount status=0
	root=$(lab_cgroup_root)
	if [ -n "$root" ] && [ -d "$root/$prefix" ]; then
		lab_cgroup_remove "$root/$prefix" || status=1
	fi
	for ns in /run/netns/"$prefix"-*; do
		[ ! -e "$ns" ] || ip netns del "${ns##*/}" || status=1
	done
	# A BPF file system, with what is pinned there (path_lab.sh).
	for mount in /tmp/"$prefix".??????/bpf; do
		! mountpoint -q "$mount" || umount "$mount" || status=1
	done
	rm -rf "/tmp/$prefix".??????
	return $status
}

# Kills the processes of a cgroup and its children, and removes it; both take a moment.
lab_cgroup_remove() {
	local try
	for try in $(seq 100); do
		[ -d "$1" ] || return 0
		echo 1 >"$1/cgroup.kill"
		find "$1" -depth -type d -exec rmdir {} + 2>/dev/null && return 0
		sleep 0.05
	done
	echo "cgroup $1 is still there after try $try" >&2
	return 1
}

# A test's requirements.  Each is checked by trying it.
lab_need() {
	local what
	for what; do
		if ! "lab_has_$what" >/dev/null 2>&1; then
			skip "everything" "$(lab_lacks "$what")"
			lab_end
		fi
	done
}

lab_lacks() {
	case $1 in
	root) echo "it needs root" ;;
	kube) echo "kube-apiserver, kube-scheduler ('make kube'), etcd or kubectl is not there" ;;
	openmpi | iperf3 | lldpd | torch | ethtool | node | chromium) echo "$1 is not installed" ;;
	*) echo "the kernel has no $1" ;;
	esac
}

lab_has_root() { [ "$(id -u)" = 0 ]; }
lab_has_cgroup2() { [ -n "$LAB_CG" ] && [ -e "$LAB_CG/cgroup.kill" ]; }
lab_has_btf() { [ -r /sys/kernel/btf/vmlinux ]; }
lab_has_uprobe() { [ -r /sys/bus/event_source/devices/uprobe/type ]; }
lab_has_iperf3() { command -v iperf3; }
lab_has_openmpi() { command -v mpirun && command -v mpicc; }
lab_has_ethtool() { command -v ethtool; }
lab_has_lldpd() { command -v lldpd && command -v lldpcli; }
lab_has_node() { command -v node; }
lab_has_chromium() { command -v chromium || command -v chromium-browser; }
lab_has_torch() { /usr/bin/python3 -c 'import torch.distributed'; }
lab_has_netns() {
	ip netns add "$LAB-probe" && ip netns del "$LAB-probe"
}
lab_has_link() {
	local status=0
	ip netns add "$LAB-probe" || return
	ip -n "$LAB-probe" link add probe type "$@" || status=1
	ip netns del "$LAB-probe"
	return $status
}
lab_has_veth() { lab_has_link veth; }
lab_has_bridge() { lab_has_link bridge; }
lab_has_qdisc() {
	local status=0
	ip netns add "$LAB-probe" || return
	tc -n "$LAB-probe" qdisc add dev lo "$@" || status=1
	ip netns del "$LAB-probe"
	return $status
}
lab_has_tbf() { lab_has_qdisc root tbf rate 1gbit burst 128kb latency 20ms; }
lab_has_tcx() { [ "$(uname -r | awk -F'[.-]' '{ print $1 * 100 + $2 }')" -ge 606 ]; }
lab_has_clsact() { lab_has_qdisc clsact; }

# ---- Networks -----------------------------------------------------------------------

lab_ns() {
	echo "$LAB-$1"
}

lab_addr() {
	echo "${LAB_ADDR[$1]}"
}

lab_addr6() {
	echo "${LAB_ADDR6[$1]}"
}

lab_in() {
	local node=$1
	shift
	nsenter --net="/run/netns/$LAB-$node" -- "$@"
}

lab_node() {
	ip netns add "$LAB-$1" && ip -n "$LAB-$1" link set lo up
}

lab_rate() {
	[ "$3" = none ] ||
		tc -n "$LAB-$1" qdisc add dev "$2" root tbf rate "$3" burst 128kb latency 20ms
}

lab_cable() {
	ip link add "$2" netns "$LAB-$1" type veth peer name "$4" netns "$LAB-$3" || return
	ip -n "$LAB-$1" link set "$2" up
	ip -n "$LAB-$3" link set "$4" up
	lab_rate "$1" "$2" "$5" && lab_rate "$3" "$4" "$5" || return
	LAB_CABLES+=("$1:$2 $3:$4 $5")
}

# A host with its subnet's number, its own number there, and its switch port.
lab_host() {
	local host=$1 subnet=$2 number=$3 switch=$4 port=$5 rate=$6
	lab_node "$host" && lab_cable "$host" e0 "$switch" "$port" "$rate" || return
	LAB_HOSTS+=("$host")
	LAB_ADDR[$host]=10.78.$subnet.$((number + 10))
	LAB_ADDR6[$host]=fd78:0:0:$subnet::$((number + 10))
	ip -n "$LAB-$switch" link set "$port" master br0
	ip -n "$LAB-$host" addr add "${LAB_ADDR[$host]}/24" dev e0
	ip -n "$LAB-$host" addr add "${LAB_ADDR6[$host]}/64" dev e0 nodad
}

# A switch with one bridge for its hosts, and an address in their subnet.
lab_leaf() {
	lab_node "$1" && ip -n "$LAB-$1" link add br0 type bridge mcast_snooping 0 || return
	LAB_SWITCHES+=("$1 1")
	ip -n "$LAB-$1" addr add "10.78.$2.254/24" dev br0
	ip -n "$LAB-$1" addr add "fd78:0:0:$2::254/64" dev br0 nodad
	ip -n "$LAB-$1" link set br0 up
}

lab_star() {
	local i
	lab_leaf leaf0 0 || return
	for ((i = 0; i < $1; i++)); do
		lab_host "h$i" 0 "$i" leaf0 "swp$i" "$2" || return
	done
}

lab_forwards() {
	lab_in "$1" sh -c 'cd /proc/sys/net && echo 1 >ipv4/ip_forward &&
		echo 1 >ipv6/conf/all/forwarding && echo 1 >ipv4/fib_multipath_hash_policy &&
		echo 1 >ipv6/fib_multipath_hash_policy'
}

lab_leaf_spine() {
	local leaves=$1 spines=$2 hosts=$3 rate=$4 up=${5:-$4} leaf spine i
	for ((spine = 0; spine < spines; spine++)); do
		lab_node "spine$spine" && lab_forwards "spine$spine" || return
		LAB_SWITCHES+=("spine$spine 2")
	done
	for ((leaf = 0; leaf < leaves; leaf++)); do
		lab_leaf "leaf$leaf" "$leaf" && lab_forwards "leaf$leaf" || return
		for ((i = 0; i < hosts; i++)); do
			lab_host "h$((leaf * hosts + i))" "$leaf" "$i" "leaf$leaf" "swp$i" \
				"$rate" || return
			lab_host_routes "h$((leaf * hosts + i))" "$leaf"
		done
		for ((spine = 0; spine < spines; spine++)); do
			lab_uplink "$leaf" "$spine" "$up" || return
		done
		lab_leaf_routes "$leaf" "$leaves" "$spines"
	done
}

# Routes only to the lab's own networks, so that others are unreachable at once.  With a
# default route a packet to the machine's name server gets to the leaf, which answers
# "unreachable" only now and then (ICMP is rate-limited), and every name look-up takes
# five seconds; orted looks up "localhost" twenty times before it connects, and not
# every system has it in /etc/hosts.
lab_host_routes() {
	ip -n "$LAB-$1" route add 10.78.0.0/15 via "10.78.$2.254"
	ip -n "$LAB-$1" -6 route add fd78::/15 via "fd78:0:0:$2::254"
}

lab_uplink() {
	local leaf=leaf$1 spine=spine$2 net=10.79.$2 net6=fd79:0:$2:$1
	lab_cable "$leaf" "up$2" "$spine" "swp$1" "$3" || return
	ip -n "$LAB-$leaf" addr add "$net.$((2 * $1))/31" dev "up$2"
	ip -n "$LAB-$spine" addr add "$net.$((2 * $1 + 1))/31" dev "swp$1"
	ip -n "$LAB-$leaf" addr add "$net6::a/64" dev "up$2" nodad
	ip -n "$LAB-$spine" addr add "$net6::b/64" dev "swp$1" nodad
	ip -n "$LAB-$spine" route add "10.78.$1.0/24" via "$net.$((2 * $1))"
	ip -n "$LAB-$spine" -6 route add "fd78:0:0:$1::/64" via "$net6::a"
}

lab_leaf_routes() {
	local leaf=$1 leaves=$2 spines=$3 to spine hops hops6
	for ((to = 0; to < leaves; to++)); do
		[ "$to" != "$leaf" ] || continue
		hops=() hops6=()
		for ((spine = 0; spine < spines; spine++)); do
			hops+=(nexthop via "10.79.$spine.$((2 * leaf + 1))")
			hops6+=(nexthop via "fd79:0:$spine:$leaf::b")
		done
		ip -n "$LAB-leaf$leaf" route add "10.78.$to.0/24" "${hops[@]}"
		ip -n "$LAB-leaf$leaf" -6 route add "fd78:0:0:$to::/64" "${hops6[@]}"
	done
}

lab_plan() {
	local item a b rate first
	printf '{"schema":"antiphase.topology/1","name":"lab","switches":['
	first=
	for item in "${LAB_SWITCHES[@]}"; do
		printf '%s{"name":"%s","tier":%s,"addresses":[%s]}' "$first" "${item% *}" \
			"${item#* }" "$(lab_addresses "${item% *}")"
		first=,
	done
	printf '],"hosts":['
	first=
	for item in "${LAB_HOSTS[@]}"; do
		printf '%s{"name":"%s","slots":1}' "$first" "$item"
		first=,
	done
	printf '],"cables":['
	first=
	for item in "${LAB_CABLES[@]}"; do
		read -r a b rate <<<"$item"
		rate=$(awk -v r="$rate" 'BEGIN { x = r + 0
			print r == "none" ? 10 : r ~ /mbit/ ? x / 1000 : x }')
		printf '%s{"a":"%s","b":"%s","gbps":%s}' "$first" "$a" "$b" "$rate"
		first=,
	done
	printf ']}\n'
}

# The addresses of a switch, quoted.
lab_addresses() {
	ip -n "$LAB-$1" -o addr show scope global | awk '{
		sub("/.*", "", $4)
		printf "%s\"%s\"", n++ ? "," : "", $4 }'
}

lab_bytes() {
	ip -n "$LAB-$1" -s -j link show dev "$2" | python3 -c '
import json, sys
stats = json.load(sys.stdin)[0]["stats64"]
print(stats[sys.argv[1]][sys.argv[2]])' "$3" "${4:-bytes}"
}

lab_mtu_size() {
	lab_in "$1" ethtool -K "$2" tso off gso off gro off >/dev/null
}

# A host that is present refuses a connection to an unused port.
lab_reaches() {
	lab_in "$1" python3 -c '
import socket, sys
to = socket.getaddrinfo(sys.argv[1], 9, type=socket.SOCK_STREAM)[0]
s = socket.socket(to[0], socket.SOCK_STREAM)
s.settimeout(3)
try:
    s.connect(to[4])
except ConnectionRefusedError:
    pass' "$2"
}

# ---- Jobs and processes ---------------------------------------------------------------

lab_job() {
	mkdir -p "$LAB_CG/$1" && echo "$LAB_CG/$1"
}

lab_in_job() {
	local path=$LAB_CG/$1
	shift
	# shellcheck disable=SC2016  # expanded by the inner shell
	sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$path" "$@"
}

lab_job_gone() {
	lab_cgroup_remove "$LAB_CG/$1"
}

# Handles functions that come first, so that the pid is the command's.
lab_spawn() {
	local tag=$1 words=()
	shift
	while :; do
		case $1 in
		lab_in)
			words+=(nsenter --net="/run/netns/$LAB-$2" --)
			shift 2
			;;
		lab_in_job)
			# shellcheck disable=SC2016  # expanded by the inner shell
			words+=(sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$LAB_CG/$2")
			shift 2
			;;
		*) break ;;
		esac
	done
	"${words[@]}" "$@" >>"$LAB_DIR/$tag.log" 2>&1 &
	LAB_PID[$tag]=$!
}

lab_stop() {
	kill -"${2:-TERM}" "${LAB_PID[$1]}" 2>/dev/null
	wait "${LAB_PID[$1]}" 2>/dev/null
}

lab_wait_for() {
	local seconds=$1 what=$2 try
	shift 2
	for ((try = 0; try < seconds * 10; try++)); do
		"$@" >/dev/null 2>&1 && return 0
		sleep 0.1
	done
	fail "$what" "not there after $seconds s"
	return 1
}

lab_listens() {
	[ -n "$(lab_in "$1" ss -Hltn "sport = :$2")" ]
}

# One rank per host.  The ring algorithm has known traffic: 2 (n - 1) / n of the message
# from each rank, in 2 (n - 1) steps.  mpirun's own traffic uses leaf0 and counts as the
# job's.
lab_mpi() {
	local job=$1 truth=$2 hosts=$3
	shift 3
	export LAB LAB_JOB_CGROUP=$LAB_CG/$job
	lab_in_job "$job" nsenter --net="/run/netns/$LAB-leaf0" -- \
		env TMPDIR="$LAB_DIR" PATH="$PATH" \
		timeout --kill-after=5 "${LAB_MPI_LIMIT_S:-140}" mpirun --allow-run-as-root --oversubscribe --bind-to none \
		--mca plm_rsh_agent "$LAB_ROOT/tests/net/nsrsh.sh" \
		--mca plm_rsh_no_tree_spawn 1 --mca orte_tmpdir_base "$LAB_DIR" \
		--mca oob_tcp_if_include 10.78.0.0/16 --mca btl tcp,self --mca pml ob1 \
		--mca btl_tcp_if_include 10.78.0.0/16 --mca mpi_yield_when_idle 1 \
		--mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_allreduce_algorithm 4 \
		-np "$(awk -F, '{ print NF }' <<<"$hosts")" -H "$hosts" \
		"$LAB_B/tests/net/arl" "$truth" "$@"
}

lab_endpoint() {
	echo "ipc://$LAB_DIR/$1.sock"
}

lab_collector() {
	local tag=$1 node=$2
	shift 2
	mkdir -p "$LAB_DIR/$tag.run"
	rm -f "$LAB_DIR/$tag.sock"
	lab_spawn "$tag" lab_in "$node" antiphase-collector --host "$node" --metrics none \
		--runtime-dir "$LAB_DIR/$tag.run" --endpoint "$(lab_endpoint "$tag")" \
		--job-roots "/$LAB" "$@"
	lab_wait_for 10 "collector $tag" test -S "$LAB_DIR/$tag.sock" ||
		tail -n 5 "$LAB_DIR/$tag.log" >&2
}

lab_ctl() {
	local tag=$1
	shift
	antiphase-collector "$@" --runtime-dir "$LAB_DIR/$tag.run"
}

lab_metric() {
	lab_in "$1" python3 -c '
import re, sys, urllib.request
text = urllib.request.urlopen("http://127.0.0.1:9471/metrics", timeout=5).read().decode()
found = [float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
         if re.search(sys.argv[1], line) and not line.startswith("#")]
print(round(sum(found)) if found else "none")' "$2"
}

lab_judge() {
	python3 "$LAB_ROOT/tests/net/judge.py" "$@"
}

# Remains of other labs disappear after a moment; our own would stay.
lab_bpf_none_left() {
	lab_wait_for 5 "$1" lab_bpf_is_clean && pass "$1"
}

lab_bpf_is_clean() {
	[ -z "$(lab_bpf_left)" ]
}

# Names of our programs and maps, of which the kernel keeps 15 characters.
lab_bpf_names() {
	local object
	for object in "$LAB_ROOT"/build/bpf/*.bpf.o; do
		[ -e "$object" ] && readelf -Ws "$object"
	done | awk '($4 == "FUNC" || $4 == "OBJECT") && $5 == "GLOBAL" {
		print substr($8, 1, 15) }' | sort -u
}

# Those in the kernel that no process holds through a descriptor of the program or of a
# link; "prog ID NAME", one per line.
lab_bpf_left() {
	local what
	for what in prog map; do
		"$(command -v bpftool || echo /usr/sbin/bpftool)" -j "$what" list 2>/dev/null |
			python3 -c '
import glob, json, re, sys
what, names = sys.argv[1], sys.argv[2].split()
held = set()
for file in glob.glob("/proc/[0-9]*/fdinfo/*"):
    try:
        held.update(re.findall(r"^%s_id:\s*(\d+)" % what, open(file).read(), re.M))
    except OSError:
        pass
for item in json.loads(sys.stdin.read() or "[]"):
    if item.get("name") in names and str(item["id"]) not in held:
        print(what, item["id"], item["name"])' "$what" "$(lab_bpf_names)"
	done
}
