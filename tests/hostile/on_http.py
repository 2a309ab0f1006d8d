# SPDX-License-Identifier: Apache-2.0
"""on_http.py - attacks over HTTP: bodies, lengths, crowds, clients that do not read."""
import http.client
import json
import os
import socket
import time

from common import (CLONE_NEWUSER, DRAW, noise, often, tell_identity, under, unshare, verdict,
                    wait_for)
from figures import count, hold

WRONG_TYPES = [b"7", b'"x"', b"[[]]", b'{"job":[],"n_nodes":"2"}', b'{"mode":{},"partition":[]}',
               b'{"job":"x","n_nodes":2,"profile":[1,2]}', b'{"Pod":[],"NodeNames":{}}',
               b'{"Pod":{"metadata":[]},"Nodes":{"items":[[],{},1]}}',
               b'{"a":' * 3000 + b"1" + b"}" * 3000, b"[" * 200000,
               b'{"job":"' + b"x" * 60000 + b'","n_nodes":2}',
               b'{"job":"x","n_nodes":2,"candidates":"h[0-99999999999]"}',
               b'{"job":"x","n_nodes":2,"candidates":"' + b"h[0-9][0-9]," * 4000 + b'"}',
               b'{"job":"a\\u0000b\\ud800","n_nodes":2}']


def raw(daemon, data, wait_s=2.0):
    count("requests")
    with socket.create_connection(("127.0.0.1", daemon.port), 5) as s:
        s.settimeout(wait_s)
        try:
            s.sendall(data)
            return s.recv(100)
        except OSError:
            return b""


def http_bodies(daemon):
    got = set()
    for path in daemon.paths:
        for body in WRONG_TYPES:
            count("requests")
            try:
                got.add(daemon.ask("POST", path, body)[0])
            except (OSError, http.client.HTTPException):
                got.add(0)
    verdict(not [status for status in got if status >= 500],
            "a body of the wrong kind never is our own fault (%s)" % sorted(got), repr(got))


def http_lengths(daemon):
    head = b"POST /k8s/filter HTTP/1.1\r\nHost: localhost\r\n"
    raw(daemon, head + b"Content-Length: 99999999999999999999\r\n\r\n", 0.5)
    raw(daemon, head + b"Content-Length: -1\r\n\r\n", 0.5)
    raw(daemon, head + b"Content-Length: 4000000000\r\n\r\n" + bytes(100000), 0.5)
    raw(daemon, head + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", 0.5)
    raw(daemon, head + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 20000, 0.5)
    raw(daemon, b"GET /" + b"a" * 200000 + b" HTTP/1.1\r\n\r\n", 0.5)
    raw(daemon, b"GET /api/v1/series?" + b"link=x&" * 4000 + b" HTTP/1.1\r\n\r\n", 0.5)
    raw(daemon, b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20000, 0.5)
    raw(daemon, b"\r\n" * 100000, 0.5)
    for _ in range(often(200)):
        raw(daemon, noise(DRAW.randrange(1, 4000)), 0.01)


def http_trickle(daemon):
    """Requests arrive a byte at a time, on more connections than the daemon allows."""
    slow = []
    for i in range(80):
        s = socket.create_connection(("127.0.0.1", daemon.port), 5)
        slow.append((s, b"POST /k8s/filter HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\n"
                     if i % 2 else b"GET /api/v1/health HTTP/1.1\r\nX-Slow: "))
    hold(len(slow))
    slowest = 0
    for step in range(40):
        for s, text in slow:
            try:
                s.send(text[step:step + 1] or b"x")
                count("bytes")
            except OSError:
                pass
        began = time.monotonic()
        daemon.serves()
        slowest = max(slowest, time.monotonic() - began)
    for s, _ in slow:
        s.close()
    verdict(slowest < 5, "others are served meanwhile (at most %.2f s)" % slowest)


def http_crowd(daemon):
    """A thousand connections send nothing."""
    crowd = []
    for _ in range(1000):
        s = socket.socket()
        s.setblocking(False)
        try:
            s.connect(("127.0.0.1", daemon.port))
        except BlockingIOError:
            pass
        crowd.append(s)
        count("connections")
    hold(len(crowd))
    is_served = wait_for(daemon.serves, 15)
    for s in crowd:
        s.close()
    verdict(is_served, "one who asks is served in a crowd of 1,000")


def http_deaf(daemon):
    """Clients request much and read nothing."""
    deaf = []
    for _ in range(40):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        s.settimeout(5)
        s.connect(("127.0.0.1", daemon.port))
        s.send(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n" if len(deaf) % 2 else
               b"GET /api/v1/topology HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50)
        deaf.append(s)
        count("requests")
    hold(len(deaf))
    time.sleep(1.5)
    daemon.serves()
    for s in deaf:
        s.close()


def http_tokens(daemon):
    got = set()
    for _ in range(often(300)):
        wrong = noise(DRAW.randrange(1, 40)).hex().encode()
        answer = raw(daemon, b"POST /api/v1/modes HTTP/1.1\r\nHost: localhost\r\nAuthorization: "
                     b"Bearer " + wrong + b"\r\nContent-Length: 18\r\nConnection: close"
                     b"\r\n\r\n" + b'{"mode":"enforce"}')
        got.add(answer[9:12])
    verdict(got == {b"401"}, "a wrong token is refused each time", repr(got))
    verdict(daemon.health() and json.loads(daemon.ask("GET", "/api/v1/config")[1])["mode"]
            == "observe", "and nothing has changed")


NOBODY = 65534


def http_other_user(daemon):
    """A user who is not kube-scheduler's asks in its place."""
    if os.getuid() != 0:
        print("SKIP hostile: another user at /k8s/: needs root")
        return
    question = (b"POST /k8s/filter HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
                b"Connection: close\r\n\r\n{}")
    answers = {}
    for who, is_root in (("another user", False), ("root of a user namespace", True)):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.setresuid(NOBODY, NOBODY, NOBODY)
            try:
                if is_root:
                    unshare(CLONE_NEWUSER)
                for _ in range(10):
                    os.write(writer, raw(daemon, question)[9:12])
            finally:
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as source:
            got = source.read()
        os.waitpid(child, 0)
        count("requests", 10)
        answers[who] = got
        if is_root and not got:
            print("SKIP hostile: root of a user namespace at /k8s/: no such namespaces here")
            continue
        tell_identity("kube-scheduler", who, "/k8s/", len(got) // 3,
                      len(got) // 3 - got.count("403"))
    verdict(raw(daemon, question)[9:12] == b"400",
            "only users who may ask as kube-scheduler does are heard", repr(answers))


def attack_http(daemon):
    for what, attack in (("bodies of the wrong kind", http_bodies),
                         ("lengths that lie, and noise", http_lengths),
                         ("requests that trickle in", http_trickle),
                         ("a crowd", http_crowd), ("readers that do not read", http_deaf),
                         ("wrong tokens", http_tokens),
                         ("another user at /k8s/", http_other_user)):
        under(daemon, what, lambda attack=attack: attack(daemon), daemon.serves)
