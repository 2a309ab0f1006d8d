#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh - the packages of packages/: built twice they have the same bytes, lintian and
# rpmlint find no errors, and in a Debian 12 they are installed, upgraded, removed and
# purged as Debian wants it.  Each build copies the tree, which must not change meanwhile.
# The last line is "N passed, N failed, N skipped"; exit status 1 if any failed.  'make
# test-packages' calls it, as root, with the lists of packages.
set -u
B=${B:?the build directory}
: "${PACKAGES_BUILD:?} ${PACKAGES_DEB:?}"
# As in deb.sh.
version=$(echo "${VERSION:?}" | tr - +) revision=${REVISION:?}
work=$PWD/$B/packages
rm -rf "$work"
mkdir -p "$work"
exec 3>"$work/log"

verdict() {
	if [ "$1" = 0 ]; then
		echo "PASS packages: $2"
	else
		echo "FAIL packages: $2"
		cat "$work/found" >&2
	fi
	cat "$work/found" >&3
}

# ---- What is told twice ---------------------------------------------------------------
# Compilers and libc are in every Debian build.
told_once() {
	for package in $PACKAGES_BUILD $PACKAGES_DEB; do
		case $package in gcc | libc6-dev | dpkg-dev | debhelper) ;; *) echo "$package" ;; esac
	done | sort >"$work/makefile"
	sed -n '/^Build-Depends:/,/^$/s/^ \([a-z0-9.+-]*\)\( .*\)*,$/\1/p' packages/debian/control |
		grep -v '^debhelper-compat$' | sort >"$work/control"
	[ -s "$work/control" ] && diff -u "$work/makefile" "$work/control" >"$work/found"
	verdict $? "Build-Depends has the packages of the Makefile"

	# Owners in the licenses of the page, and the license of each source.
	{
		sed -n 's/^Copyright \((c) \)*//p' web/dist/LICENSES.txt
		grep -rhoE --include='*.[ch]' --include='*.sh' 'SPDX-License-Identifier: [A-Za-z0-9. -]+[A-Za-z0-9]' \
			bpf lib topology collector engine scheduler policies sim cli pacer tests packages |
			sed 's/.*: //; s/ OR /\n/; s/GPL-2.0$/GPL-2.0-only/'
	} | sort -u | while read -r line; do
		grep -qF "$line" packages/debian/copyright || echo "$line"
	done >"$work/found"
	[ ! -s "$work/found" ]
	verdict $? "debian/copyright has all licenses and owners"
}

# ---- Debian packages ------------------------------------------------------------------
built_twice() {
	sh packages/deb.sh "$work/one" "$version" "$revision" >"$work/found" 2>&1
	verdict $? "they are built"
	(umask 027 && TZ=Asia/Tokyo LC_ALL=C.UTF-8 \
		sh packages/deb.sh "$work/elsewhere/two" "$version" "$revision") >"$work/found" 2>&1
	verdict $? "again, elsewhere, with another umask and time zone"
	(cd "$work/one" && sha256sum -- *.deb >"$work/sums") &&
		(cd "$work/elsewhere/two" && sha256sum --quiet -c "$work/sums") >"$work/found" 2>&1
	verdict $? "both have the same bytes: $(wc -l <"$work/sums") files"
}

linted() {
	lintian --allow-root --profile debian --fail-on error,warning "$work"/one/*.changes >"$work/found" 2>&1
	verdict $? "lintian finds neither errors nor warnings"
}

# Lists the files, but not the directories, of each package.
no_file_twice() {
	for deb in "$work"/one/*.deb; do
		case $deb in *-dbgsym_*) ;; *) dpkg-deb -c "$deb" ;; esac
	done | sed -n '/^d/!s/.* \.\(\/[^ ]*\)\( -> .*\)*$/\1/p' | sort >"$work/files"
	uniq -d "$work/files" >"$work/found"
	[ -s "$work/files" ] && [ ! -s "$work/found" ]
	verdict $? "no file is in two packages"
}

# The next version, from the objects of the second build.
next_version() {
	(
		mkdir -p "$work/next" && cp -a "$work"/elsewhere/two/antiphase-*/ "$work/next/" &&
			cd "$work"/next/antiphase-*/ &&
			sed -i '1s/)/+1)/' debian/changelog && rm debian/files &&
			env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS -u B \
				DEB_BUILD_OPTIONS=noautodbgsym dpkg-buildpackage -us -uc -b -nc
	) >"$work/found" 2>&1
	verdict $? "the next version is built"
}

# ---- RPM packages ---------------------------------------------------------------------
# Where rpm is not the system's own, it has no list of what is installed.
rpm_packages() {
	rpmlint -c packages/rpm/rpmlint.toml packages/rpm/antiphase.spec >"$work/found" 2>&1
	verdict $? "rpmlint finds no errors in the specification"
	mkdir -p "$work/rpm/SOURCES"
	tar -C "$work/one" --exclude='./antiphase-*/debian' --exclude='./antiphase-*/build' \
		-czf "$work/rpm/SOURCES/antiphase-$version.tar.gz" "./antiphase-$version" >"$work/found" 2>&1 &&
		env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS -u B rpmbuild -bb --nodeps \
			--define "_topdir $work/rpm" --define "_version $version" \
			packages/rpm/antiphase.spec >"$work/found" 2>&1
	verdict $? "rpmbuild builds them"
	rpmlint -c packages/rpm/rpmlint.toml "$work"/rpm/RPMS/*/*.rpm >"$work/found" 2>&1
	verdict $? "rpmlint finds no errors in them"
	# The same files as in Debian's, but for what each system has in places of its own.
	for rpm in "$work"/rpm/RPMS/*/*.rpm; do
		case $rpm in *-debug*) ;; *) rpm -qlp "$rpm" ;; esac
	done 2>/dev/null | sed 's|^/usr/lib64/|/usr/lib/|' | sort -u >"$work/rpm-files"
	sed 's/\.gz$//; s|^/lib/systemd|/usr/lib/systemd|' "$work/files" |
		grep -vE '^/usr/lib/libantiphase\.a$|^/usr/share/(lintian/|doc/[^/]*(/(copyright|changelog.Debian|LICENSE))?$)' |
		while read -r file; do
			sed 's/\.gz$//' "$work/rpm-files" | grep -qxF "$file" || echo "$file"
		done >"$work/found"
	[ -s "$work/rpm-files" ] && [ ! -s "$work/found" ]
	verdict $? "they have the files of Debian's"
}

all() {
	told_once
	built_twice
	linted
	no_file_twice
	next_version
	rpm_packages
	sh tests/packages/lifecycle.sh "$work/one" "$work/next" 2>&3
	B=$B bash tests/packages/first_hour.sh "$work/one" 2>&3
}

all | tee "$work/sum"
awk '
	{ n[$1]++ }
	END { printf "%d passed, %d failed, %d skipped\n", n["PASS"], n["FAIL"], n["SKIP"]
	      exit n["FAIL"] > 0 }' "$work/sum"
