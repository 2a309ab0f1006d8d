#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""previous.py - the programs of this tree and what an older revision has left in
tests/upgrade/previous (make.py), and the reverse: frames, the store, and packets of pacers.
Readers of the old format are those of this file: they know the wire format and the schema
of that revision and no more.  Prints PASS and FAIL lines for tests/run.
"""
import http.client
import json
import lzma
import os
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
PREVIOUS = os.path.join(ROOT, "tests/upgrade/previous")
EXAMPLES = os.path.join(ROOT, "examples")
LINK = "leaf0:p2>spine0:p0"
RUNNING = []


def verdict(is_good, what, why=""):
    print(("PASS" if is_good else "FAIL") + " previous: " + what, flush=True)
    if not is_good:
        print(why, file=sys.stderr, flush=True)


def spawn(*words):
    process = subprocess.Popen([os.path.join(BUILD, words[0]), *words[1:]], cwd=EXAMPLES,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    RUNNING.append(process)
    return process


def end(process):
    process.send_signal(signal.SIGTERM)
    RUNNING.remove(process)
    return process.wait(60)


def output(*words):
    return subprocess.run([os.path.join(BUILD, words[0]), *words[1:]], cwd=EXAMPLES,
                          capture_output=True, text=True, check=False).stdout


def unpacked(name, path):
    with lzma.open(os.path.join(PREVIOUS, name), "rb") as source, open(path, "wb") as copy:
        shutil.copyfileobj(source, copy)
    return path


# ---- Frames ----------------------------------------------------------------------------

def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def make_crc():
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        yield i


CRC = list(make_crc())


def frames_of(data):
    """Frames by the rules of version 1: (kind, host, sections); or a fault."""
    at, found = data.index(b"\n") + 1, []
    while at < len(data):
        magic, major, _, kind, _, length, crc = struct.unpack_from("<4sBBBBII", data, at)
        frame = data[at:at + length]
        if magic != b"\xa7APF" or major != 1 or len(frame) != length:
            return "no frame of version 1 at byte %d" % at
        if crc32c(frame[:12] + frame[16:]) != crc:
            return "a wrong checksum at byte %d" % at
        sections, where = {}, 16
        while where < length:
            number, size = struct.unpack_from("<BI", frame, where)
            if where + 5 + size > length or number <= max(sections, default=0):
                return "a wrong section at byte %d" % (at + where)
            sections[number] = frame[where + 5:where + 5 + size]
            where += 5 + size
        if 1 not in sections or len(sections[1]) < 85:
            return "no sender at byte %d" % at
        name = sections[1][84:]
        found.append((kind, name[1:1 + name[0]].decode(), sections))
        at += length
    return found


def differences(old, new, where=""):
    """What a reader of the old document would miss or find changed in the new one."""
    if isinstance(old, dict) and isinstance(new, dict):
        return [fault for key in old for fault in (
            differences(old[key], new[key], where + "." + key) if key in new
            else [where + "." + key + " is missing"])]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [fault for i, pair in enumerate(zip(old, new))
                for fault in differences(*pair, "%s[%d]" % (where, i))]
    # Figures of a better search for periods may differ a little.
    is_same = old == new or (isinstance(old, float) and isinstance(new, (int, float)) and
                             abs(new - old) <= 0.01 * abs(old))
    return [] if is_same else ["%s: %r, now %r" % (where, old, new)]


def check_frames(folder):
    path = unpacked("frames.tele.xz", folder + "/frames.tele")
    with open(path, "rb") as file:
        data = file.read()
    mark = data.index(b"\n") + 1
    simulated = folder + "/simulated.tele"
    # The second part, of a collector and a pacer, begins with the line again.
    second = data.index(data[:mark], mark)
    with open(simulated, "wb") as out:
        out.write(data[:second])
    with lzma.open(PREVIOUS + "/frames.json.xz", "rt", encoding="utf-8") as file:
        told = json.load(file)
    for name, old in told.items():
        new = json.loads(output("antiphase", name, "-F", simulated, "-f",
                                "two-jobs-fabric.json", "--json"))
        faults = differences(old, new)
        verdict(not faults, "antiphase %s prints of an older recording what the older one did" %
                name, "\n".join(faults[:20]))
    output("antiphase-sim", "run", "two-jobs.ini", "--duration", "4", "--publish",
           folder + "/new.tele", "--publish-events")
    old = frames_of(data[:second])
    with open(folder + "/new.tele", "rb") as file:
        new = frames_of(file.read())
    verdict(isinstance(new, list), "a reader of the older format reads the new frames", new)
    # It skips kinds of frames and sections that it does not know.
    known = [frame for frame in new if frame[0] <= 4]
    verdict([frame[:2] for frame in old] == [frame[:2] for frame in known] and
            all(set(was[2]) <= set(now[2]) for was, now in zip(old, known)),
            "and finds all that it found")


# ---- The store ---------------------------------------------------------------------------

GRAINS = (("sample_1s", 1), ("sample_10s", 10), ("sample_5min", 300))


def tables_of(path):
    with sqlite3.connect(path) as db:
        tables = dict(db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'"))
        version = db.execute("PRAGMA user_version").fetchone()[0]
    db.close()
    return version, tables


def rejuvenate(path):
    """Moves all times so that the last one is now; returns the seconds of the history."""
    with sqlite3.connect(path) as db:
        last = db.execute("SELECT max(at) FROM sample_1s").fetchone()[0]
        shift = (int(time.time()) - last) // 300 * 300
        for table, grain in GRAINS:
            db.execute("UPDATE %s SET at = -at - %d" % (table, shift // grain))
            db.execute("UPDATE %s SET at = -at" % table)
        db.execute("UPDATE document SET at = at + ?", (shift * 10**6,))
        db.execute("UPDATE history SET at = at + ?", (shift * 10**6,))
        db.execute("UPDATE name SET seen = seen + ?", (shift * 10**6,))
    db.close()
    return last + shift - 60, last + shift + 1


def bytes_of(path, begin, finish):
    """What each job sent on LINK in these seconds: the older program's own search."""
    db = sqlite3.connect(path)
    rows = db.execute("SELECT s.at, n.name, s.bytes FROM sample_1s s JOIN name n ON n.id = s.job"
                      " WHERE s.link = (SELECT id FROM name WHERE name = ?) AND s.at >= ? AND"
                      " s.at < ? ORDER BY s.at", (LINK, begin, finish)).fetchall()
    db.close()
    return [(at, job) for at, job, _ in rows], sum(row[2] for row in rows)


