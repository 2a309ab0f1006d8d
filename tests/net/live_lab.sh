# SPDX-License-Identifier: Apache-2.0
# live_lab.sh - a contended fabric with a real Slurm and measured real MPI jobs, for
# demo_live.sh and steer_live.sh; sourced after lab.sh and slurm_lab.sh
#
# Hosts h0, h1, h2 are on one leaf and h3, h4, h5 on the other, with one spine between
# the leaves.  htb limits the uplinks, with a fair class for each host, like a fabric
# with fair queueing or DCQCN: two equal TCP flows through a plain tbf drift apart by
# themselves, which hides most of the cost of contention.  Slurm uses a separate
# network, 10.77.0.0/24, like a management network.  slurmctld runs on the lab's node
# "slurm", and a slurmd in each host's namespace, where it and its jobs find the host's
# collector in /run/antiphase.
#
#	lab_begin
#	lab_need root netns veth bridge htb cgroup2 btf openmpi slurm
#	live_fabric                        the namespaces, and $LAB_DIR/plan.json
#	live_links shared|apart|paths      apart: the uplinks have room for all hosts, so
#	                                   that jobs do not contend; paths: see below
#	live_slurm                         returns when six nodes are idle
#	live_collector HOST                also restarts one
#	live_collectors                    one per host; frames at $(lab_endpoint h0), ...
#	live_scheduler MODE                starts a new antiphase-topology and -scheduler
#	live_scheduler_stop
#	live_ask PATH                      a GET of its API: live_ask /api/v1/jobs
#	live_ctl WORD...                   a command to it, as 'antiphase ctl scheduler'
#	live_path_orders                   how many flows it has ordered to take a path
#	live_are_settled N                 succeeds if N flows are on their chosen paths
#	live_entries                       the wire ports of flows, as their hosts have them
#	live_uplinks HOST                  the uplinks that its flows take, by their wire ports
#	id=$(live_submit NAME HOSTS ARL-ARGUMENTS...)
#	                                   an sbatch job of two ranks under srun; its truth
#	                                   is $LIVE_OUT/truth.NAME, and its exit status,
#	                                   once it has ended, $LIVE_OUT/done.NAME
#	live_start SECONDS JOB...          the jobs of LIVE_JOBS, each for about so long
#	                                   alone; returns when all are connected
#	live_iterations JOB...             their mean iterations, as text, in the second
#	                                   halves of their runs
#	live_wait_jobs SECONDS             until Slurm has no jobs
#	live_retransmits                   TCP segments retransmitted so far, all hosts
#
# With LIVE_PATHS=1 there is a second spine, which only 'live_links paths' uses: leaves
# then choose between two uplinks by a hash of addresses and ports, and hosts have less
# than half the rate of an uplink, so that two jobs fit on one and three do not.  The
# collectors may move flows.
#
#	live_collide                       sets the seeds of the leaves' hashes so that the
#	                                   jobs' connections take the same uplink; false:
#	                                   none of 64 seeds does
#	live_connections                   the jobs' connections, with their true ports
#	live_kill                          SIGKILL for all of antiphase
#
# LIVE_HOST_MBPS is the rate of the hosts there.  With LIVE_INTERFACES=e0,s0 (before
# live_fabric) hosts have a second interface.  Open MPI 4.1 opens a connection for each
# one, and stripes messages over them that are longer than LIVE_EAGER, its eager limit;
# its btl_tcp_links has no effect between hosts that have one interface.  Later,
# LIVE_INTERFACES=e0 is for jobs with one connection.
#
# Set LIVE_OUT to a directory first.  As on any cluster, jobs get the pacer and a
# control group with their name from our Slurm plug-in.
# shellcheck shell=bash

LIVE_HOSTS=(h0 h1 h2 h3 h4 h5)
LIVE_MBPS=300
LIVE_HOST_MBPS=${LIVE_HOST_MBPS:-140} # In 'paths'.
LIVE_WIRE_PORTS=61000-61999
LIVE_INTERFACES=${LIVE_INTERFACES:-e0}
LIVE_EAGER=${LIVE_EAGER:-8000000}

