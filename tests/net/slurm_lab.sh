# SPDX-License-Identifier: Apache-2.0
# slurm_lab.sh - a real Slurm of twelve nodes on three leaves in its own network
# namespace, for the tests slurm_*.sh; sourced after lab.sh
#
#	lab_begin
#	lab_need root netns slurm
#	slurm_make                         # configuration in $SLURM_DIR; exports SLURM_CONF
#	echo 'JobSubmitPlugins=lua' >>"$SLURM_CONF"
#	slurm_start                        # munged, slurmctld, 12 slurmd; returns when idle
#	job=$(slurm_submit -N2 --job-name=x)
#	slurm_wait_state 10 "$job" RUNNING
#	lab_end
#
# The namespace is the lab's node "slurm", so ports never conflict with another run, and
# all processes are in the lab's cgroup, so they end with the lab.
#
#	slurm COMMAND...                   there, with a time limit: slurm squeue -h
#	slurm_submit SBATCH-OPTION...      a job that sleeps $SLURM_SLEEP_S (60); prints its id
#	slurm_job_field JOB FIELD          from 'scontrol -o show job'; values without blanks
#	slurm_state JOB                    PENDING, RUNNING, ...
#	slurm_wait_state SECONDS JOB STATE
#	slurm_nodes JOB                    the nodes on which it runs
#	slurm_clear                        cancels all jobs, waits for free nodes
#	slurm_daemon_start NAME / slurm_daemon_stop NAME [SIGNAL]   slurmctld, n01, ...
# shellcheck shell=bash

lab_has_slurm() {
	command -v slurmctld && command -v slurmd && command -v squeue && command -v munged
}

slurm() {
	lab_in slurm timeout 30 "$@"
}

slurm_make() {
	local i host
	host=$(hostname -s)
	export SLURM_DIR=$LAB_DIR/slurm
	export SLURM_CONF=$SLURM_DIR/etc/slurm.conf
	mkdir -p "$SLURM_DIR"/{etc,log,run,state,munge,out}
	chmod 711 "$SLURM_DIR/munge"
	chmod 777 "$SLURM_DIR/out"
	cat >"$SLURM_CONF" <<X
ClusterName=aptest
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$SLURM_DIR/munge/munge.sock
CredType=cred/munge
MpiDefault=none
TopologyPlugin=topology/tree
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=2,sched_min_interval=1,sched_interval=2,batch_sched_delay=0
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
SlurmdParameters=config_overrides
StateSaveLocation=$SLURM_DIR/state
SlurmdSpoolDir=$SLURM_DIR/spool/%n
SlurmctldPidFile=$SLURM_DIR/run/slurmctld.pid
SlurmdPidFile=$SLURM_DIR/run/slurmd-%n.pid
SlurmctldLogFile=$SLURM_DIR/log/slurmctld.log
SlurmdLogFile=$SLURM_DIR/log/slurmd-%n.log
TmpFS=$SLURM_DIR/tmp/%n
KillWait=2
X
	for i in $(seq -w 1 12); do
		mkdir -p "$SLURM_DIR/spool/n$i" "$SLURM_DIR/tmp/n$i"
		echo "NodeName=n$i NodeHostname=$host NodeAddr=127.0.0.1 Port=170$i CPUs=4" \
			"Boards=1 SocketsPerBoard=1 CoresPerSocket=4 ThreadsPerCore=1" \
			"RealMemory=1000 State=UNKNOWN"
	done >>"$SLURM_CONF"
	echo "PartitionName=train Nodes=n[01-12] Default=YES MaxTime=INFINITE State=UP" \
		"OverSubscribe=NO" >>"$SLURM_CONF"
	cat >"$SLURM_DIR/etc/topology.conf" <<X
SwitchName=spine1 Switches=leaf[1-3]
SwitchName=leaf1 Nodes=n[01-04]
SwitchName=leaf2 Nodes=n[05-08]
SwitchName=leaf3 Nodes=n[09-12]
X
	# Required from 23.02 on without a cgroup file system; unknown before.
	case $(slurmctld -V) in
	*' 22.05'*) ;;
	*) echo 'CgroupPlugin=disabled' >"$SLURM_DIR/etc/cgroup.conf" ;;
	esac
	head -c 1024 /dev/urandom >"$SLURM_DIR/munge/munge.key"
	chmod 400 "$SLURM_DIR/munge/munge.key"
}

# All run in the foreground: a stopped daemon is gone when the wait returns.
slurm_daemon_start() {
	case $1 in
	munged)
		lab_spawn munged lab_in slurm munged --force --foreground \
			--key-file="$SLURM_DIR/munge/munge.key" \
			--socket="$SLURM_DIR/munge/munge.sock" \
			--pid-file="$SLURM_DIR/munge/munged.pid" \
			--log-file="$SLURM_DIR/munge/munged.log" \
			--seed-file="$SLURM_DIR/munge/munged.seed"
		;;
	slurmctld) lab_spawn slurmctld lab_in slurm slurmctld -D -f "$SLURM_CONF" ;;
	*) lab_spawn "$1" lab_in slurm slurmd -D -N "$1" -f "$SLURM_CONF" ;;
	esac
}

slurm_daemon_stop() {
	lab_stop "$@"
}

slurm_n_idle() {
	slurm sinfo -h -t idle -N -o %N | sort -u | wc -l
}

slurm_are_idle() {
	[ "$(slurm_n_idle)" = "$1" ]
}

slurm_start() {
	local i
	lab_node slurm || return
	# Slurm does not listen on a host with only loopback addresses.
	ip -n "$LAB-slurm" addr add 10.77.0.1/32 dev lo
	slurm_daemon_start munged
	lab_wait_for 10 "munged" test -S "$SLURM_DIR/munge/munge.sock" || return
	slurm_daemon_start slurmctld
	for i in $(seq -w 1 12); do
		slurm_daemon_start "n$i"
	done
	lab_wait_for 30 "twelve idle nodes" slurm_are_idle 12 || {
		slurm sinfo >&2
		tail -n 20 "$SLURM_DIR/log/slurmctld.log" "$LAB_DIR/slurmctld.log" >&2
		return 1
	}
}

slurm_submit() {
	slurm sbatch --parsable -o "$SLURM_DIR/out/%j.out" "$@" \
		--wrap "sleep ${SLURM_SLEEP_S:-60}"
}

slurm_job_field() {
	slurm scontrol -o show job "$1" | tr ' ' '\n' | sed -n "s/^$2=//p" | head -n 1
}

slurm_state() {
	slurm squeue -h -t all -j "$1" -o %T | head -n 1
}

slurm_is_state() {
	[ "$(slurm_state "$1")" = "$2" ]
}

slurm_wait_state() {
	lab_wait_for "$1" "job $2 is $3" slurm_is_state "$2" "$3" || {
		slurm scontrol -o show job "$2" >&2
		return 1
	}
}

slurm_nodes() {
	slurm squeue -h -j "$1" -o %N
}

slurm_is_clear() {
	[ -z "$(slurm squeue -h)" ] && slurm_are_idle 12
}

slurm_clear() {
	slurm scancel -u "$(id -un)"
	lab_wait_for 20 "all nodes to be free again" slurm_is_clear
}
