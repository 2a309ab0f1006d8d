#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kubernetes.py - the manifests in examples/kubernetes agree with each other, with the
programs' options, the systemd units, docs/kubernetes.md and the requests in the source;
and, as root, what they start works: the containers' commands run with their rights in a
network namespace, with keys as a Secret is mounted, and the probes answer.

Environment: B, the build directory."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

try:
    import yaml
except ImportError:
    print("SKIP kubernetes: python3-yaml is not installed")
    sys.exit(0)

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BIN = os.path.join(ROOT, os.environ["B"])
DIR = os.path.join(ROOT, "examples/kubernetes")
failed = False


def check(what, is_good, why=""):
    global failed
    print(f"PASS kubernetes: {what}" if is_good else f"FAIL kubernetes: {what}: {why}", flush=True)
    failed |= not is_good


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def objects():
    """All objects of the kustomization, by kind and name; and itself."""
    kustomization = yaml.safe_load(read("examples/kubernetes/kustomization.yaml"))
    found = {}
    for name in kustomization["resources"]:
        for item in yaml.safe_load_all(read("examples/kubernetes/" + name)):
            found[item["kind"], item["metadata"]["name"]] = item
    return found, kustomization


def check_objects(found, kustomization):
    namespaced = [item["metadata"].get("namespace") for (kind, _), item in found.items()
                  if kind not in ("Namespace", "ClusterRole", "ClusterRoleBinding")]
    check("all objects are in the namespace",
          set(namespaced) == {kustomization["namespace"]} and ("Namespace", kustomization["namespace"]) in found,
          namespaced)
    images = {image["name"] for image in kustomization["images"]}
    used = {container["image"] for item in found.values() if "template" in item.get("spec", {})
            for container in item["spec"]["template"]["spec"]["containers"]}
    check("the kustomization names every image", images == used, f"{images}, {used}")


def pod_of(found, kind, name):
    return found[kind, name]["spec"]["template"]["spec"]


def argv_of(container):
    return container["command"] + container["args"]


def check_container(what, container, pod):
    command = [os.path.join(BIN, container["command"][0])] + container["command"][1:]
    text = subprocess.run(command + ["--help"], capture_output=True, text=True, check=True).stdout
    known = set(re.findall(r"--[a-z0-9-]+", text))
    used = {arg.split("=")[0] for arg in container["args"]}
    check(f"{what}: its options exist", used <= known, used - known)
    volumes = {volume["name"] for volume in pod["volumes"]}
    mounts = {mount["name"] for mount in container["volumeMounts"]}
    check(f"{what}: its volumes exist", mounts <= volumes, mounts - volumes)
    security = container["securityContext"]
    check(f"{what}: it gains no rights", security["allowPrivilegeEscalation"] is False and
          security["readOnlyRootFilesystem"] is True and security["capabilities"]["drop"] == ["ALL"] and
          "privileged" not in security, security)
    paths = [mount["mountPath"] for mount in container["volumeMounts"]]
    files = [arg.split("=", 1)[1].removeprefix("ipc://") for arg in container["args"] if re.search(r"=(ipc://)?/", arg)]
    lost = [file for file in files if file != "/dev/null" and
            not any(file == path or file.startswith(path + "/") for path in paths)]
    check(f"{what}: every path is in a volume", not lost, lost)


def unit_caps(unit):
    text = read(unit)
    value = re.search(r"^AmbientCapabilities=(.*)$", text, re.M).group(1)
    return {cap.removeprefix("CAP_") for cap in value.split()}