lab_has_htb() { lab_has_qdisc root handle 1: htb default 10; }

# ---- The fabric ---------------------------------------------------------------------

live_fabric() {
	local leaf i
	local rate=${LIVE_MBPS}mbit
	lab_leaf_spine 2 1 3 "$rate" || return
	lab_plan >"$LAB_DIR/plan.json"
	[ -z "${LIVE_PATHS:-}" ] || live_second_spine "$rate" || return
	for leaf in 0 1; do
		for ((i = 0; i < ${LIVE_PATHS:-0} + 1; i++)); do
			live_fair "leaf$leaf" "up$i" "$rate" "$((leaf * 3))" || return
			# The limit is at the classes, not also at the other end of the cable.
			tc -n "$LAB-spine$i" qdisc del dev "swp$leaf" root
		done
	done
	live_jumbo
	for i in "${!LIVE_HOSTS[@]}"; do
		live_eager "h$i" "$((i / 3))" || return
		[ "$LIVE_INTERFACES" = e0 ] || live_second_address "$i" || return
		[ -z "${LIVE_PATHS:-}" ] || live_wire "h$i" || return
	done
	live_management
}

# No time may be lost to TCP's timers: delayed acknowledgements (40 ms), and congestion
# windows that are reset between two iterations.
live_eager() {
	ip -n "$LAB-$1" route replace 10.78.0.0/15 via "10.78.$2.254" quickack 1 initcwnd 16 &&
		lab_in "$1" sh -c 'cd /proc/sys/net/ipv4 && echo 0 >tcp_slow_start_after_idle && echo reno >tcp_congestion_control'
}

live_address2() {
	echo "10.78.$(($1 / 3)).$((110 + $1))"
}

# An interface s0 that only has an address: packets leave and arrive through e0.
live_second_address() {
	local i=$1
	ip -n "$LAB-h$i" link add s0 type veth peer name s1 &&
		ip -n "$LAB-h$i" addr add "$(live_address2 "$i")/32" dev s0 &&
		ip -n "$LAB-h$i" link set s1 mtu 9000 up &&
		ip -n "$LAB-h$i" link set s0 mtu 9000 up
}

# 9000-byte packets as on such fabrics, and no larger segments: the 1 ms series would
# show bursts of 64 KiB that the links behind do not see.
live_jumbo() {
	local cable end
	for cable in "${LAB_CABLES[@]}"; do
		for end in ${cable% *}; do
			ip -n "$LAB-${end%:*}" link set "${end#*:}" mtu 9000
			lab_mtu_size "${end%:*}" "${end#*:}"
		done
	done
	ip -n "$LAB-leaf0" link set br0 mtu 9000
	ip -n "$LAB-leaf1" link set br0 mtu 9000
}

# Fair classes for three hosts from this number on; each may use all free capacity.
live_fair() {
	local tc=(tc -n "$LAB-$1") dev=$2 rate=$3 first=$4 k address
	"${tc[@]}" qdisc replace dev "$dev" root handle 1: htb default 10 || return
	"${tc[@]}" class add dev "$dev" parent 1: classid 1:1 \
		htb rate "$rate" ceil "$rate" burst 32k cburst 32k quantum 9000
	for k in 1 2 3; do
		"${tc[@]}" class add dev "$dev" parent 1:1 classid "1:1$k" htb \
			rate "$((${rate%mbit} / 3))mbit" ceil "$rate" burst 16k cburst 16k \
			quantum 9000
		"${tc[@]}" qdisc add dev "$dev" parent "1:1$k" handle "2$k:" pfifo limit 200
		for address in "$(lab_addr "h$((first + k - 1))")" \
			"$(live_address2 "$((first + k - 1))")"; do
			"${tc[@]}" filter add dev "$dev" parent 1: protocol ip u32 \
				match ip src "$address/32" flowid "1:1$k"
		done
	done
	"${tc[@]}" class add dev "$dev" parent 1:1 classid 1:10 htb rate 1mbit ceil 10mbit
}

