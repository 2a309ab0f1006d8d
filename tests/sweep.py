#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sweep.py - tests of 'antiphase sim sweep' as a whole.

Covers: kill and resume, interruption, a grid that grows, values in the scenario, cells
that fail, figures, and job arrays (scripts stand in for Slurm's commands).

Prints PASS and FAIL lines for tests/run.
"""
import ctypes
import glob
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

ROOT = os.getcwd()
BUILD = os.path.join(ROOT, os.environ["B"])
SIM = os.path.join(BUILD, "antiphase-sim")
GRID = """[sweep]
command = sim run two-jobs.ini --iterations %d
seeds = 1..4
[axes]
policy = %s
"""
failed = False

# Runs the tasks listed in the file "tasks" one by one, and prints a job number.
SBATCH = """#!/bin/sh
here=${0%/*}
echo "$*" >>"$here/log"
for task in $(cat "$here/tasks"); do
	SLURM_ARRAY_TASK_ID=$task SLURM_CPUS_PER_TASK=2 sh "$2" >>"$here/out" 2>&1
done
echo '4711;cluster'
"""
SQUEUE = """#!/bin/sh
here=${0%/*}
[ -s "$here/queue" ] || { echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1; }
cat "$here/queue"
"""


def verdict(good, what, why=""):
    global failed
    print("PASS" if good else "FAIL", "sweep:", what)
    if not good:
        failed = True
        print(what, why, file=sys.stderr)


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    os.chmod(path, mode)


def sweep(*args, env=None):
    done = subprocess.run([SIM, "sweep", "grid.ini", *args], capture_output=True, text=True,
                          env=env, timeout=300, check=False)
    return done.returncode, done.stdout, done.stderr


def results():
    """Returns {file: (inode, mtime)}; the value changes when the file is rewritten."""
    found = {}
    for path in glob.glob("grid.sweep/cells/*"):
        st = os.stat(path)
        found[os.path.basename(path)] = (st.st_ino, st.st_mtime_ns)
    return found


def cells_of(pid):
    """
    Returns the cells of sweep 'pid', found by the environment they started with, without
    the check of their options.
    """
    found = []
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(path, "rb") as environ:
                ours = b"ANTIPHASE_SWEEP_PID=%d\0" % pid in environ.read()
            with open(path.replace("environ", "cmdline"), "rb") as cmdline:
                if ours and cmdline.read().endswith(b"--json\0"):
                    found.append(path)
        except OSError:
            pass
    return found


def ends_of_orphans(limit_s):
    """
    Returns the exit codes of the cells that a sweep left behind, and whether all ended
    in time.  Orphans become children of this process, so waitpid() finds them.  A
    search by environment would miss some: a cell between fork() and exec() still has
    its parent's.
    """
    ends, until_s = [], time.monotonic() + limit_s
    while time.monotonic() < until_s:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ends, True
        if pid:
            ends.append(os.waitstatus_to_exitcode(status))
        else:
            time.sleep(0.002)
    return ends, False


def start_and_stop(number):
    """Starts a sweep, and sends the signal when the first cell is done."""
    running = subprocess.Popen([SIM, "sweep", "grid.ini", "--jobs", "1"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while not glob.glob("grid.sweep/cells/*.json") and running.poll() is None:
        time.sleep(0.002)
    running.send_signal(number)
    said = running.stderr.read() if number == signal.SIGINT else ""
    running.wait()
    running.stderr.close()
    return running.returncode, said, ends_of_orphans(60)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def check_stopped(number, wanted_status, what):
    write("grid.ini", GRID % (200000, "none antiphase"))
    before = {}
    for _ in range(10):
        shutil.rmtree("grid.sweep", ignore_errors=True)
        status, said, (ends, all_ended) = start_and_stop(number)
        before = results()
        if len(before) < 8:
            break  # The signal came before all cells were done.
    sound = all(json.loads(read("grid.sweep/cells/" + name)) for name in before
                if name.endswith(".json"))
    verdict(status == wanted_status and 0 < len(before) < 8 and sound and all_ended,
            what + ": what is done is whole, and no cell goes on",
            f"{status} {said} {before} {ends}")
    done = sweep("--jobs", "2")
    after = results()
    verdict(done[0] == 0 and "8 of 8 cells are done" in done[1] and
            all(after.get(name) == mark for name, mark in before.items()
                if name.endswith(".json")),
            what + ": the rest is run, and what was done is left alone", f"{done}")
    first = {name: read("grid.sweep/" + name) for name in ("sweep.csv", "sweep.json")}
    shutil.rmtree("grid.sweep")
    sweep("--jobs", "2")
    verdict(all(read("grid.sweep/" + name) == text for name, text in first.items()),
            what + ": the merged files are those of a run in one go")


def check_orphans():
    """
    A long-running cell ends when its sweep is killed, at any point of the cell's start.
    A cell that starts after its sweep has ended does nothing.
    """
    jobs = "".join(f"[job {i}]\nhosts = h[{i},{i + 16}]\nsegment = send 1 MB\n"
                   for i in range(16))
    write("long.ini", "[fabric]\ngenerate = leaf-spine --leaves 2 --hosts-per-leaf 16 "
          "--gbps 50\n" + jobs)
    write("grid.ini", (GRID % (10000000, "none")).replace("two-jobs", "long"))
    shutil.rmtree("grid.sweep", ignore_errors=True)
    n_kills, n_orphans, n_before, wrong, patience_s = 0, 0, 0, [], 0.01
    # A sanitizer that looks for leaks has a process of its own, which ends with status 4.
    no_leaks = dict(os.environ, ASAN_OPTIONS="detect_leaks=0")
    while n_kills < 40 or (n_orphans < 20 and n_kills < 400):
        running = subprocess.Popen([SIM, "sweep", "grid.ini", "--jobs", "3"], env=no_leaks,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(patience_s * (n_kills % 8) / 7)
        running.kill()
        running.wait()
        ends, all_ended = ends_of_orphans(60)
        n_kills += 1
        n_orphans += ends.count(-signal.SIGKILL)
        # 1: the sweep ended before the cell could tie its own end to it.  0, SIGPIPE: the
        # check of the options, which is short; a cell would take minutes.
        if not all_ended or set(ends) - {-signal.SIGKILL, 1, 0, -signal.SIGPIPE}:
            wrong.append(ends)
        # Waits longer on a slow machine, so that the options are checked and cells start.
        if n_kills % 8 == 0:
            patience_s *= 1.5 if n_orphans == n_before else 1
            n_before = n_orphans
    verdict(n_orphans > 0 and not wrong and not results(),
            "cells end with the sweep, at whatever point of their start it is killed",
            f"{n_kills} {n_orphans} {wrong} {results()}")
    late = subprocess.run([SIM, "run", "two-jobs.ini"], capture_output=True, check=False,
                          env=dict(os.environ, ANTIPHASE_SWEEP_PID=str(os.getppid())))
    verdict((late.returncode, late.stdout) == (1, b""),
            "a cell whose sweep is gone does nothing", f"{late}")


def check_killed_often():
    """Axes that set values in the scenario; repeated kill -9 at arbitrary times."""
    write("grid.ini", """[sweep]
command = sim run two-jobs.ini --iterations 5000
seeds = 1..4
[axes]
set.jobs.jitter = 0 5%
set.fabric.gbps = 50 100
""")
    shutil.rmtree("grid.sweep", ignore_errors=True)
    known, moved, n_kills, patience_s = {}, set(), 0, 0.05
    while n_kills < 100:
        running = subprocess.Popen([SIM, "sweep", "grid.ini", "--jobs", "2"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            running.wait(patience_s * (0.3 + 0.1 * (n_kills % 7)))
            break
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()
            n_kills += 1
        now = {name: mark for name, mark in results().items() if name.endswith(".json")}
        moved |= {name for name, mark in known.items() if now.get(name) != mark}
        # Waits longer on a slow machine, so that a cell finishes eventually.
        patience_s *= 1.5 if len(now) == len(known) else 1
        known = now
    status = running.returncode
    cells = json.loads(read("grid.sweep/sweep.json"))["cells"] if status == 0 else []
    verdict(status == 0 and n_kills > 0 and not moved and len(cells) == 16,
            "killed again and again, it ends, and no cell that is done is run twice",
            f"status {status}, {n_kills} kills, {moved}, {len(cells)} cells")
    if status != 0:
        return
    first = {name: read("grid.sweep/" + name) for name in ("sweep.csv", "sweep.json")}
    shutil.rmtree("grid.sweep")
    sweep("--jobs", "2")
    verdict(all(read("grid.sweep/" + name) == text for name, text in first.items()),
            "killed again and again: the merged files are those of a run in one go")
    means = {}
    for cell in cells:
        jitter, gbps = (axis["value"] for axis in cell["axes"])
        means[jitter, gbps, cell["seed"]] = {
            number["metric"]: number["value"]
            for number in cell["metrics"]}["summary.iteration_mean_us"]
    verdict(means["0", "50", 1] == means["0", "50", 2] != means["5%", "50", 1]
            != means["5%", "50", 2] and means["0", "100", 1] < means["0", "50", 1],
            "an axis sets a value in the scenario", f"{means}")


def check_grid():
    write("grid.ini", GRID % (5, "none"))
    shutil.rmtree("grid.sweep", ignore_errors=True)
    sweep()
    before = results()
    write("grid.ini", GRID % (5, "antiphase none") + "set.sim.phases = x\n")
    done = sweep()
    verdict(done[0] == 1 and "4 of 8" not in done[1] and "--set=sim.phases" in done[2] and
            "cell 1 failed: antiphase-sim run two-jobs.ini" in done[2],
            "a cell that fails is told with its command and what it said", f"{done}")
    write("grid.ini", GRID % (5, "antiphase none"))
    done = sweep()
    after = results()
    verdict(done[0] == 0 and "8 of 8" in done[1] and
            all(after.get(name) == mark for name, mark in before.items()),
            "a grid that grows keeps its results", f"{done}")
    write("two-jobs.ini", read("two-jobs.ini") + "; changed\n")
    done = sweep("--list")
    verdict(done[1].count(" missing ") == 8, "another scenario is another cell", f"{done}")


def check_figures():
    write("grid.ini", GRID % (5, "none antiphase") + "set.fabric.gbps = 50 25 100\n")
    shutil.rmtree("grid.sweep", ignore_errors=True)
    done = sweep("--plot", env=dict(os.environ, PATH="/nowhere"))
    verdict(done[0] == 0 and done[2].count("no figures: gnuplot is not installed") == 1 and
            not glob.glob("grid.sweep/figures/*.svg"),
            "without gnuplot a line says that there are no figures", f"{done}")
    if not shutil.which("gnuplot"):
        print("SKIP sweep: figures: gnuplot is not here")
        return
    done = sweep("--merge", "--plot")
    figures = {os.path.basename(path)[:-4]: path for path in glob.glob("grid.sweep/figures/*.svg")}
    verdict(done[0] == 0 and f"figures has {len(figures)} figures" in done[1] and
            "summary.goodput" in figures and "schema" not in figures,
            "a figure of each number that varies", f"{done} {sorted(figures)}")
    good = True
    for path in figures.values():
        root = xml.etree.ElementTree.parse(path).getroot()
        said = root.find("{http://www.w3.org/2000/svg}desc").text
        remarks = read(path[:-4] + ".gp")
        for line in ("version: antiphase-sim", "command: antiphase-sim sweep grid.ini --merge --plot",
                     "cells: sim run two-jobs.ini", "axis: set.fabric.gbps = 50 25 100",
                     "seeds: 1..4", "done: 24 of 24 cells"):
            line = line.replace("sim run", "run")
            good = good and line in said and "# " + line in remarks
    verdict(good, "each figure says where it is from", f"{figures}")
    # The mean over the four rows with this policy and rate, and its interval (n = 4).
    values = [number["value"] for cell in json.loads(read("grid.sweep/sweep.json"))["cells"]
              if [axis["value"] for axis in cell["axes"]] == ["antiphase", "25"]
              for number in cell["metrics"] if number["metric"] == "summary.iteration_mean_us"]
    half = 3.182446305284263 * statistics.stdev(values) / 2
    rows = read("grid.sweep/figures/summary.iteration_mean_us.gp").split("$line2 << END\n")[1]
    x, mean, ci95 = (float(word) for word in rows.split("\n")[0].split())
    verdict(len(values) == 4 and x == 25 and abs(mean / statistics.mean(values) - 1) < 1e-12 and
            abs(ci95 - half) <= 1e-6 * half,
            "its points are means with the interval of Student's t, from left to right",
            f"{values} {x} {mean} {ci95} {half}")


def check_ended():
    """A cell is killed from outside, as when a batch system ends a job's processes."""
    write("grid.ini", GRID % (200000, "none"))
    shutil.rmtree("grid.sweep", ignore_errors=True)
    with subprocess.Popen([SIM, "sweep", "grid.ini", "--jobs", "1"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as running:
        found = []
        while not found and running.poll() is None:
            found = cells_of(running.pid)
        for path in found:
            os.kill(int(path.split("/")[2]), signal.SIGTERM)
        out, err = running.communicate()
    verdict(running.returncode == 1 and "3 of 4 cells are done, 0 failed, 1 are missing" in out and
            "was ended from outside" in err and
            all(name.endswith(".json") for name in results()),
            "a cell that is ended from outside is missing, not failed", f"{out} {err}")
    done = sweep()
    verdict(done[0] == 0 and "4 of 4 cells are done" in done[1], "and is run again", f"{done}")


def check_beside():
    """Two sweeps in one folder: neither repeats a cell that the other has done."""
    write("grid.ini", GRID % (50000, "none antiphase fair"))
    shutil.rmtree("grid.sweep", ignore_errors=True)
    with subprocess.Popen([SIM, "sweep", "grid.ini", "--jobs", "1"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as running:
        while not results() and running.poll() is None:
            time.sleep(0.001)
        beside = sweep("--cells", "12")
        there = {name: mark for name, mark in results().items()}
        last = sweep("--list")[1].splitlines()[-1].split()
        out, err = running.communicate()
    mark = there.get(last[1] + ".json")
    verdict(beside[0] == 0 and running.returncode == 0 and "12 of 12 cells are done" in out and
            mark and results()[last[1] + ".json"] == mark,
            "of two on one folder, one leaves alone what the other has done",
            f"{beside} {there} {last} {out} {err}")


def check_strangers():
    """The folder has results of another grid: they are neither lost nor merged."""
    write("grid.ini", GRID % (5, "none"))
    shutil.rmtree("grid.sweep", ignore_errors=True)
    sweep()
    first = {name: read("grid.sweep/" + name) for name in ("sweep.csv", "sweep.json")}
    write("grid.ini", GRID % (6, "none"))
    done = sweep("--merge")
    verdict(done[0] == 1 and "no cell is done: nothing is merged" in done[2] and
            "4 results in grid.sweep are of another version, grid or input" in done[2] and
            all(read("grid.sweep/" + name) == text for name, text in first.items()),
            "what was merged is not replaced by nothing", f"{done}")
    done = sweep()
    verdict(done[0] == 0 and len(results()) == 8 and
            len(json.loads(read("grid.sweep/sweep.json"))["cells"]) == 4,
            "results of another grid stay, and are not merged", f"{done}")


def check_failures():
    write("grid.ini", GRID % (5, "none") + "set.fabric.gbps = 50 foul\n")
    shutil.rmtree("grid.sweep", ignore_errors=True)
    done = sweep()
    before = results()
    verdict(done[0] == 1 and "4 of 8 cells are done, 4 failed, 0 are missing" in done[1] and
            done[2].count("failed: antiphase-sim run") == 4 and "--retry-failed" in done[2],
            "the others go on", f"{done}")
    write("grid.ini", (GRID % (2000000, "none")).replace("seeds", "limit = 1 ms\nseeds"))
    late = sweep("--cells", "1")
    verdict(late[0] == 1 and "the cell did not end within 0.001 s" in late[2],
            "a cell that takes longer than its limit fails", f"{late}")
    write("grid.ini", GRID % (5, "none") + "set.fabric.gbps = 50 foul\n")
    shutil.rmtree("grid.sweep", ignore_errors=True)
    sweep()
    before = results()
    again = sweep()
    verdict(again[0] == 1 and results() == before, "failures stay as they are", f"{again}")
    again = sweep("--retry-failed")
    after = results()
    anew = [name for name in after if after[name] != before.get(name)]
    verdict(len(anew) == 4 and all(name.endswith(".failed") for name in anew),
            "or are run again, if asked for", f"{again} {anew}")


def check_slurm():
    os.mkdir("bin")
    write("bin/sbatch", SBATCH, 0o755)
    write("bin/squeue", SQUEUE, 0o755)
    write("bin/tasks", "1 3")
    env = dict(os.environ, PATH=os.path.join(os.getcwd(), "bin") + ":" + os.environ["PATH"])
    write("grid.ini", GRID % (5, "none antiphase") + "[slurm]\npartition = long\n")
    shutil.rmtree("grid.sweep", ignore_errors=True)
    args = ("--slurm", "--chunk", "3", "--sbatch", "time=5")
    done = sweep(*args, env=env)
    script = read("grid.sweep/sweep.sbatch")
    verdict(done[0] == 0 and done[1] == "submitted job 4711\n" and
            "#SBATCH --array=1-3\n" in script and "#SBATCH --partition=long\n" in script and
            "#SBATCH --time=5\n" in script, "an array is submitted",
            f"{done}\n{script}\n{os.path.exists('bin/out') and read('bin/out')}")
    verdict(len(results()) == 5, "its tasks run their cells", f"{read('bin/out')}")
    write("bin/queue", "4711_2\n")
    done = sweep(*args, env=env)
    verdict(done[0] == 1 and "job 4711 is still there" in done[2] and
            read("bin/log").count("\n") == 1, "not twice at once", f"{done}")
    write("bin/queue", "")
    write("bin/tasks", "1")
    done = sweep(*args, env=env)
    script = read("grid.sweep/sweep.sbatch")
    verdict(done[0] == 0 and "#SBATCH --array=1-1\n" in script and "1) cells=4..6 ;;" in script
            and len(results()) == 8, "the tasks that were lost are run again",
            f"{done}\n{script}")
    done = sweep(*args, env=env)
    verdict(done[0] == 0 and "8 of 8" in done[1] and
            len(json.loads(read("grid.sweep/sweep.json"))["cells"]) == 8,
            "when nothing is missing it is merged", f"{done}")
    write("grid.ini", GRID % (5, "none") + "set.fabric.gbps = 50 foul\n")
    sweep()
    before = results()
    write("bin/tasks", "1")
    done = sweep("--slurm", "--retry-failed", env=env)
    after = results()
    anew = [name for name in after if after[name] != before.get(name)]
    verdict(done[0] == 0 and len(anew) == 1 and anew[0].endswith(".failed"),
            "an array runs those again that failed, if asked for", f"{done} {anew}")
    write("grid.ini", GRID % (5, "none antiphase"))
    write("bin/sbatch", "#!/bin/sh\necho 'sbatch: error: no such partition' >&2; exit 1\n",
          0o755)
    shutil.rmtree("grid.sweep")
    done = sweep(*args, env=env)
    verdict(done[0] == 2 and "no such partition" in done[2], "what sbatch refuses is told",
            f"{done}")


def check_damage():
    write("grid.ini", GRID % (5, "none"))
    shutil.rmtree("grid.sweep", ignore_errors=True)
    sweep()
    names = sorted(name for name in results())
    write("grid.sweep/cells/" + names[0], "")
    write("grid.sweep/cells/" + names[1], '{"schema": "antiphase.sim_cell/2", "comm')
    shutil.copy("grid.sweep/cells/" + names[2], "grid.sweep/cells/" + names[3])
    done = sweep("--merge")
    verdict(done[0] == 1 and "hold 1 cell\n" in done[1] and "3 of 4 cells" in done[1] and
            done[2].count("remove it") == 2 and "another command" in done[2],
            "damaged results are told and not merged", f"{done}")
    os.unlink("grid.sweep/cells/" + names[3])
    sweep()
    done = sweep()
    verdict(done[0] == 1 and "4 of 4 cells" in done[1] and "hold 3 cells" in done[1],
            "and are no success", f"{done}")


def main():
    folder = tempfile.mkdtemp()
    ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER, for ends_of_orphans().
    try:
        shutil.copytree("examples", os.path.join(folder, "examples"))
        os.chdir(os.path.join(folder, "examples"))
        check_stopped(signal.SIGKILL, -signal.SIGKILL, "killed")
        check_stopped(signal.SIGINT, 130, "interrupted")
        check_orphans()
        check_killed_often()
        check_grid()
        check_figures()
        check_ended()
        check_beside()
        check_strangers()
        check_failures()
        check_slurm()
        check_damage()
    finally:
        os.chdir(ROOT)
        shutil.rmtree(folder)
    return failed


if __name__ == "__main__":
    sys.exit(main())
