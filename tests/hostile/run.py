#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py [PART...] - whoever talks to antiphase-scheduler and antiphase-collector talks badly.

Every socket of theirs, one after another: HTTP; the bus that frames come by; the service
that is asked for the fabric; what is announced; control; the pacers' socket, and orders
for them.  What comes is noise, damage, too much, too many, too slow, or nothing at all.
After each the daemon still serves, has said so in some lines and not in thousands, and is
not much larger than before.  Prints PASS and FAIL lines for tests/run.
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
                     check_collector):
            if len(sys.argv) < 2 or part.__name__ in sys.argv[1:]:
                part(folder)
    finally:
        for process in RUNNING:
            process.kill()
            process.wait()
        shutil.rmtree(folder)


main()
