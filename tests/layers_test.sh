#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# layers_test.sh - the include direction holds, and the check detects violations.
set -u
if sh tests/layers.sh; then
	echo "PASS layers: the tree keeps the include direction"
else
	echo "FAIL layers: the tree breaks the include direction"
fi

# Checks a tree of one file with one include, and compares the verdict.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/tests"
cp tests/layers.sh "$tmp/tests"
verdict() {
	wanted=$1 file=$2 line=$3
	mkdir -p "$tmp/$(dirname "$file")"
	printf '%s\n' "$line" >"$tmp/$file"
	got=kept
	(cd "$tmp" && sh tests/layers.sh) >"$tmp/out" 2>&1 || got=refused
	if [ "$got" = refused ] && ! grep -q "^$file may not include" "$tmp/out"; then
		got="refused without saying where"
	fi
	rm "$tmp/$file"
	if [ "$got" = "$wanted" ]; then
		echo "PASS layers: $file: $line: $wanted"
	else
		echo "FAIL layers: $file: $line: $got, expected $wanted"
	fi
}
verdict kept lib/base/x.c '#include "lib/base/y.h"'
verdict kept engine/x.c '#include "topology/topo.h"'
verdict kept scheduler/core/x.c '#include "engine/engine.h"'
verdict kept sim/x.c '#include "scheduler/core/advise/advise.h"'
verdict refused lib/base/x.c '#include "topology/topo.h"'
verdict refused topology/x.h '#include "engine/engine.h"'
verdict refused engine/x.c '#include "scheduler/core/profile/profile.h"'
verdict refused engine/x.c '#include "lib/wire/bus.h"'
verdict refused scheduler/core/x.c '#include "sim/scenario.h"'
verdict refused scheduler/x.c '#include "engine/engine.h"'
verdict refused sim/x.c '#include "cli/verbs.h"'
verdict refused lib/base/x.c '	# include "../../topology/topo.h"'
verdict refused topology/x.c '#include "topo.h"'
