# SPDX-License-Identifier: Apache-2.0
"""honest.py - what comes through of an honest sender, while others flood the collector's
sockets: of its collective events and of its iterations, as published on the bus."""
import json
import os
import signal
import socket
import struct
import threading
import time

from common import (GROUPS, IS_SANITIZED, Program, ask_health, free_port, often, under, verdict,
                    wait_for)
from figures import Jobs, add_line, count, hold
from frames import rows
from zmtp import connect, zmq_frame, zmq_meet, zmq_read

NOBODY, HONEST = 65534, 65533
JOB = "system.slice/slurmstepd.scope/job_4711"
MIN_SHARE = 0.95
HEADS = "socket|flood|flooded a second|honest sent|came through|share, %"


def event(n, process=0):
    return struct.pack("<4sHBBIIqqQQ", b"apmk", 1, 0, 0, process, 0, n, n + 1, 8, 0)


def hello(job, process):
    return struct.pack("<4sHBBIII64s", b"appc", 1, 1, 0, process, 0, 1, job.encode())


def iteration(n, now_ns):
    return struct.pack("<4sHBBQqqqQIIII", b"appc", 1, 2, 0, n, now_ns, now_ns, 0, 0, 0, 0, 0, 0)


def open_socket(path):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.setblocking(False)
    s.connect(path)
    return s


