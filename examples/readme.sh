#!/bin/sh
# readme.sh BUILD [README] - writes the output of the demo and of the screens into
# README.md, between their marks; to be run from the root of the tree after what they
# print has changed.  'make golden-accept' runs it, too, and a test says when it is due.
set -eu
B=${1:?the build directory}
readme=${2:-README.md}
LC_ALL=C.UTF-8
export LC_ALL
tmp=$(mktemp)
trap 'rm -f "$tmp" "$tmp".*' EXIT

# Of the demo, what it advises and what it compares.
sh examples/demo.sh "$B" 2>/dev/null | awk '
	/^\$ antiphase (advise|sim compare)/ { on = 1; blank = n++ > 0 }
	/^-- / || /^Against/ { on = 0 }
	!on { next }
	$0 == "" { blank = 1; next }
	{ if (blank) print ""; blank = 0; print }' >"$tmp.demo"

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

awk -v prefix="$tmp" '
	/^<!-- end of (demo|screens)/ { skip = 0 }
	!skip { print }
	/^<!-- (demo|screens):/ {
		skip = 1
		name = $2
		sub(/:$/, "", name)
		print "```"
		while ((getline line < (prefix "." name)) > 0)
			print line
		print "```"
	}' "$readme" >"$tmp.md"
cat "$tmp.md" >"$readme"
