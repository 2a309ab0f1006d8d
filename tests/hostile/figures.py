# SPDX-License-Identifier: Apache-2.0
"""figures.py - the limits of the units, and figures of each attack: what it sent, and what
the daemon needed meanwhile."""
import glob
import json
import os
import re
import threading
import time

SECOND_US = 1000000
# The resolution of what is sampled; the peak of memory comes from the kernel where it has one.
SAMPLE_S, PROBE_S = 0.02, 0.1
ROWS = []
# Further tables: their heads, joined by "|", and their lines.
TABLES = {}


class Tally:
    """What the current attack has sent, and the most connections that it held."""

    def __init__(self):
        self.sent, self.unit, self.held = 0, "", 0


TALLY = Tally()


def count(unit, n=1):
    TALLY.sent, TALLY.unit = TALLY.sent + n, unit


def hold(n):
    TALLY.held = max(TALLY.held, n)


# ---- Limits ----------------------------------------------------------------------------

def size_of(text):
    scale = {"K": 10, "M": 20, "G": 30}.get(text[-1:], 0)
    return int(text.rstrip("KMG")) << scale


class Limits:
    """What the unit of a daemon allows it: so the tests cannot drift away from the unit."""

    def __init__(self, name):
        (path,) = glob.glob("*/%s.service.in" % name)
        with open(path, encoding="utf-8") as unit:
            found = dict(re.findall(r"^(\w+)=(\S+)$", unit.read(), re.M))
        self.memory = size_of(found["MemoryMax"])
        self.memory_high = size_of(found["MemoryHigh"]) if "MemoryHigh" in found else None
        self.cpu = float(found["CPUQuota"].rstrip("%")) / 100 if "CPUQuota" in found else None
        self.tasks = int(found["TasksMax"])
        # systemd's own default of the hard limit is higher.
        self.descriptors = int(found.get("LimitNOFILE", 1024))


def put(path, value):
    with open(path, "w", encoding="ascii") as out:
        out.write(str(value))


def get(path):
    with open(path, encoding="ascii") as source:
        return source.read()


