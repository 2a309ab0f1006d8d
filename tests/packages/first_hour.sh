#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# first_hour.sh DEBS - three commands lead from a fresh Debian 12 to the first 'antiphase links'
# with real traffic, which iperf3 sends to another network namespace; prints how long they
# take.  Where a host has systemd, the package starts the collector; here this script does,
# by the installed unit: its command, user and capabilities.
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/../net/lab.sh"
cd "$LAB_ROOT" || exit 1
debs=${1:?}
rate_mbps=300
lab_begin
lab_need root netns veth bridge tbf iperf3
root=$LAB_DIR/root
unit=$root/lib/systemd/system/antiphase-collector.service

# The mounts end with the command.
fresh() {
	# shellcheck disable=SC2016  # of the inner shell
	unshare --mount --pid --fork --kill-child sh -c 'mount -t proc proc "$1/proc" &&
		mount --rbind /sys "$1/sys" && root=$1 && shift &&
		exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
			LC_ALL=C.UTF-8 ANTIPHASE_SOURCE_INTERFACE=e0 chroot "$root" "$@"' sh "$root" "$@"
}
in_h0() {
	# shellcheck disable=SC2016  # of the inner shell
	lab_in h0 bash -c 'fresh "$@"' - "$@"
}
of_unit() {
	sed -n "s/^$1=//p" "$unit"
}
# As systemd would, which also makes the runtime directory.
start_collector() {
	local user capabilities
	user=$(of_unit User)
	capabilities=$(of_unit AmbientCapabilities | tr '[:upper:]' '[:lower:]' | sed 's/cap_/+/g; s/ /,/g')
	fresh install -d -o "$user" -g "$user" "/run/$(of_unit RuntimeDirectory)" || return
	# shellcheck disable=SC2046  # words
	lab_spawn collector in_h0 setpriv --reuid "$user" --regid "$user" --init-groups --no-new-privs \
		--bounding-set "-all,$capabilities" --inh-caps "-all,$capabilities" \
		--ambient-caps "-all,$capabilities" $(of_unit ExecStart)
}
export -f fresh
export root

check "a Debian 12 from debootstrap" sh tests/packages/base.sh "$root" || lab_end
cp "$debs"/antiphase_*.deb "$debs"/antiphase-collector_*.deb "$root/root"
lab_star 2 1gbit
# A veth is no physical interface, which the collector would find; it is named above.
lab_spawn server lab_in h1 iperf3 -s -1
lab_wait_for 5 "the server" lab_listens h1 5201
lab_spawn client lab_in h0 iperf3 -c "$(lab_addr h1)" -b "${rate_mbps}M" -t 600

began_s=$(date +%s)
check "apt update" fresh apt-get -q update
check "apt install ./antiphase_*.deb ./antiphase-collector_*.deb" \
	fresh sh -c 'apt-get -q -y install /root/*.deb'
start_collector
lab_wait_for 10 "the collector" test -S "$root/run/antiphase/collector.sock"
in_h0 antiphase links --all >"$LAB_DIR/links"
status=$?
ended_s=$(date +%s)
cat "$LAB_DIR/links" "$LAB_DIR/collector.log" >&2
[ "$status" = 0 ]
check "antiphase links, $((ended_s - began_s)) s after the first of three commands" test $? = 0
# Of 1514 bytes of a frame, 1448 are iperf3's.
near "it shows the traffic in Mb/s" "$(awk '/:e0> / { sub("M$", "", $3); print $3 }' "$LAB_DIR/links")" \
	$((rate_mbps * 1514 / 1448)) 15
lab_end