def check_rights(found):
    for kind, name, unit in (("DaemonSet", "antiphase-collector", "collector/antiphase-collector.service.in"),
                             ("Deployment", "antiphase-scheduler", "scheduler/antiphase-scheduler.service.in")):
        caps = {cap for container in pod_of(found, kind, name)["containers"]
                for cap in container["securityContext"]["capabilities"].get("add", [])}
        check(f"{name}: the capabilities are those of its unit", caps == unit_caps(unit), caps)
    # What pods.c and pod_report.c send: a list of pods, and patches of pods.
    source = read("scheduler/daemon/pods.c") + read("scheduler/k8s/pod_report.c")
    verbs = {"GET": "list", "PATCH": "patch", "POST": "create", "PUT": "update", "DELETE": "delete"}
    sent = {verbs[method] for method in re.findall(r'\.method = "([A-Z]+)"', source)}
    paths = set(re.findall(r'"(/api[^"?]*)', source))
    rules = found["ClusterRole", "antiphase"]["rules"]
    check("the role allows what the scheduler sends, and no more",
          rules == [{"apiGroups": [""], "resources": ["pods"], "verbs": sorted(sent)}] and
          paths == {"/api/v1/pods", "/api/v1/namespaces/%s/pods/%s"}, f"{rules}, {sent}, {paths}")
    documented = [part for block in re.findall(r"```yaml\n(.*?)```", read("docs/kubernetes.md"), re.S)
                  if block.startswith("apiVersion:") for part in yaml.safe_load_all(block)]
    role = [part for part in documented if part.get("kind") == "ClusterRole"]
    check("it is the documented one", len(role) == 1 and role[0]["rules"] == rules, role)
    subjects = found["ClusterRoleBinding", "antiphase"]["subjects"]
    pod = pod_of(found, "Deployment", "antiphase-scheduler")
    check("it is bound to the scheduler's account", [subject["name"] for subject in subjects] ==
          [pod["serviceAccountName"]] and ("ServiceAccount", pod["serviceAccountName"]) in found, subjects)
    collector = pod_of(found, "DaemonSet", "antiphase-collector")
    check("the collector has no account", collector["automountServiceAccountToken"] is False and
          "serviceAccountName" not in collector)
    extender = yaml.safe_load(read("examples/kubernetes/kube-scheduler.yaml"))
    config = [part for part in documented if part.get("kind") == "KubeSchedulerConfiguration"]
    check("kube-scheduler's configuration is the documented one", config == [extender], config)


def check_names(found):
    service = found["Service", "antiphase-scheduler"]["spec"]
    template = found["Deployment", "antiphase-scheduler"]["spec"]["template"]
    ports = {port["name"]: port["containerPort"] for container in template["spec"]["containers"]
             for port in container.get("ports", [])}
    port = service["ports"][0]
    check("the Service selects the scheduler and its port",
          service["selector"].items() <= template["metadata"]["labels"].items() and
          ports.get(port["targetPort"]) == port["port"], f"{service}, {ports}")
    args = pod_of(found, "DaemonSet", "antiphase-collector")["containers"][0]["args"]
    check("the collectors send to it",
          f"--endpoint=tcp://antiphase-scheduler.antiphase.svc:{port['port']}" in args, args)
    for kind, name in (("DaemonSet", "antiphase-collector"), ("Deployment", "antiphase-scheduler")):
        workload = found[kind, name]["spec"]
        check(f"{name}: its selector is its label",
              workload["selector"]["matchLabels"] == workload["template"]["metadata"]["labels"])


# ---- What they start ---------------------------------------------------------------------------------


def antiphase(*args):
    subprocess.run([os.path.join(BIN, "antiphase"), *args], check=True, capture_output=True)


def make_keys(tmp):
    """As docs/kubernetes.md says."""
    ours, theirs = os.path.join(tmp, "scheduler-keys"), os.path.join(tmp, "collector-keys")
    antiphase("keys", "new", "--dir", ours)
    antiphase("keys", "new", "--dir", theirs)
    antiphase("keys", "allow", "--dir", ours, "--hosts", "*", "collectors", theirs + "/self.pub")
    antiphase("keys", "allow", "--dir", ours, "--hosts", "*", "scheduler", ours + "/self.pub")
    antiphase("keys", "server", "--dir", ours, "--hosts", "*", ours + "/self.pub")
    antiphase("keys", "server", "--dir", theirs, "--hosts", "", ours + "/self.pub")
    return ours, theirs


def mount_secret(source, volume, to):
    """Lays files out as a kubelet does: below links, and for root only."""
    data = os.path.join(to, "..data")
    files = {os.path.relpath(os.path.join(base, name), source): os.path.join(base, name)
             for base, _, names in os.walk(source) for name in names}
    secret = {os.path.basename(name): path for name, path in files.items()}
    items = volume["secret"].get("items") or [{"key": key, "path": key} for key in secret]
    check(f"{volume['secret']['secretName']}: its keys are those that 'antiphase keys' makes",
          sorted(item["path"] for item in items) == sorted(files), f"{items}, {sorted(files)}")
    os.makedirs(data)
    for item in items:
        path = os.path.join(data, item["path"])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copyfile(secret[item["key"]], path)
        os.chmod(path, volume["secret"]["defaultMode"])
    for name in os.listdir(data):
        os.symlink(os.path.join("..data", name), os.path.join(to, name))


