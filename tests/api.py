#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""api.py - tests of the whole antiphase-scheduler: simulated telemetry, over loopback.

Requests every path of docs/openapi.json from a running daemon and checks that each
answer has exactly the documented form.  Also checks that events arrive, that promtool
accepts the metrics, that the daemon rejects bad requests and keeps serving, and that
after SIGKILL at any moment it restarts with its store intact.  Prints PASS and FAIL
lines for tests/run.
"""
import gzip
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.parse

ROOT = os.getcwd()
BUILD = os.path.join(ROOT, os.environ["B"])
TOKEN = "0123456789abcdef0123"
LINK = "leaf0:p2>spine0:p0"
RUNNING = []


def verdict(is_good, what, why=""):
    print(("PASS" if is_good else "FAIL") + " api: " + what, flush=True)
    if not is_good:
        print(why, file=sys.stderr)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Daemon:
    def __init__(self, folder, *options):
        self.folder = folder
        self.port = free_port()
        self.log = open(os.path.join(folder, "log"), "ab")
        self.process = subprocess.Popen(
            [os.path.join(BUILD, "antiphase-scheduler"), "--runtime-dir", folder,
             "--bus", "ipc://%s/bus" % folder, "--announce", "ipc://%s/announce" % folder,
             "--topology", os.path.join(ROOT, "examples/two-jobs-fabric.json"),
             "--store", folder + "/history.db", "--kill-switch", folder + "/stop",
             "--token-file", folder + "/token", "--link-jobs", "4", "--http", "127.0.0.1:%d" % self.port,
             *options], stderr=self.log, stdin=subprocess.DEVNULL)
        RUNNING.append(self.process)
        for _ in range(200):
            try:
                if self.ask("GET", "/api/v1/health")[0] == 200:
                    return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError("the daemon does not start: " + self.said())

    def said(self):
        return open(os.path.join(self.folder, "log"), errors="replace").read()

    def ask(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, answer.getheader("Content-Type"), text

    def change(self, path, body):
        return self.ask("POST", path, json.dumps(body),
                        {"Authorization": "Bearer " + TOKEN})

    def is_serving(self):
        return self.ask("GET", "/api/v1/health")[0] == 200

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        status = self.process.wait(20)
        RUNNING.remove(self.process)
        self.log.close()
        return status


def simulate(folder, seconds, pace, scenario="two-jobs.ini"):
    process = subprocess.Popen(
        [os.path.join(BUILD, "antiphase-sim"), "run", scenario, "--duration",
         str(seconds), "--pace", str(pace), "--publish", "ipc://%s/bus" % folder],
        cwd=os.path.join(ROOT, "examples"), stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    RUNNING.append(process)
    return process


# ---- The form of answers -------------------------------------------------------------

def resolve(doc, schema):
    while "$ref" in schema:
        schema = doc["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    return schema


TYPES = {"object": dict, "array": list, "string": str, "boolean": bool,
         "null": type(None)}


def has_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def faults(doc, schema, value, where, seen):
    """Returns the errors in 'value', and adds the keys found to 'seen'."""
    schema = resolve(doc, schema)
    names = schema.get("type", [])
    names = names if isinstance(names, list) else [names]
    if names and not any(has_type(value, name) for name in names):
        return ["%s is %r, expected %s" % (where, value, " or ".join(names))]
    if "const" in schema and value != schema["const"]:
        return ["%s is %r, expected %r" % (where, value, schema["const"])]
    if "enum" in schema and value is not None and value not in schema["enum"]:
        return ["%s is %r, expected one of %r" % (where, value, schema["enum"])]
    found = []
    if isinstance(value, dict):
        known = schema.get("properties", {})
        for key in schema.get("required", []):
            if key not in value:
                found.append("%s has no %s" % (where, key))
        for key, item in value.items():
            if key in known:
                seen.add(where + "." + key)
                found += faults(doc, known[key], item, where + "." + key, seen)
            elif schema.get("additionalProperties") is False:
                found.append("%s.%s is not in the file" % (where, key))
    if isinstance(value, list):
        for item in value:
            found += faults(doc, schema.get("items", {}), item, where + "[]", seen)
    return found


def check_answer(doc, operation, answer, what):
    status, kind, text = answer
    said = operation["responses"].get(str(status))
    if not said:
        return ["%s: answered with %d, which the file does not have: %r" %
                (what, status, text[:200])]
    for name, content in said["content"].items():
        if not kind.startswith(name):
            return ["%s: it is %s, expected %s" % (what, kind, name)]
        if name == "application/json":
            return faults(doc, content["schema"], json.loads(text), what, set())
    return []


BODIES = {
    "/api/v1/advice": {"job": "new", "n_nodes": 2, "candidates": "h[0-3]",
                       "profile": {"period_us": 255000, "comm_us": 50000}},
    "/api/v1/modes": {"partition": "debug", "mode": "advise"},
    "/api/v1/poke": {},
    "/k8s/filter": {"Pod": {"metadata": {"name": "p", "namespace": "d", "uid": "1"}},
                    "NodeNames": ["h0", "h1"]},
    "/k8s/prioritize": {"Pod": {"metadata": {"name": "p", "namespace": "d", "uid": "1"}},
                        "NodeNames": ["h0", "h1"]},
}


def names_for(path):
    """Fills in {name} in a path, once with a known and once with an unknown name."""
    if "{name}" not in path:
        return [path + ("?link=" + urllib.parse.quote(LINK)
                        if path.endswith("series") else "")]
    known = LINK if "/links/" in path else "A"
    return [path.replace("{name}", urllib.parse.quote(name, safe=":"))
            for name in (known, "no-such>thing")]


def walk(doc, daemon):
    for path, operations in doc["paths"].items():
        if path.endswith("/events"):
            continue
        for method, operation in operations.items():
            found = []
            for asked in names_for(path):
                body = BODIES.get(path, {}) if method == "post" else None
                if method == "post":
                    answer = daemon.change(asked, body)
                else:
                    answer = daemon.ask("GET", asked)
                found += check_answer(doc, operation, answer, asked)
            verdict(not found, "%s %s is as docs/openapi.json says" %
                    (method.upper(), path), "\n".join(found[:10]))


def check_index(doc, daemon):
    """/api/v1 has the paths and parameters of the file; its "*" matches names."""
    paths = json.loads(daemon.ask("GET", "/api/v1")[2])["paths"]
    got = {(p["method"], p["path"]): p for p in paths}
    wrong = []
    for path, operations in doc["paths"].items():
        for method, operation in operations.items():
            known = got.get((method.upper(), re.sub(r"{name}.*", "*", path)))
            if known is None:
                wrong.append(path)
            elif (set(known["parameters"]) !=
                  {p["name"] for p in operation["parameters"] if p["in"] == "query"} or
                  known["needs_token"] != bool(operation.get("security"))):
                wrong.append(path)
    verdict(not wrong, "/api/v1 lists the paths", repr(wrong))


def check_manual(doc):
    text = open(os.path.join(ROOT, "docs/api.md"), encoding="utf-8").read()
    missing = [p for p in doc["paths"] if "`%s`" % p not in text]
    verdict(not missing, "docs/api.md has every path", repr(missing))


# ---- The page ------------------------------------------------------------------------

def fetch(daemon, path, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=10)
    connection.request("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, answer.headers, text


def check_page(daemon):
    found = []
    for path, name in (("/", "index.html"), ("/app.js", "app.js"), ("/app.css", "app.css"),
                       ("/icon.svg", "icon.svg"), ("/LICENSES.txt", "LICENSES.txt")):
        with open(os.path.join(ROOT, "web/dist", name), "rb") as file:
            wanted = file.read()
        plain = fetch(daemon, path)
        packed = fetch(daemon, path, Accept_Encoding="br, gzip")
        if plain[0] != 200 or plain[2] != wanted or plain[1]["Content-Encoding"]:
            found.append("%s: %d, %d bytes" % (path, plain[0], len(plain[2])))
        if packed[1]["Content-Encoding"] != "gzip" or gzip.decompress(packed[2]) != wanted:
            found.append(path + ": not as it was before it was compressed")
        if plain[1]["ETag"] == packed[1]["ETag"]:
            found.append(path + ": one ETag for two answers")
        again = fetch(daemon, path, Accept_Encoding="gzip", If_None_Match=packed[1]["ETag"])
        if again[0] != 304 or again[2]:
            found.append("%s: sent again, %d" % (path, again[0]))
        policy = packed[1]["Content-Security-Policy"] or ""
        if not policy.startswith("default-src 'self'; ") or "unsafe" in policy or \
                packed[1]["Set-Cookie"] or packed[1]["X-Content-Type-Options"] != "nosniff":
            found.append("%s: %s" % (path, packed[1]))
    if fetch(daemon, "/", Host="evil.example")[0] != 403:
        found.append("the page is served under another host's name")
    verdict(not found, "the page is web/dist, compressed or not, with a policy", "\n".join(found))


# ---- Events and metrics --------------------------------------------------------------

def hear(daemon, seconds):
    """Returns the names and documents of received events."""
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=5)
    connection.request("GET", "/api/v1/events")
    answer = connection.getresponse()
    until, name, events = time.monotonic() + seconds, None, []
    while time.monotonic() < until and len(events) < 3:
        line = answer.fp.readline().decode().strip()
        if line.startswith("event: "):
            name = line[7:]
        elif line.startswith("data: "):
            events.append((name, json.loads(line[6:])))
    connection.close()
    return events


def check_events(doc, daemon):
    try:
        events = hear(daemon, 8)
    except OSError as e:
        verdict(False, "events come", repr(e))
        return
    names = [name for name, _ in events]
    verdict(names[:1] == ["hello"] and "tick" in names, "events come", repr(names))
    found = []
    for _, data in events:
        found += faults(doc, {"$ref": "#/components/schemas/Links"}, data, "event", set())
    verdict(not found, "events are antiphase.links/1", "\n".join(found[:5]))
    links = [link for _, data in events for link in data["links"]]
    verdict(links and not any(item["history_bps"] for link in links
                              for item in [link, *link["jobs"]]),
            "and leave out the histories", repr(links[:1]))
    link = links[0]["link"]
    whole = json.loads(daemon.ask("GET", "/api/v1/links/" + urllib.parse.quote(link))[2])
    verdict(len(whole["links"][0]["history_bps"]) == 60, "which are in the link's own document",
            repr(whole)[:300])


def check_changes(daemon, source):
    """Each tick lists the changed links only; without a sender, no links."""
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=5)
    connection.request("GET", "/api/v1/events")
    answer = connection.getresponse()
    known, same, sizes, until = {}, [], [], time.monotonic() + 40
    while time.monotonic() < until and not (len(sizes) > 6 and sizes[-1] == 0):
        line = answer.fp.readline().decode().strip()
        if not line.startswith("data: "):
            continue
        links = json.loads(line[6:])["links"]
        sizes.append(len(links))
        same += [link["link"] for link in links if known.get(link["link"]) == link]
        known.update({link["link"]: link for link in links})
        if len(sizes) == 5:
            source.kill()
    connection.close()
    # The first events may repeat known data; later events must not.
    verdict(len(sizes) > 6 and sizes[0] > 0 and max(sizes[2:5]) > 0 and sizes[-1] == 0,
            "a tick has the links that changed; with nobody sending, none", repr(sizes))
    verdict(len(same) <= sizes[0], "and none that did not", repr(same))


def check_pages(daemon):
    """All pages together have the same items as one full answer, sorted by name."""
    for path, items, name in (("/api/v1/links", "links", "link"), ("/api/v1/jobs", "jobs", "job"),
                              ("/api/v1/advice", "advice", "job")):
        all_at_once = json.loads(daemon.ask("GET", path)[2])
        names, after, sizes = [], "", []
        while after is not None and len(sizes) < 50:
            page = json.loads(daemon.ask("GET", path + "?limit=1&after=" + urllib.parse.quote(after))[2])
            names += [item[name] for item in page[items]]
            sizes.append((len(page[items]), page["left_out"]))
            after = page["next_after"]
        n = len(names)
        verdict(n > 0 and names == sorted(item[name] for item in all_at_once[items]) and
                all_at_once["left_out"] == 0 and all_at_once["next_after"] is None and
                sizes[:n] == [(1, n - 1 - i) for i in range(n)],
                path + " in pages", repr((names, sizes, after)))
    page = json.loads(daemon.ask("GET", "/api/v1/links?limit=1")[2])
    verdict(len(page["links"]) == 1 and page["left_out"] > 0 and page["next_after"] is None,
            "the most contended link, without the others", repr(page["left_out"]))


def check_figures(daemon):
    text = daemon.ask("GET", "/metrics")[2]
    if not shutil.which("promtool"):
        print("SKIP api: promtool check metrics: there is no promtool")
    else:
        done = subprocess.run(["promtool", "check", "metrics"], input=text,
                              capture_output=True, check=False)
        verdict(done.returncode == 0 and not done.stdout + done.stderr,
                "promtool check metrics", (done.stdout + done.stderr).decode())
    manual = open(os.path.join(ROOT, "docs/api.md"), encoding="utf-8").read()
    missing = [line.split()[2] for line in text.decode().splitlines()
               if line.startswith("# TYPE antiphase_") and "build_info" not in line and "`%s`" % line.split()[2] not in manual]
    verdict(not missing, "every figure is in docs/api.md", repr(missing))
    labels, faulty = {}, []
    for line in text.decode().splitlines():
        name, _, rest = line.partition("{")
        name = name.split()[0]
        if line.startswith("#"):
            continue
        names = re.sub(r'"(?:[^"\\]|\\.)*"', "", rest.rpartition("}")[0])
        if labels.setdefault(name, names) != names or not re.match(
                "antiphase_scheduler_|antiphase_build_info$|process_", name):
            faulty.append(line)
    verdict(labels and not faulty,
            "every name has the prefix of the program, and one set of labels", repr(faulty))
    of_jobs = [line for line in text.decode().splitlines()
               if line.startswith("antiphase_scheduler_link_job_transmit_bytes_total{link=\"" + LINK)]
    verdict(len(of_jobs) >= 2 and all(float(line.split()[-1]) > 0 for line in of_jobs),
            "bytes of jobs on links are counted", repr(of_jobs))
    confidence = [float(line.split()[-1]) for line in text.decode().splitlines()
                  if line.startswith("antiphase_scheduler_job_confidence_ratio{job=")]
    verdict(len(confidence) >= 2 and all(0.1 < value <= 1 for value in confidence),
            "the confidence of each job's period is above that of noise", repr(confidence))
    stats = subprocess.run([os.path.join(BUILD, "antiphase"), "ctl", "--runtime-dir",
                            daemon.folder, "scheduler", "stats"], capture_output=True,
                           check=False)
    verdict(b"antiphase_scheduler_link_utilization_ratio" in stats.stdout,
            "antiphase ctl scheduler stats", stats.stderr.decode())


# ---- Fragmentation ------------------------------------------------------------------

def check_fragmentation(daemon):
    """Two jobs in two racks each, where one would do: API, metrics and verb agree."""
    answer, until = {}, time.monotonic() + 30
    while answer.get("n_jobs") != 2 and time.monotonic() < until:
        time.sleep(0.2)
        answer = json.loads(daemon.ask("GET", "/api/v1/fragmentation")[2])
    shares = [job["lost"] for job in answer.get("jobs", [])]
    racks = [rack["lost"] for rack in answer.get("racks", [])]
    verdict(answer.get("n_jobs") == 2 and answer["n_fragmented"] == 2 and
            all(job["n_racks"] == 2 and job["n_racks_needed"] == 1 and
                job["n_extra_fragments"] == 2 for job in answer["jobs"]) and
            {rack["rack"] for rack in answer["racks"]} == {"leaf0", "leaf1"},
            "two scattered jobs are fragmented", repr(answer))
    verdict(bool(shares) and 0 <= answer["lost"] < 0.5 and
            abs(sum(shares) - answer["lost"]) < 1e-5 and
            abs(sum(racks) - answer["lost"]) < 1e-5,
            "the shares of jobs and of racks add up", repr(answer))
    few = json.loads(daemon.ask("GET", "/api/v1/fragmentation?limit=1")[2])
    verdict(len(few["jobs"]) == len(few["racks"]) == 1 and few["jobs_left_out"] == 1 and
            daemon.ask("GET", "/api/v1/fragmentation?limit=0")[0] == 400,
            "fragmentation, with a limit", repr(few))
    text = daemon.ask("GET", "/metrics")[2].decode()
    verdict("\nantiphase_scheduler_jobs_fragmented 2\n" in text and
            "\nantiphase_scheduler_fragmentation_ratio " in text,
            "the metrics of fragmentation", "")
    shown = subprocess.run([os.path.join(BUILD, "antiphase"), "fragmentation", "--http",
                            "127.0.0.1:%d" % daemon.port], capture_output=True, check=False)
    verdict(shown.returncode == 0 and b"2 of 2 jobs span more racks" in shown.stdout,
            "antiphase fragmentation asks the daemon", repr((shown.stdout, shown.stderr)))


def ask_paths(daemon, is_done):
    """The chosen paths of both jobs, as soon as 'is_done' likes them."""
    paths, until = None, time.monotonic() + 30
    while time.monotonic() < until:
        answer = json.loads(daemon.ask("GET", "/api/v1/advice")[2])
        jobs = [job for job in answer["advice"] if "paths" in job]
        paths = [path for job in jobs for path in job["paths"]]
        if len(jobs) == 2 and is_done(paths):
            break
        time.sleep(0.2)
    return paths, answer


def check_paths(doc, parent):
    """Two jobs that hashing sends over the same of two spines, and the modes."""
    folder = tempfile.mkdtemp(prefix="paths-", dir=parent)
    shutil.copy(parent + "/token", folder)
    plan = "leaf-spine --leaves 2 --hosts-per-leaf 2 --spines 2 --gbps 50"
    scenario = open(os.path.join(ROOT, "examples/two-jobs.ini"), encoding="utf-8").read()
    with open(folder + "/two.ini", "w", encoding="utf-8") as out:
        out.write(re.sub(r"generate = .*", "generate = " + plan, scenario))
    subprocess.run([os.path.join(BUILD, "antiphase"), "topology", "generate", *plan.split(),
                    "-o", folder + "/fabric.json"], check=True, stdout=subprocess.DEVNULL)
    daemon = Daemon(folder, "--topology", folder + "/fabric.json", "--ecmp-seed", "2",
                    "--levers", "place,path,time", "--mode", "advise")
    source = simulate(folder, 100, 4, folder + "/two.ini")
    paths, answer = ask_paths(daemon, bool)
    verdict({path["via"] for path in paths} <= {"spine0", "spine1"} and
            all(path["port"] > 0 for path in paths) and
            "routed-apart" in {job["reason"] for job in answer["advice"]},
            "colliding jobs get paths", repr(answer))
    operation = doc["paths"]["/api/v1/advice"]["get"]
    not_found = check_answer(doc, operation, daemon.ask("GET", "/api/v1/advice"),
                             "advice with paths")
    verdict(not not_found, "advice with paths is as docs/openapi.json says",
            "\n".join(not_found))
    text = daemon.ask("GET", "/metrics")[2].decode()
    verdict("\nantiphase_scheduler_flows_routed %d\n" % len(paths) in text and
            re.search(r"\nantiphase_scheduler_paths_changed_total [1-9]", text) is not None,
            "the metrics of paths", "")
    name = next((job["job"] for job in answer["advice"] if job.get("paths")), "A")
    shown = subprocess.run([os.path.join(BUILD, "antiphase"), "explain", name, "--http",
                            "127.0.0.1:%d" % daemon.port], capture_output=True, check=False)
    verdict(b" over spine" in shown.stdout and b"(source port " in shown.stdout,
            "antiphase explain names the paths", repr((shown.stdout, shown.stderr)))
    with open(folder + "/stop", "w", encoding="utf-8"):
        paths, answer = ask_paths(daemon, lambda found: not found)
    verdict(not paths, "the kill switch leaves all flows to hashing", repr(answer))
    os.unlink(folder + "/stop")
    source.kill()
    source.wait()
    RUNNING.remove(source)
    daemon.end()


# ---- A full disk ---------------------------------------------------------------------

def wait_for_health(daemon, is_done):
    """Returns the health when 'is_done' of it, or after half a minute."""
    for _ in range(120):
        health = json.loads(daemon.ask("GET", "/api/v1/health")[2])
        if is_done(health):
            break
        time.sleep(0.25)
    return health


def check_full_disk(parent):
    """A store on a file system of its own, which is filled and emptied."""
    folder = tempfile.mkdtemp(prefix="full-", dir=parent)
    shutil.copy(parent + "/token", folder)
    disk = folder + "/disk"
    os.mkdir(disk)
    if os.geteuid() != 0 or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", disk], check=False,
            capture_output=True).returncode != 0:
        print("SKIP api: a full disk: a file system cannot be mounted here")
        return
    daemon = source = None
    try:
        daemon = Daemon(folder, "--store", disk + "/history.db")
        source = simulate(folder, 200, 4)
        health = wait_for_health(daemon, lambda h: h["is_ok"])
        verdict(health["is_ok"] and health["store_error"] is None,
                "a store that can be written is healthy", repr(health))
        with open(disk + "/filler", "wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(bytes(4096))
            except OSError:
                pass
        health = wait_for_health(daemon, lambda h: h["store_error"])
        metrics = daemon.ask("GET", "/metrics")[2].decode()
        verdict(not health["is_ok"] and "full" in (health["store_error"] or "") and
                "\nantiphase_scheduler_store_failing 1\n" in metrics and
                re.search(r"\nantiphase_scheduler_store_errors_total [1-9]", metrics)
                is not None, "a full disk is in the health and the metrics",
                repr(health) + daemon.said())
        os.unlink(disk + "/filler")
        health = wait_for_health(daemon, lambda h: h["is_ok"])
        verdict(health["is_ok"] and health["store_error"] is None,
                "and no longer when there is room again", repr(health))
    finally:
        for process in [source] if source else []:
            process.kill()
            process.wait()
            RUNNING.remove(process)
        if daemon:
            daemon.end()
        subprocess.run(["umount", disk], check=False)


# ---- Bad requests --------------------------------------------------------------------

def check_token(daemon):
    wrong = [None, {}, {"Authorization": "Bearer "}, {"Authorization": "Bearer x" + TOKEN},
             {"Authorization": "Bearer " + TOKEN[:-1]}, {"Authorization": TOKEN}]
    got = {daemon.ask("POST", path, json.dumps(BODIES.get(path, {})), headers)[0]
           for path in ("/api/v1/modes", "/api/v1/poke", "/api/v1/jobs/A/unpin",
                        "/api/v1/advice") for headers in wrong}
    verdict(got == {401}, "nothing is changed without the token", repr(got))
    mode = json.loads(daemon.ask("GET", "/api/v1/config")[2])["mode"]
    verdict(mode == "observe", "and the mode is as it was", mode)
    verdict(TOKEN not in daemon.said(), "the token is not in the log")


def check_bodies(daemon):
    draw = random.Random(1)
    bad = [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"mode":"enforced"}',
           b'{"mode":1}', b'{"partition":"a b","mode":"advise"}', b"[" * 5000,
           b'{"job":"x","n_nodes":-1}', b'{"job":"x","n_nodes":1e99}',
           b'{"job":"x","n_nodes":2,"candidates":"h[0-"}',
           b'{"job":"x","n_nodes":2,"candidates":"nobody"}',
           b'{"job":"x","n_nodes":2,"profile":{"period_us":0,"comm_us":1}}',
           b'{"job":"x","n_nodes":2,"profile":{"period_us":9,"comm_us":10}}']
    bad += [bytes(draw.randrange(256) for _ in range(draw.randrange(400)))
            for _ in range(60)]
    answers = set()
    for path in ("/api/v1/advice", "/api/v1/modes", "/k8s/filter", "/k8s/prioritize"):
        for body in bad:
            status, _, text = daemon.ask("POST", path, body,
                                         {"Authorization": "Bearer " + TOKEN})
            answers.add(status)
            if status != 200:
                json.loads(text)["error"]["message"]
    verdict(answers <= {400, 409, 413} and daemon.is_serving(),
            "bodies that make no sense are refused", repr(answers))
    status = daemon.change("/api/v1/modes", {"mode": "x" * 100000})[0]
    verdict(status == 413, "a body that is too long is refused", str(status))


def check_queries(daemon):
    bad = ["/api/v1/series", "/api/v1/series?link=", "/api/v1/series?link=x&from_us=-1",
           "/api/v1/series?link=x&step_us=0", "/api/v1/series?link=x&from_us=x",
           "/api/v1/series?link=x&from_us=9&to_us=3",
           "/api/v1/series?link=x&from_us=99999999999999999999",
           "/api/v1/changes?limit=0", "/api/v1/changes?limit=1001",
           "/api/v1/changes?limit=x", "/api/v1/changes?since_us=-1",
           "/api/v1/changes?before=x", "/api/v1/links?limit=0", "/api/v1/links?limit=251",
           "/api/v1/jobs?limit=x", "/api/v1/advice?limit=-1",
           "/api/v1/links?limt=3", "/api/v1/health?limit=3", "/api/v1/jobs/A?x", "/api/v1?x=y"]
    got = {daemon.ask("GET", path)[0] for path in bad}
    verdict(got == {400}, "queries that make no sense are refused", repr(got))
    odd = ["//", "/index.html", "/app.js/", "/api", "/api/v1/links/", "/api/v1/links/%00", "/api/v1/jobs/%2e%2e",
           "/api/v1/advice/" + "x" * 5000, "/api/v1/../../etc/passwd", "/api/v1/nothing"]
    got = {daemon.ask("GET", path)[0] for path in odd}
    verdict(got <= {404, 414} and daemon.is_serving(), "paths that are not there are 404",
            repr(got))


def check_noise(daemon):
    draw = random.Random(2)
    for _ in range(100):
        with socket.create_connection(("127.0.0.1", daemon.port), 5) as s:
            s.sendall(bytes(draw.randrange(256) for _ in range(draw.randrange(1, 3000))))
    idle = [socket.create_connection(("127.0.0.1", daemon.port), 5) for _ in range(100)]
    for s in idle[:50]:
        try:
            s.sendall(b"POST /api/v1/advice HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n")
        except OSError:
            pass
    is_good = daemon.is_serving()
    for s in idle:
        s.close()
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(daemon.folder + "/scheduler.sock")
        s.sendall(b"\xff\x00nonsense %zz\n")
        s.recv(1000)
    lines = [line for line in daemon.said().splitlines() if "http:" in line]
    verdict(is_good and daemon.is_serving(), "noise and silence do not stop it")
    verdict(len(lines) < 12, "what is refused is not said every time", "\n".join(lines))


# ---- kill -9 -------------------------------------------------------------------------

def store_is_whole(folder):
    with sqlite3.connect(folder + "/history.db") as db:
        return db.execute("pragma integrity_check").fetchone()[0] == "ok"


def check_killed(folder, daemon):
    draw = random.Random(3)
    is_whole = True
    source = simulate(folder, 200, 4)
    for _ in range(8):
        time.sleep(0.3 + draw.random())
        daemon.end(signal.SIGKILL)
        is_whole &= store_is_whole(folder)
        daemon = Daemon(folder)
    health = {}
    for _ in range(7):
        health = json.loads(daemon.ask("GET", "/api/v1/health")[2])
        if health["advised_jobs"] == 2:
            break
        time.sleep(0.25)
    verdict(health["advised_jobs"] == 2,
            "started again, it advises at once on what it knew", repr(health))
    source.kill()
    source.wait()
    RUNNING.remove(source)
    verdict(is_whole, "killed eight times, the store is whole each time")
    text = daemon.ask("GET", "/api/v1/series?link=" + urllib.parse.quote(LINK))[2]
    verdict(len(json.loads(text)["samples"]) > 0, "and history goes on", text[:300])
    status = daemon.end()
    verdict(status == 0, "ended, it ends", str(status))


# ---- The log of changes ----------------------------------------------------------------

N_LINES = 2500
LOG_KIND = 4  # STORE_LOG in the store.


def fill_log(folder):
    """Writes log lines like the daemon's, for two jobs in turn, among other history."""
    with sqlite3.connect(folder + "/history.db") as db:
        for i in range(N_LINES):
            line = {"at_us": 1795227000000000 + i, "job": str(17 + i % 2), "action": "record",
                    "state": "done", "reason": "told", "text": "a record", "nodes": None,
                    "record": "r%d" % i, "error": None}
            db.execute("INSERT INTO history (kind, key, at, json) VALUES (?, ?, ?, ?)",
                       (LOG_KIND, line["job"], line["at_us"], json.dumps(line)))
            db.execute("INSERT INTO history (kind, key, at, json) VALUES (0, ?, ?, '{}')",
                       (line["job"], line["at_us"]))


