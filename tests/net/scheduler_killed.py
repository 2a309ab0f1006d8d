# SPDX-License-Identifier: Apache-2.0
"""scheduler_killed.py FOLDER KILLS GATE_S SEED HOW - kills antiphase-scheduler with
SIGKILL at random instants, under load with a real Slurm, and restarts it each time.

HOW is "systemd" or "bare".  With "systemd", the command of the unit's ExecStopPost runs
after each kill, as under systemd.  With "bare", the daemon is only restarted, and its
guardian removes its pins.

Load: telemetry of two jobs in contention; gated jobs of two nodes, one after another;
nodes that are drained and resumed, often those that a job waits for; clients that send
API requests all the time, including requests for changes.

After each kill, before the next start, the test checks that a copy of the store opens
and is intact, and that the store has a pin for each waiting job that antiphase pinned,
so that the next daemon finds the pins it must manage.  At the end, every job must have
started within the gate plus two seconds, even if a node of its place was drained while
the daemon was down.  The history of each late job is printed on stderr.

Prints "PASS WHAT" and "FAIL WHAT: WHY" lines.  Runs in the namespace of slurm_lab.sh.
"""
import http.client
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

FOLDER, KILLS, GATE_S = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
RNG = random.Random(int(sys.argv[4]))
HOW = sys.argv[5]
TOKEN = "0123456789abcdef0123"
PORT = 7470
STORE_CHANGE = 3
EVERY_S = 1.6      # Between submissions; each job uses two of twelve nodes for SLEEP_S.
SLEEP_S = 2
ENDING = threading.Event()
EVENTS = []        # (time, event) of the daemon and of nodes.
SCENARIO = """[sim]
iterations = 100
[fabric]
file = topology.conf
[job 900001]
hosts = n01,n05
segment = compute 50 ms
segment = send 100 MB
[job 900002]
hosts = n02,n06
segment = compute 50 ms
segment = send 100 MB
"""


def verdict(is_good, what, why=""):
    print("%s %s: %s%s" % ("PASS" if is_good else "FAIL", HOW, what,
                           "" if is_good else ": " + why), flush=True)


def run(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, timeout=30, text=True)


# ---- The state of Slurm --------------------------------------------------------------

def slurm_time(text):
    return time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S")) if "T" in text else None


def wait_of(job):
    begin, end = slurm_time(job.get("SubmitTime", "")), slurm_time(job.get("StartTime", ""))
    return end - begin if begin and end else None


class Jobs:
    """All submitted jobs, in their state at the last query."""

    def __init__(self):
        self.known, self.lock = {}, threading.Lock()

    def add(self, job):
        with self.lock:
            self.known[job] = {"JobState": "PENDING", "was_pinned": False, "history": []}

    def look(self):
        for line in run("scontrol", "-o", "show", "job").stdout.splitlines():
            fields = dict(re.findall(r"(\w+)=(\S*)", line))
            with self.lock:
                job = self.known.get(fields.get("JobId"))
                if job is None:
                    continue
                job.update(fields)
                record = fields.get("AdminComment", "")
                job["was_pinned"] |= "pinned" in record
                now = " ".join(fields.get(key, "") for key in
                               ("JobState", "Reason", "ReqNodeList", "AdminComment"))
                if not job["history"] or job["history"][-1][1] != now:
                    job["history"].append((time.time(), now))

    def pinned(self):
        with self.lock:
            return [name for name, job in self.known.items()
                    if job["JobState"] == "PENDING" and
                    "pinned" in job.get("AdminComment", "")]

    def unfinished(self):
        with self.lock:
            return [name for name, job in self.known.items()
                    if job["JobState"] != "COMPLETED"]

    def waits(self, was_pinned):
        """Returns the seconds from submission to start of each started job, sorted."""
        with self.lock:
            return sorted(wait_of(job) for job in self.known.values()
                          if job["was_pinned"] == was_pinned and wait_of(job) is not None)

    def tell_late(self):
        """Prints the history of each job that waited too long."""
        for name, job in self.known.items():
            if (wait_of(job) or 0) <= GATE_S + 2:
                continue
            began = slurm_time(job["SubmitTime"])
            print("%s: job %s waited %d s; events: %s" % (HOW, name, wait_of(job), "; ".join(
                "%.1f %s" % (at - began, what) for at, what in sorted(
                    job["history"] + [e for e in EVENTS
                                      if began <= e[0] <= began + wait_of(job) + 1]))),
                  file=sys.stderr)


def submit_jobs(jobs):
    while not ENDING.wait(EVERY_S):
        answer = run("sbatch", "--parsable", "-o", "/dev/null", "--exclusive", "-N2",
                     "--comment=antiphase: iter_us=150000 comm_us=40000",
                     "--wrap", "sleep %d" % SLEEP_S)
        if answer.returncode == 0:
            jobs.add(answer.stdout.strip().split(";")[0])


