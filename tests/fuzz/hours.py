#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hours.py HOURS FUZZER... - all libFuzzer targets in turn, for HOURS of one processor

Every target gets an equal share of CPU time, in slices of at most a minute, so that each
has run for some time whenever this is ended: the next slice goes to the target that has
had least.  Ended by a signal, the next call goes on; after the last slice, the next call
begins anew.

    build/fuzz/hours/results       a line a slice; 'hours.py --sums' prints their sums
    build/fuzz/corpus/NAME/        inputs that add coverage, for the next slices and runs
    build/fuzz/crashes/NAME/       crashers, and inputs that take long or much memory
    build/fuzz/hours/NAME.log      the last slice

Crashers are not put into tests/fuzz/regress/ by themselves: an input goes there when it
is understood and small.  Until its folder of crashers is removed, a target rests.  The
last line is the sum; exit status 1 if there are crashers, 130 after a signal.
"""
import os
import re
import signal
import subprocess
import sys

OUT = "build/fuzz/hours"
RESULTS = OUT + "/results"
CORPUS = "build/fuzz/corpus"
CRASHES = "build/fuzz/crashes"
SLICE_S = 60
MIN_S = 0.5  # A slice counts as at least that, so that a target that cannot start ends.
TIMEOUT_S = 60  # For one input; of the wall clock, on a busy machine.
RSS_MB = 2048

running = None
is_ended = False


def end(_signal, _frame):
    global is_ended
    is_ended = True
    if running:
        running.terminate()


def name_of(fuzzer):
    return os.path.basename(fuzzer).removeprefix("fuzz_")


def folders_of(name):
    parts = (f"tests/fuzz/{part}/{name}" for part in ("seeds", "regress"))
    return [folder for folder in parts if os.path.isdir(folder)]


def crashers_of(name):
    folder = f"{CRASHES}/{name}"
    return os.listdir(folder) if os.path.isdir(folder) else []


def run_slice(fuzzer, seconds):
    """Runs one target and adds a line to the results: name, wall and CPU seconds,
    executions, coverage before and after."""
    global running
    name = name_of(fuzzer)
    corpus, crashes, log = f"{CORPUS}/{name}", f"{CRASHES}/{name}", f"{OUT}/{name}.log"
    os.makedirs(corpus, exist_ok=True)
    os.makedirs(crashes, exist_ok=True)
    folders = folders_of(name)
    longest = max((os.path.getsize(f"{folder}/{file}") for folder in folders
                   for file in os.listdir(folder)), default=0)
    command = [fuzzer, f"-max_total_time={seconds}", f"-max_len={max(longest, 4096)}",
               f"-timeout={TIMEOUT_S}", f"-report_slow_units={TIMEOUT_S}",
               f"-rss_limit_mb={RSS_MB}", "-print_final_stats=1",
               f"-artifact_prefix={crashes}/", corpus, *folders]
    with open(log, "wb") as out:
        running = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        if is_ended:  # The signal came just before.
            running.terminate()
        _, _, usage = os.wait4(running.pid, 0)
        running.returncode = 0
        running = None
    with open(log, encoding="utf-8", errors="replace") as text:
        text = text.read()
    if not os.listdir(crashes):
        os.rmdir(crashes)
    executed = re.search(r"^stat::number_of_executed_units: *(\d+)", text, re.M)
    covered = re.findall(r"^#\d+\s.*\bcov: (\d+)", text, re.M) or ["0"]
    with open(RESULTS, "a", encoding="ascii") as results:
        print(name, seconds, round(usage.ru_utime + usage.ru_stime, 1),
              executed[1] if executed else 0, covered[0], covered[-1], file=results)


def read_results():
    """By name: CPU seconds, executions, coverage at first and at last."""
    sums = {}
    try:
        with open(RESULTS, encoding="ascii") as results:
            lines = results.read().splitlines()
    except FileNotFoundError:
        lines = []
    for line in lines:
        name, *rest = line.split()
        _, cpu_s, executed, before, after = map(float, rest)
        one = sums.setdefault(name, [0, 0, before, 0])
        one[0] += max(cpu_s, MIN_S)
        one[1] += executed
        one[3] = max(after, one[3])
    return sums


def print_sums():
    sums = read_results()
    print(f"{'TARGET':<20} {'CPU s':>7} {'EXECUTIONS':>12} {'PER s':>8} "
          f"{'COVERAGE':>8} {'NEW':>6} {'CRASHES':>7}")
    for name, (cpu_s, executed, before, after) in sorted(sums.items()):
        print(f"{name:<20} {cpu_s:>7.0f} {executed:>12.0f} {executed / max(cpu_s, 0.1):>8.0f} "
              f"{after:>8.0f} {after - before:>6.0f} {len(crashers_of(name)):>7}")
    n_crashers = sum(len(crashers_of(name)) for name in sums)
    cpu_s = sum(one[0] for one in sums.values())
    executed = sum(one[1] for one in sums.values())
    print(f"{len(sums)} targets, {cpu_s / 3600:.2f} hours of a processor, "
          f"{executed:.0f} executions, {n_crashers} crashers")
    return n_crashers


def main():
    if sys.argv[1:] == ["--sums"]:
        return 1 if print_sums() else 0
    hours, fuzzers = float(sys.argv[1]), sys.argv[2:]
    share_s = hours * 3600 / len(fuzzers)
    os.makedirs(OUT, exist_ok=True)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    while not is_ended:
        had_s = {name: one[0] for name, one in read_results().items()}
        left = [fuzzer for fuzzer in fuzzers if not crashers_of(name_of(fuzzer))
                and had_s.get(name_of(fuzzer), 0) < share_s - MIN_S]
        if not left:
            break
        fuzzer = min(left, key=lambda one: had_s.get(name_of(one), 0))
        left_s = share_s - had_s.get(name_of(fuzzer), 0)
        run_slice(fuzzer, max(1, round(min(SLICE_S, left_s))))
    n_crashers = print_sums()
    if is_ended:
        return 130
    os.replace(RESULTS, RESULTS + ".last")
    return 1 if n_crashers else 0


sys.exit(main())
