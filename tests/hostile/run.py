#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py [PART...] - sends hostile input to the scheduler and to the collector.

Attacks each of their sockets in turn: HTTP; the bus that carries frames; the topology
service; announcements; control; the pacers' socket; and orders to pacers.  The input is
noise, damaged, too large, too frequent, too slow, or missing.  After each attack, the
daemon must still serve, must have logged a few lines rather than thousands, and must
not have grown much.  Prints PASS and FAIL lines for tests/run.
"""
import os
import shutil
import sys
import tempfile

from common import ROOT, RUNNING, TOKEN, Scheduler, verdict
from killed import check_killed_at_a_change, check_pin_of_the_killed
from on_bus import attack_bus, attack_keys, record_frames
from on_collector import check_collector
from on_control import attack_announcer, attack_control
from on_http import attack_http
from on_subscribers import check_subscribers
from on_topology import attack_topology
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


def main():
    folder = tempfile.mkdtemp(prefix="ap-hostile-")
    try:
        with open(folder + "/token", "w", encoding="utf-8") as token:
            token.write(TOKEN + "\n")
        for part in (check_scheduler, attack_keys, attack_topology,
                     check_killed_at_a_change, check_pin_of_the_killed,
                     check_collector, check_subscribers):
            if len(sys.argv) < 2 or part.__name__ in sys.argv[1:]:
                part(folder)
    finally:
        for process in RUNNING:
            process.kill()
            process.wait()
        shutil.rmtree(folder)


main()
