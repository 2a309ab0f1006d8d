#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""reload.py - SIGHUP makes each daemon read its settings again: it logs each difference in
one line, applies what can change while it runs, names what needs a restart, tells systemd,
and keeps all settings when a file has a fault.  What the store keeps is one of these
settings.  Prints PASS and FAIL lines for tests/run.
"""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

ROOT = os.getcwd()
BUILD = os.path.join(ROOT, os.environ["B"])
UNCHANGED = "the settings are unchanged"


def verdict(is_good, what, why=""):
    print(("PASS" if is_good else "FAIL") + " reload: " + what, flush=True)
    if not is_good:
        print(why, file=sys.stderr)


class Daemon:
    """A daemon with a settings file, a log and a socket for what it tells systemd."""

    def __init__(self, folder, words, settings):
        self.name = words[0]
        self.conf = os.path.join(folder, self.name + ".conf")
        self.log = os.path.join(folder, self.name + ".log")
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(os.path.join(folder, self.name + ".notify"))
        self.notify.settimeout(30)
        self.write(settings)
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [os.path.join(BUILD, words[0])] + words[1:] + ["--config", self.conf],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                env=dict(os.environ, NOTIFY_SOCKET=self.notify.getsockname()))
        self.until("READY=1")

    def write(self, settings):
        with open(self.conf, "w", encoding="utf-8") as out:
            out.write(settings)

    def until(self, word):
        """Waits until the daemon tells 'word', a line for systemd."""
        while word not in self.notify.recv(4096).decode().split("\n"):
            pass

    def reload(self, settings):
        """The log of a reload with these settings: its lines without program and level."""
        with open(self.log, encoding="utf-8") as log:
            log.seek(0, os.SEEK_END)
            self.write(settings)
            self.process.send_signal(signal.SIGHUP)
            self.until("RELOADING=1")
            self.until("READY=1")
            return [re.sub(r"^\S+: \S+: \S+: ", "", line) for line in
                    log.read().splitlines()]

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


def check(daemon, before, after, lines, fault, where):
    """Reloads 'after' once for the differences, then a file with a fault, and 'before'."""
    def about_settings(log):
        return [line for line in log if line.startswith("[") or UNCHANGED in line]

    name = daemon.name
    log = about_settings(daemon.reload(before))
    verdict(log == [UNCHANGED], name + ": the same file changes nothing", log)
    log = about_settings(daemon.reload(after))
    verdict(log == lines, name + ": each difference is a line, with what needs a restart",
            log)
    log = about_settings(daemon.reload(fault))
    verdict(len(log) == 1 and log[0].startswith("%s:%s" % (daemon.conf, where)) and
            log[0].endswith("; " + UNCHANGED), name + ": a fault is a line with its place",
            log)
    log = about_settings(daemon.reload(after))
    needs = [line for line in lines if line.endswith("restart")]
    verdict(log == needs, name + ": then all is as before the fault", log)


def check_modes(daemon, runtime_dir, after):
    def ctl(*words):
        """What 'antiphase ctl scheduler' prints, in one line."""
        return " ".join(subprocess.run(
            [os.path.join(BUILD, "antiphase"), "ctl", "--runtime-dir", runtime_dir, "scheduler",
             *words], capture_output=True, text=True, check=False).stdout.split())

    verdict(ctl("modes") == "advise enforce of partition train", "modes of the file apply",
            ctl("modes"))
    ctl("mode", "observe")
    daemon.reload(after + "window_ms = 5000\n")
    verdict(ctl("modes") == "observe enforce of partition train",
            "a mode set by a command stays in a reload of other settings", ctl("modes"))
    daemon.reload(after.replace("enforce", "observe"))
    verdict(ctl("modes") == "advise observe of partition train",
            "and ends when the file has another one", ctl("modes"))


def run_scheduler(folder):
    before = "[scheduler]\nmode = observe\nvalid_s = 100\n"
    after = "[partition train]\nmode = enforce\n[scheduler]\nmode = advise\nmemory_mb = 64\n"
    daemon = Daemon(folder, ["antiphase-scheduler", "--runtime-dir", folder, "--store", "off",
                             "--http", "off", "--announce", "off", "--topology", "none",
                             "--bus", "ipc://%s/bus" % folder], before)
    check(daemon, before, after,
          ["[scheduler] mode: observe -> advise", "[scheduler] valid_s: 100 -> 300",
           "[scheduler] memory_mb: 512 -> 64; it needs a restart",
           "[partition train] mode: (none) -> enforce"],
          "[scheduler]\nmode = observe\n[partition train]\nmode = observe\n"
          "[scheduler]\npartition_modes = train\n", 6)
    check_modes(daemon, folder, after)
    verdict(daemon.end() == 0, "the scheduler ends")


def rows_of(store):
    """The rows of the samples of a store in use, by table."""
    report = json.loads(subprocess.run(
        [os.path.join(BUILD, "antiphase"), "store", "check", "--json", store],
        capture_output=True, text=True, check=True).stdout)
    return [table["rows"] for table in report["tables"] if table["table"].startswith("sample")]


def until_rows(store, *wanted):
    end = time.monotonic() + 60
    while rows_of(store) not in wanted and time.monotonic() < end:
        time.sleep(0.2)
    return rows_of(store) in wanted


def run_retention(folder):
    """A store with 1000 samples of each grain, all from three hours ago."""
    store = folder + "/history.db"
    words = ["antiphase-scheduler", "--runtime-dir", folder, "--store", store, "--http", "off",
             "--announce", "off", "--topology", "none", "--bus", "ipc://%s/bus" % folder]
    Daemon(folder, words, "").end()
    at = int(time.time()) - 3 * 3600
    with contextlib.closing(sqlite3.connect(store)) as db, db:
        db.execute("INSERT INTO name VALUES (1, 'a>b', ?), (2, '', ?)", (at * 10**6,) * 2)
        for table, grain in (("1s", 1), ("10s", 10), ("5min", 300)):
            db.executemany("INSERT INTO sample_%s VALUES (?, 1, 2, 1, 1, 1)" % table,
                           [(at // grain - i,) for i in range(1000)])
    os.unlink(os.path.join(folder, "antiphase-scheduler.notify"))
    daemon = Daemon(folder, words, "")
    verdict(until_rows(store, [0, 1000, 1000]), "the store forgets seconds after an hour",
            rows_of(store))
    daemon.reload("[scheduler]\nkeep_10s_hours = 3\nkeep_5min_days = 1\n")
    verdict(until_rows(store, [0, 0, 253], [0, 0, 252]), "a reload makes it forget more", rows_of(store))
    verdict(daemon.end() == 0, "the scheduler with a store ends")


def run_collector(folder):
    before = "[bus]\nraw_ms = 250\n"
    after = "[collector]\nlog = dbg\n[bus]\nraw_ms = 300\n[metrics]\ntop_jobs = 5\n"
    daemon = Daemon(folder, ["antiphase-collector", "run", "--runtime-dir", folder + "/c",
                             "--metrics", "off", "--source", "netlink",
                             "--endpoint", "ipc://%s/tele" % folder], before)
    check(daemon, before, after,
          ["[collector] log: info -> dbg", "[bus] raw_ms: 250 -> 300",
           "[metrics] top_jobs: 20 -> 5; it needs a restart"],
          "[bus]\nraw_ms = 100\nrow_ms = 1\n", 3)
    verdict(daemon.end() == 0, "the collector ends")


def run_topology(folder):
    before = "[topology]\nevery_s = 5\n"
    after = "[topology]\nevery_s = 6\nmax_age_s = 0\nhost = a\n"
    daemon = Daemon(folder, ["antiphase-topology", "--listen", folder + "/topology.sock",
                             "--metrics", "off", "--publish", "off", "--no-lldp",
                             os.path.join(ROOT, "examples/two-jobs-fabric.json")], before)
    check(daemon, before, after,
          ["[topology] host: (empty) -> a; it needs a restart",
           "[topology] every_s: 5 -> 6", "[topology] max_age_s: 300 -> 0"],
          "[topology]\nevery_s = 7\nmax_age_s = -1\n", 3)
    verdict(daemon.end() == 0, "the topology service ends")


def main():
    for run in (run_scheduler, run_retention, run_collector, run_topology):
        folder = tempfile.mkdtemp(prefix="ap-reload-")
        try:
            run(folder)
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