def read_log(doc, daemon, query, found):
    """Returns the lines of all pages of the log; adds errors to 'found'."""
    operation, lines, before = doc["paths"]["/api/v1/changes"]["get"], [], None
    while len(lines) <= N_LINES:
        path = "/api/v1/changes?" + query + ("&before=%d" % before if before else "")
        answer = daemon.ask("GET", path)
        found += check_answer(doc, operation, answer, path)
        page = json.loads(answer[2])
        lines += page["log"]
        before = page["next_before"]
        if before is None:
            break
        if before != lines[-1]["id"]:
            found.append("next_before is %r after line %r" % (before, lines[-1]))
    return lines


def check_verb(doc, daemon):
    """'antiphase changes' requests as many pages as it needs."""
    found = []
    for options, wanted in (([], range(2400, N_LINES)), (["--limit", "2345"], range(155, N_LINES)),
                            (["--limit", "9999", "--job", "18"], range(1, N_LINES, 2)),
                            (["--since", "1 min"], ())):
        done = subprocess.run([os.path.join(BUILD, "antiphase"), "changes", "--json", "--http",
                               "127.0.0.1:%d" % daemon.port, *options], capture_output=True,
                              check=False)
        answer = json.loads(done.stdout)
        found += faults(doc, {"$ref": "#/components/schemas/Changes"}, answer, "changes", set())
        got = [int(line["record"][1:]) for line in answer["log"]]
        is_more = answer["next_before"] is not None
        if got != sorted(wanted, reverse=True) or is_more != (len(options) < 3 and
                                                              "--since" not in options):
            found.append("%r: %d lines, more: %r" % (options, len(got), is_more))
    done = subprocess.run([os.path.join(BUILD, "antiphase"), "changes", "--http",
                           "127.0.0.1:%d" % daemon.port, "--limit", "3"], capture_output=True,
                          check=False)
    lines = done.stdout.decode().splitlines()
    if done.returncode != 0 or len(lines) != 8 or not lines[-1].startswith("Mode observe"):
        found.append(repr(done))
    verdict(not found, "antiphase changes shows as much of it as is asked for",
            "\n".join(found[:10]))


