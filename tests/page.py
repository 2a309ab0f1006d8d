#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""page.py - tests of what the web page gets from antiphase-scheduler.

Frames are made by hand, so that they may have what the simulator never sends: reports of
pacers, long names, links that come and go.  Answers are compared with docs/openapi.json.
Prints PASS and FAIL lines for tests/run.
"""
import json
import os
import shutil
import sqlite3
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.getcwd(), "tests/hostile"))
import api  # noqa: E402
from api import LOG_KIND, ROOT, RUNNING, Daemon, check_answer  # noqa: E402
from frames import Host  # noqa: E402
from zmtp import Publisher  # noqa: E402

MS = 1000000


def verdict(is_good, what, why=""):
    print(("PASS" if is_good else "FAIL") + " page: " + what, flush=True)
    if not is_good:
        print(why, file=sys.stderr)


def get(daemon, path):
    return json.loads(daemon.ask("GET", path)[2])


def wait_until(what, seconds=20):
    until = time.monotonic() + seconds
    while time.monotonic() < until and not what():
        time.sleep(0.1)
    return what()


class Lab:
    """A daemon in a folder of its own, and the bus that it hears."""

    def __init__(self, parent, *options):
        self.folder = tempfile.mkdtemp(prefix="page-", dir=parent)
        with open(self.folder + "/token", "w", encoding="utf-8") as token:
            token.write(api.TOKEN + "\n")
        self.bus = Publisher(self.folder + "/bus")
        self.daemon = Daemon(self.folder, *options)
        self.bus.meet()

    def end(self):
        self.daemon.end()
        self.bus.at.close()
        self.bus.peer.close()


# ---- Iterations ----------------------------------------------------------------------

def log_actions(folder, job, at_us):
    """As the daemon does: what was asked, then what came of it."""
    with sqlite3.connect(folder + "/history.db", timeout=10) as db:
        for i, (state, nodes) in enumerate((("asked", "h[0-1]"), ("done", "h[0-1]"),
                                            ("asked", None), ("failed", None))):
            line = {"at_us": at_us + i, "job": job, "action": "unpin" if i > 1 else "place", "state": state,
                    "reason": "placed", "text": "it has an advised place", "nodes": nodes, "record": None,
                    "error": "scontrol: no such job" if state == "failed" else None}
            db.execute("INSERT INTO history (kind, key, at, json) VALUES (?, ?, ?, ?)",
                       (LOG_KIND, job, at_us + i, json.dumps(line)))


def check_iterations(doc, parent):
    """A pacer's reports become the history of the job, whatever its length."""
    lab = Lab(parent)
    host = Host("h0", "p0", "name/with slash")
    path = "/api/v1/jobs/name%2Fwith%20slash/iterations"
    operation = doc["paths"]["/api/v1/jobs/{name}/iterations"]["get"]
    host.wall_ns = time.time_ns() - time.monotonic_ns()
    begin, times = time.monotonic_ns() - 200 * 1000 * MS, []
    for i in range(700):
        times.append((begin + host.wall_ns, 250 * MS + i * MS // 10))
        lab.bus.send(*host.iteration(begin, i + 1, 80 * MS))
        begin += times[-1][1]
    wanted = [{"at_us": at // 1000, "duration_us": (times[i + 1][0] // 1000 - at // 1000)}
              for i, (at, _) in enumerate(times[:-1])][-512:]
    wait_until(lambda: get(lab.daemon, path).get("iterations", [{}])[-1:] == wanted[-1:])
    answer = lab.daemon.ask("GET", path)
    found = check_answer(doc, operation, answer, path)
    got = json.loads(answer[2])
    off = [(a, b) for a, b in zip(got["iterations"], wanted)
           if abs(a["at_us"] - b["at_us"]) > 1 or abs(a["duration_us"] - b["duration_us"]) > 1]
    verdict(not found and not off and len(got["iterations"]) == 512 and got["source"] == "pacer" and
            got["moments"] == [] and got["job"] == "name/with slash",
            "the last 512 iterations of a job", repr((found, off[:3], str(got)[:300])))
    log_actions(lab.folder, "name/with slash", 1795227000000000)
    got = get(lab.daemon, path)["moments"]
    verdict(got == [{"at_us": 1795227000000001, "kind": "action",
                     "text": "place on h[0-1]: it has an advised place"},
                    {"at_us": 1795227000000003, "kind": "action",
                     "text": "unpin failed: scontrol: no such job"}],
            "what was done at the cluster's scheduler is beside them", repr(got))
    verdict(lab.daemon.ask("GET", "/api/v1/jobs/none/iterations")[0] == 404 and
            lab.daemon.ask("GET", "/api/v1/jobs//iterations")[0] == 404,
            "an unknown job has no iterations")
    lab.end()


def main():
    with open(os.path.join(ROOT, "docs/openapi.json"), encoding="utf-8") as file:
        doc = json.load(file)
    folder = tempfile.mkdtemp(prefix="ap-page-")
    try:
        check_iterations(doc, folder)
    finally:
        for process in RUNNING:
            process.kill()
            process.wait()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
