#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dashboards.py - tests of docs/dashboards.

Checks that docs/metrics.md or docs/api.md documents every metric that a panel or an
alert uses, that promtool accepts the rules, and that each alert fires when it should
and only then; and that docs/runbook.md has a section for each alert.  Prints PASS, FAIL and SKIP lines for tests/run.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

FOLDER = "docs/dashboards"
RULES = os.path.abspath(FOLDER + "/alerts.yml")
RUNBOOK = "docs/runbook.md"
NAME = re.compile(r"\b(?:antiphase|process)_[a-z0-9_]+\b")
HISTOGRAM = re.compile(r"_(bucket|sum|count)$")


def verdict(is_good, what, why=""):
    print(("PASS" if is_good else "FAIL") + " dashboards: " + what, flush=True)
    if not is_good:
        print(why, file=sys.stderr)


def documented():
    """Returns the names of all documented metrics, and those of histograms."""
    names, histograms = set(), set()
    for path in ("docs/metrics.md", "docs/api.md"):
        for line in open(path, encoding="utf-8"):
            found = re.match(r"\| `([a-z0-9_]+)` \| (\w+) \|", line)
            if found:
                names.add(found.group(1))
                if found.group(2) == "histogram":
                    histograms.add(found.group(1))
    return names, histograms


def unknown(expression, names, histograms):
    missing = []
    for name in NAME.findall(expression):
        base = HISTOGRAM.sub("", name)
        if name not in names - histograms and base not in histograms:
            if not name.startswith("process_"):
                missing.append(name)
    return missing


def check_dashboard(path, names, histograms):
    board = json.load(open(path, encoding="utf-8"))
    texts = [t["expr"] for panel in board["panels"] for t in panel["targets"]]
    texts += [v["query"] for v in board["templating"]["list"]]
    missing = [name for text in texts for name in unknown(text, names, histograms)]
    asked = [text for text in texts if NAME.search(text)]
    verdict(not missing and len(asked) >= 5,
            "%s asks for figures that there are" % os.path.basename(path), repr(missing))
    ids = [panel["id"] for panel in board["panels"]]
    verdict(len(set(ids)) == len(ids) and board["uid"].startswith("antiphase-"),
            "%s has panels of their own" % os.path.basename(path), repr(ids))


# For each alert: its metric, a bad and a good value, and the labels.
CASES = [
    ("AntiphaseLinkContended", ['antiphase_scheduler_link_over_ratio{link="a>b"}'], "0.2+0x40",
     "0.01+0x40"),
    ("AntiphaseTelemetryStale", ['antiphase_scheduler_telemetry_age_seconds{host="h1"}'],
     "60+15x40", "1+0x40"),
    ("AntiphaseClockOff", ["antiphase_scheduler_hosts_clock_off"], "1+0x40", "0+0x40"),
    ("AntiphaseShiftDrift", ['antiphase_scheduler_job_shift_error_seconds{job="7"}'], "0.05+0x40",
     "0.01+0x40"),
    ("AntiphaseEventsLost", ["antiphase_collector_lost_total"], "0+1x40", "7+0x40"),
    ("AntiphaseEventsLost", ['antiphase_scheduler_telemetry_gaps_total{host="h1"}'], "0+1x40",
     "7+0x40"),
    ("AntiphaseStoreFailing", ["antiphase_scheduler_store_failing"], "1+0x40", "0+0x40"),
    ("AntiphaseStoreFailing", ["antiphase_scheduler_store_errors_total"], "0+1x40", "7+0x40"),
]


def run_rules(folder, alert, series, values):
    """Returns how many instances of the alert fire after ten minutes of the values."""
    rows = [(name, values) for name in series]
    rows.append(('antiphase_scheduler_job_period_seconds{job="7"}', "0.2+0x40"))
    text = "rule_files: [%s]\nevaluation_interval: 15s\ntests:\n" % json.dumps(RULES)
    text += "  - interval: 15s\n    input_series:\n"
    for name, value in rows:
        text += "      - series: %s\n        values: %s\n" % (json.dumps(name), value)
    text += "    promql_expr_test:\n      - expr: %s\n        eval_time: 10m\n" % json.dumps(
        'count(ALERTS{alertname="%s", alertstate="firing"}) or vector(0)' % alert)
    text += "        exp_samples:\n          - labels: '{}'\n            value: %d\n"
    path = folder + "/test.yml"
    for n in (0, 1):
        with open(path, "w", encoding="utf-8") as out:
            out.write(text % n)
        if subprocess.run(["promtool", "test", "rules", path], capture_output=True,
                          check=False).returncode == 0:
            return n
    return None


def check_rules(names, histograms):
    text = open(RULES, encoding="utf-8").read()
    expressions = "\n".join(line for line in text.splitlines()
                            if "expr:" in line or "increase(" in line)
    missing = unknown(expressions, names, histograms)
    verdict(not missing and len(NAME.findall(expressions)) >= 6,
            "alerts ask for figures that there are", repr(missing))
    if not shutil.which("promtool"):
        print("SKIP dashboards: promtool check rules: there is no promtool")
        return
    done = subprocess.run(["promtool", "check", "rules", RULES], capture_output=True,
                          check=False)
    verdict(done.returncode == 0 and b"6 rules found" in done.stdout,
            "promtool check rules", (done.stdout + done.stderr).decode())
    folder = tempfile.mkdtemp(prefix="ap-rules-")
    try:
        for alert, series, bad, good in CASES:
            fired = run_rules(folder, alert, series, bad)
            quiet = run_rules(folder, alert, series, good)
            verdict(fired == 1 and quiet == 0, "%s fires for %s, and only then" %
                    (alert, series[0].split("{")[0]), repr((fired, quiet)))
    finally:
        shutil.rmtree(folder)


def check_runbook():
    """Each alert has a section of its name, with what it means and what to do."""
    text = open(RUNBOOK, encoding="utf-8").read()
    alerts = re.findall(r"^ *- alert: (\S+)$", open(RULES, encoding="utf-8").read(), re.M)
    sections = dict(re.findall(r"^## (Antiphase\S+)\n(.*?)(?=^## |\Z)", text, re.M | re.S))
    named = re.findall(r"^## (Antiphase\S+)$", text, re.M)
    verdict(len(alerts) >= 6 and named == alerts,
            "the runbook has the alerts, in their order", repr((alerts, named)))
    thin = [name for name, body in sections.items()
            if "**Means.**" not in body or not re.search(r"\*\*Do\.\*\*\n\n1\. ", body)]
    verdict(sections and not thin, "each says what it means and what to do", repr(thin))


def main():
    names, histograms = documented()
    boards = sorted(glob.glob(FOLDER + "/*.json"))
    verdict(len(boards) == 4, "there are four", repr(boards))
    for path in boards:
        check_dashboard(path, names, histograms)
    check_runbook()
    check_rules(names, histograms)


main()