live_second_spine() {
	local leaf
	lab_node spine1 && lab_forwards spine1 || return
	LAB_SWITCHES+=("spine1 2")
	for leaf in 0 1; do
		lab_uplink $leaf 1 "$1" || return
	done
	live_paths_plan >"$LAB_DIR/plan.paths.json"
	mkdir "$LAB_DIR/bpf" && mount -t bpf bpf "$LAB_DIR/bpf"
}

# The fabric as 'live_links paths' makes it.
live_paths_plan() (
	for i in "${!LAB_CABLES[@]}"; do
		[[ ${LAB_CABLES[i]} != h* ]] ||
			LAB_CABLES[i]="${LAB_CABLES[i]% *} ${LIVE_HOST_MBPS}mbit"
	done
	lab_plan
)

# What a host needs whose flows are moved, and a veth that is like a wire (path_lab.sh).
live_wire() {
	lab_in "$1" sysctl -qw "net.ipv4.ip_local_reserved_ports=$LIVE_WIRE_PORTS" &&
		lab_in "$1" tc qdisc add dev e0 clsact &&
		lab_in "$1" tc filter add dev e0 egress bpf direct-action \
			object-file "$LAB_ROOT/build/bpf/wire_hash.bpf.o" section tc
}

# The rate of all hosts, and the number of uplinks between which leaves choose.
live_use() {
	local rate=$1mbit leaf spine i hops
	for i in "${!LIVE_HOSTS[@]}"; do
		tc -n "$LAB-h$i" qdisc change dev e0 root tbf rate "$rate" burst 128kb \
			latency 20ms &&
			tc -n "$LAB-leaf$((i / 3))" qdisc change dev "swp$((i % 3))" root tbf \
				rate "$rate" burst 128kb latency 20ms || return
	done
	for leaf in 0 1; do
		hops=()
		for ((spine = 0; spine < $2; spine++)); do
			hops+=(nexthop via "10.79.$spine.$((2 * leaf + 1))")
		done
		ip -n "$LAB-leaf$leaf" route replace "10.78.$((1 - leaf)).0/24" "${hops[@]}" ||
			return
	done
}

# A host's link has the rate of an uplink, which also limits a single host.
live_links() {
	local leaf rate=$LIVE_MBPS
	[ "$1" != apart ] || rate=$((3 * rate))
	LIVE_PLAN=$LAB_DIR/plan.json
	if [ "$1" = paths ]; then
		LIVE_PLAN=$LAB_DIR/plan.paths.json
		live_use "$LIVE_HOST_MBPS" 2 || return
	elif [ -n "${LIVE_PATHS:-}" ]; then
		live_use "$LIVE_MBPS" 1 || return
	fi
	for leaf in 0 1; do
		tc -n "$LAB-leaf$leaf" class change dev up0 parent 1: classid 1:1 \
			htb rate "${rate}mbit" ceil "${rate}mbit" burst 32k cburst 32k quantum 9000 ||
			return
	done
}

live_management() {
	local i
	lab_node slurm && ip -n "$LAB-slurm" link add mg0 type bridge mcast_snooping 0 || return
	ip -n "$LAB-slurm" addr add 10.77.0.1/24 dev mg0
	ip -n "$LAB-slurm" link set mg0 up
	for i in "${!LIVE_HOSTS[@]}"; do
		ip link add m0 netns "$LAB-h$i" type veth peer name "m$i" netns "$LAB-slurm" || return
		ip -n "$LAB-slurm" link set "m$i" master mg0 up
		ip -n "$LAB-h$i" addr add "10.77.0.$((i + 10))/24" dev m0
		ip -n "$LAB-h$i" link set m0 up
	done
}

