#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# units.sh - the systemd units agree with the defaults of the programs: each daemon has a
# directory of its own in /run, which is that of its settings, of the tools that ask it, of
# its manual page and of Slurm's hooks; and one that outlives its unit is not hidden.  Each
# unit restricts its daemon
# shellcheck disable=SC2016  # no shell expansion is meant
set -u
B=${B:?the build directory}
case $B in /*) bin=$B ;; *) bin=$PWD/$B ;; esac
PATH=$bin:$PATH
export PATH
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

verdict() {
	if [ "$1" = 0 ]; then
		echo "PASS units: $2"
	else
		echo "FAIL units: $2"
		cat "$tmp/log" >&2
	fi
}
# same WHAT A B
same() {
	echo "'$2' and '$3'" >"$tmp/log"
	[ "$2" = "$3" ] && [ -n "$2" ]
	verdict $? "$1: $2"
}
# The value of a key in a unit.
of_unit() {
	sed -n "s/^$2=//p" "$1"
}
# The default of a setting, without settings files.
default_of() {
	: >"$tmp/empty.conf"
	env -i PATH="$PATH" antiphase config show -c "$tmp/empty.conf" "$1" |
		awk -v key="$1" '$1 == key { print $2 }'
}

# The exposure that systemd-analyze may find, of 100.  The collector loads eBPF programs and
# sees the processes of all users.
most_exposed() {
	case $1 in antiphase-collector) echo 22 ;; *) echo 14 ;; esac
}
check_hardening() {
	for key in ProtectProc PrivateMounts SystemCallErrorNumber IPAddressDeny; do
		grep -q "$key=" "$1" || echo "$key= is neither set nor explained"
	done >"$tmp/log"
	[ ! -s "$tmp/log" ]
	verdict $? "$2 has the usual restrictions, or says why not"
	# libzmq aborts without; the unit of the collectives' events has none.
	if [ "$2" != antiphase-events ]; then
		sed -n '/^SystemCallFilter=~.*@resources/,$s/^SystemCallFilter=\([^~].*\)/\1/p' "$1" |
			tr ' ' '\n' | grep -qx sched_setscheduler
		verdict $? "$2 may start threads of libzmq"
	fi
	if ! systemd-analyze security --help 2>/dev/null | grep -q -- --offline; then
		echo "SKIP units: exposure of $2: systemd-analyze is missing or older than 250"
		return
	fi
	sed 's|^ExecStart=.*|ExecStart=/bin/true|; /^ExecStopPost=/d; /^Documentation=/d; s|@sysconfdir@|/etc|' "$1" >"$tmp/$2.service"
	systemd-analyze verify "$tmp/$2.service" >"$tmp/log" 2>&1 && [ ! -s "$tmp/log" ]
	verdict $? "systemd can read $2"
	systemd-analyze security --no-pager --offline=true --threshold="$(most_exposed "$2")" \
		"$tmp/$2.service" >"$tmp/log" 2>&1
	verdict $? "$2 exposes little: $(sed -n 's/.*service: //p' "$tmp/log" | cut -d' ' -f1)"
}

cat ./*/*.service.in | sed -n 's/^RuntimeDirectory=//p' | tr ' ' '\n' | sort >"$tmp/all"
uniq -d "$tmp/all" >"$tmp/log"
[ -s "$tmp/all" ] && [ ! -s "$tmp/log" ]
verdict $? "no two units have the same RuntimeDirectory"

for unit in */*.service.in; do
	name=$(basename "$unit" .service.in)
	daemon=${name#antiphase-}
	if [ "$(of_unit "$unit" DynamicUser)" = yes ] && [ -n "$(of_unit "$unit" RuntimeDirectory)" ]; then
		# systemd puts it below /run/private unless it goes with the unit.
		case $(of_unit "$unit" RuntimeDirectoryPreserve) in
		'' | no) ;;
		*)
			echo "$unit: DynamicUser with RuntimeDirectoryPreserve" >"$tmp/log"
			verdict 1 "the directory of $name is not hidden"
			;;
		esac
	fi
	check_hardening "$unit" "$name"
	case $daemon in collector | scheduler | topology)
		same "$name reads its settings at a reload" "$(of_unit "$unit" ExecReload)" \
			'/bin/kill -HUP $MAINPID'
		;;
	esac
	case $daemon in collector | scheduler) ;; *) continue ;; esac
	dir=/run/$(of_unit "$unit" RuntimeDirectory)
	same "$name and its setting runtime_dir" "$dir" "$(default_of "$daemon.runtime_dir")"
	same "and its manual page" "$dir" "$(sed -n '/^\*--runtime-dir\*/{n;s/.*Default: \([^ ]*[^ .]\)\.* *.*/\1/p;q}' \
		"docs/man/$name.8.scd")"
	# Found even if nobody answers.
	antiphase ctl "$daemon" ping >"$tmp/log" 2>&1
	if [ -e "$dir/$daemon.sock" ]; then
		echo "SKIP units: antiphase ctl: $daemon runs here"
	else
		grep -q "$dir/$daemon.sock" "$tmp/log"
		verdict $? "antiphase ctl asks $daemon there"
	fi
done

scheduler=$(default_of scheduler.runtime_dir)
stop=$(default_of scheduler.kill_switch)
same "the kill switch is in the scheduler's directory" "$scheduler" "${stop%/*}"
same "and that of job_submit.lua" "$stop" \
	"$(sed -n 's/^local STOP = "\(.*\)"/\1/p' scheduler/slurm/hooks/job_submit.lua)"
for page in README.md SECURITY.md docs/slurm.md docs/glossary.md docs/man/antiphase-scheduler.8.scd \
	docs/man/antiphase.conf.5.scd collector/antiphase.conf; do
	grep -oE '/run/[a-z/-]*/stop' "$page" | grep -v "^$stop$" >"$tmp/log"
	[ ! -s "$tmp/log" ] && grep -q "$stop" "$page"
	verdict $? "and that of $page"
done

collector=$(default_of collector.runtime_dir)
for socket in pacer events; do
	path=$collector/sockets/$socket.sock
	grep -rhoE "/run/antiphase[a-z/-]*/$socket\.sock" lib collector pacer docs cli scheduler |
		grep -v "^$path$" >"$tmp/log"
	[ ! -s "$tmp/log" ] && grep -rq "_PATH *\"$path\"" lib/wire
	verdict $? "the socket $path is called so everywhere"
done
