#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# externs.sh - lists global symbols of the products that should not be global, from the
# objects in B: symbols that at most their own file uses (they should be static, or are
# dead), and symbols that only tests use, unless externs_allowed names them as the
# tested interface of a module.  Exit status 1 if there are any.
set -eu
B=${B:?the build directory}
allowed=$(dirname "$0")/externs_allowed
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# "SYMBOL FILE" for symbols defined ($2 = d) or used ($2 = u) by existing sources.
symbols() {
	while IFS= read -r source; do
		for object in "$B/${source%.c}.o" "$B/pic/${source%.c}.o"; do
			[ ! -f "$object" ] || echo "$object"
		done
	done | xargs nm -A -g -p >"$tmp/nm" 2>/dev/null || :
	awk -v B="$B/" -v what="$1" '
		{ split($1, at, ".o:"); file = substr(at[1], length(B) + 1); sub(/^pic\//, "", file)
		  type = NF == 2 ? $1 : $(NF - 1); sub(/.*:/, "", type)
		  if ((type == "U" || type == "w") == (what == "u")) print $NF, file }' "$tmp/nm" |
		sort -u
}

find bpf lib topology collector engine scheduler policies cli pacer sim -name '*.c' >"$tmp/products"
symbols d <"$tmp/products" >"$tmp/defined"
symbols u <"$tmp/products" >"$tmp/used"
find tests -name '*.[ch]' -exec grep -ohE '[A-Za-z_][A-Za-z0-9_]*' {} + | sort -u >"$tmp/tested"

# Entry points, called by a loader or another program, are visible in libraries.
find "$B" -maxdepth 1 -name '*.so*' ! -name '*.d' -exec nm -D --defined-only {} + |
	awk 'NF == 3 { sub(/@.*/, "", $3); print $3 }' >"$tmp/entries"

awk -v entries="$tmp/entries" -v used="$tmp/used" -v tested="$tmp/tested" -v allowed="$allowed" '
	BEGIN {
		entry["main"] = 1
		while ((getline line <entries) > 0) entry[line] = 1
		while ((getline line <allowed) > 0)
			if (line !~ /^#/ && split(line, f, " ")) ok[f[1]] = 1
		while ((getline line <used) > 0) { split(line, f, " "); by_product[f[1]] = 1 }
		while ((getline line <tested) > 0) by_test[line] = 1
	}
	by_product[$1] || entry[$1] { next }
	by_test[$1] { if ($1 in ok) seen[$1] = 1; else print $2 ".c: only tests use " $1; next }
	{ print $2 ".c: nothing but this file uses " $1 }
	END { for (name in ok) if (!seen[name]) print "externs_allowed: " name " is not needed" }
' "$tmp/defined" | sort >"$tmp/found"
[ -s "$tmp/defined" ] || echo "externs: no objects in $B" >"$tmp/found"
cat "$tmp/found"
[ ! -s "$tmp/found" ]