def move_nodes():
    """Drains one node at a time for a while."""
    rng = random.Random(1)
    while not ENDING.wait(rng.uniform(2, 6)):
        node = "n%02d" % rng.randrange(1, 13)
        run("scontrol", "update", "nodename=" + node, "state=drain", "reason=test")
        EVENTS.append((time.time(), node + " drained"))
        ENDING.wait(rng.uniform(1, 4))
        run("scontrol", "update", "nodename=" + node, "state=resume")


def take_a_node_of_a_pin(jobs):
    """Drains a node of a pinned, waiting job for longer than a gate; returns whether
    there was one."""
    jobs.look()
    for name in jobs.pinned():
        number = re.search(r"n\[?(\d+)", jobs.known[name].get("ReqNodeList", ""))
        if not number:
            continue
        node = "n" + number.group(1)
        run("scontrol", "update", "nodename=" + node, "state=drain", "reason=test")
        EVENTS.append((time.time(), "%s of job %s drained" % (node, name)))
        timer = threading.Timer(2 * GATE_S, run, ("scontrol", "update", "nodename=" + node,
                                                  "state=resume"))
        timer.daemon = True
        timer.start()
        return True
    return False


# ---- The daemon and its clients ------------------------------------------------------

def start():
    EVENTS.append((time.time(), "started"))
    log = open(os.path.join(FOLDER, "scheduler.log"), "ab")
    return subprocess.Popen(
        ["antiphase-scheduler", "--runtime-dir", FOLDER, "--bus",
         "ipc://%s/bus" % FOLDER, "--announce", "ipc://%s/announce" % FOLDER,
         "--topology", FOLDER + "/topology.conf", "--store", FOLDER + "/history.db",
         "--kill-switch", FOLDER + "/stop", "--token-file", FOLDER + "/token",
         "--http", "127.0.0.1:%d" % PORT, "--scheduler", "slurm", "--poll-ms", "250",
         "--mode", "enforce"], stderr=log,
        stdin=subprocess.DEVNULL)


ASKED = [("GET", "/api/v1/health", None), ("GET", "/api/v1/links", None),
         ("GET", "/api/v1/jobs", None), ("GET", "/api/v1/advice", None),
         ("GET", "/api/v1/changes", None), ("GET", "/metrics", None),
         ("POST", "/api/v1/poke", {}),
         ("POST", "/api/v1/modes", {"partition": "other", "mode": "advise"}),
         ("POST", "/api/v1/advice",
          {"job": "new", "n_nodes": 2,
           "profile": {"period_us": 150000, "comm_us": 40000}})]


def ask(method, path, body):
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=10)
    try:
        connection.request(method, path, json.dumps(body) if body is not None else None,
                           {"Authorization": "Bearer " + TOKEN})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def keep_asking(counts, seed):
    rng = random.Random(seed)
    while not ENDING.wait(rng.uniform(0, 0.05)):
        try:
            status, text = ask(*rng.choice(ASKED))
            counts["answered"] += 1
            if status >= 500 or not text:
                counts["bad"].append((status, text[:100]))
        except (OSError, http.client.HTTPException):
            counts["cut"] += 1
            time.sleep(0.05)


