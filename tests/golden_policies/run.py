#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py [WORD...] - compares the policies with published and reproduced numbers.

Runs each line of the file 'cases' in this folder (with WORDs, only those whose name
contains a WORD), and compares the results with ../shared/data/golden.  Then runs unit
tests of simulators other than 'antiphase sim replay' (Shockwave's and Gavel's rounds),
and prints a line for each number that they report.  Cases whose data is missing are
listed as skipped.  The last line is "N passed, N failed, N skipped".
"""
import csv
import gzip
import json
import os
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SHARED = os.environ.get("SHARED", os.path.join(ROOT, "..", "shared", "data"))
TRACES, GOLDEN = os.path.join(SHARED, "traces"), os.path.join(SHARED, "golden")
SIM = os.path.join(ROOT, os.environ.get("B", "build/release"), "antiphase-sim")
# The numbers that a case may compare: {name: (our key, column of the golden numbers)}.
NUMBERS = {"mean": ("mean_s", "avg_jct_s"), "makespan": ("makespan_s", "makespan_s"),
           "p99": ("p99_s", "p99_jct_s"), "preemptions": ("n_preemptions", "preemptions")}
LIMIT_S = 300
UNITS = ("shockwave", "gavel")


class Missing(Exception):
    """Required data is missing."""


def cases():
    for number, line in enumerate(open(os.path.join(HERE, "cases"), encoding="utf-8"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.rstrip("\n").split("|")
        if len(fields) != 6:
            sys.exit(f"cases:{number}: {len(fields)} fields, expected 6")
        yield fields


def golden_row(key):
    """Returns the row whose source, trace and policy start with those of 'key'.  A row
    whose trace is equal takes precedence over one whose trace is longer."""
    path = os.path.join(GOLDEN, "golden_numbers.csv")
    if not os.path.exists(path):
        raise Missing("golden_numbers.csv")
    source, trace, policy = key.split(";")
    rows = [row for row in csv.DictReader(open(path, encoding="utf-8"))
            if row["source"].startswith(source) and row["policy"].startswith(policy)
            and row["trace"].startswith(trace)]
    exact = [row for row in rows if row["trace"] == trace]
    rows = exact or rows
    if len(rows) != 1:
        raise ValueError(f"{len(rows)} golden rows for '{key}'")
    return rows[0]


def tolerances(text):
    if "=" not in text:
        return dict.fromkeys(NUMBERS, float(text))
    return {name: float(value) for name, value in
            (part.split("=") for part in text.split(","))}


def compare_numbers(got, row, tolerance):
    """Returns the differences, and how many numbers were compared."""
    wrong, n = [], 0
    for name, limit in tolerances(tolerance).items():
        ours, column = NUMBERS[name]
        if row[column] == "":
            continue
        want, have = float(row[column]), got[ours]
        n += 1
        if have is None or abs(have - want) > limit * max(abs(want), 1):
            wrong.append(f"{name} {have}, expected {want} within {limit:g}")
    return wrong, n


def per_job(path):
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as file:
        rows = [line for line in file if not line.startswith("#")]
    return {row["job_id"]: row for row in csv.DictReader(rows)}


def compare_jobs(ours_path, name, tolerance):
    path = os.path.join(GOLDEN, "perjob", name)
    if not os.path.exists(path):
        raise Missing(name)
    ours, theirs = per_job(ours_path), per_job(path)
    limit = tolerances(tolerance)["mean"]
    # Muri's simulator does not count preemptions: its column is always 0.
    columns = [("start_s", "start"), ("end_s", "end")]
    if not name.startswith("muri"):
        columns.append(("preempted", "preempt"))
    wrong = [f"{len(ours)} jobs, expected {len(theirs)}"] if ours.keys() != theirs.keys() else []
    for job, want in theirs.items():
        have = ours.get(job)
        if not have:
            continue
        for key, column in columns:
            if abs(float(have[key]) - float(want[column])) > limit * max(1, float(want[column])):
                wrong.append(f"job {job}: {key} {have[key]}, expected {want[column]}")
    return wrong[:5]


def run(trace, options, key, tolerance, jobs, tmp):
    path = os.path.join(TRACES, trace)
    if not os.path.exists(path.split(":")[0]):
        raise Missing(trace.split(":")[0])
    row = golden_row(key)
    out = os.path.join(tmp, "jobs.csv")
    done = subprocess.run([SIM, "replay", path, "--json", "--csv", out,
                           *(word.replace("TRACES", TRACES) for word in shlex.split(options))],
                          capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if done.returncode != 0:
        return [f"exit status {done.returncode}: {done.stderr.strip()}"], ""
    got = json.loads(done.stdout)["policies"][0]
    wrong, n = compare_numbers(got, row, tolerance)
    if got["n_done"] != int(row["n_jobs"]):
        wrong.append(f"{got['n_done']} jobs done, expected {row['n_jobs']}")
    if jobs != "-":
        wrong += compare_jobs(out, jobs, tolerance)
    said = f"mean {got['mean_s']:.6f} s; {n} numbers"
    return wrong, said + (", each job" if jobs != "-" else "")


def run_unit(name):
    """Runs a unit test; returns (verdict, text) for each number it reports."""
    done = subprocess.run([os.path.join(os.path.dirname(SIM), "tests/unit/test_" + name)],
                          capture_output=True, text=True, timeout=LIMIT_S, check=False,
                          cwd=ROOT)
    told = (done.stdout + done.stderr).splitlines()
    lines = [line for line in told if line and not line.startswith("[")]
    if done.returncode != 0:
        return [("FAIL", line) for line in lines + ["it failed"]]
    if any(line.startswith("[  SKIPPED") for line in told):
        return [("SKIP", "needs ../shared/data")]
    return [("PASS", line) for line in lines]


def main():
    n = {"PASS": 0, "FAIL": 0, "SKIP": 0}
    with tempfile.TemporaryDirectory() as tmp:
        for name, trace, options, key, tolerance, jobs in cases():
            if sys.argv[1:] and not any(word in name for word in sys.argv[1:]):
                continue
            try:
                wrong, said = run(trace, options, key, tolerance, jobs, tmp)
                verdict = "FAIL" if wrong else "PASS"
            except Missing as missing:
                verdict, wrong, said = "SKIP", [], f"needs ../shared/data: {missing}"
            except (ValueError, subprocess.TimeoutExpired) as error:
                verdict, wrong, said = "FAIL", [str(error)], ""
            n[verdict] += 1
            print(f"{verdict} {name}" + (f": {said}" if said else ""), flush=True)
            for line in wrong:
                print(f"       {line}")
    for name in UNITS:
        if sys.argv[1:] and not any(word in name for word in sys.argv[1:]):
            continue
        for verdict, said in run_unit(name):
            n[verdict] += 1
            print(f"{verdict} {name} {said.replace(TRACES, '').strip()}", flush=True)
    print(f"{n['PASS']} passed, {n['FAIL']} failed, {n['SKIP']} skipped")
    return n["FAIL"] > 0


if __name__ == "__main__":
    sys.exit(main())
