#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""page.py [--bench] - tests of what the web page gets from antiphase-scheduler.

Frames are made by hand, so that they may have what the simulator never sends: reports of
pacers, long names, links that come and go.  Answers are compared with docs/openapi.json.
Prints PASS and FAIL lines for tests/run.  --bench prints what ten viewers cost instead.
"""
import http.client
import json
import os
import re
import shutil
import socket
import sqlite3
import struct
import sys
import tempfile
import threading
import time
from urllib.parse import quote

sys.path.insert(0, os.path.join(os.getcwd(), "tests/hostile"))
import api  # noqa: E402
from api import LOG_KIND, ROOT, RUNNING, Daemon, check_answer  # noqa: E402
from frames import RAW, Host, name, pack, varint  # noqa: E402
from zmtp import Publisher  # noqa: E402

MS = 1000000
IS_SANITIZED = "address" in os.environ["B"]


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


# ---- The series of a link ------------------------------------------------------------

def check_series(doc, daemon):
    """The traffic of two jobs by millisecond, while the simulator sends."""
    path = "/api/v1/links/" + quote(api.LINK) + "/series"
    wait_until(lambda: len(get(daemon, path).get("jobs", [])) == 2)
    answer = daemon.ask("GET", path)
    found = check_answer(doc, doc["paths"]["/api/v1/links/{name}/series"]["get"], answer, path)
    got = json.loads(answer[2])
    periods = [job["period_us"] for job in get(daemon, "/api/v1/jobs")["jobs"]]
    span = got["step_us"] * len(got["history_bps"])
    sums = list(zip(got["history_bps"], *(job["history_bps"] for job in got["jobs"])))
    off = [values for values in sums if None not in values and abs(sum(values[1:]) - values[0]) > 10]
    verdict(not found and got["step_us"] == 1000 and abs(span - 2 * max(periods)) < 20000 and
            not off and len(sums) == len(got["history_bps"]) and max(got["history_bps"]) > 0,
            "the series of a link is that of its jobs, by millisecond",
            repr((found, span, periods, off[:3])))
    steps = {abs(a - b) for job in got["jobs"]
             for a, b in zip(job["history_bps"], job["history_bps"][1:])}
    verdict(len(steps) > 1 and max(steps) > got["capacity_bps"] / 10, "with the edges of bursts",
            repr(sorted(steps)[-3:]))


def check_simulated(doc, parent):
    folder = tempfile.mkdtemp(prefix="page-", dir=parent)
    with open(folder + "/token", "w", encoding="utf-8") as token:
        token.write(api.TOKEN + "\n")
    daemon = Daemon(folder)
    source = api.simulate(folder, 100, 4)
    wait_until(lambda: get(daemon, "/api/v1/health")["advised_jobs"] == 2)
    check_series(doc, daemon)
    source.kill()
    source.wait()
    RUNNING.remove(source)
    daemon.end()


# ---- Viewers -------------------------------------------------------------------------

class Viewer(threading.Thread):
    """Reads events until it is stopped, and counts them."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        self.connection.request("GET", "/api/v1/events")
        self.source = self.connection.getresponse()
        self.n = self.n_bytes = 0
        self.is_over = False
        self.start()

    def run(self):
        try:
            while not self.is_over:
                line = self.source.fp.readline()
                if not line:
                    break
                self.n_bytes += len(line)
                self.n += line.startswith(b"event: ")
        except OSError:
            pass

    def stop(self):
        self.is_over = True
        self.connection.sock.shutdown(socket.SHUT_RDWR)
        self.join()


