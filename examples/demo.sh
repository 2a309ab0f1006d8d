#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# demo.sh BUILD - from a real capture to advice and its gain: the main use of
# antiphase in one run.  BUILD is the folder with the programs; the demo writes
# to build/demo only.  Every figure is computed in the run.
set -eu
B=${1:?the build directory}
case $B in /*) ;; *) B=$PWD/$B ;; esac
PATH=$B:$PATH
here=$(dirname "$0")
out=build/demo
rm -rf "$out"
mkdir -p "$out"
cp "$here/mpi-4rank-16MB.csv.xz" "$here/demo.ini" "$out"
cd "$out"

say() {
	printf '\n%s\n' "-- $*"
}

run() {
	printf '$ %s\n' "$*"
	"$@"
}

say "1. The profile of a job: a capture of a real MPI program, 1 ms byte counts of 4 hosts"
run antiphase profile mpi-4rank-16MB.csv.xz
antiphase profile mpi-4rank-16MB.csv.xz --json >captured.json

say "2. A fabric: 24 servers, 50 Gb/s, leaf-spine, 2:1 oversubscribed"
run antiphase topology generate leaf-spine --leaves 6 --hosts-per-leaf 4 --gbps 50 \
	--oversubscription 2:1 -o fabric.json
run antiphase topology show fabric.json

say "3. Advice: where the jobs should run, and how far to shift them (demo.ini: some run, some wait)"
run antiphase advise --fabric fabric.json --jobs demo.ini \
	--svg-before circle-before.svg --svg-after circle-after.svg

say "4. Why"
run antiphase explain --fabric fabric.json --jobs demo.ini gpt2

say "5. The gain: fair sharing, CASSINI and antiphase, over ten seeds"
run antiphase sim compare demo.ini --policies fair,cassini,antiphase:once,antiphase --seeds 1..10

say "The circle of the worst link, before and after: $out/circle-before.svg, $out/circle-after.svg"
