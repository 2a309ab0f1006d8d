#!/bin/sh
# deps.sh PACKAGE... - installs the Debian packages that are missing: as root or
# through sudo; else says what to type and fails.  Quick when nothing is missing.
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
# An old list of packages may name versions that are gone: fetch a new one first.
# shellcheck disable=SC2086  # both are lists of words
if ! { $as_root apt-get update -qq && DEBIAN_FRONTEND=noninteractive $as_root \
	apt-get install -y -qq --no-install-recommends $missing; } >&2; then
	echo "antiphase: apt-get failed; please install by hand:$missing" >&2
	exit 1
fi
