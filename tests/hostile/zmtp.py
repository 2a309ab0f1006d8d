# SPDX-License-Identifier: Apache-2.0
"""zmtp.py - a manual implementation of ZeroMQ's protocol, able to send invalid data."""
import os
import select
import socket
import struct
import time

from figures import count


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
    """Reads one frame; returns its flags and body."""
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
    """Connects to 'path'; waits while the listener's backlog is full."""
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
    """Accepts one connection, and sends messages to it."""

    def __init__(self, path, kind="PUB"):
        self.at, self.kind, self.peer = listen(path), kind, None

    def meet(self):
        self.at.settimeout(15)
        self.peer = self.at.accept()[0]
        self.peer.settimeout(10)
        zmq_meet(self.peer, self.kind)
        time.sleep(0.2)

    def send(self, *parts):
        count("messages")
        self.peer.sendall(b"".join(zmq_frame(part, more=i + 1 < len(parts))
                                   for i, part in enumerate(parts)))

    def meet_again(self):
        """Accepts a new connection if the daemon disconnected, as it does when a
        message is too long."""
        if self.peer:
            try:
                self.peer.sendall(zmq_frame(b"x/"))
                time.sleep(0.3)
                if not select.select([self.at], [], [], 0)[0]:
                    return
            except OSError:
                pass
        self.meet()