class Group:
    """A control group with the limits of a unit: cgroup v2, or v1 as far as it is mounted.
    'missing' has the names of those limits that could not be set."""
    made = 0

    def __init__(self, limits):
        Group.made += 1
        name = "antiphase-hostile-%d-%d" % (os.getpid(), Group.made)
        self.folders, self.memory, self.peak, self.cpu = [], None, None, None
        mounts = self.mounts()
        period = SECOND_US // 10
        quota = int(limits.cpu * period) if limits.cpu else None
        self.missing = [what for what, is_set in (
            ("memory", self.limit_memory(mounts, name, limits)),
            ("cpu", self.limit_cpu(mounts, name, quota, period)),
            ("tasks", self.limit_tasks(mounts, name, limits))) if not is_set]

    @staticmethod
    def mounts():
        """The mount point of each controller: (path, whether of v2)."""
        found = {}
        for line in get("/proc/self/mountinfo").splitlines():
            before, after = line.split(" - ")
            path, kind, options = before.split()[4], after.split()[0], after.split()[2]
            if kind == "cgroup":
                found.update({name: (path, False) for name in options.split(",")})
            elif kind == "cgroup2":
                try:
                    names = get(path + "/cgroup.controllers").split()
                except OSError:
                    names = []
                for name in names:
                    found.setdefault(name, (path, True))
        return found

    def folder(self, mounts, name, controller):
        """Creates the group where the controller is; returns its folder, and whether v2."""
        path, is_v2 = mounts[controller]
        if is_v2 and controller not in get(path + "/cgroup.subtree_control").split():
            put(path + "/cgroup.subtree_control", "+" + controller)
        folder = os.path.join(path, name)
        if folder not in self.folders:
            os.mkdir(folder)
            self.folders.append(folder)
        return folder, is_v2

    def limit_memory(self, mounts, name, limits):
        try:
            folder, is_v2 = self.folder(mounts, name, "memory")
            put(folder + ("/memory.max" if is_v2 else "/memory.limit_in_bytes"), limits.memory)
            if is_v2 and limits.memory_high:
                put(folder + "/memory.high", limits.memory_high)
            self.memory = folder + ("/memory.current" if is_v2 else "/memory.usage_in_bytes")
            self.peak = None if is_v2 else folder + "/memory.max_usage_in_bytes"
            return True
        except (KeyError, OSError):
            return False

    def limit_cpu(self, mounts, name, quota, period):
        if not quota:
            return True
        try:
            folder, is_v2 = self.folder(mounts, name, "cpu")
            if is_v2:
                put(folder + "/cpu.max", "%d %d" % (quota, period))
            else:
                put(folder + "/cpu.cfs_period_us", period)
                put(folder + "/cpu.cfs_quota_us", quota)
            return True
        except (KeyError, OSError):
            return False

    def limit_tasks(self, mounts, name, limits):
        try:
            folder, _ = self.folder(mounts, name, "pids")
            put(folder + "/pids.max", limits.tasks)
            return True
        except (KeyError, OSError):
            return False

    def words(self):
        """The words before a command that start it in the group."""
        return ["sh", "-c", 'while [ "$1" != -- ]; do echo $$ >"$1/cgroup.procs" || exit 9; '
                'shift; done; shift; exec "$@"', "sh", *self.folders, "--"]

    def begin_peak(self):
        if self.peak:
            put(self.peak, 0)

    def memory_bytes(self):
        """The most since begin_peak(), or the current use where the kernel has no peak."""
        return int(get(self.peak or self.memory)) if self.memory else 0

    def remove(self):
        until = time.monotonic() + 5
        for folder in self.folders:
            while os.path.isdir(folder):
                try:
                    os.rmdir(folder)
                except OSError:
                    if time.monotonic() > until:
                        break
                    time.sleep(0.05)


class Jobs:
    """A tree of control groups (v2) whose paths name jobs, below a root of its own."""

    made = 0

    def __init__(self, mount):
        Jobs.made += 1
        self.name = "antiphase-jobs-%d-%d" % (os.getpid(), Jobs.made)
        self.root, self.missing = os.path.join(mount, self.name), []
        os.mkdir(self.root)

    @classmethod
    def make(cls):
        """None without cgroup v2, or without the right to make a group."""
        for line in get("/proc/self/mountinfo").splitlines():
            before, after = line.split(" - ")
            if after.split()[0] == "cgroup2":
                try:
                    return cls(before.split()[4])
                except OSError:
                    return None
        return None

    def folder(self, path, owner=None):
        """Creates the group; it and those above it belong to that user."""
        folder = os.path.join(self.root, path)
        os.makedirs(folder, exist_ok=True)
        # All below the first component is his, as if he had made it there.
        while owner and folder != self.root:
            os.chown(folder, owner, owner)
            folder = os.path.dirname(folder)
        folder = os.path.join(self.root, path)
        return folder

    def remove(self):
        for folder, _, _ in os.walk(self.root, topdown=False):
            until = time.monotonic() + 5
            while os.path.isdir(folder) and time.monotonic() < until:
                try:
                    os.rmdir(folder)
                except OSError:
                    time.sleep(0.05)


# ---- What a daemon needs meanwhile ------------------------------------------------------