def deaf_viewer(port):
    """Asks for events and reads none."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.connect(("127.0.0.1", port))
    s.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return s


def listeners(daemon):
    text = daemon.ask("GET", "/metrics")[2].decode()
    return int(re.search(r"\nantiphase_scheduler_http_listeners (\d+)", text)[1])


def rss_kb(daemon):
    with open("/proc/%d/status" % daemon.process.pid, encoding="ascii") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1])


def crowd_frame(host, n_interfaces, jobs, end_ns, second):
    """A second of raw series: each job sends on each interface, and always otherwise."""
    rows = b""
    for i in range(n_interfaces):
        for k in range(len(jobs)):
            n_bytes = 1000 + (7 * i + 11 * k + 13 * second) % 500
            rows += varint(i) + varint(k + 2) + b"\0" + varint((end_ns - 1000 * MS) // MS) + \
                varint(1000) + varint(2 * n_bytes) * 300 + varint(699 * 4 + 1)
    return pack(RAW, host.host, [
        (1, host.sender(RAW, end_ns, 1000 * MS)),
        (2, varint(n_interfaces) + b"".join(name("e%d" % i) + struct.pack("<d", 1e8) + b"\1"
                                            for i in range(n_interfaces))),
        (3, varint(len(jobs)) + b"".join(map(name, jobs))),
        (5, varint(n_interfaces * len(jobs)) + rows)])


N_INTERFACES = 24


def check_viewers(parent):
    """One viewer stops reading large events: it is dropped, and the others go on."""
    lab = Lab(parent, "--topology", "none")
    host, jobs = Host("h0"), ["job-%d-" % k + "x" * 50 for k in range(8)]
    host.wall_ns = time.time_ns() - time.monotonic_ns()
    # The past, so that what is kept of series no longer grows.
    for second in range(-20, 0):
        lab.bus.send(*crowd_frame(host, N_INTERFACES, jobs, time.monotonic_ns() // MS * MS + second * 1000 * MS, second))
    good = [Viewer(lab.daemon.port) for _ in range(3)]
    second, before, deaf, most, n_listeners = 0, 0, [], 0, 0
    until = time.monotonic() + 60
    while time.monotonic() < until:
        lab.bus.send(*crowd_frame(host, N_INTERFACES, jobs, time.monotonic_ns() // MS * MS, second))
        time.sleep(1)
        second += 1
        if second == 5:
            before = rss_kb(lab.daemon)
            deaf = [deaf_viewer(lab.daemon.port) for _ in range(5)]
        if second > 5:
            n_listeners = listeners(lab.daemon)
            most = max(most, rss_kb(lab.daemon) - before)
            if n_listeners == 3:
                break
    n_before, n_bytes = [viewer.n for viewer in good], good[0].n_bytes // max(good[0].n, 1)
    wait_until(lambda: all(viewer.n > n for viewer, n in zip(good, n_before)), 10) or \
        lab.bus.send(*crowd_frame(host, N_INTERFACES, jobs, time.monotonic_ns() // MS * MS, second))
    is_heard = wait_until(lambda: all(viewer.n > n for viewer, n in zip(good, n_before)), 10)
    print("five viewers that do not read, events of %d kB: dropped after %d s, at most %d kB more" %
          (n_bytes // 1000, second - 5, most), file=sys.stderr)
    verdict(n_listeners == 3 and is_heard, "viewers that do not read are dropped, the others go on",
            repr((n_listeners, second, [viewer.n for viewer in good])))
    # HTTP_MAX_WAITING (1 MiB) each, and events that are being made; unbounded, it is 75 MB a minute.
    verdict(IS_SANITIZED or most < 24576, "viewers that do not read cost bounded memory", "%d kB" % most)
    for viewer in good:
        viewer.stop()
    for s in deaf:
        s.close()
    lab.end()


# ---- Much and nothing ----------------------------------------------------------------

# What the page asks for, and how many bytes an answer may have at most.
ROUTES = {"/api/v1/health": 1 << 16, "/api/v1/links": 8 << 20, "/api/v1/links?after=": 8 << 20,
          "/api/v1/jobs": 2 << 20, "/api/v1/advice": 2 << 20, "/api/v1/changes": 1 << 20,
          "/api/v1/config": 1 << 18, "/api/v1/fragmentation": 1 << 20}


def ask_all(doc, daemon, extra=()):
    """The errors in the answers, and the size of the largest one."""
    found, most = [], 0
    for path, max_bytes in [*ROUTES.items(), *((path, 1 << 20) for path in extra)]:
        operation = next(doc["paths"][known]["get"] for known in
                         (re.sub(r"/(links|jobs|advice)/[^/?]+", r"/\1/{name}", path).partition("?")[0],))
        answer = daemon.ask("GET", path)
        found += check_answer(doc, operation, answer, path)
        most = max(most, len(answer[2]))
        if len(answer[2]) > max_bytes:
            found.append("%s: %d bytes" % (path, len(answer[2])))
    return found, most


def check_names(doc, parent):
    """100,000 jobs with the longest names, and names that are longer than frames allow."""
    lab = Lab(parent, "--topology", "none")
    before = rss_kb(lab.daemon)
    longest = name("y" * 63)
    wall_ns = time.time_ns() - time.monotonic_ns()
    for i in range(25):
        host = Host("h%d" % i)
        host.wall_ns, end = wall_ns, time.monotonic_ns() // MS * MS
        names = [("%d-%d-" % (i, k)).ljust(63, "<") for k in range(4000)]
        rows = b"".join(b"\0" + varint(k + 2) + b"\0" + varint(end // MS - 100) + varint(100) +
                        varint(2000) + varint(97 * 4 + 1) + varint(2000) for k in range(4000))
        lab.bus.send(*pack(RAW, host.host, [
            (1, host.sender(RAW, end, 100 * MS)),
            (2, varint(1) + longest + struct.pack("<d", 1e10) + b"\1"),
            (3, varint(4000) + b"".join(map(name, names))), (5, varint(4000) + rows)]))
    damaged = re.compile(r"\nantiphase_scheduler_frames_damaged_total (\d+)")
    n_damaged = int(damaged.search(lab.daemon.ask("GET", "/metrics")[2].decode())[1])
    for job in ("z" * 64, "z" * 255):
        host.job = job
        lab.bus.send(*host.frame(RAW, time.monotonic_ns() // MS * MS, 100 * MS, 1000))
    wait_until(lambda: damaged.search(lab.daemon.ask("GET", "/metrics")[2].decode())[1] == str(n_damaged + 2))
    text = lab.daemon.ask("GET", "/metrics")[2].decode()
    n_now = int(damaged.search(text)[1])
    hits = sum(map(float, re.findall(r'limit_hits_total\{limit="(?:jobs|host_jobs)"\} (\S+)', text)))
    wait_until(lambda: get(lab.daemon, "/api/v1/links")["links"] and get(lab.daemon, "/api/v1/jobs")["jobs"], 40)
    kilobyte = quote("w" * 1024)
    found, most = ask_all(doc, lab.daemon, ["/api/v1/jobs/" + kilobyte, "/api/v1/jobs/%s/iterations" % kilobyte,
                                            "/api/v1/advice/" + kilobyte])
    status, _, answer = lab.daemon.change("/api/v1/advice", {"job": "w" * 1024, "n_nodes": 2,
                                                             "profile": {"period_us": 9000, "comm_us": 10}})
    jobs = get(lab.daemon, "/api/v1/jobs")
    grown_kb = rss_kb(lab.daemon) - before
    print("100,000 names of jobs: %d listed or left out, %.0f refused, %d kB more, the longest answer "
          "has %d kB" % (len(jobs["jobs"]) + jobs["left_out"], hits, grown_kb, most // 1000), file=sys.stderr)
    # memory_mb, and what other modules keep.
    verdict(IS_SANITIZED or grown_kb < (512 + 200) << 10, "100,000 names take bounded memory", "%d kB" % grown_kb)
    verdict(not found, "100,000 names: each answer is well-formed and bounded", "\n".join(found[:5]))
    verdict(hits > 0 and n_now == n_damaged + 2, "names without room are counted, longer ones damaged",
            repr((hits, n_damaged, n_now)))
    verdict(status in (400, 409) and json.loads(answer)["error"]["message"],
            "a request about a name of 1 kB is answered", repr((status, answer[:200])))
    lab.end()


def check_nothing(doc, parent):
    """No frames, with a fabric of hosts without links, and without any."""
    with open(parent + "/bare.json", "w", encoding="utf-8") as out:
        json.dump({"schema": "antiphase.topology/1", "hosts": [{"name": "h%d" % i} for i in range(3)],
                   "switches": [], "cables": []}, out)
    for source in (parent + "/bare.json", "none"):
        lab = Lab(parent, "--topology", source)
        found, most = ask_all(doc, lab.daemon, ["/api/v1/topology", "/api/v1/links/x", "/api/v1/links/x/series",
                                                "/api/v1/links/x/circle", "/api/v1/jobs/x/iterations"])
        hello = Viewer(lab.daemon.port)
        is_heard = wait_until(lambda hello=hello: hello.n > 0, 5)
        hello.stop()
        verdict(not found and most < 1 << 16 and is_heard,
                "an empty bus, %s: each answer is well-formed" %
                ("no fabric" if source == "none" else "a fabric without links"), "\n".join(found[:5]))
        lab.end()


# ---- What viewers cost ---------------------------------------------------------------

def cpu_s(daemon):
    with open("/proc/%d/stat" % daemon.process.pid, encoding="ascii") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def served_s(daemon):
    """Of this, what HTTP and events took, by the daemon's own count."""
    parts = re.findall(r'\nantiphase_scheduler_loop_part_cpu_seconds_total\{part="(?:http|events|/[^"]*)"\} (\S+)',
                       daemon.ask("GET", "/metrics")[2].decode())
    return sum(map(float, parts))


