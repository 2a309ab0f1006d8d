#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kubernetes.sh - antiphase with a real kube-scheduler and kube-apiserver: export and
# import of labels and HyperNodes; pods of jobs on the nodes that the extender chose,
# also if it hangs or is dead; shifts in pods' annotations, and their removal
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
# shellcheck source=tests/net/kube_lab.sh
. "$(dirname "$0")/kube_lab.sh"
lab_begin
lab_need root netns kube
kube_start || lab_end
run=$LAB_DIR/run
mkdir -p "$run"

# ---- Export and import of the fabric -------------------------------------------------
cat >"$run/topology.conf" <<X
SwitchName=spine1 Switches=leaf[1-3]
SwitchName=leaf1 Nodes=n[01-04]
SwitchName=leaf2 Nodes=n[05-08]
SwitchName=leaf3 Nodes=n[09-12]
X
speeds=(--gbps 100 --oversubscription 2:1)
antiphase topology import "${speeds[@]}" -o "$run/plan.json" "$run/topology.conf"
# Names of switches, and the hosts below each.
tree() {
	python3 -c '
import json, sys
topo = json.load(open(sys.argv[1]))
tiers = {s["name"]: s["tier"] for s in topo["switches"]}
edges = set()
for cable in topo["cables"]:
    ends = [cable[k].split(":")[0] for k in "ab"]
    ends.sort(key=lambda name: tiers.get(name, 0))
    edges.add(" ".join(ends) + " %g" % cable["gbps"])
print("\n".join(sorted(edges)))' "$1"
}
is_same_tree() {
	diff <(tree "$run/plan.json") <(tree "$1")
}
antiphase topology show --format k8s-nodes "$run/plan.json" >"$run/nodes.json"
check "Nodes with labels are taken by the API server" kube_nodes <"$run/nodes.json"
kube kubectl get nodes -o json >"$run/got.json"
check "and are the same fabric when read back" is_same_tree \
	<(antiphase topology import "${speeds[@]}" -o - "$run/got.json")
antiphase topology show --format k8s-labels --labels 'example.com/net-*' "$run/plan.json" >"$run/label.sh"
check "lines of kubectl label are, too" kube sh -e "$run/label.sh"
kube kubectl get nodes -o json >"$run/got.json"
check "and read back" is_same_tree \
	<(antiphase topology import "${speeds[@]}" --labels 'example.com/net-*' -o - "$run/got.json")
cat >"$run/crd.yaml" <<X
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: hypernodes.topology.volcano.sh}
spec:
  group: topology.volcano.sh
  names: {kind: HyperNode, listKind: HyperNodeList, plural: hypernodes, singular: hypernode}
  scope: Cluster
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              tier: {type: integer}
              tierName: {type: string}
              members:
                type: array
                items:
                  type: object
                  required: [type, selector]
                  properties:
                    type: {type: string, enum: [Node, HyperNode]}
                    selector:
                      type: object
                      properties:
                        exactMatch: {type: object, properties: {name: {type: string}}}
                        regexMatch: {type: object, properties: {pattern: {type: string}}}
                        labelMatch: {type: object, x-kubernetes-preserve-unknown-fields: true}
X
kube kubectl apply -f "$run/crd.yaml" >/dev/null
has_hypernodes() {
	kube kubectl get hypernodes
}
lab_wait_for 20 "HyperNodes in the API" has_hypernodes
antiphase topology show --format hypernodes "$run/plan.json" >"$run/hypernodes.yaml"
check "HyperNodes are taken by the API server" kube kubectl apply -f "$run/hypernodes.yaml"
kube kubectl get hypernodes -o json >"$run/hypernodes.json"
check "and are the same fabric when read back" is_same_tree \
	<(antiphase topology import "${speeds[@]}" --nodes "$run/got.json" -o - "$run/hypernodes.json")

# ---- The manifests -------------------------------------------------------------------
kube kubectl apply -f "$LAB_ROOT/examples/kubernetes/namespace.yaml" >/dev/null
for file in rbac scheduler collector; do
	check "the API server takes $file.yaml" kube kubectl apply --dry-run=server \
		-f "$LAB_ROOT/examples/kubernetes/$file.yaml"
done

# ---- Placement -----------------------------------------------------------------------
daemon_start() {
	rm -f "$run/scheduler.sock"
	lab_spawn scheduler lab_in kube antiphase-scheduler --runtime-dir "$run" \
		--bus "ipc://$run/bus" --store "$run/history.db" --announce "ipc://$run/announce" \
		--kill-switch "$run/stop" "$@"
	lab_wait_for 20 "the daemon" test -S "$run/scheduler.sock"
}
bound() {
	local name
	for name; do
		lab_wait_for 20 "pod $name to be bound" kube_is_bound default "$name" || {
			kube kubectl get events >&2
			return 1
		}
	done
}
leaves_of() {
	local name node
	for name; do
		node=$(kube_where default "$name")
		kube kubectl get node "$node" -o 'jsonpath={.metadata.labels.fabric\.topograph\.run/tier-0}'
		echo
	done | sort | uniq -c | awk '{ printf "%s%s:%s", (NR > 1 ? " " : ""), $2, $1 }'
}
is_one_leaf_each() {
	[ "$(wc -w <<<"$1")" = 1 ] && [ "$(wc -w <<<"$2")" = 1 ] && [ "$1" != "$2" ]
}
daemon_start --topology "$run/plan.json" --mode enforce
kube_scheduler
declared=(pods=4 period-us=255000 comm-us=102000)
for i in 0 1 2 3; do
	kube_pod default "a-$i" a "${declared[@]}"
	kube_pod default "b-$i" b "${declared[@]}" placement=required
