# SPDX-License-Identifier: Apache-2.0
"""killed.py - the daemon is killed by SIGKILL at the moment it begins a change."""
import json
import os
import shutil
import sqlite3
import time

from common import ROOT, RUNNING, Scheduler, verdict, wait_for

SQUEUE = r"""#!/bin/sh
case $* in *' -t PD,R '*) exit 0;; esac
mark=${SQUEUE_FORMAT2#*:}; mark=${mark%%,*}
sed "s/@/$mark/g" "${0%/*}/jobs"
"""
JOB = ("17@17@PENDING@2@@BeginTime@1@%s@(null)@train@u@%s@N/A@0@1@(null)@antiphase:v1;%s@"
       "antiphase: iter_us=120000 comm_us=30000@j@\n")
SINFO = """#!/bin/sh
for i in 0 1 2 3; do echo "h$i|idle|train|4|||"; done
"""
# Kills the daemon at its first change of a job.
SCONTROL = """#!/bin/sh
case $1 in
-V) echo slurm 24.11.5 ;;
update) kill -9 $PPID; echo "$*" >>"${0%/*}/sent" ;;
esac
"""


# Kills the daemon when it pins a job; removes a job that is released.
SCONTROL_PINS = """#!/bin/sh
case $* in
-V) echo slurm 24.11.5 ;;
*released*) : >"${0%/*}/jobs"; echo "$*" >>"${0%/*}/sent" ;;
update*) mv "${0%/*}/pinned" "${0%/*}/jobs"; kill -9 $PPID ;;
esac
"""


def make_slurm(own, scontrol):
    """Creates scripts that stand in for Slurm, with one gated job to be placed."""
    os.mkdir(own)
    for name, text in (("squeue", SQUEUE), ("sinfo", SINFO), ("scontrol", scontrol)):
        with open(own + "/" + name, "w", encoding="utf-8") as out:
            out.write(text)
        os.chmod(own + "/" + name, 0o755)
    begin = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() + 60))
    with open(own + "/jobs", "w", encoding="utf-8") as out:
        out.write(JOB % ("", begin, "gate"))
    with open(own + "/pinned", "w", encoding="utf-8") as out:
        out.write(JOB % ("h[0-1]", begin, "pinned"))


def guardians(own):
    """Returns the guardian processes of a daemon in this folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as line:
                words = line.read().decode(errors="replace").split("\0")
        except OSError:
            continue
        if words[0] == "antiphase-guard" and words[1].startswith(own + "/"):
            found.append(pid)
    return found


def live_and_be_killed(folder, own):
    """Runs the daemon in mode enforce until its first change kills it.  Returns the
    daemon, and whether it was killed."""
    shutil.copy(folder + "/token", own + "/token")
    daemon = Scheduler(own, "--bus", "ipc://%s/bus" % own, "--announce", "none",
                       "--topology", os.path.join(ROOT, "examples/two-jobs-fabric.json"),
                       "--scheduler", "slurm", "--slurm-bindir", own, "--mode", "enforce")
    is_killed = wait_for(lambda: not daemon.is_alive(), 10)
    RUNNING.remove(daemon.process)
    return daemon, is_killed


def check_killed_at_a_change(folder):
    """After SIGKILL at the moment a change begins, the store has that change."""
    own = folder + "/s"
    make_slurm(own, SCONTROL)
    daemon, is_killed = live_and_be_killed(folder, own)
    is_alone = wait_for(lambda: not guardians(own), 10)
    with sqlite3.connect(own + "/history.db") as db:
        known = [json.loads(row[0]) for row in
                 db.execute("SELECT json FROM document WHERE kind = 3 AND key = '17'")]
    verdict(is_killed and is_alone and os.path.exists(own + "/sent") and len(known) == 1 and
            known[0]["kind"] == "pin" and known[0]["nodes"],
            "killed as it begins a change, the store knows of the change",
            "killed %s, alone %s, known %r\n%s" % (is_killed, is_alone, known,
                                                  "\n".join(daemon.lines())))


def check_pin_of_the_killed(folder):
    """After SIGKILL when a job is pinned, the guardian removes the pin, and ends."""
    own = folder + "/p"
    make_slurm(own, SCONTROL_PINS)
    daemon, is_killed = live_and_be_killed(folder, own)
    wait_for(lambda: not guardians(own), 20)
    sent = open(own + "/sent", encoding="utf-8").read() if os.path.exists(own + "/sent") \
        else ""
    verdict(is_killed and not guardians(own) and
            sent == "update jobid=17 ReqNodeList= AdminComment=antiphase:v1;released\n",
            "killed with a job that is pinned, its guardian un-pins the job and ends",
            "killed %s, sent %r\n%s" % (is_killed, sent, "\n".join(daemon.lines())))
