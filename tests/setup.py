#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""setup.py - tests of 'antiphase setup' over roots that stand for hosts.

Covers: a plan changes nothing; apply, apply again and undo on a host with Slurm's
controller, on a node and on a host alone; files that a person wrote or changed; kills
between steps and at any moment; a full disk; hostile answers of lldpcli, files and
journals.  Scripts below the root stand in for systemctl and lldpcli.

Prints PASS and FAIL lines for tests/run.
"""
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.getcwd()
BUILD = os.path.join(HERE, os.environ["B"])
ANTIPHASE = os.path.join(BUILD, "antiphase")
CONFIG = "/etc/antiphase/antiphase.conf"
DROP_IN = "/etc/antiphase/conf.d/setup.conf"
FABRIC = "/etc/antiphase/topology.json"
PROPOSED = "/etc/antiphase/topology.json.proposed"
KEYS = "/etc/antiphase/keys"
JOURNAL = "/var/lib/antiphase-setup/journal.json"
failed = False

# Keeps the state of units in files, and kills its caller if it is told to.
SYSTEMCTL = """#!/bin/sh
state=${0%/usr/bin/systemctl}/run/systemd/system
echo "$*" >>"$state/log"
for unit; do :; done
[ ! -e "$state/kill-at-$1" ] || { rm "$state/kill-at-$1"; kill -9 "$PPID"; exit 1; }
case "$1 $2" in
"--quiet is-enabled") [ -e "$state/$unit.enabled" ] ;;
"--quiet is-active") [ -e "$state/$unit.active" ] ;;
"enable --now") touch "$state/$unit.enabled" "$state/$unit.active" ;;
"disable "*) rm -f "$state/$unit.enabled" ;;
"stop "*) rm -f "$state/$unit.active" ;;
esac
"""

SLURM_CONF = """ClusterName=test
SlurmctldHost=head(10.0.0.1)
SlurmctldHost=spare
NodeName=DEFAULT CPUs=8
NodeName=n[1-3] CPUs=8   # three
NodeName=gpu7 NodeAddr=10.0.0.7
"""

TOPOLOGY_CONF = """SwitchName=leaf1 Nodes=n[1-2]
SwitchName=leaf2 Nodes=n3,gpu7
SwitchName=spine Switches=leaf[1-2]
"""


def verdict(good, what, why=""):
    global failed
    print("PASS" if good else "FAIL", "setup:", what, flush=True)
    if not good:
        failed = True
        print(what, why, file=sys.stderr)


def write(root, path, text, mode=0o644):
    full = root + path
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w", encoding="utf-8", errors="surrogateescape") as out:
        out.write(text)
    os.chmod(full, mode)


def read(root, path):
    with open(root + path, encoding="utf-8") as text:
        return text.read()


def new_root(top, host, programs=("collector",), slurm=True, systemd=True, lldp=None):
    root = tempfile.mkdtemp(dir=top)
    write(root, "/proc/sys/kernel/hostname", host + "\n")
    write(root, "/proc/sys/kernel/osrelease", "6.12.0\n")
    write(root, "/sys/kernel/btf/vmlinux", "")
    write(root, "/sys/class/net/eth0/speed", "200000\n")
    write(root, "/sys/class/net/eth0/operstate", "up\n")
    os.mkdir(root + "/sys/class/net/eth0/device")
    os.mkdir(root + "/sys/class/net/lo")
    os.makedirs(root + "/var/lib")
    os.mkdir(root + "/etc")
    for name in programs:
        write(root, f"/usr/sbin/antiphase-{name}", "#!/bin/sh\n", 0o755)
        write(root, f"/lib/systemd/system/antiphase-{name}.service", "[Service]\n")
    if slurm:
        write(root, "/etc/slurm/slurm.conf", SLURM_CONF)
        write(root, "/etc/slurm/topology.conf", TOPOLOGY_CONF)
    if systemd:
        write(root, "/usr/bin/systemctl", SYSTEMCTL, 0o755)
        os.makedirs(root + "/run/systemd/system")
    if lldp is not None:
        write(root, "/usr/sbin/lldpcli", lldp, 0o755)
    return root


def new_head(top):
    return new_root(top, "head", ("collector", "topology", "scheduler"))


def tree(root):
    """Everything below the root: {path: content}, None for a folder."""
    found = {}
    for folder, _, files in os.walk(root):
        found[folder[len(root):]] = None
        for name in files:
            path = os.path.join(folder, name)
            if not path.endswith("/run/systemd/system/log"):
                with open(path, "rb") as content:
                    found[path[len(root):]] = content.read()
    return found


def setup(root, *args, **more):
    done = subprocess.run([ANTIPHASE, "setup", "--root", root, *args], capture_output=True,
                          text=True, errors="surrogateescape", timeout=60, check=False, **more)
    return done.returncode, done.stdout, done.stderr


def document(root, *args):
    status, out, err = setup(root, "--json", *args)
    try:
        return json.loads(out)
    except ValueError:
        return {"steps": [], "findings": [], "broken": (status, out, err)}


def steps(root, *args):
    return [(s["state"], s["action"], s["target"]) for s in document(root, *args)["steps"]]


def log(root):
    lines = read(root, "/run/systemd/system/log").splitlines()
    return [line for line in lines if not line.startswith("--quiet")]


# ---- Ordinary hosts -------------------------------------------------------------------------------------


def test_head(top):
    root = new_head(top)
    before = tree(root)
    status, out, err = setup(root)
    verdict(status == 0 and not err and tree(root) == before, "a plan changes nothing", (status, err))
    verdict("6 steps to do; nothing was changed" in out and "bus = tcp://n1:7461,tcp://n2:7461,"
            "tcp://n3:7461,tcp://10.0.0.7:7461" in out, "a plan says steps and settings", out)
    status, out, err = setup(root, "--apply")
    verdict(status == 0 and "6 steps done" in out, "apply takes all steps", (status, out, err))
    check = subprocess.run([ANTIPHASE, "config", "check", root + CONFIG], capture_output=True,
                           text=True, check=False)
    verdict(check.returncode == 0, "antiphase.conf is valid", check.stderr)
    check = subprocess.run([ANTIPHASE, "topology", "check", root + FABRIC], capture_output=True,
                           text=True, check=False)
    verdict(check.returncode == 0 and '"gbps": 200' in read(root, FABRIC).replace('":', '": ').
            replace("  ", " "), "the fabric has the speed of this host's interface", check.stderr)
    check = subprocess.run([ANTIPHASE, "keys", "show", "--dir", root + KEYS], capture_output=True,
                           text=True, check=False)
    secret = os.stat(root + KEYS + "/self.key")
    verdict(check.returncode == 0 and secret.st_mode & 0o777 == 0o600, "the pair of keys is whole",
            check.stderr)
    verdict(log(root) == [f"enable --now antiphase-{n}" for n in ("collector", "topology", "scheduler")],
            "units are enabled", log(root))
    after = tree(root)
    status, out, err = setup(root, "--apply")
    verdict(status == 0 and "Nothing to do." in out and tree(root) == after, "apply again: nothing to do",
            (status, out, err))
    status, out, err = setup(root, "--undo")
    verdict(status == 0 and tree(root) == before, "undo leaves nothing behind",
            (status, out, err, sorted(set(tree(root)) ^ set(before))))
    status, out, _ = setup(root, "--undo")
    verdict(status == 0 and "Nothing to do" in out, "undo again: nothing to do", out)


def test_node(top):
    root = new_root(top, "n2.example.org")
    status, out, err = setup(root, "--apply")
    text = read(root, CONFIG)
    verdict(status == 0 and "endpoint = tcp://*:7461" in text and f"keys = {KEYS}" in text
            and "[scheduler]" not in text, "a node's collector has keys", (out, err, text))
    verdict(not os.path.exists(root + FABRIC), "a node gets no fabric")
    findings = [f for f in document(root)["findings"] if f["topic"] == "keys"]
    verdict(findings and findings[0]["state"] == "WARN" and "keys allow" in findings[0]["remedy"],
            "keys of other hosts are asked for", findings)


def test_alone(top):
    root = new_root(top, "box", slurm=False, systemd=False)
    shutil.rmtree(root + "/sys/class/net/eth0/device")
    taken = steps(root, "--apply")
    text = read(root, CONFIG)
    verdict(taken == [("done", "write", CONFIG)] and "interface = eth0" in text
            and "#endpoint =" in text, "a host alone: settings, no keys, no units", (taken, text))


# ---- What a person wrote --------------------------------------------------------------------------------


def test_persons(top):
    root = new_head(top)
    mine = "# mine\n[bus]\n[scheduler]\nscheduler = none\n"
    write(root, CONFIG, mine)
    write(root, FABRIC, '{"schema": "antiphase.topology/1", "name": "mine", "switches": [{"name": "s", '
          '"tier": 1}], "hosts": [{"name": "a"}], "cables": [{"a": "a:p", "b": "s:p", "gbps": 1}]}')
    before = tree(root)
    plan = document(root)
    config = [s for s in plan["steps"] if s["target"] == CONFIG][0]
    verdict(config["state"] == "left" and config["differences"]
            == [CONFIG + ":4: [scheduler] scheduler = none; setup would say slurm"],
            "a person's setting stays; the difference is shown", config)
    status, out, err = setup(root, "--apply")
    verdict(status == 0 and read(root, CONFIG) == mine, "a person's file is not changed", (out, err))
    text = read(root, DROP_IN)
    verdict("bus = tcp://n1" in text and "scheduler = slurm" not in text,
            "the other settings are beside it", text)
    verdict(os.path.exists(root + PROPOSED) and tree(root)[FABRIC] == before[FABRIC],
            "another fabric is proposed beside a person's")
    status, out, _ = setup(root, "--apply")
    verdict("Nothing to do." in out, "with a person's files, apply again has nothing to do", out)
    write(root, CONFIG, mine + "bus = tcp://n9:7461\n")
    status, out, _ = setup(root, "--apply")
    verdict("bus =" not in read(root, DROP_IN), "a setting that a person adds leaves setup's file",
            read(root, DROP_IN))
    write(root, CONFIG, mine)
    status, out, err = setup(root, "--undo")
    verdict(status == 0 and tree(root) == before, "undo keeps a person's files",
            (out, err, sorted(set(tree(root)) ^ set(before))))
    write(root, CONFIG, "[bus\n")
    plan = document(root, "--apply")
    config = [s for s in plan["steps"] if s["target"] == CONFIG][0]
    verdict(config["state"] == "left" and f"mend {CONFIG}:1" in config["why"],
            "a broken file is named with its line", config)


def test_hand_edit(top):
    root = new_head(top)
    setup(root, "--apply")
    write(root, CONFIG, read(root, CONFIG) + "log = dbg\n")
    before = tree(root)
    status, out, _ = setup(root, "--apply")
    verdict(status == 0 and tree(root)[CONFIG] == before[CONFIG], "an edited file is a person's", out)
    public = os.listdir(root + KEYS)
    os.mkdir(root + KEYS + "/allow")
    write(root, KEYS + "/allow/n1.pub", "x\n")
    status, out, err = setup(root, "--undo")
    verdict(status == 1 and "changed since" in out and "keys of other hosts" in out,
            "undo says what it leaves", (status, out, err))
    verdict(os.path.exists(root + CONFIG) and set(public) <= set(os.listdir(root + KEYS))
            and not os.path.exists(root + FABRIC) and not os.path.exists(root + JOURNAL),
            "undo leaves what was changed by hand, and nothing else")
    root = new_head(top)
    setup(root, "--apply")
    os.unlink(root + FABRIC)
    os.unlink(root + "/run/systemd/system/antiphase-topology.enabled")
    status, out, err = setup(root, "--undo")
    verdict(status == 0 and "disable antiphase-topology" not in log(root),
            "undo passes over what is gone already", (out, err))


def test_update(top):
    root = new_head(top)
    setup(root, "--apply")
    write(root, "/etc/slurm/slurm.conf", SLURM_CONF + "NodeName=n9\n")
    taken = steps(root, "--apply")
    verdict(("done", "write", CONFIG) in taken and "n9:7461" in read(root, CONFIG),
            "its own file is brought up to date", taken)
    verdict(("done", "restart", "antiphase-collector") in taken, "units that run are restarted", taken)
    write(root, CONFIG + ".link", "")
    os.unlink(root + CONFIG)
    os.symlink("antiphase.conf.link", root + CONFIG)
    taken = steps(root, "--apply")
    verdict(os.path.islink(root + CONFIG) and read(root, CONFIG) == "", "a link is a person's", taken)


# ---- Kills and errors -----------------------------------------------------------------------------------


def test_kill_between(top):
    for word in ("enable", "restart"):
        root = new_head(top)
        before = tree(root)
        if word == "restart":
            for name in ("collector", "topology", "scheduler"):
                for state in ("enabled", "active"):
                    write(root, f"/run/systemd/system/antiphase-{name}.{state}", "")
            before = tree(root)
        write(root, f"/run/systemd/system/kill-at-{word}", "")
        status, _, _ = setup(root, "--apply")
        verdict(status == -signal.SIGKILL and os.path.exists(root + JOURNAL), f"killed at {word}", status)
        status, out, err = setup(root, "--apply")
        verdict(status == 0 and sum(line.startswith(word) for line in log(root)) == 4,
                f"after a kill at {word}, apply goes on", (out, err, log(root)))
        status, out, err = setup(root, "--undo")
        verdict(status == 0 and tree(root) == before, f"after a kill at {word}, undo takes all back",
                (out, err, sorted(set(tree(root)) ^ set(before))))
    root = new_head(top)
    before = tree(root)
    setup(root, "--apply")
    write(root, "/run/systemd/system/kill-at-disable", "")
    status, _, _ = setup(root, "--undo")
    again, out, err = setup(root, "--undo")
    verdict(status == -signal.SIGKILL and again == 0 and tree(root) == before,
            "a killed undo goes on", (status, again, out, err))


def test_kill_anywhere(top):
    """At moments spread over a whole run, of apply and of undo."""
    root = new_head(top)
    before = tree(root)
    begin = time.monotonic()
    setup(root, "--apply")
    length = time.monotonic() - begin
    setup(root, "--undo")
    n_killed, faults = 0, []
    for i in range(24):
        for what in ("--apply", "--undo"):
            with subprocess.Popen([ANTIPHASE, "setup", "--root", root, what], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL) as running:
                time.sleep(length * (i + 0.5) / 24)
                running.kill()
                n_killed += running.wait() == -signal.SIGKILL
            time.sleep(0.02)  # Its systemctl, which may go on.
            for path in (CONFIG, FABRIC):
                if os.path.exists(root + path) and not read(root, path).endswith("\n"):
                    faults.append((i, what, path))
            if what == "--apply":
                status, out, err = setup(root, "--apply")
                if status or steps(root, "--apply") == [] or not os.path.exists(root + KEYS + "/self.key"):
                    faults.append((i, what, status, out, err))
        status, out, err = setup(root, "--undo")
        if status or tree(root) != before:
            faults.append((i, status, out, err, sorted(set(tree(root)) ^ set(before))))
            break
    verdict(n_killed > 4 and not faults, "killed at any moment, nothing is lost", (n_killed, faults))


def test_sweep(top):
    """What a kill leaves of a file that has no name yet, and names like it."""
    root = new_head(top)
    before = tree(root)
    setup(root, "--apply")
    for name in (CONFIG + ".123-0", DROP_IN + ".7-12", JOURNAL + ".99-1"):
        write(root, name, "half")
    kept = (CONFIG + ".old-1", CONFIG + ".123", CONFIG + ".1-", CONFIG + ".1-2a")
    for name in kept:
        write(root, name, "mine")
    setup(root, "--undo")
    left = set(tree(root)) - set(before)
    verdict(left == set(kept) | {"/etc/antiphase", "/etc/antiphase/conf.d"}, "half files of a kill go", left)


def small_files(n_bytes):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))
    return limit


def test_errors(top):
    root = new_head(top)
    before = tree(root)
    # A file system that is full stands behind a limit on the size of files.
    status, out, err = setup(root, "--apply", preexec_fn=small_files(0))
    after = tree(root)
    after.pop("/var/lib/antiphase-setup", None)
    verdict(status and err.count("\n") == 1 and "journal.json" in err and after == before,
            "a journal that cannot be written: nothing is done", (status, err))
    write(root, "/etc/slurm/slurm.conf", SLURM_CONF.replace("n[1-3]", "n[1-60]"))
    write(root, "/etc/slurm/topology.conf", "SwitchName=leaf1 Nodes=n[1-60]\n")
    shutil.rmtree(root + "/var/lib/antiphase-setup", ignore_errors=True)
    before = tree(root)
    status, out, err = setup(root, "--apply", preexec_fn=small_files(3000))
    verdict(status and FABRIC in err and "failed  write " + FABRIC in out and "antiphase-topology" in out,
            "a step that fails is named; those behind it are not taken", (status, out, err))
    verdict("2 steps done, 4 not taken" in out, "the steps that were not taken are counted", out)
    verdict(os.path.exists(root + CONFIG) and not os.path.exists(root + FABRIC), "no half of a file")
    status, out, err = setup(root, "--apply")
    verdict(status == 0, "with room again, apply goes on", (out, err))
    status, out, err = setup(root, "--undo")
    verdict(status == 0 and tree(root) == before, "and undo takes all back",
            (out, err, sorted(set(tree(root)) ^ set(before))))
    write(root, "/etc/antiphase", "no directory\n")
    status, out, err = setup(root, "--apply")
    verdict(status and err.count("\n") == 1 and "/etc/antiphase" in err
            and read(root, "/etc/antiphase") == "no directory\n", "/etc/antiphase is a file", (status, err))
    for args in (("--apply", "--undo"), ("more",), ("--root", "/nonexistent/root")):
        status, out, err = setup(root, *args)
        verdict(status == 2 and not out, "refused: " + " ".join(args), (status, out, err))


# ---- Hostile input --------------------------------------------------------------------------------------

NEIGHBOUR = ('{"lldp":[{"interface":[{"name":"eth0","chassis":[{"id":[{"type":"mac","value":"1"}],'
             '"name":[{"value":"%s"}]}],"port":[{"id":[{"type":"ifname","value":"swp1"}]}]}]}]}')


def test_lldp(top):
    one = NEIGHBOUR % "leaf1"
    root = new_root(top, "box", ("collector", "topology"), slurm=False, lldp=f"#!/bin/sh\necho '{one}'\n")
    taken = steps(root, "--apply")
    verdict(("done", "write", FABRIC) in taken and "leaf1" in read(root, FABRIC), "a fabric of LLDP", taken)
    answers = {
        "no JSON": "echo '}{'",
        "deep": "printf '[%.0s' $(seq 100000)",
        "much": "head -c 9000000 /dev/zero",
        "odd names": "printf '%s' '" + NEIGHBOUR % "\\u001b[31mred\\u0000\\n:p" + "'",
        "a wrong shape": "echo '{\"lldp\":[{\"interface\":\"eth0\"}]}'",
        "no bytes": ":",
        "a failure": "echo hello >&2; exit 7",
        "a signal": "kill -9 $$",
        "an endless one": "sleep 60",
    }
    for what, line in answers.items():
        root = new_root(top, "box", ("collector", "topology"), slurm=False, lldp=f"#!/bin/sh\n{line}\n")
        status, out, err = setup(root)
        verdict(status == 0 and not err and "lldp" in out and "\x1b" not in out
                and ("odd" in what or "WARN  lldp" in out), "lldpcli answers with " + what,
                (status, out, err))


def test_hostile_files(top):
    root = new_root(top, "a/../b", slurm=True)
    write(root, "/etc/slurm/slurm.conf", "SlurmctldHost=\x1b[31mx\nNodeName=n[1-999999999]\n"
          "NodeName=a;b\nNodeName=[\nNodeName=" + "x" * 100000 + "\nNodeAddr=q\nNodeName=n[1-2] NodeAddr=q\n")
    write(root, "/etc/slurm/topology.conf", "SwitchName=a Switches=a\n")
    status, out, err = setup(root)
    verdict(status == 0 and not err and "5 lines of nodes not understood" in out and "\x1b" not in out,
            "a hostile slurm.conf", (status, out, err))
    victim = new_root(top, "box", slurm=False)
    write(victim, "/etc/passwd", "kept\n")
    entry = '{"kind":"%s","target":"%s","versions":[]}'
    for what, text in {
            "another file": entry % ("file", "/etc/passwd"),
            "a path upwards": entry % ("file", "/etc/antiphase/../passwd"),
            "other keys": entry % ("keys", "/etc"),
            "another unit": entry % ("unit", "ssh"),
            "no entry": "7", "half": '{"kind":"file"'}.items():
        write(victim, JOURNAL, '{"schema":"antiphase.setup_journal/1","entries":[%s]}' % text)
        before = tree(victim)
        status, out, err = setup(victim, "--undo")
        verdict(status == 2 and err.count("\n") == 1 and tree(victim) == before,
                "a journal with " + what + " is refused", (status, out, err))


def main():
    with tempfile.TemporaryDirectory() as top:
        for test in (test_head, test_node, test_alone, test_persons, test_hand_edit, test_update,
                     test_kill_between, test_kill_anywhere, test_sweep, test_errors, test_lldp, test_hostile_files):
            test(top)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