def check_log(doc, folder):
    fill_log(folder)
    daemon, found = Daemon(folder), []
    begin = time.monotonic()
    for query, wanted in (("", range(N_LINES)), ("limit=999", range(N_LINES)),
                          ("job=17&limit=7", range(0, N_LINES, 2)),
                          ("limit=100&since_us=%d" % (1795227000000000 + 2222),
                           range(2222, N_LINES)), ("job=19", ()),
                          ("since_us=1895227000000000", ())):
        lines = read_log(doc, daemon, query, found)
        got = [int(line["record"][1:]) for line in lines]
        if got != sorted(wanted, reverse=True):
            found.append("%r: %d lines, from %r to %r" % (query, len(got), got[:2], got[-2:]))
        if len({line["id"] for line in lines}) != len(lines):
            found.append("%r: a line comes twice" % query)
    check_verb(doc, daemon)
    print("reading it took %.2f s" % (time.monotonic() - begin), file=sys.stderr)
    verdict(not found, "the whole log of changes is read, page by page, newest first",
            "\n".join(found[:10]))
    daemon.end()


def main():
    doc = json.load(open(os.path.join(ROOT, "docs/openapi.json"), encoding="utf-8"))
    folder = tempfile.mkdtemp(prefix="ap-api-")
    try:
        with open(folder + "/token", "w", encoding="utf-8") as token:
            token.write(TOKEN + "\n")
        os.chmod(folder + "/token", 0o644)
        daemon = Daemon(folder)
        verdict("every user of this host may read" in daemon.said(),
                "a token that every user may read causes a warning", daemon.said())
        lines = daemon.said().splitlines()
        verdict(all(line.startswith("antiphase-scheduler: ") for line in lines),
                "what it says bears its name", repr(lines))
        check_manual(doc)
        check_index(doc, daemon)
        check_page(daemon)
        source = simulate(folder, 100, 4)
        for _ in range(60):
            time.sleep(0.25)
            if json.loads(daemon.ask("GET", "/api/v1/health")[2])["advised_jobs"] == 2:
                break
        else:
            verdict(False, "running jobs are advised on", daemon.said())
        walk(doc, daemon)
        check_events(doc, daemon)
        check_figures(daemon)
        check_fragmentation(daemon)
        check_pages(daemon)
        check_changes(daemon, source)
        source.kill()
        source.wait()
        RUNNING.remove(source)
        check_token(daemon)
        check_bodies(daemon)
        check_queries(daemon)
        check_noise(daemon)
        check_killed(folder, daemon)
        check_log(doc, folder)
        check_paths(doc, folder)
        check_full_disk(folder)
    finally:
        for process in RUNNING:
            process.kill()
            process.wait()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
