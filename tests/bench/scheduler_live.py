#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scheduler_live.py - antiphase-scheduler with 10,000 jobs and 20,000 links, live.

Like scheduler_size.py, but the daemon starts without stored data.  10,240 hosts send
their summaries in real time (live_many.c); the hosts of some racks also send raw
frames, and some jobs have a pacer.  Meanwhile the benchmark requests advice for new
jobs, one client listens to events, and another reads the lists and /metrics in turn.  B
is the build directory.  The arguments are the number of jobs, the number of hosts that
send raw frames, and the duration in seconds.
"""
import http.client
import json
import multiprocessing
import re
import shutil
import subprocess
import sys
import tempfile
import time

from scheduler_size import (BUILD, DRAW, HOSTS, JOBS, LEAVES, Daemon, prepare, refusals,
                            say, timed)

RAW_HOSTS = int(sys.argv[2]) if len(sys.argv) > 2 else 256
SECONDS = int(sys.argv[3]) if len(sys.argv) > 3 else 120
PACED_EACH = 20
LISTS = ("/metrics", "/api/v1/advice", "/api/v1/jobs", "/api/v1/links")


def start_cluster(folder, jobs):
    cluster = subprocess.Popen(
        [BUILD + "/tests/bench/live_many", "ipc://%s/bus" % folder, str(SECONDS + 20),
         str(HOSTS), str(RAW_HOSTS)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for number, start, n in jobs:
        period_ms = 100 + 20 * DRAW.randrange(4)
        cluster.stdin.write("%d %d %d %d %d %d\n" % (
            number + 1, start, n, period_ms, period_ms * DRAW.uniform(0.1, 0.3),
            number % PACED_EACH == 0))
    cluster.stdin.close()
    return cluster


def listen(port, heard):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    connection.request("GET", "/api/v1/events")
    answer = connection.getresponse()
    while True:
        line = answer.readline()
        if not line:
            heard.value = -heard.value
            return
        if line.startswith(b"event:"):
            heard.value += 1


def read_lists(daemon, took):
    while True:
        for path in LISTS:
            began = time.monotonic()
            n = len(daemon.ask("GET", path))
            took.put((path, 1e3 * (time.monotonic() - began), n))
            time.sleep(1)


def figures(daemon):
    return daemon.ask("GET", "/metrics").decode()


def figure(text, name):
    found = re.search("^" + name + " (.*)$", text, re.M)
    return float(found.group(1)) if found else 0


def parts(text, name):
    return {part: float(value) for part, value in re.findall(
        "^antiphase_scheduler_loop_" + name + '{part="(.*)"} (.*)$', text, re.M)}


def tell_passes(text):
    """Prints the longest pass of the daemon's loop in the last minute or two."""
    longest = {name: 1e3 * figure(text, "antiphase_scheduler_loop_longest_pass%s_seconds" % name)
               for name in ("", "_cpu")}
    print("  the longest pass took %.1f ms, of the processor %.1f ms; by part, of the "
          "processor:" % (longest[""], longest["_cpu"]))
    cpu, wall = parts(text, "longest_part_cpu_seconds"), parts(text, "longest_part_seconds")
    print("   " + ", ".join("%s %.1f (%.1f)" % (part, 1e3 * value, 1e3 * wall[part])
                            for part, value in sorted(cpu.items(), key=lambda at: -at[1])))


def tell_jobs(daemon, after_s):
    health = json.loads(daemon.ask("GET", "/api/v1/health"))
    print("  after %3d s: %d jobs known, %d with advice; without: %s; %.0f MiB" %
          (after_s, health["jobs"], health["advised_jobs"], refusals(figures(daemon)),
           daemon.rss_mib()), flush=True)


def tell_whys(daemon):
    """Prints why jobs have no profile, with the number of jobs for each reason."""
    whys, path = {}, "/api/v1/jobs?after="
    while path:
        page = json.loads(daemon.ask("GET", path))
        for job in page["jobs"]:
            why = re.sub(r"[0-9.]+", "N", job["why"] or "")
            whys[why] = whys.get(why, 0) + 1
        path = page["next_after"] and "/api/v1/jobs?after=" + page["next_after"]
    print("  of profiles: " + "; ".join("%d %s" % (n, why or "found") for why, n in sorted(
        whys.items(), key=lambda pair: -pair[1])))


def ask_for_places(daemon, seconds):
    ms, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(DRAW.uniform(0, 0.2))
        body = {"job": "new", "n_nodes": 2 + DRAW.randrange(7),
                "profile": {"period_us": 100000 + 20000 * DRAW.randrange(4),
                            "comm_us": 25000, "rate_gbps": 25}}
        ms.append(timed(lambda body=body: daemon.ask("POST", "/api/v1/advice", body)))
    return ms


def measure(daemon):
    took, heard = multiprocessing.Queue(), multiprocessing.Value("i", 0)
    others = [multiprocessing.Process(target=read_lists, args=(daemon, took), daemon=True),
              multiprocessing.Process(target=listen, args=(daemon.port, heard), daemon=True)]
    began, cpu_s, asked = time.monotonic(), daemon.cpu_s(), []
    for other in others:
        other.start()
    for _ in range(4):
        asked += ask_for_places(daemon, SECONDS / 4)
        tell_jobs(daemon, time.monotonic() - began)
    share = (daemon.cpu_s() - cpu_s) / (time.monotonic() - began)
    for other in others:
        other.kill()
    say("POST /api/v1/advice", asked)
    lists = {path: [] for path in LISTS}
    most = {}
    while not took.empty():
        path, ms, n = took.get()
        lists[path].append(ms)
        most[path] = n
    for path, ms in lists.items():
        if ms:
            say("GET %s (%.1f MB)" % (path, most[path] / 1e6), ms)
    print("  events heard %d; CPU %.0f %% of a core; resident %.0f MiB, at most %.0f MiB" %
          (heard.value, 100 * share, daemon.rss_mib(), daemon.rss_mib("VmHWM")))
    text = figures(daemon)
    tell_passes(text)
    tell_whys(daemon)
    text = figures(daemon)
    lost = sum(int(n) for n in re.findall(
        r"^antiphase_scheduler_telemetry_gaps_total{.*} (\d+)$", text, re.M))
    print("  frames %d, lost %d, kept in %.0f MiB, no room for %d; a look at all links took "
          "%.0f ms" % (figure(text, "antiphase_scheduler_frames_total"), lost,
                       figure(text, "antiphase_scheduler_telemetry_bytes") / 2**20,
                       figure(text, "antiphase_scheduler_telemetry_refused_total"),
                       1e3 * figure(text, "antiphase_scheduler_link_scan_seconds")))


def main():
    folder = tempfile.mkdtemp(prefix="ap-live-")
    try:
        jobs = prepare(folder)
        print("antiphase-scheduler, live: %d jobs, %d hosts (%d raw), %d directed links" %
              (JOBS, HOSTS, RAW_HOSTS, 2 * (HOSTS + LEAVES * 8)), flush=True)
        cluster = start_cluster(folder, jobs)
        daemon = Daemon(folder)
        try:
            measure(daemon)
        finally:
            daemon.end()
        print("  the cluster sent " + cluster.stdout.read().strip())
        cluster.wait()
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