done
bound {a,b}-{0,1,2,3}
a=$(leaves_of a-{0,1,2,3}) b=$(leaves_of b-{0,1,2,3})
check "two jobs of four pods, made in turns, have a leaf each ($a, $b)" is_one_leaf_each "$a" "$b"
kube_clear default
# A leaf with only two free nodes is no choice for a job of four.
kube_pod default x-0 x "${declared[@]}" pods=2
kube_pod default x-1 x "${declared[@]}" pods=2
bound x-0 x-1
for i in 0 1 2 3; do kube_pod default "c-$i" c "${declared[@]}" placement=required; done
bound c-{0,1,2,3}
c=$(leaves_of c-{0,1,2,3}) x=$(leaves_of x-0 x-1)
check "a job of four keeps out of a leaf with two nodes left ($x, $c)" is_one_leaf_each "$x" "$c"
kube_pod default plain plain
check "a pod that says nothing is bound" bound plain
kube_clear default

# ---- Without an answer of the extender -----------------------------------------------
kill -STOP "${LAB_PID[scheduler]}"
kube_pod default hung hung "${declared[@]}" placement=required
check "while the extender hangs, pods are bound" bound hung
kill -CONT "${LAB_PID[scheduler]}"
lab_stop scheduler KILL
kube_pod default alone alone "${declared[@]}" placement=required
check "without it, pods are bound" bound alone
daemon_start --topology "$run/plan.json" --mode enforce
for i in 0 1 2 3; do kube_pod default "d-$i" d "${declared[@]}" placement=required; done
bound d-{0,1,2,3}
d=$(leaves_of d-{0,1,2,3})
check "started again, it is asked again ($d)" test "$(wc -w <<<"$d")" = 1
kube_clear default
lab_stop scheduler

# ---- Shifts --------------------------------------------------------------------------------------
# Grants exactly the rights that docs/kubernetes.md lists.
sed -n '/^kind: ClusterRole$/,/^```/p' "$LAB_ROOT/docs/kubernetes.md" | grep -v '^```' |
	sed '1i apiVersion: rbac.authorization.k8s.io/v1' >"$run/rbac.yaml"
check "the account's role is taken" kube kubectl apply -f "$run/rbac.yaml"
lab_spawn proxy lab_in kube kubectl --kubeconfig "$KUBE_DIR/ours.conf" proxy \
	--unix-socket="$run/kube.sock" --accept-paths='^/api/v1/(pods|namespaces/[^/]+/pods/[^/]+)$'
lab_wait_for 20 "the proxy" test -S "$run/kube.sock"
kube kubectl create namespace ml >/dev/null
kube kubectl create namespace watched >/dev/null
for ns in ml watched; do
	kube_pod $ns a-0 A reads-shift=true
	kube_pod $ns a-1 A reads-shift=true
	kube_pod $ns b-0 B reads-shift=true
done
kube_pod ml c-0 C
kube_pod ml own-0 B shift-us=7
for pod in ml/a-0 ml/a-1 ml/b-0 ml/c-0 ml/own-0 watched/a-0 watched/a-1 watched/b-0; do
	kube_runs ${pod%/*} ${pod#*/}
done
(cd "$LAB_ROOT/examples" && exec antiphase-sim run two-jobs.ini --duration 400 --pace 4 \
	--publish "ipc://$run/bus" >"$run/sim.log" 2>&1) &
shift_of() {
	kube kubectl get pod -n "${1%/*}" "${1#*/}" -o 'jsonpath={.metadata.annotations.antiphase\.io/shift-us}'
}
has_shift() {
	[ -n "$(shift_of "$1")" ]
}
has_none() {
	! has_shift "$1"
}
advising() {
	daemon_start --topology "$LAB_ROOT/examples/two-jobs-fabric.json" --mode advise \
		--partition-modes watched=observe --kubernetes-api "$run/kube.sock"
}
advising
check "a pod is told its job's shift" lab_wait_for 60 "the annotation" has_shift ml/a-0
check "those of the other job, too" lab_wait_for 15 "the annotation" has_shift ml/b-0
check "and one that came first and one that came last the same" \
	test "$(shift_of ml/a-0)" = "$(shift_of ml/a-1)"
differ() {
	[ "$(shift_of ml/a-0)" != "$(shift_of ml/b-0)" ]
}
check "the two jobs are told different ones ($(shift_of ml/a-0), $(shift_of ml/b-0) us)" differ
check "a job that nothing is known of is told nothing" has_none ml/c-0
check "a namespace that is observed is told nothing" has_none watched/a-0
check "a shift that somebody else wrote stays" test "$(shift_of ml/own-0)" = 7
check "it is in the log of changes" grep -q 'antiphase.io/shift-us=' \
	<(kube curl -s -m 5 http://127.0.0.1:7470/api/v1/changes)
lab_stop scheduler KILL
check "killed, the annotations stand" has_shift ml/a-0
touch "$run/stop"
advising
check "the kill switch takes them back, also those of before" \
	lab_wait_for 15 "none" has_none ml/a-0
check "of all pods" lab_wait_for 15 "none" has_none ml/b-0
rm "$run/stop"
check "without it they are told again" lab_wait_for 60 "the annotation" has_shift ml/a-1
lab_stop scheduler
check "ended, what was told is taken back" has_none ml/a-1
check "of all pods" has_none ml/b-0
check "and what is not ours stays" test "$(shift_of ml/own-0)" = 7
lab_stop proxy
advising
check "without an API server it goes on" lab_wait_for 10 "the API" \
	kube curl -sf -m 5 http://127.0.0.1:7470/api/v1/health
lab_wait_for 10 "a line in its log" grep -q 'pods are not told their shifts' "$LAB_DIR/scheduler.log"
check "and says so" grep -q 'pods are not told their shifts' "$LAB_DIR/scheduler.log"
lab_stop scheduler
lab_end
