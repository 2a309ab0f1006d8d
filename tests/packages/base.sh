#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# base.sh DIR - makes DIR a Debian 12 with debootstrap (root), of the archive that apt uses
# here.  Keeps one without changes in build/debian12, and copies that.
set -eu
dir=${1:?}
base=build/debian12
# shellcheck disable=SC2016  # expanded by apt-get
lines=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(RELEASE) $(COMPONENT)' \
	'Created-By: Packages' | awk '$2 == "Debian" && $3 ~ /^bookworm/ && $4 == "main" { print $1, $3 }' | sort -u)
[ -n "$lines" ] || { echo "base: packages here are not those of Debian 12" >&2; exit 1; }
if [ ! -e "$base/etc/apt/sources.list.done" ]; then
	rm -rf "$base"
	mkdir -p "$base"
	debootstrap --variant=minbase bookworm "$base" \
		"$(echo "$lines" | awk '$2 == "bookworm" { print $1; exit }')" >&2
	echo "$lines" | sed 's/^/deb /; s/$/ main/' >"$base/etc/apt/sources.list"
	# No daemon is started, as in a container; what packages cannot do is start systemd.
	printf '#!/bin/sh\nexit 101\n' >"$base/usr/sbin/policy-rc.d"
	chmod 755 "$base/usr/sbin/policy-rc.d"
	touch "$base/etc/apt/sources.list.done"
fi
rm -rf "$dir"
mkdir -p "${dir%/*}"
cp -a "$base" "$dir"
cp /etc/resolv.conf "$dir/etc/resolv.conf"
