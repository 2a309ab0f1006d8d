#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# deb.sh DIR VERSION REVISION [DEBIAN_REVISION] - builds the Debian packages into DIR, from a
# clean copy of the tree, DIR/antiphase-VERSION.  Writes debian/changelog, whose date, that
# of the last commit, makes the packages reproducible; SOURCE_DATE_EPOCH replaces it.
# 'make deb' calls it.
set -eu
dir=${1:?the directory of the packages}
# After a tag, git counts commits: 0.2.0-35-g1234abcd.  Debian wants no hyphen there.
version=$(echo "${2:?the version}" | tr - +)
revision=${3:?the revision}
debian=$version-${4:-1}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
tree=$dir/antiphase-$version

rm -rf "$dir"/*.deb "$dir"/*.buildinfo "$dir"/*.changes "$tree"
mkdir "$tree"
if [ -e .git ]; then
	git ls-files -z | tar --null -T - -cf - | tar -C "$tree" -xf -
	date=$(git log -1 --format=%ct)
else
	tar --exclude=./build --exclude=./web/node_modules -cf - . | tar -C "$tree" -xf -
	date=$(stat -c %Y CHANGELOG.md)
fi
cp -r packages/debian "$tree"
cd "$tree"
{
	echo "antiphase ($debian) unstable; urgency=medium"
	echo
	echo "  * Version $version, revision $revision.  CHANGELOG.md has the changes."
	echo
	echo " -- $(sed -n 's/^Maintainer: //p' debian/control)  $(date -u -R -d "@${SOURCE_DATE_EPOCH:-$date}")"
} >debian/changelog
# The settings of the 'make' that runs this script are not those of the packages' 'make'.
unset MAKEFLAGS MAKELEVEL MFLAGS B SAN
dpkg-buildpackage -us -uc -b --jobs="$(nproc)" >"$dir/build.log" 2>&1 || {
	tail -n 40 "$dir/build.log" >&2
	echo "antiphase: the build of the packages failed; all of its output: $dir/build.log" >&2
	exit 1
}
cd "$dir"
ls -- *.deb
