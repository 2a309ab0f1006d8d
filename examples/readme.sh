#!/bin/sh
# readme.sh - writes the output of the demo into README.md, between its marks; to be
# run from the root of the tree after 'make demo' has changed.
set -eu
tmp=$(mktemp)
trap 'rm -f "$tmp"' EXIT
sh examples/demo.sh build/release 2>/dev/null >"$tmp"
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
	}' README.md >"$tmp.md"
cat "$tmp.md" >README.md
rm -f "$tmp.md"
