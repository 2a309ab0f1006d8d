#!/usr/bin/env python3
"""hostile.py - whoever talks to antiphase-scheduler and antiphase-collector talks badly.

Every socket of theirs, one after another: HTTP; the bus that frames come by; the service
that is asked for the fabric; what is announced; control; the pacers' socket, and orders
for them.  What comes is noise, damage, too much, too many, too slow, or nothing at all.
After each the daemon still serves, has said so in some lines and not in thousands, and is
not much larger than before.  Prints PASS and FAIL lines for tests/run.
"""
import http.client
import json
import os
import random
import re
import select
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.getcwd()
BUILD = os.path.join(ROOT, os.environ["B"])
TOKEN = "0123456789abcdef0123"
DRAW = random.Random(4)
RUNNING = []
MAX_LINES = 25
IS_SANITIZED = "address" in os.environ["B"]
MAX_RSS_KB = 600000 if IS_SANITIZED else 150000


def verdict(is_good, what, why=""):
    print(("PASS" if is_good else "FAIL") + " hostile: " + what, flush=True)
    if not is_good:
        print(why, file=sys.stderr)


def noise(n):
    return DRAW.randbytes(n)


# ---- Daemons --------------------------------------------------------------------------

class Program:
    """One of our daemons, in a folder of its own."""

    def __init__(self, folder, name, *options):
        self.folder, self.name = folder, name
        self.path = os.path.join(folder, name + ".log")
        with open(self.path, "ab") as log:
            self.process = subprocess.Popen(
                [os.path.join(BUILD, name), "--runtime-dir", folder, *options],
                stderr=log, stdout=log, stdin=subprocess.DEVNULL)
        RUNNING.append(self.process)

    def lines(self):
        with open(self.path, errors="replace") as log:
            return log.read().splitlines()

    def rss_kb(self):
        with open("/proc/%d/status" % self.process.pid) as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1))

    def is_alive(self):
        return self.process.poll() is None

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(20)
        RUNNING.remove(self.process)
        return status


class Scheduler(Program):
    def __init__(self, folder, *options):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        super().__init__(folder, "antiphase-scheduler", "--http",
                         "127.0.0.1:%d" % self.port, "--store", folder + "/history.db",
                         "--kill-switch", folder + "/stop", "--token-file",
                         folder + "/token", *options)
        wait_for(lambda: self.health() is not None, 10)

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request(method, path, body, {"Authorization": "Bearer " + TOKEN})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, text

    def health(self):
        try:
            status, text = self.ask("GET", "/api/v1/health")
            return json.loads(text) if status == 200 else None
        except (OSError, http.client.HTTPException, ValueError):
            return None

    def serves(self):
        return self.health() is not None


