#!/bin/sh
# install.sh - what 'make install DESTDIR=...' puts there works from there: the
# programs find each other, also through a link and without the build tree; the
# manual pages, the completion and the examples are in their places.  'make check' runs
# it and hands its own settings on in MAKEFLAGS.
set -u
B=${B:?the build directory}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
here=$tmp/root/usr/local

verdict() {
	if [ "$1" = 0 ]; then
		echo "PASS install: $2"
	else
		echo "FAIL install: $2"
		cat "$tmp/log" >&2
	fi
}

make --no-print-directory install B="$B" DESTDIR="$tmp/root" >"$tmp/log" 2>&1
verdict $? "make install"

mkdir "$tmp/bin"
ln -s "$here/bin/antiphase" "$tmp/bin/antiphase"
for program in "$here/bin/antiphase" "$tmp/bin/antiphase"; do
	(cd "$here/share/doc/antiphase/examples" &&
		env -i PATH=/usr/bin:/bin "$program" sim run two-jobs.ini) >"$tmp/log" 2>&1
	verdict $? "antiphase sim finds antiphase-sim from ${program#"$tmp"}"
done

for page in docs/man/*.scd; do
	name=$(basename "$page" .scd)
	[ -s "$here/share/man/man${name##*.}/$name" ]
	verdict $? "man page $name"
done

bash -c 'source "$1" && complete -p antiphase' - \
	"$here/share/bash-completion/completions/antiphase" >"$tmp/log" 2>&1
verdict $? "completion"
