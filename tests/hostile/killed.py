"""killed.py - killed by what it does: at the moment at which a change is begun."""
import json
import os
import shutil
import sqlite3
import time

from common import ROOT, RUNNING, Scheduler, verdict, wait_for

SQUEUE = r"""#!/bin/sh
case $* in *' -t PD '*) exit 0;; esac
mark=${SQUEUE_FORMAT2#*:}; mark=${mark%%,*}
sed "s/@/$mark/g" "${0%/*}/jobs"
"""
SINFO = """#!/bin/sh
for i in 0 1 2 3; do echo "h$i|idle|train|4|||"; done
"""
# The first change of a job is the last thing that its daemon lives to see.
SCONTROL = """#!/bin/sh
case $1 in
-V) echo slurm 24.11.5 ;;
update) kill -9 $PPID; echo "$*" >>"${0%/*}/sent" ;;
esac
"""


def check_killed_at_a_change(folder):
    """SIGKILL at the moment at which a change is begun: the store knows of it."""
    own = folder + "/s"
    os.mkdir(own)
    shutil.copy(folder + "/token", own + "/token")
    for name, text in (("squeue", SQUEUE), ("sinfo", SINFO), ("scontrol", SCONTROL)):
        with open(own + "/" + name, "w", encoding="utf-8") as out:
            out.write(text)
        os.chmod(own + "/" + name, 0o755)
    begin = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() + 60))
    with open(own + "/jobs", "w", encoding="utf-8") as out:
        out.write("17@17@PENDING@2@@BeginTime@1@@(null)@train@u@%s@N/A@0@antiphase:v1;gate@"
                  "antiphase: iter_us=120000 comm_us=30000@j@\n" % begin)
    daemon = Scheduler(own, "--bus", "ipc://%s/bus" % own, "--announce", "none",
                       "--topology", os.path.join(ROOT, "examples/two-jobs-fabric.json"),
                       "--host", "slurm", "--slurm-bindir", own, "--mode", "enforce")
    is_killed = wait_for(lambda: not daemon.is_alive(), 10)
    RUNNING.remove(daemon.process)
    time.sleep(0.2)
    with sqlite3.connect(own + "/history.db") as db:
        known = [json.loads(row[0]) for row in
                 db.execute("SELECT json FROM document WHERE kind = 3 AND key = '17'")]
    verdict(is_killed and os.path.exists(own + "/sent") and len(known) == 1 and
            known[0]["kind"] == "pin" and known[0]["nodes"],
            "killed as it begins a change, the store knows of the change",
            "killed %s, known %r\n%s" % (is_killed, known, "\n".join(daemon.lines())))