def wait_for(what, seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if what():
            return True
        time.sleep(0.05)
    return False


def under(daemon, what, attack, serves):
    """Attacks, and looks at the daemon before and after."""
    before = len(daemon.lines())
    try:
        attack()
    except (BrokenPipeError, ConnectionError, socket.timeout):
        pass
    is_served = wait_for(serves, 15) if daemon.is_alive() else False
    lines = daemon.lines()[before:]
    rss_kb = daemon.rss_kb() if daemon.is_alive() else 0
    is_good = is_served and len(lines) <= MAX_LINES and 0 < rss_kb <= MAX_RSS_KB
    verdict(is_good, "%s: %s still serves" % (what, daemon.name),
            "%s: alive %s, served %s, %d lines, %d kB\n%s" %
            (what, daemon.is_alive(), is_served, len(lines), rss_kb,
             "\n".join(line[:300] for line in lines[-30:])))
    return lines


# ---- ZeroMQ's own protocol, by hand -----------------------------------------------------

def zmq_frame(body, more=False, command=False):
    flags = (4 if command else 0) | (1 if more else 0)
    if len(body) < 256 and not command:
        return bytes([flags, len(body)]) + body
    if len(body) < 256:
        return bytes([flags, len(body)]) + body
    return bytes([flags | 2]) + struct.pack(">Q", len(body)) + body


def zmq_greeting(mechanism=b"NULL"):
    return (b"\xff" + bytes(8) + b"\x7f\x03\x00" + mechanism.ljust(20, b"\0") +
            bytes(32))


def zmq_ready(kind):
    value = kind.encode()
    return zmq_frame(b"\x05READY\x0bSocket-Type" + struct.pack(">I", len(value)) + value +
                     b"\x08Identity" + bytes(4), command=True)


def read_all(s, n):
    data = b""
    while len(data) < n:
        more = s.recv(n - len(data))
        if not more:
            raise ConnectionError("closed")
        data += more
    return data


def zmq_read(s):
    """One frame: flags and body."""
    flags = read_all(s, 1)[0]
    n = struct.unpack(">Q", read_all(s, 8))[0] if flags & 2 else read_all(s, 1)[0]
    return flags, read_all(s, n)


def zmq_meet(s, kind):
    s.sendall(zmq_greeting())
    read_all(s, 64)
    s.sendall(zmq_ready(kind))
    zmq_read(s)


def listen(path):
    if os.path.exists(path):
        os.unlink(path)
    s = socket.socket(socket.AF_UNIX)
    s.bind(path)
    s.listen(64)
    return s


def connect(path):
    """A backlog that is full is waited for."""
    until = time.monotonic() + 10
    while True:
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(10)
        try:
            s.connect(path)
            return s
        except BlockingIOError:
            s.close()
            if time.monotonic() > until:
                raise
            time.sleep(0.01)


CRC = []
for number in range(256):
    for _ in range(8):
        number = number >> 1 ^ (0x82f63b78 if number & 1 else 0)
    CRC.append(number)


def crc32c(data):
    value = 0xffffffff
    for byte in data:
        value = CRC[(value ^ byte) & 0xff] ^ value >> 8
    return value ^ 0xffffffff


# ---- HTTP -------------------------------------------------------------------------------

PATHS = ["/api/v1/health", "/api/v1/topology", "/api/v1/links", "/api/v1/links/x",
         "/api/v1/links/x/circle", "/api/v1/jobs", "/api/v1/jobs/x", "/api/v1/series",
         "/api/v1/advice", "/api/v1/advice/x", "/api/v1/changes", "/api/v1/config",
         "/api/v1/events", "/metrics", "/api/v1/modes", "/api/v1/poke",
         "/api/v1/jobs/x/unpin", "/k8s/filter", "/k8s/prioritize"]
WRONG_TYPES = [b"7", b'"x"', b"[[]]", b'{"job":[],"n_nodes":"2"}', b'{"mode":{},"partition":[]}',
               b'{"job":"x","n_nodes":2,"profile":[1,2]}', b'{"Pod":[],"NodeNames":{}}',
               b'{"Pod":{"metadata":[]},"Nodes":{"items":[[],{},1]}}',
               b'{"a":' * 3000 + b"1" + b"}" * 3000, b"[" * 200000,
               b'{"job":"' + b"x" * 60000 + b'","n_nodes":2}',
               b'{"job":"x","n_nodes":2,"candidates":"h[0-99999999999]"}',
               b'{"job":"x","n_nodes":2,"candidates":"' + b"h[0-9][0-9]," * 4000 + b'"}',
               b'{"job":"a\\u0000b\\ud800","n_nodes":2}']


def raw(daemon, data, wait_s=2.0):
    with socket.create_connection(("127.0.0.1", daemon.port), 5) as s:
        s.settimeout(wait_s)
        try:
            s.sendall(data)
            return s.recv(100)
        except OSError:
            return b""


def http_bodies(daemon):
    got = set()
    for path in PATHS:
        for body in WRONG_TYPES:
            try:
                got.add(daemon.ask("POST", path, body)[0])
            except (OSError, http.client.HTTPException):
                got.add(0)
    verdict(not [status for status in got if status >= 500],
            "a body of the wrong kind never is our own fault (%s)" % sorted(got), repr(got))


def http_lengths(daemon):
    head = b"POST /k8s/filter HTTP/1.1\r\nHost: x\r\n"
    raw(daemon, head + b"Content-Length: 99999999999999999999\r\n\r\n", 0.5)
    raw(daemon, head + b"Content-Length: -1\r\n\r\n", 0.5)
    raw(daemon, head + b"Content-Length: 4000000000\r\n\r\n" + bytes(100000), 0.5)
    raw(daemon, head + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", 0.5)
    raw(daemon, head + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 20000, 0.5)
    raw(daemon, b"GET /" + b"a" * 200000 + b" HTTP/1.1\r\n\r\n", 0.5)
    raw(daemon, b"GET /api/v1/series?" + b"link=x&" * 4000 + b" HTTP/1.1\r\n\r\n", 0.5)
    raw(daemon, b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20000, 0.5)
    raw(daemon, b"\r\n" * 100000, 0.5)
    for _ in range(200):
        raw(daemon, noise(DRAW.randrange(1, 4000)), 0.01)


def http_trickle(daemon):
    """Requests that come a byte at a time, on more connections than there may be."""
    slow = []
    for i in range(80):
        s = socket.create_connection(("127.0.0.1", daemon.port), 5)
        slow.append((s, b"POST /k8s/filter HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n"
                     if i % 2 else b"GET /api/v1/health HTTP/1.1\r\nX-Slow: "))
    slowest = 0
    for step in range(40):
        for s, text in slow:
            try:
                s.send(text[step:step + 1] or b"x")
            except OSError:
                pass
        began = time.monotonic()
        daemon.serves()
        slowest = max(slowest, time.monotonic() - began)
    for s, _ in slow:
        s.close()
    verdict(slowest < 5, "others are served meanwhile (at most %.2f s)" % slowest)


def http_crowd(daemon):
    """A thousand connections that say nothing."""
    crowd = []
    for _ in range(1000):
        s = socket.socket()
        s.setblocking(False)
        try:
            s.connect(("127.0.0.1", daemon.port))
        except BlockingIOError:
            pass
        crowd.append(s)
    is_served = wait_for(daemon.serves, 15)
    for s in crowd:
        s.close()
    verdict(is_served, "one who asks is served in a crowd of 1,000")


def http_deaf(daemon):
    """Those who ask for much and read nothing."""
    deaf = []
    for _ in range(40):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        s.settimeout(5)
        s.connect(("127.0.0.1", daemon.port))
        s.send(b"GET /api/v1/events HTTP/1.1\r\nHost: x\r\n\r\n" if len(deaf) % 2 else
               b"GET /api/v1/topology HTTP/1.1\r\nHost: x\r\n\r\n" * 50)
        deaf.append(s)
    time.sleep(1.5)
    daemon.serves()
    for s in deaf:
        s.close()


def http_tokens(daemon):
    got = set()
    for _ in range(300):
        wrong = noise(DRAW.randrange(1, 40)).hex().encode()
        answer = raw(daemon, b"POST /api/v1/modes HTTP/1.1\r\nHost: x\r\nAuthorization: "
                     b"Bearer " + wrong + b"\r\nContent-Length: 18\r\nConnection: close"
                     b"\r\n\r\n" + b'{"mode":"enforce"}')
        got.add(answer[9:12])
    verdict(got == {b"401"}, "a wrong token is refused each time", repr(got))
    verdict(daemon.health() and json.loads(daemon.ask("GET", "/api/v1/config")[1])["mode"]
            == "observe", "and nothing has changed")


def attack_http(daemon):
    for what, attack in (("bodies of the wrong kind", http_bodies),
                         ("lengths that lie, and noise", http_lengths),
                         ("requests that trickle in", http_trickle),
                         ("a crowd", http_crowd), ("readers that do not read", http_deaf),
                         ("wrong tokens", http_tokens)):
        under(daemon, what, lambda attack=attack: attack(daemon), daemon.serves)


# ---- The bus ----------------------------------------------------------------------------

def record_frames(folder):
    """Some messages of a simulated cluster, as they go over the bus: (topic, frame)."""
    path = folder + "/source"
    sim = subprocess.Popen(
        [os.path.join(BUILD, "antiphase-sim"), "run", "two-jobs.ini", "--duration", "60",
         "--pace", "4", "--publish", "ipc://" + path], cwd=os.path.join(ROOT, "examples"),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    RUNNING.append(sim)
    frames = []
    try:
        wait_for(lambda: os.path.exists(path), 10)
        with connect(path) as s:
            zmq_meet(s, "SUB")
            s.sendall(zmq_frame(b"\x01"))
            while len(frames) < 60:
                flags, topic = zmq_read(s)
                if not flags & 1:
                    continue
                frames.append((topic, zmq_read(s)[1]))
    finally:
        sim.kill()
        sim.wait()
        RUNNING.remove(sim)
    return frames


def renamed(topic, frame, name):
    """The frame as of another host, whose name is as long, and its sum right."""
    host = topic.split(b"/")[1]
    frame = frame[:16] + frame[16:].replace(host, name[:len(host)])
    return frame[:12] + struct.pack("<I", crc32c(frame[:12] + frame[16:])) + frame[16:]


class Publisher:
    """Accepts whoever connects, and hands him what is sent."""

    def __init__(self, path, kind="PUB"):
        self.at, self.kind = listen(path), kind

    def meet(self):
        self.at.settimeout(15)
        self.peer = self.at.accept()[0]
        self.peer.settimeout(10)
        zmq_meet(self.peer, self.kind)
        time.sleep(0.2)

    def send(self, *parts):
        self.peer.sendall(b"".join(zmq_frame(part, more=i + 1 < len(parts))
                                   for i, part in enumerate(parts)))


def attack_bus(daemon, publisher, frames):
    def damage():
        for _ in range(3000):
            topic, frame = DRAW.choice(frames)
            frame = bytearray(frame)
            for _ in range(DRAW.randrange(1, 6)):
                frame[DRAW.randrange(len(frame))] ^= 1 << DRAW.randrange(8)
            publisher.send(topic, bytes(frame[:DRAW.randrange(len(frame) + 1)]
                                        if DRAW.random() < 0.3 else frame))

    def shapes():
        for parts in ((b"",), (b"", b""), (b"s/", b""), (b"s/h0/",), (b"s/h0/", b"", b""),
                      (b"s/h0/" * 1000, frames[0][1]), (noise(100), noise(100)),
                      (b"s/h0/", bytes(5 << 20)), (b"s/h0/", frames[0][1]) * 40):
            for _ in range(20):
                publisher.send(*parts)

    def names():
        evil = [b"\x1b[", b"..", b"/.", b"%s", b"\xff\xfe", b"\n\n", b'"}', b"<b", b"  "]
        for i in range(2000):
            topic, frame = frames[i % len(frames)]
            name = DRAW.choice(evil) if i % 3 == 0 else b"%02x" % DRAW.randrange(256)
            publisher.send(topic, renamed(topic, frame, name))

    def flood():
        for i in range(30000):
            topic, frame = frames[i % len(frames)]
            publisher.send(topic, frame)

    for what, attack in (("damaged frames", damage), ("messages of odd shapes", shapes),
                         ("hosts with hostile names", names), ("a flood of frames", flood)):
        publisher.meet_again()
        under(daemon, what, attack, daemon.serves)
    verdict(wait_for(lambda: any("no frames of ours" in l for l in daemon.lines()), 3),
            "damage is told in the log", "\n".join(daemon.lines()))
    said = json.dumps(daemon.health()) + daemon.ask("GET", "/api/v1/links")[1].decode(
        "utf-8", "surrogateescape") + "\n".join(daemon.lines())
    verdict("\x1b" not in said and "\udcff" not in said,
            "no control character of theirs is in answers or the log")


def meet_again(self):
    """Whoever was thrown off, for a message that is too long, comes again."""
    if getattr(self, "peer", None):
        try:
            self.peer.sendall(zmq_frame(b"x/"))
            time.sleep(0.3)
            if not select.select([self.at], [], [], 0)[0]:
                return
        except OSError:
            pass
    self.meet()


Publisher.meet_again = meet_again


# ---- Keys -------------------------------------------------------------------------------

def keys(*words):
    subprocess.run([os.path.join(BUILD, "antiphase"), "keys", *words], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def attack_keys(folder):
    """A publisher with another key than the daemon knows, and one without any."""
    for name in ("ours", "theirs", "others"):
        keys("new", "--dir", folder + "/" + name)
    own = [name for name in os.listdir(folder + "/ours") if name.endswith(".pub")][0]
    keys("server", "--dir", folder + "/ours", folder + "/others/" + own)
    keys("allow", "--dir", folder + "/theirs", "daemon", folder + "/ours/" + own)
    at = socket.socket()
    at.bind(("127.0.0.1", 0))
    port = at.getsockname()[1]
    at.close()
    sim = subprocess.Popen(
        [os.path.join(BUILD, "antiphase-sim"), "run", "two-jobs.ini", "--duration", "60",
         "--pace", "4", "--publish", "tcp://127.0.0.1:%d" % port, "--keys",
         folder + "/theirs"], cwd=os.path.join(ROOT, "examples"),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    RUNNING.append(sim)
    os.mkdir(folder + "/k")
    shutil.copy(folder + "/token", folder + "/k/token")
    daemon = Scheduler(folder + "/k", "--keys", folder + "/ours", "--bus",
                       "tcp://127.0.0.1:%d" % port, "--topology", "none", "--announce",
                       "ipc://" + folder + "/k/announce")
    under(daemon, "a publisher with a wrong key", lambda: time.sleep(3), daemon.serves)
    health = daemon.health() or {}
    verdict(health.get("hosts", health.get("n_hosts")) in (0, [], None),
            "and nothing is taken of it", repr(health))

    def without():
        for _ in range(300):
            with connect(folder + "/k/announce") as s:
                s.sendall(zmq_greeting() + zmq_ready("SUB") + zmq_frame(b"\x01"))
                s.settimeout(0.02)
                try:
                    heard = s.recv(65536)
                except OSError:
                    heard = b""
                assert b"antiphase.orders" not in heard
    under(daemon, "listeners without a key", without, daemon.serves)
    sim.kill()
    sim.wait()
    RUNNING.remove(sim)
    verdict(daemon.end() == 0, "it ends when told")


# ---- A service that lies ------------------------------------------------------------------

class Liar(threading.Thread):
    """Answers every question with the next lie."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.at, self.lie, self.n_asked = listen(path), b"{}", 0
        self.start()

    def run(self):
        while True:
            peer = self.at.accept()[0]
            threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def serve(self, peer):
        try:
            if self.lie == "noise":
                self.n_asked += 1
                peer.sendall(noise(100000))
                return
            zmq_meet(peer, "ROUTER")
            while True:
                envelope = []
                while True:
                    flags, body = zmq_read(peer)
                    if flags & 4:
                        continue
                    envelope.append(body)
                    if not flags & 1:
                        break
                self.n_asked += 1
                if self.lie is None:
                    continue
                if self.lie == "huge":
                    # It says 8 GB, and begins to send.
                    peer.sendall(b"".join(zmq_frame(b, more=True) for b in envelope[:-1]) +
                                 b"\x02" + struct.pack(">Q", 8 << 30))
                    for _ in range(100):
                        peer.sendall(bytes(1 << 20))
                    return
                peer.sendall(b"".join(zmq_frame(b, more=True) for b in envelope[:-1]) +
                             zmq_frame(self.lie))
        except (OSError, struct.error):
            pass
        finally:
            peer.close()


def attack_topology(folder):
    os.mkdir(folder + "/t")
    shutil.copy(folder + "/token", folder + "/t/token")
    liar = Liar(folder + "/liar")
    announced = Publisher(folder + "/changes")
    daemon = Scheduler(folder + "/t", "--bus", "ipc://%s/t/bus" % folder, "--announce",
                       "none", "--topology", "ipc://%s/liar" % folder,
                       "--topology-changes", "ipc://%s/changes" % folder)
    good = b'{"schema":"antiphase.topology/1","switches":[],"hosts":[],"cables":[]}'
    lies = [b"", b"{", noise(5000), b"[" * 1000000, b'{"ok":true}', b'{"plan":null}',
            b'{"schema":"antiphase.topology/1","hosts":[{"name":"a"},{"name":"a"}]}',
            b'{"ok":true,"plan":' + good + b"}", b"null", b'{"plan":' * 500,
            b'{"schema":"antiphase.topology/1","switches":[' +
            b",".join(b'{"name":"s%d","tier":1}' % i for i in range(20000)) + b"]}",
            "noise", "huge", None]

    def lie():
        for text in lies:
            liar.lie, before = text, liar.n_asked
            daemon.process.send_signal(signal.SIGHUP)
            wait_for(lambda: liar.n_asked > before, 2)
            time.sleep(0.1)

    lines = under(daemon, "a service that lies about the fabric", lie, daemon.serves)
    verdict(liar.n_asked >= len(lies) // 2, "it was asked (%d times)" % liar.n_asked)
    verdict(any("fabric:" in line for line in lines), "and the log says so once or more")

    def cry():
        announced.meet()
        for i in range(20000):
            announced.send(b"t/plan", b"{}" if i % 2 else noise(50))

    liar.lie, before = b"{}", liar.n_asked
    under(daemon, "20,000 changes announced", cry, daemon.serves)
    time.sleep(2)
    verdict(liar.n_asked - before < 20, "it does not ask for each (%d times)" %
            (liar.n_asked - before))
    verdict(daemon.end() == 0, "it ends when told")


# ---- Listeners, control -------------------------------------------------------------------

def attack_announcer(daemon, path):
    def noises():
        for _ in range(300):
            try:
                with connect(path) as s:
                    s.sendall(DRAW.choice([noise(200), zmq_greeting(b"CURVE") + noise(300),
                                           zmq_greeting() + noise(300),
                                           zmq_greeting() + b"\x06" + b"\xff" * 8,
                                           zmq_greeting() + zmq_ready("PUB") +
                                           zmq_frame(noise(2000))]))
            except OSError:
                pass

    def topics():
        """One who subscribes to more than there is memory for, if each were kept."""
        with connect(path) as s:
            zmq_meet(s, "SUB")
            s.settimeout(2)
            for _ in range(20000):
                s.sendall(zmq_frame(b"\x01" + noise(200)))
            s.sendall(zmq_frame(b"\x01" + noise(1 << 20)))

    def crowd():
        held = []
        for _ in range(500):
            try:
                held.append(connect(path))
            except OSError:
                break
        daemon.serves()
        for s in held:
            s.close()

    for what, attack in (("listeners that talk noise", noises),
                         ("20,000 subscriptions of one", topics),
                         ("500 listeners that say nothing", crowd)):
        under(daemon, what, attack, daemon.serves)


def attack_control(daemon, path):
    def talk():
        held = []
        for i in range(300):
            try:
                s = connect(path)
                s.settimeout(1)
                held.append(s)
                s.sendall(noise(100) if i % 3 else b"x" * 200000)
            except OSError:
                pass
            if i % 2 and held:
                held.pop().close()
        for s in held:
            s.close()
    under(daemon, "control by noise, at length, and by many", talk, daemon.serves)


# ---- The collector's sockets ----------------------------------------------------------------

HELLO = b""


def pacer_connect(path):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(2)
    s.connect(path)
    return s


def attack_pacers(collector, path):
    def serves():
        try:
            pacer_connect(path).close()
            done = subprocess.run([os.path.join(BUILD, "antiphase"), "ctl", "--runtime-dir",
                                   collector.folder, "collector", "stats"], timeout=10,
                                  capture_output=True, check=False)
            return done.returncode == 0 and len(done.stdout) > 0
        except (OSError, subprocess.SubprocessError):
            return False

    def garbage():
        for _ in range(3000):
            try:
                with pacer_connect(path) as s:
                    for _ in range(3):
                        s.send(b"appc" + noise(DRAW.randrange(200)) if DRAW.random() < 0.5
                               else noise(DRAW.randrange(1, 3000)))
            except OSError:
                pass

    def flood():
        held = []
        for _ in range(20):
            try:
                held.append(pacer_connect(path))
            except OSError:
                pass
        for i in range(60000):
            try:
                held[i % len(held)].send(b"appc" + bytes(44), socket.MSG_DONTWAIT)
            except OSError:
                if i % 100 == 0:
                    try:
                        held[i % len(held)] = pacer_connect(path)
                    except OSError:
                        pass

    def crowd():
        held = []
        for _ in range(900):
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            s.setblocking(False)
            try:
                s.connect(path)
                held.append(s)
            except OSError:
                s.close()
        for s in held:
            s.close()

    for what, attack in (("pacers that send garbage", garbage),
                         ("pacers that flood", flood), ("900 pacers that say nothing", crowd)):
        under(collector, what, attack, serves)
    return serves


def attack_orders(collector, orders, serves):
    texts = [b"", b"{", noise(300), b"[" * 100000, b'{"schema":"antiphase.orders/2"}',
             b'{"schema":"antiphase.orders/1","orders":{}}',
             b'{"schema":"antiphase.orders/1","orders":[' + b"{}," * 10000 + b"{}]}",
             b'{"schema":"antiphase.orders/1","orders":[{"job":"1","pid":-1,"number":1e99,'
             b'"delay_us":-5,"not_before_us":0,"expires_us":0,"max_us":9e18}]}',
             b'{"schema":"antiphase.orders/1","orders":[{"job":"\\u001b[31m","pid":1,'
             b'"number":1,"delay_us":5,"not_before_us":0,"expires_us":1,"max_us":1}]}',
             bytes(4 << 20)]

    def send():
        orders.meet()
        for i in range(5000):
            try:
                orders.send(b"pace/h9/", texts[i % (len(texts) - 1)])
                if i % 1000 == 999:
                    orders.send(b"pace/h9/", texts[-1])
            except OSError:
                orders.meet()
    under(collector, "orders that are none", send, serves)


# ---- Killed by what it does ---------------------------------------------------------------

SQUEUE = r"""#!/bin/sh
case $* in *' -t PD '*) exit 0;; esac
mark=${SQUEUE_FORMAT2#*:}; mark=${mark%%,*}
sed "s/@/$mark/g" "${0%/*}/jobs"
"""
SINFO = """#!/bin/sh
for i in 0 1 2 3; do echo "h$i|idle|train|4|||"; done
"""
# The first change of a job is the last thing that its daemon lives to see.
SCONTROL = """#!/bin/sh
case $1 in
-V) echo slurm 24.11.5 ;;
update) kill -9 $PPID; echo "$*" >>"${0%/*}/sent" ;;
esac
"""


def check_killed_at_a_change(folder):
    """SIGKILL at the moment at which a change is begun: the store knows of it."""
    own = folder + "/s"
    os.mkdir(own)
    shutil.copy(folder + "/token", own + "/token")
    for name, text in (("squeue", SQUEUE), ("sinfo", SINFO), ("scontrol", SCONTROL)):
        with open(own + "/" + name, "w", encoding="utf-8") as out:
            out.write(text)
        os.chmod(own + "/" + name, 0o755)
    begin = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() + 60))
    with open(own + "/jobs", "w", encoding="utf-8") as out:
        out.write("17@17@PENDING@2@@BeginTime@1@@(null)@train@u@%s@N/A@0@antiphase:v1;gate@"
                  "antiphase: iter_us=120000 comm_us=30000@j@\n" % begin)
    daemon = Scheduler(own, "--bus", "ipc://%s/bus" % own, "--announce", "none",
                       "--topology", os.path.join(ROOT, "examples/two-jobs-fabric.json"),
                       "--host", "slurm", "--slurm-bindir", own, "--mode", "enforce")
    is_killed = wait_for(lambda: not daemon.is_alive(), 10)
    RUNNING.remove(daemon.process)
    time.sleep(0.2)
    with sqlite3.connect(own + "/history.db") as db:
        known = [json.loads(row[0]) for row in
                 db.execute("SELECT json FROM document WHERE kind = 3 AND key = '17'")]
    verdict(is_killed and os.path.exists(own + "/sent") and len(known) == 1 and
            known[0]["kind"] == "pin" and known[0]["nodes"],
            "killed as it begins a change, the store knows of the change",
            "killed %s, known %r\n%s" % (is_killed, known, "\n".join(daemon.lines())))


# ---- All of it ------------------------------------------------------------------------------

def check_scheduler(folder):
    frames = record_frames(folder)
    publisher = Publisher(folder + "/bus")
    daemon = Scheduler(folder, "--bus", "ipc://%s/bus" % folder, "--announce",
                       "ipc://%s/announce" % folder, "--topology",
                       os.path.join(ROOT, "examples/two-jobs-fabric.json"))
    attack_bus(daemon, publisher, frames)
    attack_http(daemon)
    attack_announcer(daemon, folder + "/announce")
    attack_control(daemon, folder + "/scheduler.sock")
    rss_kb, n_lines = daemon.rss_kb(), len(daemon.lines())
    verdict(any("http:" in line for line in daemon.lines()), "what HTTP refuses, too")
    verdict(daemon.end() == 0, "it ends when told")
    verdict(TOKEN not in "".join(daemon.lines()), "its token is not in its log")
    print("antiphase-scheduler after all of it: %d kB, %d lines of log" % (rss_kb, n_lines),
          file=sys.stderr)


def check_collector(folder):
    os.mkdir(folder + "/c")
    orders = Publisher(folder + "/orders")
    path = folder + "/c/pacer.sock"
    collector = Program(folder + "/c", "antiphase-collector", "--host", "h9", "--source",
                        "netlink", "--interface", "lo",
                        "--metrics", "none", "--endpoint", "ipc://%s/c/bus" % folder,
                        "--pacer-orders", "ipc://%s/orders" % folder)
    if not wait_for(lambda: os.path.exists(path), 10):
        verdict(False, "the collector listens to pacers", "\n".join(collector.lines()))
        return
    serves = attack_pacers(collector, path)
    attack_orders(collector, orders, serves)
    rss_kb, n_lines = collector.rss_kb(), len(collector.lines())
    verdict(collector.end() == 0, "the collector ends when told")
    print("antiphase-collector after all of it: %d kB, %d lines of log" % (rss_kb, n_lines),
          file=sys.stderr)


def main():
    folder = tempfile.mkdtemp(prefix="ap-hostile-")
    try:
        with open(folder + "/token", "w", encoding="utf-8") as token:
            token.write(TOKEN + "\n")
        for part in (check_scheduler, attack_keys, attack_topology,
                     check_killed_at_a_change, check_collector):
            if len(sys.argv) < 2 or part.__name__ in sys.argv[1:]:
                part(folder)
    finally:
        for process in RUNNING:
            process.kill()
            process.wait()
        shutil.rmtree(folder)


main()
