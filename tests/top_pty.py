#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""top_pty.py - tests of 'antiphase top' in a pseudo-terminal.

Checks what it draws, that it responds to keys and to changes of the terminal's size,
and that it restores the terminal when it ends; and that prose and tables of other verbs
fit a narrow terminal.  Prints PASS and FAIL lines for
tests/run.
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

ROOT = os.getcwd()
TOP = os.path.join(ROOT, os.environ["B"], "antiphase")
ARGS = [TOP, "top", "--from", "two-jobs.tele", "--fabric", "two-jobs-fabric.json"]
LEAVES_SCREEN = b"\x1b[?1049l"


class Terminal:
    """The program under test, and enough of an xterm to track the screen's content."""

    def __init__(self, args, rows, cols, term="xterm"):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(os.path.join(ROOT, "examples"))
            # The size is set before the program starts.
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
            os.execve(args[0], args,
                      dict(os.environ, TERM=term, LC_ALL="C.UTF-8", LINES="",
                           COLUMNS=""))
        self.output, self.seen = b"", 0

    def read(self, until=None, seconds=5.0):
        """Reads until the output since the last call has the pattern; returns it."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            text = self.output[self.seen:]
            if until and re.search(until, text):
                break
            ready, _, _ = select.select([self.fd], [], [], 0.05)
            if not ready:
                continue
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                break
            if not data:
                break
            self.output += data
        text = self.output[self.seen:]
        self.seen = len(self.output)
        return text

    def key(self, keys, until=None):
        os.write(self.fd, keys)
        return self.read(until, 5.0 if until else 0.1)

    def resize(self, rows, cols):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def wait(self, seconds=5.0):
        """Returns the exit status, or -1 after killing a program that does not end."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.read(seconds=0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        return -1


def shows_links_and_quits():
    t = Terminal(ARGS, 24, 80)
    text = t.read(rb"simulated")
    assert b"4 links by contention" in text, text
    assert b"leaf0:p2>spine0:p0" in text and b"A x B" in text, text
    t.key(b"q")
    assert t.wait() == 0
    assert LEAVES_SCREEN in t.output, "the terminal is not given back"


def follows_keys():
    t = Terminal(ARGS, 24, 80)
    t.read(rb"simulated")
    assert b"jobs" in t.key(b"j", rb"65\.0 ms")
    text = t.key(b"\r", rb"phase 1")
    assert b"phase 1: at 0.0 ms, for 40.0 ms" in text, text
    t.key(b"j", rb"links by")
    text = t.key(b"p", rb"peak")
    assert b"peak" in text, text
    assert b"12" in t.key(b"a", rb"12")
    t.key(b"/", rb"/")
    text = t.key(b"h3\r", rb"h3")
    assert b"h3" in text, text
    t.read(seconds=1.2)
    t.key(b"?", rb"PgUp")
    t.key(b"x")
    t.key(b"q")
    assert t.wait() == 0


def survives_any_size():
    t = Terminal(ARGS, 24, 80)
    t.read(rb"simulated")
    for rows, cols in ((10, 40), (4, 20), (1, 1), (3, 200), (2, 10), (60, 200), (5, 21)):
        t.resize(rows, cols)
        for key in (b"j", b"\r", b"a", b"\x1b", b"?", b"?"):
            t.key(key)
    t.resize(24, 80)
    t.read(rb"simulated", 3)
    t.key(b"q")
    assert t.wait() == 0


def gives_the_terminal_back_when_interrupted():
    t = Terminal(ARGS, 24, 80)
    t.read(rb"simulated")
    t.key(b"\x03")
    assert t.wait() == 130
    assert LEAVES_SCREEN in t.output, "the terminal is not given back"


def says_which_terminal_it_does_not_know():
    # libtinfo does not free its state, which leak checkers report.
    t = Terminal(
        ["/usr/bin/env", "ASAN_OPTIONS=detect_leaks=0"] + ARGS, 24, 80, term="no-such-terminal"
    )
    status = t.wait()
    assert status == 2 and b"no-such-terminal" in t.output, (status, t.output)


def draws_ascii_where_the_locale_is():
    t = Terminal(["/usr/bin/env", "LC_ALL=C"] + ARGS, 24, 80)
    text = t.read(rb"simulated")
    assert b"#" in text and "\u2588".encode() not in text, text
    t.key(b"q")
    assert t.wait() == 0


def prose_and_tables_fit_a_narrow_terminal():
    for args in (["sim", "run", "two-jobs.ini"], ["explain", "--jobs", "two-jobs.ini", "A"]):
        t = Terminal([TOP] + args, 24, 40)
        assert t.wait(60) == 0
        lines = t.output.decode().replace("\r", "").split("\n")
        assert len(lines) > 15 and max(len(line) for line in lines) <= 40, lines


def main():
    failed = False
    for test in (shows_links_and_quits, follows_keys, survives_any_size,
                 gives_the_terminal_back_when_interrupted,
                 says_which_terminal_it_does_not_know,
                 draws_ascii_where_the_locale_is,
                 prose_and_tables_fit_a_narrow_terminal):
        try:
            test()
            print("PASS top:", test.__name__)
        except AssertionError as error:
            failed = True
            print("FAIL top:", test.__name__)
            print(test.__name__, repr(error), file=sys.stderr)
    return failed


if __name__ == "__main__":
    sys.exit(main())
