# SPDX-License-Identifier: Apache-2.0
"""zmtp.py - ZeroMQ's own protocol, by hand: so that it may be spoken badly."""
import os
import select
import socket
import struct
import time


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


class Publisher:
    """Accepts whoever connects, and hands him what is sent."""

    def __init__(self, path, kind="PUB"):
        self.at, self.kind, self.peer = listen(path), kind, None

    def meet(self):
        self.at.settimeout(15)
        self.peer = self.at.accept()[0]
        self.peer.settimeout(10)
        zmq_meet(self.peer, self.kind)
        time.sleep(0.2)

    def send(self, *parts):
        self.peer.sendall(b"".join(zmq_frame(part, more=i + 1 < len(parts))
                                   for i, part in enumerate(parts)))

    def meet_again(self):
        """Whoever was thrown off, for a message that is too long, comes again."""
        if self.peer:
            try:
                self.peer.sendall(zmq_frame(b"x/"))
                time.sleep(0.3)
                if not select.select([self.at], [], [], 0)[0]:
                    return
            except OSError:
                pass
        self.meet()
