#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make.py BUILD - makes the files of tests/upgrade/previous with the programs of an older
revision in BUILD: a recording with frames of all kinds and what those programs print about
it, a store, and the packets between a pacer and its collector.  Run it after run.sh has
built that revision:

    python3 tests/upgrade/make.py build/previous/$(cat tests/upgrade/previous/revision)/build/release
"""
import http.client
import json
import lzma
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.getcwd()
BUILD = os.path.abspath(sys.argv[1])
PREVIOUS = os.path.join(ROOT, "tests/upgrade/previous")
STEER = os.path.join(ROOT, "build/release/tests/net/pace_steer")
EXAMPLES = os.path.join(ROOT, "examples")
PORT = 17471


def program(*words):
    return [os.path.join(BUILD, words[0])] + list(words[1:])


def output(*words):
    return subprocess.run(program(*words), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          cwd=EXAMPLES, check=True).stdout


def spawn(words, **more):
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            cwd=EXAMPLES, **more)


def end(*processes):
    for process in processes:
        process.send_signal(signal.SIGTERM)
        process.wait()


def relay(at, to, packets):
    """Passes packets between a pacer that connects 'at' and the collector's socket 'to'."""
    server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server.bind(at)
    server.listen()
    pacer, _ = server.accept()
    collector = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    collector.connect(to)

    def copy(source, target, who):
        while packet := source.recv(4096):
            packets.append((who, packet.hex()))
            target.send(packet)

    threading.Thread(target=copy, args=(collector, pacer, "collector"), daemon=True).start()
    threading.Thread(target=copy, args=(pacer, collector, "pacer"), daemon=True).start()


def make_pacer(folder):
    """Packets of a job of 12 iterations, two of which wait; and its frames."""
    packets = []
    collector = spawn(program(
        "antiphase-collector", "run", "--runtime-dir", folder + "/c", "--host", "n0", "--source",
        "netlink", "--interface", "lo", "--metrics", "off", "--endpoint", "ipc://%s/n0" % folder,
        "--pacer-orders", "ipc://%s/orders" % folder, "--pacer-trust-claims", "--pacer-socket",
        folder + "/pacer"))
    time.sleep(2)
    steer = spawn([STEER, "ipc://%s/n0" % folder, "ipc://%s/orders" % folder, "n0", "3:20", "6:20"],
                  stdout=subprocess.DEVNULL)
    record = spawn(program("antiphase", "record", "--bus", "ipc://%s/n0" % folder, "--for", "5 s",
                           "-o", folder + "/pacer.tele"))
    threading.Thread(target=relay, args=(folder + "/relay", folder + "/pacer", packets),
                     daemon=True).start()
    time.sleep(2)
    subprocess.run([sys.executable, os.path.join(ROOT, "tests/upgrade/job.py"),
                    os.path.join(BUILD, "libantiphase-pacer.so"), "12", "100"],
                   stdout=subprocess.DEVNULL, check=True,
                   env=dict(os.environ, ANTIPHASE_JOB="4711", ANTIPHASE_ENDPOINT=folder + "/relay"))
    record.wait()
    end(steer, collector)
    with open(PREVIOUS + "/pacer.txt", "w", encoding="utf-8") as out:
        out.writelines("%s %s\n" % packet for packet in packets)
    with open(folder + "/pacer.tele", "rb") as file:
        return file.read()


def make_frames(folder):
    path = folder + "/frames.tele"
    output("antiphase-sim", "run", "two-jobs.ini", "--duration", "4", "--publish", path,
           "--publish-events")
    with open(path, "rb") as file:
        frames = file.read()
    told = {name: json.loads(output("antiphase", name, "-F", path, "-f", "two-jobs-fabric.json",
                                    "--json")) for name in ("links", "jobs")}
    with lzma.open(PREVIOUS + "/frames.json.xz", "wt", encoding="utf-8", preset=9) as out:
        json.dump(told, out)
    return frames


def ask(path):
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=10)
    connection.request("GET", path)
    return json.loads(connection.getresponse().read())


def make_store(folder):
    """The history of 40 s of two jobs, their profiles, advice and outcomes."""
    simulator = spawn(program("antiphase-sim", "run", "two-jobs.ini", "--duration", "60",
                              "--publish", "ipc://%s/sim" % folder), stdout=subprocess.DEVNULL)
    scheduler = spawn(program(
        "antiphase-scheduler", "--runtime-dir", folder + "/s", "--store", folder + "/history.db",
        "--topology", "two-jobs-fabric.json", "--announce", "off", "--bus",
        "ipc://%s/sim" % folder, "--http", "127.0.0.1:%d" % PORT, "--kill-switch",
        folder + "/stop"))
    time.sleep(40)
    advice = [[item["job"], item["reason"]] for item in ask("/api/v1/advice")["advice"]]
    end(scheduler)
    simulator.send_signal(signal.SIGINT)
    simulator.wait()
    with open(folder + "/history.db", "rb") as file, \
            lzma.open(PREVIOUS + "/history.db.xz", "wb", preset=9) as out:
        shutil.copyfileobj(file, out)
    print("advice at the end: %s" % advice)


def main():
    folder = tempfile.mkdtemp(prefix="ap-previous-")
    try:
        os.mkdir(folder + "/c")
        frames = make_frames(folder) + make_pacer(folder)
        with lzma.open(PREVIOUS + "/frames.tele.xz", "wb", preset=9) as out:
            out.write(frames)
        make_store(folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
