#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# man_examples.sh - the manual pages match the programs: every verb has a page, every
# page has the usual sections, and every command in a literal block under EXAMPLES works
# in a copy of examples/
set -u
B=${B:?the build directory}
case $B in /*) bin=$B ;; *) bin=$PWD/$B ;; esac
PATH=$bin:$PATH
LC_ALL=C.UTF-8
export PATH LC_ALL
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

for verb in $(antiphase help | awk '/^  [a-z]/ { print $1 }'); do
	if [ -f "docs/man/antiphase-$verb.1.scd" ]; then
		echo "PASS man: $verb has a page"
	else
		echo "FAIL man: verb '$verb' has no page docs/man/antiphase-$verb.1.scd"
	fi
done

for page in docs/man/*.scd; do
	name=$(basename "$page" .scd)
	for section in SYNOPSIS DESCRIPTION; do
		grep -q "^# $section" "$page" || echo "FAIL man: $name lacks $section"
	done
	case $name in *.1)
		for section in EXAMPLES "EXIT STATUS"; do
			grep -q "^# $section" "$page" || echo "FAIL man: $name lacks $section"
		done ;;
	esac
	rm -rf "$tmp/examples"
	cp -r examples "$tmp/examples"
	# Daemons do not end, and commands after a root prompt are not run.
	awk '/^# / && !block { here = ($2 == "EXAMPLES") }
	     /^[\t ]*```/{ block = !block; next }
	     here && block { sub(/^[\t ]*(\$ )?/, "")
			     if (/^antiphase(-sim)? /) print }' \
		"$page" >"$tmp/commands"
	while IFS= read -r command; do
		if (cd "$tmp/examples" && timeout 60 sh -c "$command") >"$tmp/out" 2>"$tmp/err" </dev/null
		then
			echo "PASS man: $name: $command"
		else
			echo "FAIL man: $name: $command"
			cat "$tmp/err" >&2
		fi
	done <"$tmp/commands"
done