live_retransmits() {
	local host
	for host in "${LIVE_HOSTS[@]}"; do
		lab_in "$host" cat /proc/net/snmp
	done | awk '/^Tcp:/ { if ($2 == "RtoAlgorithm") { for (i = 1; i <= NF; i++)
		if ($i == "RetransSegs") at = i } else sum += $at } END { print sum + 0 }'
}

# Lines "HOST ADDRESS:PORT ADDRESS:PORT" of the connections between the leaves, as the
# hosts of leaf LEAF (0) have them.
live_connections() {
	local leaf=${1:-0} i
	for ((i = 3 * leaf; i < 3 * leaf + 3; i++)); do
		lab_in "h$i" ss -Htn state established "dst 10.78.$((1 - leaf)).0/24" |
			awk -v host="h$i" '{ print host, $3, $4 }'
	done | sort
}

live_collide() {
	local leaf seed
	for leaf in 0 1; do
		live_connections $leaf >"$LAB_DIR/connections.$leaf"
		for ((seed = 1; seed <= 64; seed++)); do
			lab_in "leaf$leaf" sysctl -qw "net.ipv4.fib_multipath_hash_seed=$seed"
			[ "$(live_foretold $leaf | sort -u | wc -l)" != 1 ] || break
		done
		[ "$seed" -le 64 ] || return
	done
}

# The uplinks of the connections in the file of live_collide.
live_foretold() {
	local from to
	while read -r _ from to; do
		live_foretold_of "$1" "${from%:*}" "${from##*:}" "$to"
	done <"$LAB_DIR/connections.$1"
}

live_foretold_of() {
	lab_in "leaf$1" ip route get "${4%:*}" from "$2" iif br0 \
		ipproto tcp sport "$3" dport "${4##*:}" |
		sed -n 's/.* dev \(up[0-9]*\) .*/\1/p' | head -n 1
}

# ---- Slurm --------------------------------------------------------------------------

# Slurm as in the other tests, but on this fabric's hosts instead of twelve of its own.
# LIVE_GATE_S: seconds that jobs of several nodes wait for an answer.
live_slurm() {
	local i
	slurm_make || return
	sed -i -e '/^NodeName=/d' -e '/^PartitionName=/d' -e 's/(127\.0\.0\.1)/(10.77.0.1)/' \
		"$SLURM_CONF"
	for i in "${!LIVE_HOSTS[@]}"; do
		mkdir -p "$SLURM_DIR/spool/h$i" "$SLURM_DIR/tmp/h$i" "$LAB_DIR/h$i.run"
		echo "NodeName=h$i NodeHostname=h$i NodeAddr=10.77.0.$((i + 10)) CPUs=1" \
			"RealMemory=1000 State=UNKNOWN"
	done >>"$SLURM_CONF"
	cat >>"$SLURM_CONF" <<X
PlugStackConfig=$SLURM_DIR/etc/plugstack.conf
PartitionName=train Nodes=h[0-5] Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
X
	if [ -n "${LIVE_GATE_S:-}" ]; then
		echo "JobSubmitPlugins=lua" >>"$SLURM_CONF"
		sed -e "s|^local STOP = .*|local STOP = \"$LAB_DIR/stop\"|" \
			-e "s/^local GATE_S = .*/local GATE_S = $LIVE_GATE_S/" \
			"$LAB_ROOT/scheduler/slurm/hooks/job_submit.lua" \
			>"$SLURM_DIR/etc/job_submit.lua"
	fi
	cat >"$SLURM_DIR/etc/topology.conf" <<X
SwitchName=spine0 Switches=leaf[0-1]
SwitchName=leaf0 Nodes=h[0-2]
SwitchName=leaf1 Nodes=h[3-5]
X
	echo "optional $LAB_B/spank_antiphase.so preload=$LAB_B/libantiphase-pacer.so" \
		"cgroup=$LAB_CG/slurm_live" >"$SLURM_DIR/etc/plugstack.conf"
	slurm_daemon_start munged
	lab_wait_for 10 "munged" test -S "$SLURM_DIR/munge/munge.sock" || return
	slurm_daemon_start slurmctld
	for i in "${LIVE_HOSTS[@]}"; do
		lab_spawn "slurmd.$i" lab_in "$i" unshare -mu sh -c "hostname $i &&
			mount -t tmpfs none /run && mkdir /run/antiphase &&
			mount --bind $LAB_DIR/$i.run /run/antiphase &&
			exec slurmd -D -N $i -f $SLURM_CONF"
	done
	lab_wait_for 30 "six idle nodes" slurm_are_idle 6 || {
		slurm sinfo >&2
		tail -n 20 "$SLURM_DIR/log/slurmctld.log" "$LAB_DIR/slurmctld.log" >&2
		return 1
	}
}

