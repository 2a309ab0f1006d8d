#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# man_options.sh - the OPTIONS of each manual page are exactly the long and short
# options in the help of its verb and sub-verbs; help names the command as typed,
# whichever program prints it, and only existing pages; the exit statuses of a page are
# among those of antiphase(1); and the pages can be displayed, with the underscores of
# names
set -u
B=${B:?the build directory}
case $B in /*) bin=$B ;; *) bin=$PWD/$B ;; esac
PATH=$bin:$PATH
LC_ALL=C.UTF-8
export PATH LC_ALL
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

words_of_help() {
	# shellcheck disable=SC2048,SC2086  # several words make a verb
	antiphase $* --help | awk '/^Examples/ { exit } /^  [a-z]/ { print $1 }'
}

# From lines "  -p, --port N   help": -p and --port.
options_of_help() {
	# shellcheck disable=SC2048,SC2086
	antiphase $* --help | awk '
		/^  -/ { for (i = 1; i <= 2; i++) {
			sub(/,$/, "", $i)
			sub(/\[=.*/, "", $i)
			if ($i ~ /^-/ && $i != "-h" && $i != "--help") print $i } }'
}

# From lines "*-p*, *--port* _N_" at the margin under OPTIONS.
options_of_page() {
	awk '/^# /{ here = ($2 == "OPTIONS") }
	     here && /^\*-/ {
		line = $0
		while (match(line, /\*--?[a-zA-Z-]+\*/)) {
			print substr(line, RSTART + 1, RLENGTH - 2)
			line = substr(line, RSTART + RLENGTH)
		} }' "$1"
}

# Prints the errors in the help of a command; nothing if it is correct.
fault_of_help() {
	# shellcheck disable=SC2048,SC2086
	antiphase $* --help >"$tmp/text"
	head -n 1 "$tmp/text" | grep -q "^antiphase $* - " || echo "$*: first line"
	grep -q "^Usage: antiphase $* " "$tmp/text" || echo "$*: usage"
	page=$(sed -nE 's/^The manual page: man ([a-z-]+)$/\1/p' \
		"$tmp/text")
	[ -z "$page" ] || [ -f "docs/man/$page.1.scd" ] || echo "$*: page '$page'"
}

compare() {
	sort -u "$tmp/help" >"$tmp/help.sorted"
	sort -u "$tmp/page" >"$tmp/page.sorted"
	if diff "$tmp/help.sorted" "$tmp/page.sorted" >"$tmp/diff"; then
		echo "PASS man: options of $1"
	else
		echo "FAIL man: options of $1: < only in the help, > only in the page"
		cat "$tmp/diff" >&2
	fi
}

for verb in $(words_of_help); do
	{
		fault_of_help "$verb"
		for sub in $(words_of_help "$verb"); do
			fault_of_help "$verb" "$sub"
		done
	} >"$tmp/faults"
	if [ -s "$tmp/faults" ]; then
		echo "FAIL man: help of $verb names what was typed"
		cat "$tmp/faults" >&2
	else
		echo "PASS man: help of $verb names what was typed"
	fi
done

for verb in $(words_of_help); do
	page=docs/man/antiphase-$verb.1.scd
	options_of_page "$page" >"$tmp/page"
	{
		options_of_help "$verb"
		case $verb in topology | keys | config | store | slurm | sim | trace)
			for sub in $(words_of_help "$verb"); do
				options_of_help "$verb" "$sub"
				[ "$sub" = generate ] || continue
				for kind in $(words_of_help "$verb" "$sub"); do
					options_of_help "$verb" "$sub" "$kind"
				done
			done ;;
		esac
	} >"$tmp/help"
	compare "$verb"
done

statuses() {
	awk '/^# /{ here = /^# EXIT STATUS/ } here && /^\*[0-9]+\*$/' "$1"
}
statuses docs/man/antiphase.1.scd >"$tmp/all"
for page in docs/man/*.1.scd; do
	name=$(basename "$page" .1.scd)
	if statuses "$page" | grep -vxF -f "$tmp/all" >"$tmp/diff"; then
		echo "FAIL man: $name has an exit status that antiphase(1) lacks"
		cat "$tmp/diff" >&2
	else
		echo "PASS man: exit statuses of $name"
	fi
done

# The help of ctl has the requests of the daemons' tables.
for table in collector:collector/daemon/control.c scheduler:scheduler/daemon/commands.c; do
	daemon=${table%%:*}
	antiphase ctl "$daemon" --help | sed -n '/^Requests:/,/^Options:/p' |
		sed -nE 's/^  ([a-z].*)/\1/p' | sed 's/  .*//' | sort >"$tmp/help"
	cat "${table#*:}" lib/daemon/control_run.c |
		sed -nE 's/^\t\{ "([a-z ]+)", "([^"]*)", [0-9].*/\1 \2/p' | sed 's/ $//' | sort >"$tmp/page"
	if [ -s "$tmp/page" ] && diff "$tmp/help" "$tmp/page" >"$tmp/diff"; then
		echo "PASS man: requests of $daemon"
	else
		echo "FAIL man: requests of $daemon: < only in the help, > only in its table"
		cat "$tmp/diff" >&2
	fi
done

# The rendered pages: the formatter gives no warnings.
for page in "$B"/man/*; do
	name=$(basename "$page")
	if ! command -v man >/dev/null; then
		echo "SKIP man: $name is shown: there is no man here"
	elif man -l "$page" >"$tmp/out" 2>"$tmp/err" && [ -s "$tmp/out" ] &&
	     [ ! -s "$tmp/err" ]; then
		echo "PASS man: $name is shown"
	else
		echo "FAIL man: $name cannot be shown"
		cat "$tmp/err" >&2
	fi
done

# Underscores are letters of names, not marks of scdoc.
for page in docs/man/*.scd; do
	name=$(basename "$page" .scd)
	command -v man >/dev/null || { echo "SKIP man: names in $name: there is no man here"; continue; }
	MANWIDTH=1000 man -l "$B/man/$name" 2>/dev/null >"$tmp/out"
	if awk '/^```/ { is_code = !is_code; next } !is_code' "$page" |
		grep -oE '[A-Za-z0-9]+(\\?_[A-Za-z0-9]+)+' | tr -d '\134' | sort -u |
		while IFS= read -r word; do grep -qF -- "$word" "$tmp/out" || echo "$word"; done |
		grep . >"$tmp/lost"
	then
		echo "FAIL man: names in $name"
		cat "$tmp/lost" >&2
	else
		echo "PASS man: names in $name"
	fi
done
