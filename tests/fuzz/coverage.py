#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""coverage.py REPLAY... - how many lines of its sources each fuzz target's inputs reach

Each program replays the target's seeds, its kept crashers, and the corpus of 'make fuzz
HOURS=N' (build/fuzz/corpus) where there is one.  The sources are in tests/fuzz/sources.
Prints a table in Markdown; exit status 1 if a target has no line there, or fails.
"""
import json
import os
import subprocess
import sys
import tempfile

LLVM = "14"


def sources():
    with open("tests/fuzz/sources", encoding="ascii") as lines:
        rows = [line.split() for line in lines if not line.startswith("#")]
    return {row[0]: row[1:] for row in rows}


def inputs_in(folder):
    if not os.path.isdir(folder):
        return []
    return sorted(f"{folder}/{file}" for file in os.listdir(folder))


def lines_of(replay, files, inputs, folder):
    """Lines of 'files' that the inputs reach, and all that have code."""
    raw, merged = f"{folder}/raw", f"{folder}/merged"
    subprocess.run([replay, *inputs], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, env={**os.environ, "LLVM_PROFILE_FILE": raw})
    subprocess.run([f"llvm-profdata-{LLVM}", "merge", "-sparse", raw, "-o", merged], check=True)
    report = subprocess.run([f"llvm-cov-{LLVM}", "export", "-summary-only",
                             f"-instr-profile={merged}", replay, *files],
                            check=True, capture_output=True)
    total = json.loads(report.stdout)["data"][0]["totals"]["lines"]
    return total["covered"], total["count"]


def main():
    of = sources()
    failed = False
    print("| target | seeds | corpus | lines reached | of | share | sources |")
    print("|---|---|---|---|---|---|---|")
    for replay in sys.argv[1:]:
        name = os.path.basename(replay).removeprefix("replay_")
        seeds = inputs_in(f"tests/fuzz/seeds/{name}") + inputs_in(f"tests/fuzz/regress/{name}")
        corpus = inputs_in(f"build/fuzz/corpus/{name}")
        try:
            with tempfile.TemporaryDirectory() as folder:
                covered, n = lines_of(replay, of[name], seeds + corpus, folder)
        except (KeyError, subprocess.CalledProcessError) as error:
            print(f"{name}: {error!r}", file=sys.stderr)
            failed = True
            continue
        files = ", ".join(f"`{file}`" for file in of[name])
        print(f"| `{name}` | {len(seeds)} | {len(corpus)} | {covered} | {n} | "
              f"{100 * covered / max(n, 1):.0f} % | {files} |", flush=True)
    return 1 if failed else 0


sys.exit(main())
