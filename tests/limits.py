#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""limits.py - daemons that may open few files end with one line that says what to do, and
the log of a scheduler without HTTP names no address of an API.  Prints PASS and FAIL lines
for tests/run.
"""
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.getcwd()
BUILD = os.path.join(ROOT, os.environ["B"])
LEAST = 128
DENIED = 5
RUNNING = []


def verdict(is_good, what, why=""):
    print(("PASS" if is_good else "FAIL") + " limits: " + what, flush=True)
    if not is_good:
        print(why, file=sys.stderr)


def daemons(folder):
    """Each with the words of its log that say that it runs."""
    return [
        (["antiphase-scheduler", "--runtime-dir", folder, "--store", "off", "--http", "off",
          "--bus", "ipc://%s/bus" % folder], "listening to"),
        (["antiphase-collector", "run", "--runtime-dir", folder, "--metrics", "off",
          "--endpoint", "ipc://%s/tele" % folder], " started: "),
        (["antiphase-topology", "--listen", folder + "/topology.sock", "--metrics", "off",
          "--publish", "ipc://%s/publish" % folder, "--no-lldp",
          os.path.join(ROOT, "examples/two-jobs-fabric.json")], "answering at"),
    ]


def start(words, log, n_files):
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (n_files, n_files))

    process = subprocess.Popen([os.path.join(BUILD, words[0])] + words[1:], stdout=log,
                               stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                               preexec_fn=limit)
    RUNNING.append(process)
    return process


def text_of(path):
    with open(path, encoding="utf-8", errors="replace") as log:
        return log.read()


def check_too_few(words, folder):
    for n_files in (16, 32, LEAST - 1):
        path = "%s/%s.%d" % (folder, words[0], n_files)
        with open(path, "w", encoding="utf-8") as log:
            status = start(words, log, n_files).wait(60)
        text = text_of(path)
        verdict(status == DENIED and text.count("\n") == 1 and "LimitNOFILE=" in text,
                "%s with %d files ends with a line" % (words[0], n_files),
                "status %d: %s" % (status, text))


def check_enough(words, folder, says):
    path = "%s/%s.log" % (folder, words[0])
    with open(path, "w", encoding="utf-8") as log:
        process = start(words, log, LEAST)
    end = time.monotonic() + 60
    while says not in text_of(path) and process.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    is_up = says in text_of(path)
    process.send_signal(signal.SIGTERM)
    status = process.wait(60)
    verdict(is_up and status == 0, "%s runs with %d files" % (words[0], LEAST),
            "status %d: %s" % (status, text_of(path)))
    return text_of(path)


def main():
    folder = tempfile.mkdtemp(prefix="ap-limits-")
    try:
        for words, says in daemons(folder):
            check_too_few(words, folder)
            log = check_enough(words, folder, says)
            if words[0] == "antiphase-scheduler":
                verdict("no API" in log and "http://" not in log,
                        "without HTTP its log names no API", log)
    finally:
        for process in RUNNING:
            if process.poll() is None:
                process.kill()
                process.wait()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
