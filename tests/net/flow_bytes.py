#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""flow_bytes.py - a TCP connection whose bytes can be checked, for tests of wire ports.

    flow_bytes.py serve ADDRESS PORT              accepts one connection, to its end
    flow_bytes.py send ADDRESS PORT FROM SECONDS  from source port FROM, or until SIGTERM

Both send pseudo-random bytes and check the other's, bit for bit: 'send' as fast as it
can, 'serve' a byte for each 64 KiB that it got.  Each prints "BYTES" every 0.1 s, and at
the end "ok BYTES", or "bad BYTES" at the first wrong byte.
"""
import random
import signal
import socket
import sys
import time

BLOCK = random.Random(14).randbytes(1 << 20)
CHUNK = 65536


def expected(at, n):
    """Returns the bytes of the stream from 'at' on; at most what is left of the block."""
    at %= len(BLOCK)
    return BLOCK[at:at + n]


class Said:
    def __init__(self):
        self.at = 0.0

    def __call__(self, done):
        if time.monotonic() - self.at >= 0.1:
            self.at = time.monotonic()
            print(done, flush=True)


def check(data, at):
    while data:
        part = expected(at, len(data))
        if data[:len(part)] != part:
            print("bad", at, flush=True)
            sys.exit(1)
        data, at = data[len(part):], at + len(part)
    return at


def family_of(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def serve(address, port):
    listener = socket.socket(family_of(address), socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, port))
    listener.listen(1)
    peer, _ = listener.accept()
    at, answered, said = 0, 0, Said()
    while data := peer.recv(1 << 18):
        at = check(data, at)
        while answered < at // CHUNK:
            peer.sendall(expected(answered, 1))
            answered += 1
        said(at)
    print("ok", at, flush=True)


def send(address, port, source, seconds):
    peer = socket.socket(family_of(address), socket.SOCK_STREAM)
    peer.bind(("", source))
    peer.connect((address, port))
    at, answered, said = 0, 0, Said()
    end = time.monotonic() + seconds
    stops = []
    signal.signal(signal.SIGTERM, lambda *_: stops.append(1))
    while time.monotonic() < end and not stops:
        at += peer.send(expected(at, CHUNK))
        try:
            answered = check(peer.recv(4096, socket.MSG_DONTWAIT), answered)
        except BlockingIOError:
            pass
        said(at)
    peer.shutdown(socket.SHUT_WR)
    while data := peer.recv(4096):
        answered = check(data, answered)
    print("ok" if answered == at // CHUNK else "bad", at, flush=True)


if sys.argv[1] == "serve":
    serve(sys.argv[2], int(sys.argv[3]))
else:
    send(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))
