#!/bin/sh
# readme.sh BUILD [README] - writes the output of the demo into README.md, between its
# marks; to be run from the root of the tree after what 'make demo' prints has changed.
# 'make golden-accept' runs it, too, and a test says when it is due.
set -eu
B=${1:?the build directory}
readme=${2:-README.md}
LC_ALL=C.UTF-8
export LC_ALL
tmp=$(mktemp)
trap 'rm -f "$tmp"' EXIT
sh examples/demo.sh "$B" 2>/dev/null >"$tmp"
awk -v demo="$tmp" '
	/^<!-- end of demo/ { skip = 0 }
	!skip { print }
	/^<!-- demo:/ {
		skip = 1
		print "```"
		while ((getline line < demo) > 0) {
			if (line ~ /^\$ antiphase (advise|sim compare)/) { on = 1; blank = n++ > 0 }
			if (line ~ /^-- / || line ~ /^Against/) on = 0
			if (!on) continue
			if (line == "") { blank = 1; continue }
			if (blank) print ""
			blank = 0
			print line
		}
		print "```"
	}' "$readme" >"$tmp.md"
cat "$tmp.md" >"$readme"
rm -f "$tmp.md"