def guardians():
    """Returns the guardian processes of a daemon in this folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = open("/proc/%s/cmdline" % pid, "rb").read().decode(errors="replace")
        except OSError:
            continue
        if words.startswith("antiphase-guard\0" + FOLDER):
            found.append(pid)
    return found


# ---- After each kill --------------------------------------------------------------------

def look_at_store():
    """Returns an error in the store that the daemon left, or None; and its changes."""
    copy = tempfile.mkdtemp(dir=FOLDER)
    try:
        for end in ("", "-wal"):
            if os.path.exists(FOLDER + "/history.db" + end):
                shutil.copy(FOLDER + "/history.db" + end, copy + "/history.db" + end)
        if not os.path.exists(copy + "/history.db") or \
                os.path.getsize(copy + "/history.db") + \
                (os.path.getsize(copy + "/history.db-wal")
                 if os.path.exists(copy + "/history.db-wal") else 0) == 0:
            return None, {}
        db = sqlite3.connect(copy + "/history.db")
        try:
            said = [row[0] for row in db.execute("PRAGMA integrity_check")]
            if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
                return None, {}
            rows = {key: json.loads(text)["kind"] for key, text in
                    db.execute("SELECT key, json FROM document WHERE kind = ?",
                               (STORE_CHANGE,))}
            return (None if said == ["ok"] else repr(said)), rows
        finally:
            db.close()
    except (sqlite3.Error, ValueError, KeyError) as why:
        return repr(why), {}
    finally:
        shutil.rmtree(copy)


def life(jobs, faults, counts):
    """Runs the daemon for a moment, kills it, and checks the state it left."""
    process = start()
    # 40 % of kills come during its start, when it opens files and takes over.
    time.sleep(RNG.uniform(0, 0.15) if RNG.random() < 0.4 else RNG.uniform(0.15, 1.6))
    if process.poll() is not None:
        faults["ended"].append(process.returncode)
    # In half of the lives, tries to drain a node, before or after the kill.
    is_to_hurt, is_before = RNG.random() < 0.5, RNG.random() < 0.5
    is_hurt = is_to_hurt and is_before and take_a_node_of_a_pin(jobs)
    process.kill()
    process.wait()
    EVENTS.append((time.time(), "killed"))
    is_hurt |= is_to_hurt and not is_before and take_a_node_of_a_pin(jobs)
    counts["hurt"] += is_hurt
    if HOW == "systemd":
        answer = run("antiphase", "slurm", "release", "--pins")
        EVENTS.append((time.time(), "released: " + answer.stdout.replace("\n", ",")))
        if answer.returncode:
            faults["release"].append(answer.stderr)
    # Sometimes the daemon stays down for longer than a gate.
    time.sleep(GATE_S + 1 if RNG.random() < (0.3 if is_hurt else 0.03) else 0)
    why, rows = look_at_store()
    if why:
        faults["store"].append(why)
    jobs.look()
    for job in jobs.pinned():
        counts["pinned"] += 1
        if HOW == "systemd":
            faults["lost"].append("job %s is pinned after the release" % job)
        if rows.get(job) != "pin":
            faults["lost"].append("job %s is pinned, and the store says %s" %
                                  (job, rows.get(job)))


def said(name, faults):
    return "%d times: %s" % (len(faults[name]), "; ".join(map(str, faults[name][:3])))


def main():
    open(FOLDER + "/token", "w").write(TOKEN + "\n")
    open(FOLDER + "/two.ini", "w").write(SCENARIO)
    jobs, counts = Jobs(), {"answered": 0, "cut": 0, "bad": [], "pinned": 0, "hurt": 0}
    faults = {"store": [], "lost": [], "ended": [], "release": []}
    sim = subprocess.Popen(
        ["antiphase-sim", "run", "two.ini", "--duration", "7200", "--pace", "1",
         "--publish", "ipc://%s/bus" % FOLDER], cwd=FOLDER,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    threads = [threading.Thread(target=submit_jobs, args=(jobs,)),
               threading.Thread(target=move_nodes),
               threading.Thread(target=keep_asking, args=(counts, 1)),
               threading.Thread(target=keep_asking, args=(counts, 2))]
    for thread in threads:
        thread.start()
    began = time.monotonic()
    try:
        for _ in range(KILLS):
            life(jobs, faults, counts)
    finally:
        ENDING.set()
        for thread in threads:
            thread.join()
    process = start()
    until = time.monotonic() + 60
    while jobs.unfinished() and time.monotonic() < until:
        time.sleep(0.5)
        jobs.look()
    try:
        serves = ask("GET", "/api/v1/health", None)[0] == 200
    except OSError:
        serves = False
    process.send_signal(signal.SIGTERM)
    status = process.wait(20)
    sim.kill()
    sim.wait()
    until = time.monotonic() + 15
    while guardians() and time.monotonic() < until:
        time.sleep(0.1)
    verdict(not guardians(), "no guardian is left", repr(guardians()))
    log = open(FOLDER + "/scheduler.log", errors="replace").read()
    free, pinned = jobs.waits(False), jobs.waits(True)
    what = "%d kills, %d jobs in %d s" % (KILLS, len(jobs.known), time.monotonic() - began)
    verdict(len(jobs.known) > 2 and len(free) + len(pinned) == len(jobs.known),
            what + ": every job started", repr(jobs.unfinished()))
    verdict(not jobs.unfinished(), what + ": every job ended", repr(jobs.unfinished()))
    verdict(not faults["store"], what + ": the store is whole each time", said("store", faults))
    verdict(not faults["release"], what + ": what was pinned could be released",
            said("release", faults))
    verdict(not faults["lost"], what + ": no pin of ours is lost (%d seen waiting; %d times "
            "a node of one went)" % (counts["pinned"], counts["hurt"]), said("lost", faults))
    verdict(not faults["ended"], what + ": it never ended by itself", said("ended", faults))
    # Slurm's times are in whole seconds.
    verdict(not free or free[-1] <= GATE_S + 2,
            "%d jobs that were never placed started within the gate and two seconds "
            "(median %g, most %g s)" % (len(free), free[len(free) // 2] if free else 0,
                                        free[-1] if free else 0), repr(free[-5:]))
    verdict(not pinned or pinned[-1] <= GATE_S + 2,
            "%d that were placed within that (median %g, most %g s)" %
            (len(pinned), pinned[len(pinned) // 2] if pinned else 0,
             pinned[-1] if pinned else 0), "%d later: %r" %
            (sum(wait > GATE_S + 2 for wait in pinned), pinned[-5:]))
    jobs.tell_late()
    verdict(counts["answered"] > KILLS and not counts["bad"],
            "%d requests were answered, %d cut by kills, none badly" %
            (counts["answered"], counts["cut"]), repr(counts["bad"][:3]))
    verdict(serves and status == 0, "it serves in the end, and ends well when told",
            "status %s" % status)
    verdict(not re.search(r"corrupt|malformed|begun anew|BUG", log),
            "its log has no word of damage", log[-500:])
    print("placed by it: %d of %d" % (sum(j["was_pinned"] for j in jobs.known.values()),
                                      len(jobs.known)), file=sys.stderr)


main()
