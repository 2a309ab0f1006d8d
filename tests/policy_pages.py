#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""policy_pages.py - tests of docs/policies.

Each policy of the table must have a row in the index and a page of under 40 lines whose
heading names it.  The pages must agree with the table about rounds and about the
defaults of parameters, and must describe every parameter.

Prints PASS and FAIL lines for tests/run.
"""
import glob
import json
import os
import re
import subprocess
import sys

SIM = os.path.join(os.environ["B"], "antiphase-sim")
FOLDER = "docs/policies"
MAX_LINES = 39
NUMBER = r"-?\d+(?:\.\d+)?(?:e\d+)?"
failed = False


def verdict(why, what):
    global failed
    print("FAIL" if why else "PASS", "policies:", what)
    if why:
        failed = True
        print(what, why, file=sys.stderr)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def check_index(policies):
    """Returns {policy: page}."""
    rows = re.findall(r"^\| `([^`]+)` \| \[([^]]+)\]\(([^)]+)\) \| (.*) \|$",
                      read(FOLDER + "/README.md"), re.M)
    told = [(name, text) for name, _, _, text in rows]
    wanted = [(policy["name"], policy["text"]) for policy in policies]
    verdict([row for row in told + wanted if row not in told or row not in wanted] or
            told != wanted, "the index has a row for each, in the order of the table")
    pages = {name: page for name, _, page, _ in rows}
    there = {os.path.basename(path) for path in glob.glob(FOLDER + "/*.md")} - {"README.md"}
    linked = set(re.findall(r"\]\(([a-z0-9-]+\.md)\)", read(FOLDER + "/README.md")))
    verdict(there ^ linked, "each page is in the index")
    return pages


def check_page(page, policies):
    text = read(os.path.join(FOLDER, page))
    why = []
    if text.count("\n") > MAX_LINES:
        why.append(f"{text.count(chr(10))} lines, at most {MAX_LINES}")
    heading = text.split("\n")[0].lstrip("# ").split(", ")
    why += [f"the heading does not name {policy['name']}" for policy in policies
            if policy["name"] not in heading]
    defaults = {}
    for policy in policies:
        for mechanism in policy["mechanisms"]:
            for parameter in mechanism["parameters"]:
                defaults.setdefault(parameter["name"], set()).add(parameter["default"])
        seconds = policy["round_s"]
        if seconds and f"{seconds:g} s" not in text and \
                not (seconds == 60 and "very minute" in text):
            why.append(f"no word of the {seconds:g} s of {policy['name']}")
    shared = read(FOLDER + "/README.md")
    why += [f"no word of {name}" for name in defaults if f"`{name}`" not in text + shared
            and f"`{name}=" not in text and f"`.{name.split('.')[1]}`" not in text]
    # "`NAME` (VALUE": the default of a parameter.
    for name, value in re.findall(r"`([a-z0-9_-]+\.[a-z0-9_]+)` \((" + NUMBER + r")", text):
        if float(value) not in defaults.get(name, set()):
            why.append(f"{name} is said to be {value}, it is {defaults.get(name)}")
    verdict(why, page)


def main():
    done = subprocess.run([SIM, "policies", "--json"], capture_output=True, text=True,
                          timeout=60, check=True)
    policies = json.loads(done.stdout)["policies"]
    pages = check_index(policies)
    for page in sorted(set(pages.values())):
        if os.path.exists(os.path.join(FOLDER, page)):
            check_page(page, [policy for policy in policies
                              if pages.get(policy["name"]) == page])
    return failed


if __name__ == "__main__":
    sys.exit(main())