# One rank per host, with the ring algorithm (lab_mpi).  $LIVE_OUT/out.NAME gets its
# output and finally its pacer's statistics.  Messages are sent eagerly: with a
# rendezvous, one direction often waits for the other, since the clear-to-send is queued
# behind bulk data.
live_submit() {
	local name=$1 hosts=$2
	shift 2
	cat >"$LAB_DIR/job.$name.sh" <<X
#!/bin/bash
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=$LIVE_INTERFACES
export OMPI_MCA_btl_tcp_eager_limit=$LIVE_EAGER
export OMPI_MCA_btl_tcp_rndv_eager_limit=$LIVE_EAGER
export OMPI_MCA_btl_tcp_max_send_size=8000000 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_coll_tuned_use_dynamic_rules=1 OMPI_MCA_coll_tuned_allreduce_algorithm=4
export PMIX_MCA_gds=hash ANTIPHASE_VERBOSE=1
srun --mpi=pmix --kill-on-bad-exit=1 \\
	$LAB_B/tests/net/arl $LIVE_OUT/truth.$name $*
status=\$?
echo \$status >$LIVE_OUT/done.$name
exit \$status
X
	slurm sbatch --parsable --job-name="$name" -N2 --ntasks-per-node=1 -w "$hosts" \
		-o "$LIVE_OUT/out.$name" "$LAB_DIR/job.$name.sh"
}

# LIVE_JOBS[NAME] is "HOSTS MBYTES COMPUTE_MS".
live_start() {
	local long=$1 name hosts mbytes compute n seed=0
	shift
	rm -f "$LIVE_OUT"/*
	for name; do
		read -r hosts mbytes compute <<<"${LIVE_JOBS[$name]}"
		n=$(awk -v mb="$mbytes" -v ms="$compute" -v s="$long" -v rate="$LIVE_HOST_MBPS" \
			'BEGIN { printf "%d", 1000 * s / (ms + mb * 8000 / rate + 4) }')
		live_submit "$name" "$hosts" "$n" "$mbytes" "$compute" 0.02 1 0 1@0 \
			"$((++seed))" meet >/dev/null
	done
	lab_wait_for 30 "the jobs" live_are_ready $((2 * $#))
}

live_are_ready() {
	[ "$(find "$LIVE_OUT" -name 'truth.*' | wc -l)" = "$1" ]
}

live_iterations() {
	local name
	for name; do
		awk -v name="$name" '{ ms[NR] = 1000 * ($4 - $2) } END {
			for (i = int(NR / 2); i <= NR; i++) { sum += ms[i]; n++ }
			printf " %s %.1f ms", name, sum / n }' "$LIVE_OUT/truth.$name"
	done
}

# Number of delayed iterations of an ended job, and their total: "WAITS MS_IN_ALL".
live_waits() {
	sed -n 's/^antiphase: .*), \([0-9]*\) waits of \([0-9.]*\) ms.*/\1 \2/p' \
		"$LIVE_OUT/out.$1"
}

live_n_jobs() {
	slurm squeue -h -o %i | wc -l
}

live_has_no_jobs() {
	[ "$(live_n_jobs)" = 0 ]
}