def bench(parent, seconds=20, n_viewers=10):
    """Prints the share of a core of ten viewers who read events and ask as the page does."""
    lab = Lab(parent, "--topology", "none")
    hosts = [Host("h%d" % i) for i in range(10)]
    for n in (0, n_viewers):
        viewers = [Viewer(lab.daemon.port) for _ in range(n)]
        before, served, begin = cpu_s(lab.daemon), served_s(lab.daemon), time.monotonic()
        for second in range(seconds):
            for i, host in enumerate(hosts):
                host.wall_ns = time.time_ns() - time.monotonic_ns()
                lab.bus.send(*crowd_frame(host, 4, ["a%d" % i, "b"], time.monotonic_ns() // MS * MS, second))
            for _ in viewers if second % 5 == 0 else ():
                for path in [*ROUTES, "/api/v1/topology"]:
                    lab.daemon.ask("GET", path)
            time.sleep(max(0, begin + second + 1 - time.monotonic()))
        took = time.monotonic() - begin
        n_links = len([link for link in get(lab.daemon, "/api/v1/links")["links"] if link["jobs"]])
        print("%d viewers, %d links with traffic: %.2f %% of a core, of which HTTP and events %.2f %%; "
              "%.0f kB a second each" % (n, n_links, 100 * (cpu_s(lab.daemon) - before) / took,
                                         100 * (served_s(lab.daemon) - served) / took,
                                         max([0] + [viewer.n_bytes for viewer in viewers]) / took / 1000))
        for viewer in viewers:
            viewer.stop()
    lab.end()


def main():
    with open(os.path.join(ROOT, "docs/openapi.json"), encoding="utf-8") as file:
        doc = json.load(file)
    folder = tempfile.mkdtemp(prefix="ap-page-")
    try:
        if "--bench" in sys.argv:
            bench(folder)
            return
        check_iterations(doc, folder)
        check_nothing(doc, folder)
        check_names(doc, folder)
        check_viewers(folder)
        check_simulated(doc, folder)
    finally:
        for process in RUNNING:
            process.kill()
            process.wait()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
