#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# deps.sh PACKAGE... - installs missing Debian packages, as root or through sudo;
# otherwise prints the command and fails.  Quick when nothing is missing.  Daemons among
# them (munge, slurmctld, lldpd, ...) are for private use by tests: they are not
# started, now or at boot.
set -eu
missing=
for package; do
	dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
		missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ]; then
	as_root=
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
	as_root=sudo
else
	echo "antiphase: packages are missing; please run, and then try again:" >&2
	echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends$missing" >&2
	exit 1
fi
echo "antiphase: installing$missing" >&2
# Packages ask this script before they start a service; an existing one is kept.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
	trap '$as_root rm -f $policy' EXIT
	trap 'exit 130' INT TERM HUP
	printf '#!/bin/sh\nexit 101\n' | $as_root tee $policy >/dev/null
	$as_root chmod 755 $policy
fi
# An old package list may name versions that are gone: fetch a new one first.
# shellcheck disable=SC2086  # both are lists of words
if ! { $as_root apt-get update -qq && DEBIAN_FRONTEND=noninteractive $as_root \
	apt-get install -y -qq --no-install-recommends $missing; } >&2; then
	echo "antiphase: apt-get failed; please install by hand:$missing" >&2
	exit 1
fi
[ -d /run/systemd/system ] || exit 0
for package in $missing; do
	for unit in $(dpkg -L "$package" | sed -n 's|^.*/systemd/system/\([^/@]*\.service\)$|\1|p'); do
		$as_root systemctl --quiet disable "$unit" || :
	done
done
