#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [REVISION] - builds an older revision from git (default: the one in
# tests/upgrade/previous/revision) and runs its programs beside those of this tree:
# see upgrade.py.  Any user; no network but Unix sockets and a loopback port
set -eu
B=${B:?the build directory}
revision=$(git rev-parse --verify --short=12 "${1:-$(cat tests/upgrade/previous/revision)}^{commit}")
old=build/previous/$revision
programs='build/release/antiphase build/release/antiphase-sim build/release/antiphase-collector
	build/release/antiphase-topology build/release/antiphase-scheduler build/release/libantiphase-pacer.so'

if [ ! -e "$old/complete" ]; then
	rm -rf "$old"
	mkdir -p "$old"
	git archive "$revision" | tar x -C "$old"
	# shellcheck disable=SC2086  # words
	make -C "$old" -j2 B=build/release $programs >"$old/build.log" 2>&1 || {
		tail -n 20 "$old/build.log" >&2
		echo "FAIL upgrade: revision $revision builds"
		exit 1
	}
	touch "$old/complete"
fi
exec python3 tests/upgrade/upgrade.py "$old/build/release" "$B" "$revision"
