#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lifecycle.sh DEBS NEXT_DEBS - in a Debian 12: the packages are installed, upgraded,
# downgraded, removed, installed again and purged, with what is there after each step.  No
# systemd runs there: units are verified, and a stand-in for systemctl writes down which are
# to start, restart or stop.
# shellcheck disable=SC2016,SC2086  # for the shells there; lists are split on purpose
set -u
debs=${1:?} next=${2:?}
tmp=$(mktemp -d)
root=$tmp/root
trap 'rm -rf "$tmp"' EXIT

# Runs a command in it, with processes of its own.
in_root() {
	unshare --mount --pid --fork sh -c 'mount -t proc proc "$1/proc" && root=$1 && shift &&
		exec env -i PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
			LC_ALL=C.UTF-8 chroot "$root" "$@"' sh "$root" "$@"
}
verdict() {
	if [ "$1" = 0 ]; then
		echo "PASS packages: $2"
	else
		echo "FAIL packages: $2"
		cat "$tmp/log" >&2
	fi
}
# passes WHAT COMMAND...: the command succeeds in it.
passes() {
	what=$1
	shift
	in_root "$@" >"$tmp/log" 2>&1
	verdict $? "$what"
}
# shown WHAT PATTERN COMMAND...: it succeeds, and a line of its output has the pattern.
shown() {
	what=$1 pattern=$2
	shift 2
	in_root "$@" >"$tmp/log" 2>&1 && grep -qE -- "$pattern" "$tmp/log"
	verdict $? "$what"
}
there() {
	when=$1
	shift
	for path; do
		[ -e "$root$path" ] || [ -L "$root$path" ] || echo "$path is missing"
	done >"$tmp/log"
	[ ! -s "$tmp/log" ]
	verdict $? "$when: $*"
}
gone() {
	when=$1
	shift
	for path; do
		[ ! -e "$root$path" ] && [ ! -L "$root$path" ] || echo "$path is there"
	done >"$tmp/log"
	[ ! -s "$tmp/log" ]
	verdict $? "$when: no $*"
}
version_of() {
	dpkg-deb -f "$(echo "$1"/antiphase_*.deb)" Version
}
# asked WHEN LINE...: what systemd was asked to do with our units since the last look.
asked() {
	when=$1
	shift
	printf '%s\n' "$@" | sort >"$tmp/expected"
	awk '{ for (i = 1; i < NF; i++) if ($i ~ /^(start|restart|stop)$/) for (j = i + 1; j <= NF; j++)
		if ($j ~ /^antiphase/) print $i, $j }' "$root/asked" | sed 's/\.service$//' | sort -u |
		diff -u "$tmp/expected" - >"$tmp/log"
	verdict $? "$when, systemd is to: $*"
	: >"$root/asked"
}
versions_are() {
	in_root dpkg-query -W -f '${Package} ${Version} ${Status}\n' '*antiphase*' |
		grep -v " $1 install ok installed$" >"$tmp/log"
	[ ! -s "$tmp/log" ]
	verdict $? "$2: all packages have the version $1"
}
install_all() {
	in_root sh -c 'apt-get -y -q --no-install-recommends --allow-downgrades install "/$1"/*.deb' - "$1"
}

packages='antiphase antiphase-collector antiphase-scheduler antiphase-slurm antiphase-topology
	libantiphase-pacer libantiphase0 libantiphase-dev'
wants=/etc/systemd/system/multi-user.target.wants

