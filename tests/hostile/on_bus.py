# SPDX-License-Identifier: Apache-2.0
"""on_bus.py - attacks on the bus that carries frames, and on its keys."""
import json
import os
import re
import shutil
import socket
import struct
import string
import subprocess
import sys
import time

from common import (BUILD, DRAW, ROOT, RUNNING, Scheduler, noise, often, under, verdict,
                    wait_for)
from zmtp import (connect, crc32c, zmq_frame, zmq_greeting, zmq_meet, zmq_read,
                  zmq_ready)


def record_frames(folder):
    """Returns messages of a simulated cluster as sent over the bus: (topic, frame)."""
    path = folder + "/source"
    if os.path.exists(path):
        os.unlink(path)  # Of an earlier call.
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
    """Returns the frame with another host name of equal length, and a valid CRC."""
    host = topic.split(b"/")[1]
    frame = frame[:16] + frame[16:].replace(host, name[:len(host)])
    return frame[:12] + struct.pack("<I", crc32c(frame[:12] + frame[16:])) + frame[16:]


def attack_bus(daemon, publisher, frames):
    def damage():
        for _ in range(often(3000)):
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
        for i in range(often(2000)):
            topic, frame = frames[i % len(frames)]
            name = DRAW.choice(evil) if i % 3 == 0 else b"%02x" % DRAW.randrange(256)
            publisher.send(topic, renamed(topic, frame, name))

    def flood():
        for i in range(often(30000)):
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


# ---- Keys -------------------------------------------------------------------------------

def keys(*words):
    subprocess.run([os.path.join(BUILD, "antiphase"), "keys", *words], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def attack_keys(folder):
    """Tests a publisher with a key that the daemon does not know, and listeners without
    a key."""
    for name in ("ours", "theirs", "others"):
        keys("new", "--dir", folder + "/" + name)
    own = [name for name in os.listdir(folder + "/ours") if name.endswith(".pub")][0]
    keys("server", "--dir", folder + "/ours", "--hosts", "*", folder + "/others/" + own)
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
    attack_names(folder)


def stepped(frame, seconds):
    """Returns the frame with another offset of the wall clock, and a valid CRC."""
    at = 16 + 5 + 52  # Of the first section: docs/wire-format.md.
    offset = struct.unpack("<q", frame[at:at + 8])[0] + seconds * 10 ** 9
    frame = frame[:at] + struct.pack("<q", offset) + frame[at + 8:]
    return frame[:12] + struct.pack("<I", crc32c(frame[:12] + frame[16:])) + frame[16:]


def metric(daemon, name):
    text = daemon.ask("GET", "/metrics")[1].decode()
    found = re.search("^%s (\\S+)$" % re.escape(name), text, re.MULTILINE)
    return float(found.group(1)) if found else None


def publish(program, *words):
    process = subprocess.Popen([os.path.join(BUILD, program), *words],
                               cwd=os.path.join(ROOT, "examples"),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    RUNNING.append(process)
    return process


def attack_names(folder):
    """A host with a valid key of its own speaks as other hosts, invents 1,000, and steps
    the clocks of all."""
    frames = record_frames(folder)
    real = sorted({topic.split(b"/")[1] for topic, _ in frames})
    letters = string.ascii_uppercase + string.digits
    invented = [(a + b).encode() for a in letters for b in letters][:1000]
    for name in ("daemon", "evil", "good"):
        keys("new", "--dir", folder + "/" + name)
    keys("allow", "--dir", folder + "/evil", "daemon", folder + "/daemon/self.pub")
    keys("allow", "--dir", folder + "/good", "daemon", folder + "/daemon/self.pub")
    keys("server", "--dir", folder + "/daemon", "--for", "127.0.0.1", "--hosts", "zz",
         folder + "/evil/self.pub")
    keys("server", "--dir", folder + "/daemon", "--for", "127.0.0.2", "--hosts", "h*",
         folder + "/good/self.pub")
    ports = []
    for at in ("127.0.0.1", "127.0.0.2"):
        with socket.socket() as s:
            s.bind((at, 0))
            ports.append("tcp://%s:%d" % s.getsockname())
    good = publish("antiphase-sim", "run", "two-jobs.ini", "--duration", "60", "--pace", "2",
                   "--publish", ports[1], "--keys", folder + "/good")
    os.mkdir(folder + "/n")
    shutil.copy(folder + "/token", folder + "/n/token")
    daemon = Scheduler(folder + "/n", "--keys", folder + "/daemon", "--bus",
                       ",".join(ports), "--topology", "none", "--announce", "none")
    refused = 'antiphase_scheduler_frames_refused_total{reason="name"}'
    wait_for(lambda: (daemon.health() or {}).get("hosts") == len(real), 15)
    health = daemon.health() or {}
    lies = [renamed(topic, frame, name) for name in invented
            for topic, frame in frames[:1]]
    lies += [stepped(frame, 3600) for _ in range(20) for _, frame in frames]
    with open(folder + "/lies.tele", "wb") as out:
        out.write(b"".join(lies))
    damaged = metric(daemon, "antiphase_scheduler_frames_damaged_total")

    def lie():
        evil = publish("antiphase", "replay", "--fast", "--wait", "15s", "--keys",
                       folder + "/evil", "--bus", ports[0], folder + "/lies.tele")
        evil.wait(60)
        RUNNING.remove(evil)
        wait_for(lambda: metric(daemon, refused) >= len(lies), 10)
    under(daemon, "a host that speaks as others, with a key of its own", lie, daemon.serves)
    after = daemon.health() or {}
    n, rebases = metric(daemon, refused), metric(
        daemon, "antiphase_scheduler_clock_rebases_total")
    print("%d frames of %d invented hosts and of %d real ones an hour ahead: %d refused, "
          "hosts %s before, %s after, clock rebased %d times"
          % (len(lies), len(invented), len(real), n, health.get("hosts"),
             after.get("hosts"), rebases), file=sys.stderr)
    verdict(n == len(lies), "each of these frames is refused, and counted", repr(n))
    verdict(health.get("hosts") == len(real) == after.get("hosts"),
            "no host is invented", repr((health, after)))
    verdict(rebases == 0 and metric(
        daemon, "antiphase_scheduler_host_clock_steps_total") == 0,
            "and no clock is stepped", repr(rebases))
    verdict(damaged == metric(daemon, "antiphase_scheduler_frames_damaged_total"),
            "for their names, and not for damage")
    good.kill()
    good.wait()
    RUNNING.remove(good)
    verdict(daemon.end() == 0, "it ends when told")
