#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install.sh - an installation by 'make install DESTDIR=...' works: the programs find
# each other, also through a link and without the build tree; manual pages, completion
# and examples are in place; links of pages lead to installed files.  'make check' runs it
# and passes its settings in MAKEFLAGS.
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

# As in the repository, so that links between pages work.
for page in README.md docs/README.md docs/policies/README.md docs/dashboards/alerts.yml; do
	cmp -s "$page" "$here/share/doc/antiphase/$page"
	verdict $? "page $page"
done

# Links lead to installed files.
(cd "$here/share/doc/antiphase" && find . -name '*.md' | while IFS= read -r page; do
	grep -oE '\]\([^)#: ]+' "$page" | cut -c3- | grep -vxE 'https?' | while IFS= read -r to; do
		[ -e "$(dirname "$page")/$to" ] || echo "$page: no $to"
	done
done) >"$tmp/log"
[ -s "$here/share/doc/antiphase/README.md" ] && [ ! -s "$tmp/log" ]
verdict $? "links of the installed pages"

# The daemons, units and settings work without changes.
for program in antiphase-collector antiphase-topology antiphase-scheduler; do
	"$here/sbin/$program" --version >"$tmp/log" 2>&1
	verdict $? "$program is in sbin"
done
env -i PATH=/usr/bin:/bin "$tmp/bin/antiphase" doctor --json >"$tmp/doctor" 2>"$tmp/log"
grep -q '"schema": "antiphase.doctor/1"' "$tmp/doctor"
verdict $? "antiphase doctor finds antiphase-collector"
[ -s "$tmp/root/etc/antiphase/antiphase.conf" ] && [ -s "$here/lib/sysusers.d/antiphase.conf" ]
verdict $? "settings and user"
echo '# mine' >"$tmp/root/etc/antiphase/antiphase.conf"
make --no-print-directory install B="$B" DESTDIR="$tmp/root" >"$tmp/log" 2>&1
grep -q '^# mine$' "$tmp/root/etc/antiphase/antiphase.conf"
verdict $? "settings that are there are left alone"
for unit in "$here"/lib/systemd/system/*.service; do
	name=$(basename "$unit")
	if ! command -v systemd-analyze >/dev/null; then
		echo "SKIP install: $name: there is no systemd-analyze"
		continue
	fi
	sed -e "s|^ExecStart=/|ExecStart=$tmp/root/|" "$unit" >"$tmp/$name"
	systemd-analyze verify --man=no "$tmp/$name" >"$tmp/log" 2>&1 && [ ! -s "$tmp/log" ]
	verdict $? "systemd-analyze verify $name"
done

for file in lib/libantiphase-pacer.so include/antiphase/pacer.h share/antiphase/antiphase_ddp.py; do
	[ -s "$here/$file" ]
	verdict $? "$file"
done
# A C program and a Python program use it from there.
printf '#include <antiphase/pacer.h>\nint main(void) { return antiphase_open(0, 1, 2); }\n' >"$tmp/own.c"
cc -I"$here/include" "$tmp/own.c" -o "$tmp/own" -L"$here/lib" -lantiphase-pacer >"$tmp/log" 2>&1 &&
	LD_LIBRARY_PATH=$here/lib "$tmp/own" >>"$tmp/log" 2>&1
case $B in
*address* | *thread*) echo "SKIP install: a program in C with the pacer: of a sanitized build" ;;
*) verdict $? "a program in C with the pacer" ;;
esac

python3 tests/library.py "$tmp/root" /usr/local

env -i PATH="$here/bin:/usr/bin:/bin" PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$here/share/antiphase" \
	python3 "$here/share/doc/antiphase/examples/python/shifts.py" >"$tmp/shifts" 2>"$tmp/log"
grep -qx '0,A,65.0' "$tmp/shifts"
verdict $? "a script of examples/python"

bash -c 'source "$1" && complete -p antiphase' - \
	"$here/share/bash-completion/completions/antiphase" >"$tmp/log" 2>&1
verdict $? "completion"
