#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# readme.sh BUILD [FOLDER] - writes the output of commands into README.md and the pages
# that show it, between their marks ("<!-- NAME: written by examples/readme.sh -->").  Run
# it from the root of the tree after that output has changed.  FOLDER holds copies of the
# pages.  'make golden-accept' also runs it, and tests/links.sh reports when it is due.
set -eu
B=${1:?the build directory}
folder=${2:-.}
pages='README.md docs/simulator.md docs/slurm.md docs/telemetry.md'
LC_ALL=C.UTF-8
export LC_ALL
tmp=$(mktemp)
trap 'rm -f "$tmp" "$tmp".*' EXIT

# The part of the demo with the advice and the comparison.
sh examples/demo.sh "$B" 2>/dev/null | awk '
	/^\$ antiphase (advise|sim compare)/ { on = 1; blank = n++ > 0 }
	/^-- / || /^Against/ { on = 0 }
	!on { next }
	$0 == "" { blank = 1; next }
	{ if (blank) print ""; blank = 0; print }' >"$tmp.demo"

# The eight lines of it in README.md: the jobs and the gain of the advice.
awk '
	/^\$ / && !done { print; next }
	/^JOB / { on = 1 }
	/^\*/ || $0 == "" { on = 0 }
	/^Goodput/ { print; done = 1 }
	on && !done' "$tmp.demo" | sed '/^\$ antiphase sim/d; /^\$/s/ --svg-[^ ]* [^ ]*//g' >"$tmp.advice"

PATH=$(cd "$B" && pwd):$PATH
(
	cd examples
	# shellcheck disable=SC2016  # the quotes are to be printed
	for command in 'links' 'link leaf0:p2>spine0:p0' 'jobs'; do
		verb=${command%% *} link=${command#"$verb"}
		echo "\$ antiphase $verb${link:+ '${link# }'} --from two-jobs.tele --fabric two-jobs-fabric.json"
		antiphase "$verb" ${link:+"${link# }"} --from two-jobs.tele --fabric two-jobs-fabric.json
		[ "$verb" = jobs ] || echo
	done
) >"$tmp.screens"

echo "\$ antiphase explain examples/advised.json 4711" >"$tmp.explain"
antiphase explain examples/advised.json 4711 >>"$tmp.explain"

for page in $pages; do
	awk -v prefix="$tmp" '
		/^<!-- end of [a-z]+ -->/ { skip = 0 }
		!skip { print }
		/^<!-- [a-z]+: written by/ {
			skip = 1
			name = $2
			sub(/:$/, "", name)
			print "```"
			while ((getline line < (prefix "." name)) > 0)
				print line
			print "```"
		}' "$folder/$page" >"$tmp.page"
	cat "$tmp.page" >"$folder/$page"
done
