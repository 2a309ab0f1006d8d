# SPDX-License-Identifier: Apache-2.0
"""frames.py - a manual implementation of telemetry frames (docs/wire-format.md): writes the
frames of a host, and reads events and iterations."""
import struct

from zmtp import crc32c

SUMMARY, RAW, EVENTS, ITERATIONS = 1, 2, 3, 4
TOPICS = {SUMMARY: b"s", RAW: b"r", EVENTS: b"m", ITERATIONS: b"p"}


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def name(text):
    return bytes([len(text)]) + text.encode()


def pack(kind, host, sections):
    """The topic, and a frame of [(type, content)]."""
    body = b"".join(bytes([type_]) + struct.pack("<I", len(text)) + text
                    for type_, text in sections)
    head = b"\xa7APF\1\1" + bytes([kind, 0]) + struct.pack("<I", 16 + len(body))
    return (TOPICS[kind] + b"/" + host.encode() + b"/",
            head + struct.pack("<I", crc32c(head + body)) + body)


class Host:
    """A host that sends frames with one interface and one job."""

    def __init__(self, host, interface="e0", job="4711"):
        self.host, self.interface, self.job = host, interface, job
        self.sequence, self.total, self.wall_ns = {}, 0, 0

    def sender(self, kind, end_ns, window_ns):
        number = self.sequence[kind] = self.sequence.get(kind, -1) + 1
        return (struct.pack("<I", 0) + b"boot" * 4 + b"starting" +
                struct.pack("<QQQqqQQ", number, end_ns, window_ns, self.wall_ns, -1, 0, 0) +
                name(self.host))

    def frame(self, kind, end_ns, window_ns, n_bytes):
        """The topic, and a frame with 'n_bytes' sent in the window."""
        self.total += n_bytes if kind == SUMMARY else 0
        first, n_bins = (end_ns - window_ns) // 1000000, window_ns // 1000000
        sections = [
            (1, self.sender(kind, end_ns, window_ns)),
            (2, varint(1) + name(self.interface) + struct.pack("<d", 1e11) + b"\1"),
            (3, varint(1) + name(self.job)),
        ]
        if kind == SUMMARY:
            values = (self.total, self.total // 1500, 0, 0, n_bytes, n_bytes // n_bins,
                      n_bins, 0, 1, 0)
            sections.append((4, varint(1) + b"\0\2\0" + b"".join(map(varint, values))))
        else:
            sections.append((5, varint(1) + b"\0\2\0" + varint(first) + varint(n_bins) +
                             varint(n_bytes // n_bins * 2) * n_bins))
        return pack(kind, self.host, sections)

    def iteration(self, begin_ns, number, comm_ns, pid=1, rank=0):
        """Rank 0 of the job begins an iteration; 'comm_ns' is of the one before."""
        values = (pid, rank, number, begin_ns, 0, comm_ns, 1000000, 3, 5000, 0, 0)
        return pack(ITERATIONS, self.host, [
            (1, self.sender(ITERATIONS, begin_ns, 0)),
            (3, varint(1) + name(self.job)),
            (7, varint(1) + b"\2\0\1" + b"".join(map(varint, values))),
        ])


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        self.at += n
        return self.data[self.at - n:self.at]

    def byte(self):
        return self.take(1)[0]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value


def rows(frame):
    """Events or iterations of a frame, as (job or None, process, flags, values)."""
    kind, at, jobs, found = frame[6], 16, [], []
    while at < len(frame):
        section, length = frame[at], struct.unpack("<I", frame[at + 1:at + 5])[0]
        r = Reader(frame[at + 5:at + 5 + length])
        at += 5 + length
        if section == 3:
            jobs = [r.take(r.byte()).decode() for _ in range(r.varint())]
        elif section in (6, 7) and kind in (EVENTS, ITERATIONS):
            for _ in range(r.varint()):
                job = r.varint()
                flags = r.take(1 if section == 6 else 2)
                process = r.varint()
                values = [r.varint() for _ in range(3 if section == 6 else 10)]
                found.append((jobs[job - 2] if job > 1 else None, process, flags, values))
    return found