class Watch:
    """From its creation to end(): the most memory and descriptors of a daemon, its CPU time,
    and how long its answers about its health take."""

    def __init__(self, daemon, probe=None):
        self.daemon, self.probe, self.is_over = daemon, probe, False
        self.memory = self.descriptors = self.asked = self.failed = 0
        self.worst_s = 0.0
        self.has_group = bool(daemon.group and daemon.group.memory)
        self.sent_before = TALLY.sent
        TALLY.held = 0
        if self.has_group:
            daemon.group.begin_peak()
        self.cpu_s, self.begin_s = self.cpu(), time.monotonic()
        self.threads = [threading.Thread(target=self.sample, daemon=True)]
        if probe:
            self.threads.append(threading.Thread(target=self.ask, daemon=True))
        for thread in self.threads:
            thread.start()

    def cpu(self):
        ticks = 0
        for path in glob.glob("/proc/%d/task/*/schedstat" % self.daemon.process.pid):
            try:
                ticks += int(get(path).split()[0])
            except (OSError, IndexError):
                pass
        return ticks / 1e9

    def look(self):
        try:
            memory = self.daemon.group.memory_bytes() if self.has_group \
                else self.daemon.rss_kb() << 10
            self.memory = max(self.memory, memory)
            self.descriptors = max(self.descriptors, len(os.listdir(
                "/proc/%d/fd" % self.daemon.process.pid)))
        except (OSError, AttributeError):
            pass  # It has ended.

    def sample(self):
        while not self.is_over:
            self.look()
            time.sleep(SAMPLE_S)

    def ask(self):
        while not self.is_over:
            begin_s = time.monotonic()
            self.failed += not self.probe()
            self.asked += 1
            self.worst_s = max(self.worst_s, time.monotonic() - begin_s)
            time.sleep(PROBE_S)

    def end(self, what):
        """Adds a row to the table, and returns it."""
        seconds = time.monotonic() - self.begin_s
        cpu = (self.cpu() - self.cpu_s) / seconds
        self.look()
        self.is_over = True
        for thread in self.threads:
            thread.join(15)
        sent = TALLY.sent - self.sent_before
        row = {
            "daemon": self.daemon.name, "attack": what, "seconds": round(seconds, 1),
            "sent": sent, "unit": TALLY.unit if sent else "", "held": TALLY.held,
            "rate": round(sent / seconds),
            "health_ms": round(1000 * self.worst_s) if self.probe else None,
            "health_asked": self.asked, "health_failed": self.failed,
            "memory_mb": round(self.memory / (1 << 20), 1),
            "memory_max_mb": self.daemon.limits.memory >> 20,
            "is_memory_limited": self.has_group,
            "descriptors": self.descriptors, "descriptors_max": self.daemon.nofile,
            "cpu_percent": round(100 * cpu, 1),
        }
        ROWS.append(row)
        return row


def number(n):
    return "{:,}".format(n)


def cells(row):
    health = "-" if row["health_ms"] is None else "%s (%d/%d)" % (
        number(row["health_ms"]), row["health_asked"] - row["health_failed"],
        row["health_asked"])
    return [row["daemon"].replace("antiphase-", ""), row["attack"],
            ("%s %s" % (number(row["sent"]), row["unit"])) if row["sent"] else "-",
            number(row["held"]) if row["held"] else "-",
            number(row["rate"]) if row["sent"] else "-", health,
            "%.0f of %s%s" % (row["memory_mb"], number(row["memory_max_mb"]),
                              "" if row["is_memory_limited"] else " (RSS)"),
            "%s of %s" % (number(row["descriptors"]), number(row["descriptors_max"])),
            "%.0f" % row["cpu_percent"]]


HEADS = ["daemon", "attack", "sent", "held", "a second", "worst health, ms (answered)",
         "memory, MB", "descriptors", "CPU, %"]


def print_lines(heads, lines):
    lines = [heads] + [[str(cell) for cell in line] for line in lines]
    widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
    lines.insert(1, ["-" * width for width in widths])
    print()
    for line in lines:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |")


def add_line(heads, *cells_):
    TABLES.setdefault(heads, []).append(list(cells_))


def print_tables():
    if ROWS:
        print_lines(HEADS, [cells(row) for row in ROWS])
    for heads, lines in TABLES.items():
        print_lines(heads.split("|"), lines)


def write_json(path):
    with open(path, "w", encoding="utf-8") as out:
        json.dump({"attacks": ROWS, "tables": TABLES}, out, indent=1)
        out.write("\n")