prepare() {
	sh tests/packages/base.sh "$root" >"$tmp/log" 2>&1 && in_root apt-get -qq update >>"$tmp/log" 2>&1
	verdict $? "a Debian 12 from debootstrap"
	mkdir -p "$root/now" "$root/next" "$root/run/systemd/system"
	: >"$root/asked"
	cat >"$root/usr/local/sbin/systemctl" <<-'X'
		#!/bin/sh
		for unit; do :; done
		case " $* " in
		*' is-enabled '* | *' enable '* | *' disable '* | *' preset '*) SYSTEMD_OFFLINE=1 exec /usr/bin/systemctl "$@" ;;
		*' is-active '*) grep -qx "$unit" /active 2>/dev/null ;;
		*) echo "$*" >>/asked ;;
		esac
	X
	chmod 755 "$root/usr/local/sbin/systemctl"
	echo 'DPkg::Path "/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin";' >"$root/etc/apt/apt.conf.d/stand-in"
	printf '#!/bin/sh\nexit 0\n' >"$root/usr/sbin/policy-rc.d"
	for package in $packages; do
		cp "$debs/${package}_"*.deb "$root/now" && cp "$next/${package}_"*.deb "$root/next"
	done
}

installed() {
	install_all now >"$tmp/log" 2>&1
	verdict $? "installed by apt"
	versions_are "$now_version" "installed"
	asked "installed" "start antiphase-collector" "start antiphase-topology"
	shown "the user cannot log in" '^antiphase:[^:]*:[0-9]+:[0-9]+:[^:]*:/:/usr/sbin/nologin$' getent passwd antiphase
	there "settings" /etc/antiphase/antiphase.conf /etc/antiphase/conf.d
	there "starts at boot" $wants/antiphase-collector.service $wants/antiphase-topology.service
	gone "does not start unless enabled" $wants/antiphase-scheduler.service \
		/etc/systemd/system/antiphase-collector.service.wants
	for unit in "$root"/lib/systemd/system/antiphase-*.service; do
		unit=${unit##*/}
		in_root systemd-analyze verify --man=no "$unit" >"$tmp/log" 2>&1 && [ ! -s "$tmp/log" ]
		verdict $? "systemd-analyze verify $unit"
	done
}

works() {
	upstream=$(echo "${now_version%-*}" | sed 's/[.+]/\\&/g')
	for program in antiphase antiphase-sim antiphase-collector antiphase-events antiphase-scheduler \
		antiphase-topology; do
		shown "$program --version" "^$program $upstream " "$program" --version
	done
	shown "antiphase links --help" 'antiphase links' antiphase links --help
	examples=/usr/share/doc/antiphase/examples
	shown "antiphase sim run of an installed example" '^Policy .* simulated\.  Mean slowdown 1\.' antiphase sim run $examples/two-jobs.ini
	shown "antiphase links of an installed recording" '>' antiphase links --all --from $examples/two-jobs.tele \
		--fabric $examples/two-jobs-fabric.json
	shown "the settings are valid" 'scheduler' antiphase config show
	passes "antiphase config check" antiphase config check /etc/antiphase/antiphase.conf
	passes "the pacer is found by its name" sh -c \
		'test -z "$(LD_PRELOAD=libantiphase-pacer.so /bin/true 2>&1)"'
	in_root sh -c 'mkdir -p /tmp/slurm && echo ClusterName=c >/tmp/slurm/slurm.conf'
	shown "antiphase slurm install names what is installed" \
		'/usr/lib/antiphase/spank_antiphase.so preload=/usr/lib/libantiphase-pacer.so' \
		antiphase slurm install --conf /tmp/slurm/slurm.conf
	in_root sh -c 'rm -r /tmp/slurm'
	grep -rlE '/usr/local|@[a-z]+@' "$root/lib/systemd/system"/antiphase-*.service "$root/usr/lib/antiphase" \
		>"$tmp/log"
	[ ! -s "$tmp/log" ]
	verdict $? "units and hooks name no other place"
	! zgrep -l '/usr/local' "$root"/usr/share/man/man*/antiphase* >"$tmp/log"
	verdict $? "nor do manual pages"
	passes "what README.md refers to is there" sh -c 'cd /usr/share/doc/antiphase &&
		for to in $(grep -oE "\]\([^)#: ]+" README.md | cut -c3- | grep -v "^https*$"); do
			ls -d "$to" || exit 1
		done'
}

# What the administrator and the daemons made.
used() {
	in_root sh -c 'echo "# mine" >>/etc/antiphase/antiphase.conf
		mkdir -p /etc/antiphase/keys /var/lib/antiphase /run/antiphase
		echo secret >/etc/antiphase/keys/server.key
		echo "{}" >/etc/antiphase/topology.json
		echo >/etc/antiphase/events.env
		echo >/etc/default/antiphase-topology
		echo history >/var/lib/antiphase/store.db
		echo totals >/run/antiphase/totals
		systemctl -q disable antiphase-topology
		systemctl -q enable antiphase-scheduler
		printf "antiphase-%s.service\\n" collector scheduler >/active' >"$tmp/log" 2>&1
	verdict $? "the topology service is disabled, the scheduler enabled"
}
made='/etc/antiphase/keys/server.key /etc/antiphase/topology.json /etc/antiphase/events.env
	/etc/default/antiphase-topology /var/lib/antiphase/store.db /run/antiphase/totals'
kept() {
	there "$1" $made
	shown "$1: own settings" '^# mine$' cat /etc/antiphase/antiphase.conf
	there "$1: still enabled" $wants/antiphase-collector.service $wants/antiphase-scheduler.service
	gone "$1: still disabled" $wants/antiphase-topology.service
}

changed_version() {
	install_all next >"$tmp/log" 2>&1
	verdict $? "upgraded"
	versions_are "$next_version" "upgraded"
	asked "upgraded" "restart antiphase-collector" "restart antiphase-scheduler"
	kept "after the upgrade"
	install_all now >"$tmp/log" 2>&1
	verdict $? "downgraded"
	versions_are "$now_version" "downgraded"
	asked "downgraded" "restart antiphase-collector" "restart antiphase-scheduler"
	kept "after the downgrade"
}

removed() {
	in_root apt-get -y -q remove $packages >"$tmp/log" 2>&1
	verdict $? "removed"
	asked "removed" "stop antiphase-collector" "stop antiphase-events" "stop antiphase-scheduler" \
		"stop antiphase-topology"
	gone "after the removal" /usr/bin/antiphase /usr/sbin/antiphase-collector \
		/lib/systemd/system/antiphase-collector.service /usr/lib/antiphase /usr/lib/libantiphase-pacer.so /usr/lib/libantiphase.so.0 \
		/usr/share/doc/antiphase
	there "after the removal" $made
	shown "after the removal: own settings" '^# mine$' cat /etc/antiphase/antiphase.conf
	shown "after the removal: the user" '^antiphase:' getent passwd antiphase
	install_all now >"$tmp/log" 2>&1
	verdict $? "installed again"
	kept "installed again"
}

purged() {
	in_root apt-get -y -q purge antiphase-scheduler >"$tmp/log" 2>&1
	verdict $? "the scheduler alone is purged"
	gone "after its purge" /var/lib/antiphase $wants/antiphase-scheduler.service
	there "after its purge" /etc/antiphase/antiphase.conf /run/antiphase/totals /etc/antiphase/topology.json
	in_root apt-get -y -q purge $packages >"$tmp/log" 2>&1
	verdict $? "all are purged"
	in_root dpkg-query -W -f '${Package} ${Status}\n' '*antiphase*' 2>/dev/null |
		grep -v ' not-installed$' >"$tmp/log"
	(cd "$root" && find . -xdev -path ./proc -prune -o -path ./now -prune -o -path ./next -prune \
		-o -name '*antiphase*' -print) >>"$tmp/log"
	[ ! -s "$tmp/log" ]
	verdict $? "after the purge, nothing has its name"
	shown "but the user, who may own files" '^antiphase:' getent passwd antiphase
}

now_version=$(version_of "$debs") next_version=$(version_of "$next")
prepare
installed
works
used
changed_version
removed
purged
