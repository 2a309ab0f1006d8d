#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""viewer.py - 'antiphase web' as a whole: over a recording, over a bus, and refused.
Prints PASS and FAIL lines for tests/run.
"""
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = os.getcwd()
BUILD = os.path.join(ROOT, os.environ["B"])
EXAMPLES = os.path.join(ROOT, "examples")
FABRIC = EXAMPLES + "/two-jobs-fabric.json"
LINK = "leaf0:p2%3Espine0:p0"
RUNNING = []


def verdict(is_good, what, why=""):
    print(("PASS" if is_good else "FAIL") + " viewer: " + what, flush=True)
    if not is_good:
        print(why, file=sys.stderr)


def start(*words):
    """The process and the address that it prints."""
    process = subprocess.Popen([BUILD + "/antiphase", "web", "--http", "127.0.0.1:0", *words],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    RUNNING.append(process)
    return process, process.stdout.readline().strip()


def get(url, path, headers=None, method="GET"):
    """Status, headers and text."""
    request = urllib.request.Request(url + path, headers=headers or {}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as reply:
            return reply.status, reply.headers, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def document(url, path):
    return json.loads(get(url, "api/v1/" + path)[2])


def check_end(process, what):
    process.send_signal(signal.SIGTERM)
    rest, log = process.communicate(timeout=30)
    verdict(process.returncode == 0 and not rest, what + ": SIGTERM ends it, status 0",
            "status %d: %s%s" % (process.returncode, rest, log))


def check_page(url):
    status, headers, page = get(url, "")
    begin = page.index(">", page.index('<script id="viewer"')) + 1
    viewer = json.loads(page[begin:page.index("</script>", begin)])
    verdict(status == 200 and viewer == {
        "schema": "antiphase.viewer/1", "source": EXAMPLES + "/two-jobs.tele",
        "has_fabric": True, "is_recording": True, "begin_us": 1000000, "end_us": 4000000,
    }, "the page says which recording it shows", page)
    verdict("default-src 'self'" in headers["Content-Security-Policy"]
            and headers["Set-Cookie"] is None, "the page has a policy and no cookie",
            str(headers))
    verdict(get(url, "app.js")[0] == 200 and get(url, "app.css")[0] == 200,
            "script and style are served")
    tables = get(url, "tables")[2]
    verdict("<td>leaf0:p2&gt;spine0:p0</td><td>50G</td>" in tables
            and "<td>A</td><td>2</td><td>65.0 ms</td>" in tables,
            "tables without JavaScript have the links and jobs", tables)


def check_times(url):
    command = subprocess.run(
        [BUILD + "/antiphase", "top", "--json", "--from", EXAMPLES + "/two-jobs.tele", "-f",
         FABRIC], capture_output=True, text=True, check=True)
    end = document(url, "top")
    verdict(end == json.loads(command.stdout), "the end is what 'antiphase top' shows",
            json.dumps(end)[:500])
    early = document(url, "top?at_us=2000000")
    verdict(2000000 <= early["at_us"] < 4000000, "an earlier time is shown as it was then",
            str(early["at_us"]))
    again = document(url, "top?at_us=4000000")
    verdict(again == end, "and the end after it, as before")
    verdict(document(url, "top?at_us=2000000") == early, "a time twice is the same")
    bad = [get(url, "api/v1/top?at_us=" + at)[0]
           for at in ("x", "-1", "999999", "4000001", "99999999999999999999", "2000000x")]
    verdict(bad == [400] * 6, "times outside the recording are refused", str(bad))
    for _ in range(100):
        history = document(url, "history")
        if history["is_complete"]:
            break
        time.sleep(0.1)
    uses = {link["link"]: link["permille"] for link in history["links"]}
    verdict(history["is_complete"] and len(uses) == 12
            and max(uses["leaf0:p2>spine0:p0"]) > 500,
            "the history comes to the end of the recording", json.dumps(history)[:500])


def check_circle(url):
    circle = document(url, "links/%s/circle" % LINK)
    periods = {job["job"]: job["period_us"] for job in circle["jobs"]}
    verdict(periods == {"A": 65000, "B": 65000}, "a link has its circle", str(circle)[:500])
    series = document(url, "links/%s/series" % LINK)
    rates = {job["job"]: max(job["history_bps"]) for job in series["jobs"]}
    verdict({job: round(rate / 1e9, 3) for job, rate in rates.items()} == {"A": 25, "B": 25}
            and series["step_us"] == 1000 and 130 <= len(series["history_bps"]) <= 132,
            "and its series by millisecond",
            str(series)[:500])
    found = [get(url, "api/v1/" + path)[0] for path in
             ("links/x/circle", "links/" + LINK, "links/%2Fcircle", "jobs", "advice", "events")]
    verdict(found == [404] * 6, "what is not served is not found", str(found))
    topology = document(url, "topology")
    verdict(topology["schema"] == "antiphase.topology/1", "the fabric is served")


def check_refusals(url):
    found = [get(url, path, method=method)[0] for method, path in
             (("POST", "api/v1/top"), ("DELETE", ""), ("PUT", "api/v1/history"))]
    verdict(found == [405] * 3, "nothing can be changed", str(found))
    status = get(url, "api/v1/top", {"Host": "evil.example:80"})[0]
    verdict(status == 403 or status == 421, "another Host is refused", str(status))


def check_recording():
    process, url = start("--from", EXAMPLES + "/two-jobs.tele", "--fabric", FABRIC)
    check_page(url)
    check_times(url)
    check_circle(url)
    check_refusals(url)
    check_end(process, "a recording")
    process, url = start("--from", EXAMPLES + "/two-jobs.tele")
    verdict(get(url, "api/v1/topology")[0] == 404 and len(document(url, "top")["jobs"]) == 2,
            "without a fabric, jobs are known and it says that it has none")
    check_end(process, "without a fabric")


def copy_recording(path, n_bytes=-1):
    with open(EXAMPLES + "/two-jobs.tele", "rb") as source, open(path, "wb") as copy:
        copy.write(source.read(n_bytes))


def check_hostile_names(folder):
    """A file name cannot end the script that holds it."""
    path = folder + "/<script>alert(1)<script> \"'.tele"
    copy_recording(path)
    process, url = start("--from", path)
    page = get(url, "")[2]
    verdict("<script>alert" not in page and "\\u003cscript>alert" in page,
            "the name of a file is text", page)
    check_end(process, "a hostile name")


def check_gone(folder):
    path = folder + "/gone.tele"
    copy_recording(path)
    process, url = start("--from", path)
    document(url, "top")
    os.unlink(path)
    status, _, text = get(url, "api/v1/top?at_us=1500000")
    verdict(status == 500 and "can no longer be read" in text,
            "a recording that is removed meanwhile is an error of the answer", text)
    verdict(get(url, "api/v1/top?at_us=1500000")[0] == 500 and get(url, "")[0] == 200,
            "and the page is served on")
    check_end(process, "a removed recording")


def check_bus(folder):
    bus = "ipc://%s/bus" % folder
    process, url = start("--from", bus, "--fabric", FABRIC)
    empty = document(url, "top")
    verdict(not empty["links"] and not empty["jobs"] and not empty["hosts"],
            "an empty bus is a document without links", json.dumps(empty)[:300])
    verdict(get(url, "tables")[0] == 200 and get(url, "api/v1/history")[0] == 404,
            "and has tables, and no history")
    sender = subprocess.Popen([BUILD + "/antiphase-sim", "run", "two-jobs.ini", "--duration",
                               "100", "--pace", "4", "--publish", bus], cwd=EXAMPLES,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    RUNNING.append(sender)
    top = {}
    for _ in range(300):
        top = document(url, "top")
        if [job["period_us"] for job in top["jobs"]] == [65000, 65000]:
            break
        time.sleep(0.1)
    verdict([job["job"] for job in top["jobs"]] == ["A", "B"] and len(top["links"]) == 12,
            "jobs and links of the bus appear", json.dumps(top)[:300])
    sender.terminate()
    sender.wait()
    check_end(process, "a bus")


def refused(*words):
    found = subprocess.run([BUILD + "/antiphase", "web", *words], capture_output=True,
                           text=True, timeout=60, check=False)
    return found.returncode, found.stderr


def check_bad_input(folder):
    for name, text in (("empty", b""), ("header", b"antiphase.recording/1\n"),
                       ("text", b"no recording\n" * 100)):
        with open(folder + "/" + name, "wb") as file:
            file.write(text)
        status, said = refused("--http", "127.0.0.1:0", "--from", folder + "/" + name)
        verdict(status == 2 and said.count("\n") == 1 and name in said,
                "a recording that is %s is refused in a line" % name, said)
    copy_recording(folder + "/half", 90000)
    process, url = start("--from", folder + "/half")
    verdict(len(document(url, "top")["jobs"]) == 2, "one that was cut off is shown so far")
    check_end(process, "cut off")
    status, said = refused("--from", "-")
    verdict(status == 2 and "give a file" in said, "standard input is refused", said)
    status, said = refused("--http", "0.0.0.0:7480", "--from", EXAMPLES + "/two-jobs.tele")
    verdict(status in (2, 5) and "loopback" in said, "other interfaces are refused", said)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = "127.0.0.1:%d" % taken.getsockname()[1]
        status, said = refused("--http", address, "--from", EXAMPLES + "/two-jobs.tele")
    verdict(status == 3 and said.count("\n") == 1 and address in said,
            "an address that is taken is refused in a line", "%d %s" % (status, said))


def main():
    try:
        with tempfile.TemporaryDirectory(prefix="ap-viewer-") as folder:
            check_recording()
            check_hostile_names(folder)
            check_gone(folder)
            check_bus(folder)
            check_bad_input(folder)
    finally:
        for process in RUNNING:
            if process.poll() is None:
                process.kill()
                process.wait()


main()
