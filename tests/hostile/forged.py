# SPDX-License-Identifier: Apache-2.0
"""forged.py - identities that a process claims and does not have: at the collector's sockets
for pacers and events, at the control socket, and at /k8s/."""
import os
import socket
import time

from common import (CLONE_NEWUSER, GROUPS, Program, ask_health, free_port, often, tell_identity,
                    unshare, verdict, wait_for)
from figures import Jobs
from honest import (JOB, NOBODY, Listener, event, finish, hello, iteration, open_socket,
                    start_child)

OTHER_JOB = "system.slice/slurmstepd.scope/job_5000"
CLONE_NEWPID = 0x20000000
VICTIM = "4711"


def pose_as_pacer(path, n):
    """Reports an iteration on each of 'n' connections, and claims the victim's job."""
    def act(tell):
        for i in range(n):
            with open_socket(path) as s:
                s.send(hello(VICTIM, os.getpid()))
                s.send(iteration(i, time.monotonic_ns()))
                time.sleep(0.01)
        tell(n)
    return act


def pose_as_watcher(path, n, process, flags=0):
    """Reports 'n' events for another process, in namespaces of its own as 'flags' say."""
    def act(tell):
        if flags:
            unshare(flags)
        child = os.fork() if flags & CLONE_NEWPID else 0
        if child:
            os.waitpid(child, 0)
        else:
            with open_socket(path) as s:
                for i in range(n):
                    s.send(event(time.monotonic_ns() + i, process))
                    time.sleep(0.002)
        tell(n)
        os._exit(0)
    return act


class Scene:
    """A collector, a job with a process in it, another job, and groups that a user made."""

    def __init__(self, folder, jobs):
        own = folder + "/forged"
        os.mkdir(own)
        os.chmod(folder, 0o711)
        os.chmod(own, 0o755)
        self.jobs, metrics = jobs, free_port()
        self.collector = Program(
            own, "antiphase-collector", "--host", "h9", "--source", "netlink", "--interface",
            "lo", "--metrics", "127.0.0.1:%d" % metrics, "--endpoint", "ipc://%s/bus" % own,
            "--job-roots", "/" + jobs.name)
        self.events, self.pacers = own + "/sockets/events.sock", own + "/sockets/pacer.sock"
        self.control = own + "/collector.sock"
        wait_for(lambda: os.path.exists(self.pacers) and ask_health(metrics, "/healthz"), 10)
        self.listener = Listener(own + "/bus")
        self.victim, self.hold = start_child(lambda tell: time.sleep(600), NOBODY,
                                             jobs.folder(JOB))
        wait_for(self.is_heard, 10)
        time.sleep(1)  # the last of those events come, too

    def is_heard(self):
        """Whether an event of root of the host arrives.  What is published before the bus has
        read the topics is lost, and it reads that of events last."""
        finish(*start_child(pose_as_watcher(self.events, 1, os.getpid()), 0))
        return len(self.listener.found[b"m"]) > 0

    def rows(self, kind):
        """How many rows of this kind are of the victim's job or process."""
        return len([row for row in self.listener.found[kind]
                    if VICTIM in (row[0] or "") or row[1] == self.victim])

    def try_(self, kind, act, uid, group):
        """Runs it; returns how many tries there were, and how many were believed."""
        before, seen = self.rows(kind), len(self.listener.found[kind])
        tried = finish(*start_child(act, uid, group and self.jobs.folder(
            group, owner=NOBODY if group.startswith("users") else None))) or 0
        # All have come, under whatever name.
        if not wait_for(lambda: len(self.listener.found[kind]) - seen >= tried, 4):
            verdict(False, "what was sent is published", "%d of %d" %
                    (len(self.listener.found[kind]) - seen, tried))
        return tried, self.rows(kind) - before

    def end(self):
        os.kill(self.victim, 9)
        os.waitpid(self.victim, 0)
        os.close(self.hold)
        return self.collector.end()


def check_sockets(scene):
    n = often(10)
    user_made = "users/" + JOB
    for who, uid, group in (("a user's process without a job", NOBODY, None),
                            ("a process of another job", NOBODY, OTHER_JOB),
                            ("root in another job", 0, OTHER_JOB),
                            ("a user in a group that he made and named so", NOBODY, user_made)):
        tried, believed = scene.try_(b"p", pose_as_pacer(scene.pacers, n), uid, group)
        tell_identity("a pacer of job 4711", who, "the pacers' socket", tried, believed)
    for who, uid, group, flags in (
            ("a user's process without a job", NOBODY, None, 0),
            ("a process of another job", NOBODY, OTHER_JOB, 0),
            ("root in another job", 0, OTHER_JOB, 0),
            ("root of a user namespace", NOBODY, None, CLONE_NEWUSER),
            ("root in a container (process namespace)", 0, None, CLONE_NEWPID),
            ("root in a container (user namespace)", 0, None, CLONE_NEWUSER)):
        tried, believed = scene.try_(
            b"m", pose_as_watcher(scene.events, n, scene.victim, flags), uid, group)
        tell_identity("antiphase-events, for job 4711", who, "the events socket", tried,
                      believed)
    # The same packet is believed from root of the host: the test is not blind.
    tried, believed = scene.try_(b"m", pose_as_watcher(scene.events, n, scene.victim), 0, None)
    verdict(tried == believed == n, "root of the host is believed (%d of %d)" % (believed, n))


def check_control(path):
    """Another user may not even connect."""
    def act(tell):
        n = 0
        for _ in range(10):
            try:
                with socket.socket(socket.AF_UNIX) as s:
                    s.connect(path)
                    n += 1
            except PermissionError:
                pass
        tell(n)
    got = finish(*start_child(act, NOBODY))
    tell_identity("an operator", "another user", "the control socket", 10, 10 if got is None else got)


def check_forged(folder):
    jobs = Jobs.make() if os.geteuid() == 0 else None
    if not jobs:
        print("SKIP hostile: forged identities: need root and control groups (v2)")
        return
    GROUPS.append(jobs)
    scene = Scene(folder, jobs)
    check_sockets(scene)
    check_control(scene.control)
    verdict(scene.end() == 0, "the collector ends when told")
