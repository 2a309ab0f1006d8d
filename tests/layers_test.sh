#!/bin/sh
# layers_test.sh - the include direction holds, and the check would notice if not.
set -u
if sh tests/layers.sh; then
	echo "PASS layers: the tree keeps the include direction"
else
	echo "FAIL layers: the tree breaks the include direction"
fi

# A tree with one include against the arrow.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/lib/base" "$tmp/tests"
cp tests/layers.sh "$tmp/tests"
echo '#include "topology/topo.h"' >"$tmp/lib/base/bad.c"
if (cd "$tmp" && sh tests/layers.sh) >/dev/null 2>&1; then
	echo "FAIL layers: an include against the arrow goes unnoticed"
else
	echo "PASS layers: an include against the arrow is noticed"
fi
