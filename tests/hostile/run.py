#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py [--full] [--json FILE] [PART...] - sends hostile input to all daemons.

Attacks each of their sockets in turn: HTTP; the bus that carries frames; the topology
service; announcements; control; the sockets of pacers and of collective events; orders.
The input is noise, damaged, too large, too frequent, too slow, forged, or missing.  Each
daemon runs under the limits of its unit (root).  After each attack, the daemon must still
serve, must have logged a few lines rather than thousands, and must not have grown much.

Prints PASS, FAIL and SKIP lines for tests/run, then tables with the figures of each attack.
--full makes attacks longer and more of them; --json writes the rows of the first table.
"""
import argparse
import json
import os
import shutil
import sys
import tempfile

import figures
from common import (FAILED, FORM, GROUPS, ROOT, RUNNING, TOKEN, Scheduler, tell_limits,
                    verdict)
from forged import check_forged
from honest import check_honest
from killed import check_killed_at_a_change, check_pin_of_the_killed
from killed_often import check_killed_often
from on_bus import attack_bus, attack_keys, record_frames
from on_collector import check_collector
from on_control import attack_announcer, attack_control
from on_events import check_events
from on_http import attack_http
from on_subscribers import check_subscribers
from on_topology import attack_topology
from on_topology_daemon import check_topology_daemon
from stepped import check_stepped
from zmtp import Publisher


def check_scheduler(folder):
    frames = record_frames(folder)
    publisher = Publisher(folder + "/bus")
    daemon = Scheduler(folder, "--bus", "ipc://%s/bus" % folder, "--announce",
                       "ipc://%s/announce" % folder, "--topology",
                       os.path.join(ROOT, "examples/two-jobs-fabric.json"))
    attack_bus(daemon, publisher, frames)
    attack_http(daemon)
    attack_announcer(daemon, folder + "/announce")
    attack_control(daemon, folder + "/scheduler.sock")
    rss_kb, n_lines = daemon.rss_kb(), len(daemon.lines())
    verdict(any("http:" in line for line in daemon.lines()), "what HTTP refuses, too")
    verdict(daemon.end() == 0, "it ends when told")
    verdict(TOKEN not in "".join(daemon.lines()), "its token is not in its log")
    print("antiphase-scheduler after all of it: %d kB, %d lines of log" % (rss_kb, n_lines),
          file=sys.stderr)


SHORT = [check_scheduler, attack_keys, attack_topology, check_killed_at_a_change,
         check_pin_of_the_killed, check_collector, check_subscribers, check_events,
         check_forged]
# Of longer attacks, and of shares of a processor that a busy machine does not have.
LONG = [check_honest, check_topology_daemon, check_stepped, check_killed_often]


def run_parts(parts):
    """Runs the parts in a folder of their own."""
    folder = tempfile.mkdtemp(prefix="ap-hostile-")
    try:
        with open(folder + "/token", "w", encoding="utf-8") as token:
            token.write(TOKEN + "\n")
        for part in parts:
            part(folder)
    finally:
        for process in RUNNING:
            process.kill()
            process.wait()
        shutil.rmtree(folder)
        for group in GROUPS:
            group.remove()
    tell_limits()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("part", nargs="*")
    args = parser.parse_args()
    FORM["is_full"] = args.full
    parts = SHORT + LONG if args.full or args.part else SHORT
    run_parts([part for part in parts if not args.part or part.__name__ in args.part])
    figures.print_tables()
    if args.json:
        figures.write_json(args.json)
    sys.exit(1 if FAILED else 0)


main()
