#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hardening.sh - every program and library is built so that a fault of memory is hard to
# use: addresses are random, tables of functions are read-only before main(), stacks are
# not executable and have canaries, copies of known size are checked, and functions are
# marked as targets of jumps (x86).  A sanitizer's build does without checked copies.
set -u
B=${B:?the build directory}
for file in "$B"/antiphase "$B"/antiphase-* "$B"/*.so "$B"/*.so.0; do
	case $file in *.d | *'*'*) continue ;; esac
	name=hardening:\ ${file##*/}
	symbols=$(readelf -W --dyn-syms "$file")
	dynamic=$(readelf -W -d "$file")
	segments=$(readelf -W -l "$file")
	has() {
		if printf '%s\n' "$2" | grep -qE "$3"; then
			echo "PASS $name: $1"
		else
			echo "FAIL $name: $1"
		fi
	}
	has "its addresses are random" "$(readelf -h "$file")" 'Type: +DYN'
	has "functions are bound before main()" "$dynamic" 'NOW'
	has "then their table is read-only" "$segments" 'GNU_RELRO'
	has "its stack is not executable" "$segments" 'GNU_STACK .* RW '
	has "stacks have canaries" "$symbols" '__stack_chk_fail'
	case $dynamic in
	*lib[at]san* | *libubsan*) ;;
	*)
		# Small libraries may have no such copy.
		case $file in
		*.so*) ;;
		*) has "copies are checked" "$symbols" ' __(memcpy|snprintf|vfprintf|fprintf)_chk' ;;
		esac
		;;
	esac
	if [ "$(uname -m)" = x86_64 ]; then
		case $file in
		*.so*) of= ;;
		*) of='=main' ;;
		esac
		has "functions are targets of jumps" \
			"$(objdump "--disassemble$of" --no-show-raw-insn -j .text "$file")" 'endbr64'
	fi
done