def texts_of(path):
    db = sqlite3.connect(path)
    texts = set(db.execute("SELECT kind, key, json FROM document")) | set(
        db.execute("SELECT kind, key, json FROM history"))
    db.close()
    return texts


def check_store(folder):
    path = unpacked("history.db.xz", folder + "/history.db")
    old = tables_of(path)
    begin, finish = rejuvenate(path)
    rows, total = bytes_of(path, begin, finish)
    texts = texts_of(path)
    verdict("is whole" in output("antiphase", "store", "check", path),
            "an older store is whole", output("antiphase", "store", "check", path))
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    daemon = spawn("antiphase-scheduler", "--runtime-dir", folder, "--store", path, "--topology",
                   "two-jobs-fabric.json", "--announce", "off", "--bus", "ipc://%s/bus" % folder,
                   "--http", "127.0.0.1:%d" % port, "--kill-switch", folder + "/stop")
    answer = None
    for _ in range(200):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            connection.request("GET", "/api/v1/series?link=%s&by=job&step_us=1000000&from_us=%d"
                               "&to_us=%d" % (LINK.replace(">", "%3E"), begin * 10**6,
                                              finish * 10**6))
            answer = json.loads(connection.getresponse().read())
            break
        except OSError:
            time.sleep(0.1)
    time.sleep(2)
    status = end(daemon)
    found = [(sample["at_us"] // 10**6, sample["job"] or "") for sample in answer["samples"]]
    verdict(rows and sorted(found) == sorted(rows), "its history is there: %d samples of a link" %
            len(rows), "%s\n%s" % (rows[:4], answer["samples"][:4]))
    verdict(status == 0 and texts <= texts_of(path), "and all its documents")
    # The reverse: an older program runs its statements on the file.
    new = tables_of(path)
    verdict(new[0] == old[0], "the new scheduler leaves the number of the schema: %d" % old[0])
    verdict(new[1].items() >= old[1].items(),
            "and the tables, as statements of the older one need them", "%s\n%s" % (old, new))
    verdict(bytes_of(path, begin, finish) == (rows, total), "with the same history")


# ---- Pacers ------------------------------------------------------------------------------

def packets_of(who):
    with open(PREVIOUS + "/pacer.txt", encoding="utf-8") as file:
        return [bytes.fromhex(line.split()[1]) for line in file if line.startswith(who + " ")]


def now_of(packet, places, shift_ns):
    """The packet with its times, at 'places', moved to this boot; 0 is no time."""
    packet = bytearray(packet)
    for at in places:
        value = struct.unpack_from("<Q", packet, at)[0]
        struct.pack_into("<Q", packet, at, value + shift_ns if value else 0)
    return bytes(packet)


def check_older_pacer(folder):
    """The packets of an older pacer, to the new collector; its frames have them."""
    os.mkdir(folder + "/c")
    collector = spawn("antiphase-collector", "run", "--runtime-dir", folder + "/c", "--host",
                      "n0", "--source", "netlink", "--interface", "lo", "--metrics", "off",
                      "--endpoint", "ipc://%s/n0" % folder, "--pacer-trust-claims",
                      "--pacer-socket", folder + "/pacer", "--output", folder + "/own.tele")
    for _ in range(200):
        if os.path.exists(folder + "/pacer"):
            break
        time.sleep(0.05)
    packets = packets_of("pacer")
    hello = bytearray(packets[0])
    struct.pack_into("<I", hello, 8, os.getpid())
    first_ns = struct.unpack_from("<Q", packets[1], 16)[0]
    pacer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pacer.connect(folder + "/pacer")
    shift_ns = time.monotonic_ns() - first_ns
    pacer.send(bytes(hello))
    for packet in packets[1:]:
        wait_ns = struct.unpack_from("<Q", packet, 16)[0] + shift_ns - time.monotonic_ns()
        time.sleep(max(wait_ns / 1e9, 0))
        pacer.send(now_of(packet, (16, 24), shift_ns))
    time.sleep(0.5)
    pacer.close()
    time.sleep(0.5)
    end(collector)
    with open(folder + "/own.tele", "rb") as file:
        frames = frames_of(file.read())
    n = sum(frame[2][7][0] for frame in frames if frame[0] == 4 and b"\x044711" in frame[2][3])
    verdict(n >= len(packets) - 1, "the iterations of an older pacer reach the bus: %d of %d, "
            "one again at its end" % (n, len(packets) - 1), str(n))


def check_older_collector(folder):
    """The new pacer, with a collector that knows the older packets and sends older orders."""
    server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server.bind(folder + "/older")
    server.listen()
    got = []

    def collect():
        pacer, _ = server.accept()
        while packet := pacer.recv(4096):
            got.append(packet)
            if len(got) == 4:
                order = packets_of("collector")[0]
                until_ns = struct.unpack_from("<Q", order, 32)[0]
                pacer.send(now_of(order, (24, 32), time.monotonic_ns() + 10**10 - until_ns))

    thread = threading.Thread(target=collect, daemon=True)
    thread.start()
    job = subprocess.run([sys.executable, os.path.join(ROOT, "tests/upgrade/job.py"),
                          os.path.join(BUILD, "libantiphase-pacer.so"), "10", "100"],
                         capture_output=True, text=True, check=False,
                         env=dict(os.environ, ANTIPHASE_JOB="4711", ANTIPHASE_ENDPOINT=folder +
                                  "/older"))
    thread.join(10)
    verdict([len(packet) for packet in got[:1]] == [84] and len(got) >= 11 and
            all(len(packet) == 64 for packet in got[1:]) and
            all(packet[:7] == b"appc\1\0" + bytes([1 + (i > 0)]) for i, packet in enumerate(got)),
            "an older collector understands the packets of a new pacer", str(got))
    waits = [float(line.split()[2]) for line in job.stdout.splitlines()]
    verdict(sum(ms > 10 for ms in waits) == 1, "and the new pacer follows its order: %.0f ms" %
            max(waits, default=0), job.stdout + job.stderr)


def main():
    folder = tempfile.mkdtemp(prefix="ap-previous-")
    try:
        check_frames(folder)
        check_store(folder)
        check_older_pacer(folder)
        if "address" in os.environ["B"]:
            # A program that is not sanitized cannot load it.
            print("SKIP previous: the new pacer: of a sanitized build")
        else:
            check_older_collector(folder)
    finally:
        for process in list(RUNNING):
            end(process)
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