live_wait_jobs() {
	lab_wait_for "$1" "the end of all jobs" live_has_no_jobs || {
		slurm squeue >&2
		return 1
	}
}

# ---- antiphase ----------------------------------------------------------------------

live_orders() {
	echo "ipc://$LAB_DIR/orders.sock"
}

live_collector() {
	local ports=()
	[ -z "${LIVE_PATHS:-}" ] || ports=(--wire-ports "$LIVE_WIRE_PORTS"
		--wire-ports-dir "$LAB_DIR/bpf/$1")
	lab_collector "$1" "$1" --source bpf --interface e0 \
		--pacer-orders "$(live_orders)" "${ports[@]}"
}

live_collectors() {
	local host
	LIVE_FROM=()
	for host in "${LIVE_HOSTS[@]}"; do
		live_collector "$host" || return
		LIVE_FROM+=(--from "$(lab_endpoint "$host")")
	done
}

live_answers() {
	live_ask /api/v1/health | grep -q schema
}

# A new store each time, so that nothing is remembered of earlier runs' jobs; with
# LIVE_STORE=kept as at a restart.
live_scheduler() {
	local bus plan=${LIVE_PLAN:-$LAB_DIR/plan.json} levers=place,time
	[ "$plan" = "$LAB_DIR/plan.json" ] || levers=place,path,time
	bus=$(for host in "${LIVE_HOSTS[@]}"; do lab_endpoint "$host"; done | paste -sd,)
	mkdir -p "$LAB_DIR/scheduler.run"
	[ "${LIVE_STORE:-}" = kept ] || rm -f "$LAB_DIR"/history.db*
	if [ "${LIVE_PLAN_SERVED:-}" != "$plan" ]; then
		[ -z "${LAB_PID[topology]:-}" ] || lab_stop topology
		lab_spawn topology lab_in slurm antiphase-topology "$plan" \
			--host spine0 --no-lldp --no-links
		lab_wait_for 5 "antiphase-topology" lab_listens slurm 7462 || return
		LIVE_PLAN_SERVED=$plan
	fi
	lab_spawn scheduler lab_in slurm antiphase-scheduler --mode "$1" --scheduler slurm \
		--bus "$bus" --announce "$(live_orders)" --store "$LAB_DIR/history.db" \
		--runtime-dir "$LAB_DIR/scheduler.run" --kill-switch "$LAB_DIR/stop" \
		--poll-ms 500 --levers "$levers" --log dbg
	lab_wait_for 10 "antiphase-scheduler" live_answers || {
		tail -n 5 "$LAB_DIR/scheduler.log" >&2
		return 1
	}
}

live_scheduler_stop() {
	lab_stop scheduler
}

live_kill() {
	local tag
	for tag in scheduler topology "${LIVE_HOSTS[@]}"; do
		kill -KILL "${LAB_PID[$tag]}"
	done
}

live_ctl() {
	antiphase ctl --runtime-dir "$LAB_DIR/scheduler.run" scheduler "$@"
}

live_are_settled() {
	[ "$(live_ctl flow list | grep -c ' settled$')" = "$1" ]
}

live_entries() {
	local host
	for host in "${LIVE_HOSTS[@]}"; do
		lab_ctl "$host" port list | grep '^out '
	done
}

live_uplinks() {
	local leaf=$((${1#h} / 3)) from to port
	live_ctl flow list | sed -n "s/^$1 \(.*\) > \(.*\) port \([0-9]*\) job.*/\1 \2 \3/p" |
		while read -r from to port; do
			live_foretold_of "$leaf" "${from%:*}" "$port" "$to"
		done | sort -u
}

# Since the scheduler's start.
live_path_orders() {
	live_ask /metrics | awk '$1 == "antiphase_scheduler_path_orders_total" { print $2 }'
}

live_ask() {
	lab_in slurm curl -sS -m 5 "http://127.0.0.1:7470$1"
}
