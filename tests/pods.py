#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pods.py - antiphase-scheduler sends pods their shifts through a simulated API server.

tests/net/kubernetes.sh tests a real API server.  The simulated one can be made to fail:
it rejects requests, does not answer, is not running, or has meanwhile replaced a pod by
another.  Prints PASS and FAIL lines for tests/run.
"""
import http.server
import json
import os
import select
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

ROOT = os.getcwd()
BUILD = os.path.join(ROOT, os.environ["B"])
SHIFT = "antiphase.io/shift-us"
RUNNING = []


def verdict(is_good, what, why=""):
    print(("PASS" if is_good else "FAIL") + " pods: " + what, flush=True)
    if not is_good:
        print(why, file=sys.stderr)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(seconds, what):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.1)
    return what()


class Api(http.server.ThreadingHTTPServer):
    """A simulated API server: pods, listed two per page, and switches for failures."""
    daemon_threads = True

    def __init__(self, certificate=None, token=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.token = token
        self.n_connected = 0
        self.n_unauthorized = 0
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate + ".crt", certificate + ".key")
            self.socket = context.wrap_socket(self.socket, True, do_handshake_on_connect=False)
        self.lock = threading.Lock()
        self.pods = {}
        self.patches = []
        self.lists = []
        self.refuses = 0      # The HTTP status that patches get; 0: accept them.
        self.is_mute = False
        self.n_mute = 0       # Clients now waiting for an answer.
        for namespace, name, job in (("ml", "a-0", "A"), ("ml", "a-1", "A"), ("ml", "b-0", "B"),
                                     ("ml", "c-0", "C"), ("watched", "a-0", "A")):
            self.pods[namespace, name] = {
                "name": name, "namespace": namespace, "uid": "uid-" + name,
                "resourceVersion": "1", "labels": {"antiphase.io/job": job},
                "annotations": {"antiphase.io/reads-shift": "true"}}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def process_request(self, request, client_address):
        self.n_connected += 1
        super().process_request(request, client_address)

    def handle_error(self, request, client_address):
        pass  # The client rejected the certificate.

    def said(self, namespace, name):
        with self.lock:
            return self.pods[namespace, name]["annotations"].get(SHIFT)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def parse_request(self):
        if not super().parse_request():
            return False
        token = self.server.token
        if token and self.headers["Authorization"] != "Bearer " + token:
            self.server.n_unauthorized += 1
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.reply(401, {"kind": "Status", "message": "Unauthorized"})
            return False
        return True

    def log_message(self, *args):
        pass

    def reply(self, status, document):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        api = self.server
        if api.is_mute:
            with api.lock:
                api.n_mute += 1
            select.select([self.connection], [], [], 60)
            with api.lock:
                api.n_mute -= 1
            return
        query = urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query)
        begin = int(query.get("continue", ["+/=0"])[0][3:])
        with api.lock:
            api.lists.append((self.path, self.headers["Accept"]))
            pods = sorted(api.pods.items())
            items = [{"metadata": json.loads(json.dumps(pod))} for _, pod in pods[begin:begin + 2]]
        more = {"continue": "+/=%d" % (begin + 2)} if begin + 2 < len(pods) else {}
        self.reply(200, {"kind": "PartialObjectMetadataList", "metadata": more, "items": items})

    def do_PATCH(self):
        api = self.server
        parts = self.path.split("/")
        patch = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["metadata"]
        with api.lock:
            api.patches.append((self.path, self.headers["Content-Type"], patch))
            if api.refuses:
                self.reply(api.refuses, {"kind": "Status", "message": "pods is forbidden\u001b"})
                return
            pod = api.pods[parts[4], parts[6]]
            if patch["uid"] != pod["uid"] or patch["resourceVersion"] != pod["resourceVersion"]:
                self.reply(409, {"kind": "Status", "message": "it has been modified"})
                return
            for key, value in patch["annotations"].items():
                pod["annotations"].pop(key, None)
                if value is not None:
                    pod["annotations"][key] = value
            pod["resourceVersion"] = str(int(pod["resourceVersion"]) + 1)
            self.reply(200, {"metadata": pod})


class Daemon:
    def __init__(self, folder, api, *options):
        self.folder = folder
        self.port = free_port()
        self.log = open(folder + "/log", "ab")
        self.process = subprocess.Popen(
            [BUILD + "/antiphase-scheduler", "--runtime-dir", folder, "--bus",
             "ipc://%s/bus" % folder, "--announce", "off", "--topology",
             ROOT + "/examples/two-jobs-fabric.json", "--store", folder + "/history.db",
             "--kill-switch", folder + "/stop", "--http", "127.0.0.1:%d" % self.port,
             "--mode", "advise", "--partition-modes", "watched=observe",
             "--kubernetes-api", api, *options], stderr=self.log, stdin=subprocess.DEVNULL)
        RUNNING.append(self.process)
        if not wait_for(20, self.is_serving):
            raise RuntimeError("the daemon does not start: " + self.said())

    def said(self):
        return open(self.folder + "/log", errors="replace").read()

    def ask(self, path):
        with urllib.request.urlopen("http://127.0.0.1:%d%s" % (self.port, path), timeout=10) as reply:
            return reply.read().decode()

    def is_serving(self):
        try:
            return "antiphase" in self.ask("/api/v1/health")
        except OSError:
            return False

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        status = self.process.wait(20)
        RUNNING.remove(self.process)
        self.log.close()
        return status


def simulate(folder):
    # Not faster: a sanitized scheduler would fall behind, and compare periods of different seconds.
    RUNNING.append(subprocess.Popen(
        [BUILD + "/antiphase-sim", "run", "two-jobs.ini", "--duration", "2000", "--pace", "2",
         "--publish", "ipc://%s/bus" % folder], cwd=ROOT + "/examples",
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))


def check_life(folder, api):
    address = "127.0.0.1:%d" % api.server_port
    daemon = Daemon(folder, address)
    told = wait_for(120, lambda: api.said("ml", "a-0") and api.said("ml", "b-0"))
    verdict(told, "pods are told their jobs' shifts", daemon.said())
    verdict(wait_for(10, lambda: api.said("ml", "a-1") == api.said("ml", "a-0")),
            "all pods of a job the same", str(api.pods))
    # A job that is known first is told to run free until the other one is known, too.
    verdict(wait_for(30, lambda: api.said("ml", "a-0") != api.said("ml", "b-0")),
            "and the two jobs different ones", str(api.pods))
    verdict(api.said("ml", "c-0") is None and api.said("watched", "a-0") is None,
            "unknown jobs and observed namespaces nothing", str(api.pods))
    path, accept = api.lists[0]
    verdict("PartialObjectMetadataList" in accept and "labelSelector=antiphase.io%2Fjob" in path,
            "metadata of labelled pods is all that is asked for", path + " " + accept)
    n, n_lists = len(api.patches), len(api.lists)
    wait_for(15, lambda: len(api.lists) > n_lists + 5)
    verdict(len(api.patches) == n, "what is told is not told again", str(api.patches[n:]))
    verdict('antiphase.io/shift-us=' in daemon.ask("/api/v1/changes"), "it is in the log of changes",
            daemon.ask("/api/v1/changes"))
    verdict("\nantiphase_scheduler_pods_annotated 3\n" in daemon.ask("/metrics"), "it is counted", daemon.ask("/metrics"))
    with api.lock:
        api.pods["ml", "a-1"]["annotations"][SHIFT] = "7"
    status = daemon.end()
    verdict(status == 0 and api.said("ml", "a-0") is None and api.said("ml", "b-0") is None,
            "at the end it is taken back", str(api.pods) + daemon.said())
    verdict(api.said("ml", "a-1") == "7", "but not what somebody else changed", str(api.pods))


def is_answered_meanwhile(daemon, api):
    return wait_for(20, lambda: api.n_mute > 0) and daemon.is_serving() and api.n_mute > 0


def check_again(folder, api):
    address = "127.0.0.1:%d" % api.server_port
    with api.lock:
        del api.pods["ml", "a-1"]["annotations"][SHIFT]
    daemon = Daemon(folder, address)
    verdict(wait_for(60, lambda: api.said("ml", "b-0")), "it is told again after a restart", daemon.said())
    daemon.end(signal.SIGKILL)
    open(folder + "/stop", "w").close()
    daemon = Daemon(folder, address)
    verdict(wait_for(20, lambda: not any(api.said("ml", pod) for pod in ("a-0", "a-1", "b-0"))),
            "after a kill the pods say what is to be taken back", str(api.pods))
    os.unlink(folder + "/stop")
    api.refuses = 403
    n = len(api.patches)
    verdict(wait_for(60, lambda: len(api.patches) > n), "without the kill switch it goes on", daemon.said())
    verdict(wait_for(20, lambda: "could not be told: status 403: pods is forbidden?" in daemon.said()),
            "a refusal is in the log", daemon.said())
    verdict(daemon.is_serving(), "and nothing else happens", daemon.said())
    api.refuses = 0
    api.is_mute = True
    verdict(any(is_answered_meanwhile(daemon, api) for _ in range(5)),
            "while the server says nothing, others are answered", daemon.said())
    verdict(daemon.end() == 0, "nor is the end kept waiting for it", daemon.said())


def make_certificate(name, host):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                    "-nodes", "-keyout", name + ".key", "-out", name + ".crt", "-days", "2",
                    "-subj", "/CN=test", "-addext", "subjectAltName=" + host],
                   check=True, capture_output=True)


def write_token(folder, token):
    with open(folder + "/token.new", "w") as out:
        out.write(token + "\n")
    os.rename(folder + "/token.new", folder + "/token")


def check_tls(folder):
    """The daemon connects to the API server directly, without 'kubectl proxy'."""
    make_certificate(folder + "/api", "IP:127.0.0.1")
    make_certificate(folder + "/other", "IP:127.0.0.1")
    write_token(folder, "first")
    api = Api(folder + "/api", "first")
    address = "https://127.0.0.1:%d" % api.server_port
    files = ["--kubernetes-token-file", folder + "/token", "--kubernetes-ca-file"]
    daemon = Daemon(folder, address, *files, folder + "/api.crt")
    verdict(wait_for(120, lambda: api.said("ml", "a-0") and api.said("ml", "b-0")),
            "over TLS with a token pods are told", daemon.said())
    verdict(api.n_unauthorized == 0, "the token is sent", str(api.n_unauthorized))
    verdict(api.n_connected == 1, "all over one connection", str(api.n_connected))
    api.token = "second"
    verdict(wait_for(15, lambda: "status 401: Unauthorized" in daemon.said()),
            "an old token is refused", daemon.said())
    write_token(folder, "second")
    n = len(api.lists)
    verdict(wait_for(15, lambda: len(api.lists) > n), "a new one is read", daemon.said())
    os.unlink(folder + "/token")
    verdict(wait_for(30, lambda: "/token: cannot open" in daemon.said()), "without the file the log says so",
            daemon.said())
    write_token(folder, "second")
    verdict(daemon.end() == 0 and api.said("ml", "a-0") is None, "at the end it is taken back over TLS",
            str(api.pods))
    make_certificate(folder + "/elsewhere", "IP:127.0.0.2")
    elsewhere = Api(folder + "/elsewhere", "second")
    for server, ca, what in ((api, "/other.crt", "of another CA"), (elsewhere, "/elsewhere.crt", "of another host")):
        n, n_connected = len(server.lists), server.n_connected
        daemon = Daemon(folder, "https://127.0.0.1:%d" % server.server_port, *files, folder + ca)
        verdict(wait_for(15, lambda: "certificate" in daemon.said().split("API at")[-1]),
                "a certificate %s is refused" % what, daemon.said())
        verdict(server.n_connected > n_connected and len(server.lists) == n, "before anything is asked",
                str(server.lists[n:]))
        daemon.end()


def check_nobody(folder):
    daemon = Daemon(folder, "127.0.0.1:%d" % free_port())
    verdict(wait_for(15, lambda: "pods are not told their shifts" in daemon.said().split("API at")[-1]),
            "without a server the log says so", daemon.said())
    verdict(daemon.is_serving() and daemon.end() == 0, "and all else goes on", daemon.said())
    done = subprocess.run([BUILD + "/antiphase-scheduler", "--runtime-dir", folder, "--store", "off",
                           "--kubernetes-api", "192.0.2.1:6443"], capture_output=True, timeout=20, check=False)
    verdict(done.returncode != 0 and b"only loopback" in done.stderr,
            "a server that is not on this host is refused", done.stderr.decode())


def main():
    folder = tempfile.mkdtemp(prefix="antiphase-pods-")
    try:
        simulate(folder)
        api = Api()
        check_life(folder, api)
        check_again(folder, api)
        check_tls(folder)
        check_nobody(folder)
    finally:
        for process in RUNNING:
            process.kill()
        shutil.rmtree(folder)


main()