def run_all(found, tmp):
    scheduler, proxy = pod_of(found, "Deployment", "antiphase-scheduler")["containers"]
    volumes = {volume["name"]: volume for volume in pod_of(found, "Deployment", "antiphase-scheduler")["volumes"]}
    collector_pod = pod_of(found, "DaemonSet", "antiphase-collector")
    collector, = collector_pod["containers"]
    ours, theirs = make_keys(tmp)
    mount_secret(ours, volumes["keys"], tmp + "/s/keys")
    mount_secret(theirs, [v for v in collector_pod["volumes"] if v["name"] == "keys"][0], tmp + "/c/keys")
    for name in ("s/run", "s/state", "c/run"):
        os.makedirs(os.path.join(tmp, name))
    os.symlink(os.path.join(ROOT, "examples"), tmp + "/s/fabric")
    cgroup = subprocess.run(["findmnt", "-n", "-t", "cgroup2", "-o", "TARGET"], capture_output=True,
                            text=True).stdout.split()

    def start(container, where, more):
        places = {"/run/antiphase-scheduler": tmp + "/s/run", "/etc/antiphase/keys": f"{tmp}/{where}/keys",
                  "/etc/antiphase/fabric": tmp + "/s/fabric", "/host/cgroup": cgroup[0] if cgroup else "/sys/fs/cgroup",
                  "antiphase-scheduler.antiphase.svc": "127.0.0.1"}
        caps = container["securityContext"]["capabilities"].get("add", [])
        argv = [arg.replace("$(NODE_NAME)", "h0") for arg in argv_of(container)[1:] + more]
        for path, place in places.items():
            argv = [arg.replace(path, place) for arg in argv]
        log = open(f"{tmp}/{container['name']}.log", "w", encoding="utf-8")
        bounds = ",".join(["-all"] + ["+" + cap.lower() for cap in caps])
        return subprocess.Popen(["setpriv", "--bounding-set", bounds, "--inh-caps", "-all", "--no-new-privs",
                                 os.path.join(BIN, container["command"][0])] + argv,
                                stdout=log, stderr=log, env={"PATH": BIN + ":/usr/sbin:/usr/bin:/sbin:/bin"})

    # The defaults of what the manifests leave out are in the volumes' paths.
    running = [start(proxy, "s", []),
               start(scheduler, "s", ["--runtime-dir", tmp + "/s/run", "--store", tmp + "/s/state/history.db",
                                      "--kill-switch", tmp + "/s/run/stop"]),
               start(collector, "c", ["--runtime-dir", tmp + "/c/run", "--interface", "lo"])]
    try:
        for container in (scheduler, collector):
            for probe in ("livenessProbe", "readinessProbe"):
                if probe in container:
                    http = container[probe]["httpGet"]
                    url = f"http://{http['host']}:{http['port']}{http['path']}"
                    check(f"{container['name']}: {probe} at {url}", answers(url))
        url = "http://127.0.0.1:7470/api/v1/health"
        check("the collector's frames reach the scheduler", answers(url, '"hosts": 1'), logs(tmp))
        check("all containers run on", all(process.poll() is None for process in running), logs(tmp))
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(timeout=30)


def logs(tmp):
    return " | ".join(read(f"{tmp}/{name}.log").strip()[-300:] for name in ("proxy", "scheduler", "collector"))


def answers(url, part=""):
    for _ in range(150):
        try:
            with urllib.request.urlopen(url, timeout=5) as reply:
                if reply.status == 200 and part in reply.read().decode():
                    return True
        except OSError:
            pass
        time.sleep(0.2)
    return False


def main():
    found, kustomization = objects()
    check_objects(found, kustomization)
    for kind, name in (("DaemonSet", "antiphase-collector"), ("Deployment", "antiphase-scheduler")):
        pod = pod_of(found, kind, name)
        for container in pod["containers"]:
            check_container(f"{name}/{container['name']}", container, pod)
    check_rights(found)
    check_names(found)
    unshare = ["unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    if os.geteuid() != 0 or subprocess.run(unshare + ["true"], capture_output=True).returncode != 0:
        print("SKIP kubernetes: what the manifests start: needs root and network namespaces")
        return False
    return subprocess.run(unshare + [sys.executable, __file__, "--inside"]).returncode != 0


def inside():
    """In the network namespace."""
    with tempfile.TemporaryDirectory(prefix="antiphase-kubernetes.") as tmp:
        run_all(objects()[0], tmp)
    return False


sys.exit((inside if "--inside" in sys.argv else main)() or failed)