class Listener(threading.Thread):
    """Subscribes to events and iterations of a collector's bus, and keeps their rows."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.found, self.peer = {b"p": [], b"m": []}, connect(path)
        zmq_meet(self.peer, "SUB")
        for topic in self.found:
            self.peer.sendall(zmq_frame(b"\1" + topic + b"/"))
        self.peer.settimeout(None)
        self.start()

    def run(self):
        try:
            while True:
                flags, topic = zmq_read(self.peer)
                if flags & 1:
                    self.found[topic[:1]] += rows(zmq_read(self.peer)[1])
        except OSError:
            pass

    def of(self, kind, process):
        return [row for row in self.found[kind] if row[1] == process]


def start_child(act, uid, folder=None):
    """Runs act(tell) in a child, as this user and in this control group.  tell(value) sends a
    value to the returned descriptor."""
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        return child, reader
    try:
        os.close(reader)
        if folder:
            with open(folder + "/cgroup.procs", "w", encoding="ascii") as out:
                out.write(str(os.getpid()))
        if uid:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
        act(lambda value: os.write(writer, json.dumps(value).encode() + b"\n"))
    finally:
        os._exit(0)


def finish(child, reader, is_to_kill=False):
    """The last value that a child told, or None."""
    if is_to_kill:
        os.kill(child, signal.SIGTERM)
    with os.fdopen(reader) as source:
        lines = source.read().splitlines()
    os.waitpid(child, 0)
    return json.loads(lines[-1]) if lines else None


# ---- Floods ----------------------------------------------------------------------------

def flood(path, first, packet, reconnects):
    """Sends as fast as it can on 20 connections; with 'reconnects', opens new ones all the
    time.  Tells how many packets and connections."""
    def act(tell):
        n = {"packets": 0, "connections": 0}

        def stop(*_):
            tell(n)
            os._exit(0)
        signal.signal(signal.SIGTERM, stop)
        held = [None] * 20
        while True:
            for i, s in enumerate(held):
                try:
                    if s is None or reconnects:
                        if s:
                            s.close()
                        held[i] = s = open_socket(path)
                        n["connections"] += 1
                        if first:
                            s.send(first)
                    for _ in range(1 if reconnects else 50):
                        n["packets"] += 1
                        s.send(packet(n["packets"]))
                except BlockingIOError:
                    if s is None:
                        time.sleep(0.001)
                except OSError:
                    if s:
                        s.close()
                    held[i] = None
    return act


def honest(path, first, packet, n, seconds):
    """Sends 'n' packets in 'seconds'; a packet that the kernel has no room for is lost."""
    def act(tell):
        until = time.monotonic() + 10
        while True:
            try:
                s = open_socket(path)
                break
            except BlockingIOError:  # Too many wait to be accepted.
                if time.monotonic() > until:
                    raise
                time.sleep(0.01)
        if first:
            s.send(first)
        begin_s, sent = time.monotonic(), 0
        for i in range(n):
            time.sleep(max(0, begin_s + i * seconds / n - time.monotonic()))
            try:
                sent += s.send(packet(i)) > 0
            except OSError:
                pass
        tell(sent)
        time.sleep(1.5)  # A closed connection could lose what is in its queue.
    return act


def check_share(collector, listener, jobs, path, what, kind, first, packet, reconnects):
    """Floods one of the sockets, and compares what an honest job sent with what was
    published of it."""
    n, seconds = often(400), often(4)
    result = {}

    def attack():
        flooder = start_child(flood(path, first, packet, reconnects), NOBODY)
        begin_s = time.monotonic()
        try:
            time.sleep(0.5)
            child, reader = start_child(honest(path, first, packet, n, seconds), HONEST,
                                        jobs and jobs.folder(JOB))
            result["accepted"] = finish(child, reader) or 0
            result["child"] = child
        finally:
            sent = finish(*flooder, is_to_kill=True) or {"packets": 0, "connections": 0}
            result["rate"] = sent["packets"] / (time.monotonic() - begin_s)
            count("packets", sent["packets"])
            hold(20)

    name = "%s: a flood%s" % (what, " of connections" if reconnects else "")
    under(collector, name, attack,
          lambda: collector.probe() and len(listener.of(kind, result.get("child"))) >= 0)
    wait_for(lambda: len(listener.of(kind, result["child"])) >= result["accepted"], 60)
    found = listener.of(kind, result["child"])
    # The end of a pacer is a row of its own.
    got = len([row for row in found if not (kind == b"p" and row[2][1] & 4)])
    share = got / n
    add_line(HEADS, what, "connections" if reconnects else "packets", round(result["rate"]), n,
             got, "%.1f" % (100 * share))
    verdict(share >= MIN_SHARE or IS_SANITIZED,
            "%s: %.1f %% of an honest sender's come through" % (name, 100 * share),
            "accepted %d, published %d of %d" % (result["accepted"], got, n))
    if jobs:
        verdict({row[0] for row in found} <= {"4711"}, "and count for its job alone")


def check_honest(folder):
    """Floods each of the two sockets that all users may write to."""
    if os.geteuid() != 0:
        print("SKIP hostile: floods by other users: need root")
        return
    os.chmod(folder, 0o711)
    own = folder + "/honest"
    os.mkdir(own)
    os.chmod(own, 0o755)
    jobs = Jobs.make()
    metrics = free_port()
    collector = Program(own, "antiphase-collector", "--host", "h9", "--source", "netlink",
                        "--interface", "lo", "--metrics", "127.0.0.1:%d" % metrics,
                        "--endpoint", "ipc://%s/bus" % own,
                        *(["--job-roots", "/" + jobs.name] if jobs else []))
    collector.probe = lambda: ask_health(metrics, "/healthz")
    if jobs:
        GROUPS.append(jobs)
    sockets = own + "/sockets/"
    if not wait_for(lambda: os.path.exists(sockets + "events.sock"), 10):
        verdict(False, "the collector listens to events", "\n".join(collector.lines()))
        return
    listener = Listener(own + "/bus")
    pacer = hello("", 0)
    for reconnects in (False, True):
        check_share(collector, listener, jobs, sockets + "events.sock", "events socket", b"m", None,
                    lambda i: event(time.monotonic_ns()), reconnects)
        check_share(collector, listener, jobs, sockets + "pacer.sock", "pacers' socket", b"p", pacer,
                    lambda i: iteration(i, time.monotonic_ns()), reconnects)
    verdict(collector.end() == 0, "the collector ends when told")
