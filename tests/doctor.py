#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""doctor.py - tests of what 'antiphase doctor' asks other programs: antiphase-topology, with
and without differences; daemons of another version, and answers that are none.

Prints PASS and FAIL lines for tests/run.
"""
import http.server
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time

BUILD = os.path.join(os.getcwd(), os.environ["B"])
FABRIC = os.path.join(os.getcwd(), "examples", "fabric.json")
failed = False


def verdict(good, what, why=""):
    global failed
    print("PASS" if good else "FAIL", "doctor:", what, flush=True)
    if not good:
        failed = True
        print(what, why, file=sys.stderr)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def serve(body):
    """An HTTP server whose every answer is 'body'; returns it and its address."""
    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"127.0.0.1:{server.server_address[1]}"


def doctor(top, settings):
    path = os.path.join(top, "antiphase.conf")
    with open(path, "w", encoding="utf-8") as out:
        out.write(settings)
    done = subprocess.run([os.path.join(BUILD, "antiphase"), "doctor", "--json", "--config", path,
                           "--runtime-dir", top], capture_output=True, text=True, timeout=60, check=False)
    return [(f["state"], f["topic"], f["text"], f["remedy"]) for f in json.loads(done.stdout)["findings"]]


def of(findings, topic):
    return [f for f in findings if f[1] == topic]


def test_topology(top):
    listen, metrics = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    settings = f"[topology]\nlisten = {listen}\nmetrics = {metrics}\nlldp = no\n[scheduler]\nhttp = 127.0.0.1:1\n" \
        f"store = {top}/none\n[metrics]\naddress = none\n[bus]\nendpoint = none\n"
    with subprocess.Popen([os.path.join(BUILD, "antiphase-topology"), "--listen", listen, "--metrics", metrics,
                           "--publish", "off", "--no-lldp", "--no-links", FABRIC],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as daemon:
        found = []
        for _ in range(100):
            found = doctor(top, settings)
            if "answers" in of(found, "topology")[0][2]:
                break
            time.sleep(0.1)
        topology = of(found, "topology")
        verdict(topology[0][0] == "OK" and listen in topology[0][2], "antiphase-topology answers", topology)
        version = of(found, "version")
        verdict(len(version) == 1 and version[0][0] == "OK" and "antiphase-topology" in version[0][2],
                "a daemon of this version", version)
        daemon.terminate()
    topology = of(doctor(top, settings), "topology")
    verdict(len(topology) == 1 and topology[0][0] in ("OK", "WARN") and "refused" in topology[0][2],
            "antiphase-topology does not answer", topology)


def test_versions(top):
    label = '\n# TYPE antiphase_build_info gauge\nantiphase_build_info{program="x",version="%s",revision="r"} 1\n'
    for what, body, text in (
            ("another version", label % "0.0.1", "is of version 0.0.1"),
            ("a version that is none", label % "\x1b[31m", None),
            ("a version without an end", (label % ("9" * 500))[:120], None),
            ("no metrics", "{", None)):
        server, address = serve(body.encode())
        found = doctor(top, f"[scheduler]\nhttp = {address}\nstore = {top}/none\n[metrics]\naddress = none\n"
                       f"[topology]\nlisten = {address}\nmetrics = none\nlldp = no\n[bus]\nendpoint = none\n")
        server.shutdown()
        version = of(found, "version")
        good = version[0][0] == "WARN" and text in version[0][2] and version[0][3] if text and version \
            else not version and not text
        verdict(good, what, version)
        verdict("not as antiphase-topology does" in of(found, "topology")[0][2],
                what + ": no antiphase-topology", of(found, "topology"))


def main():
    with tempfile.TemporaryDirectory() as top:
        test_topology(top)
        test_versions(top)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
