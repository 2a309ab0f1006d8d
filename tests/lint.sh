#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lint.sh "C FILES" "SHELL FILES" - format, license lines, include direction, circles,
# the warnings of both compilers, cppcheck and shellcheck.  CC, CLANG and FLAGS are in
# the environment; B is the build directory, for the symbols of its objects.  One line
# per check, followed by what it found; exit status 1 if anything was found.
# shellcheck disable=SC2086,SC2317  # lists are split on purpose; 'check' runs functions
set -u
c_files=$1
sh_files=$2
CC=${CC:-gcc}
CLANG=${CLANG:-clang-14}
FLAGS=${FLAGS:?the flags of the compiler}
B=${B:?the build directory}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0

# Runs a command; it passes if it succeeds.
check() {
	name=$1
	shift
	if "$@" >"$tmp/found" 2>&1; then
		echo "  LINT     $name"
	else
		echo "  FAILED   $name"
		cat "$tmp/found"
		failed=1
	fi
}

# BPF programs are for another target; clang warns about them in the build.
sources=$(printf '%s\n' $c_files | grep '\.c$' | grep -v '\.bpf\.c$')

# The compiler's own warnings; the optimizer's warnings come up in the build.
compile() {
	printf '%s\n' "$sources" |
		xargs -P 2 -n 8 "$@" $FLAGS -Werror -fsyntax-only \
			-DANTIPHASE_VERSION='""' -DANTIPHASE_REVISION='""'
}

# Headers are self-contained: each is the first include of some file.
headers() {
	printf '%s\n' $c_files | grep '\.h$' | grep -v '\.bpf\.h$' |
		xargs -P 2 -I{} "$CC" $FLAGS -Werror -fsyntax-only -x c -include {} /dev/null
}

# The same for the BPF target.
bpf_headers() {
	printf '%s\n' $c_files | grep '\.bpf\.h$' |
		xargs -P 2 -I{} "$CLANG" -Wall -Wextra -Werror -Wno-unused-function \
			-fsyntax-only -target bpf -D__TARGET_ARCH_x86 \
			-I/usr/include/x86_64-linux-gnu -I. -x c -include {} /dev/null
}

# clang-format checks style.  Suppressed are cppcheck's guesses: it takes loops for
# empty, so that arrays filled in them look uninitialized (both compilers check that
# better); other names in a definition for another order of arguments; and the NULL that
# ends a list of strings for a number.  It reads no system headers, so some of their
# macros are given.
cpp_check() {
	cppcheck -j 2 --quiet --std=c11 --error-exitcode=1 --inline-suppr \
		--enable=warning,performance,portability -I. -D_GNU_SOURCE \
		-DANTIPHASE_VERSION='""' -DANTIPHASE_REVISION='""' \
		--suppress=missingInclude --suppress=arrayIndexThenCheck \
		--suppress=uninitvar --suppress=legacyUninitvar --suppress=objectIndex \
		--suppress=funcArgOrderDifferent --suppress=varFuncNullUB \
		'-DHASH_ITER(hh,head,el,tmp)=while ((el = tmp))' \
		'-DLIBBPF_OPTS(type,name,...)=struct type name' \
		'-DSPANK_PLUGIN(name,version)=' \
		'-DSPANK_PLUGIN(name,version)=' \
		$sources
}

# Every source names its license in its first two lines.
spdx() {
	for file in $c_files $sh_files Makefile */module.mk tests/*.py tests/*/*.py lib/python/*.py examples/python/*.py; do
		head -n 2 "$file" | grep -q 'SPDX-License-Identifier: ' || echo "$file: no SPDX line"
	done >"$tmp/spdx"
	cat "$tmp/spdx"
	[ ! -s "$tmp/spdx" ]
}

check "clang-format" clang-format --dry-run -Werror $c_files
check "license lines" spdx
check "layers" sh tests/layers.sh
check "externs" sh tests/externs.sh
check "circles" python3 tests/circles.py "$B"
check "$CC" compile "$CC"
check "$CLANG" compile "$CLANG"
check "headers" headers
check "headers of BPF programs" bpf_headers
check "cppcheck" cpp_check
# Functions that 'check' runs look unreachable to shellcheck.
check "shellcheck" shellcheck --exclude=SC2317 $sh_files
exit "$failed"
