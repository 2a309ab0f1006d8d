# SPDX-License-Identifier: Apache-2.0
# kube_lab.sh - a real Kubernetes without kubelets in its own network namespace, for
# kubernetes.sh; sourced after lab.sh.  It has etcd, kube-apiserver (with RBAC) and,
# when started, kube-scheduler with our extender.  Nodes are only objects in the API,
# and no pod runs: the tests check to which node pods are bound.
#
#	lab_begin
#	lab_need root netns kube
#	kube_start                         # returns when the API server is ready
#	kube_nodes <nodes.json             # the Nodes of this List, with 8 GPUs each
#	kube_scheduler                     # with the extender's configuration in docs/
#	kube_pod NS NAME JOB [ANNOTATION=VALUE...]   a pod of one node
#	kube_where NS NAME                 the node to which it is bound, or nothing
#	lab_end
#
#	kube COMMAND...                    there, with a time limit: kube kubectl get ...
#	kube_api METHOD PATH [BODY]        a request to the API server as administrator
#
# kube-apiserver and kube-scheduler come from $KUBE (build/kube: 'make kube').
# shellcheck shell=bash

KUBE=${KUBE:-$LAB_ROOT/build/kube}
export PATH=$KUBE:$PATH

lab_has_kube() {
	command -v kube-apiserver && command -v kube-scheduler && command -v etcd &&
		command -v kubectl && command -v openssl && command -v curl
}

kube() {
	lab_in kube timeout 30 "$@"
}

kube_api() {
	kube curl -sk -m 20 -H 'Authorization: Bearer admintoken' \
		-H "Content-Type: ${TYPE:-application/json}" -X "$1" \
		"https://127.0.0.1:16443$2" ${3:+--data-binary "$3"}
}

# $1: the file of the token.
kube_config() {
	cat <<X
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:16443", insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: $1}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
X
}

kube_is_ready() {
	[ "$(kube_api GET /readyz)" = ok ]
}

kube_start() {
	export KUBE_DIR=$LAB_DIR/kube HOME=$LAB_DIR/kube KUBECONFIG=$LAB_DIR/kube/admin.conf
	mkdir -p "$KUBE_DIR"
	lab_node kube || return
	ip -n "$LAB-kube" addr add 10.77.0.1/32 dev lo
	cat >"$KUBE_DIR/tokens.csv" <<X
admintoken,admin,1,system:masters
ourtoken,antiphase,2
X
	openssl genrsa -out "$KUBE_DIR/sa.key" 2048 2>/dev/null
	kube_config admintoken >"$KUBE_DIR/admin.conf"
	kube_config ourtoken >"$KUBE_DIR/ours.conf"
	lab_spawn etcd lab_in kube etcd --data-dir "$KUBE_DIR/etcd" --log-level error \
		--listen-client-urls http://127.0.0.1:12379 --unsafe-no-fsync \
		--advertise-client-urls http://127.0.0.1:12379 \
		--listen-peer-urls http://127.0.0.1:12380
	lab_spawn apiserver lab_in kube kube-apiserver --etcd-servers=http://127.0.0.1:12379 \
		--bind-address=127.0.0.1 --advertise-address=10.77.0.1 --secure-port=16443 \
		--insecure-port=0 --cert-dir="$KUBE_DIR/certs" \
		--token-auth-file="$KUBE_DIR/tokens.csv" --authorization-mode=RBAC \
		--service-account-issuer=https://lab \
		--service-account-signing-key-file="$KUBE_DIR/sa.key" \
		--service-account-key-file="$KUBE_DIR/sa.key" \
		--disable-admission-plugins=ServiceAccount,TaintNodesByCondition \
		--service-cluster-ip-range=10.0.0.0/24
	lab_wait_for 60 "the API server" kube_is_ready || {
		tail -n 20 "$LAB_DIR/etcd.log" "$LAB_DIR/apiserver.log" >&2
		return 1
	}
}

# Without kubelets, this function reports the resources of the nodes.
kube_nodes() {
	local have='{"cpu":"4","memory":"8Gi","pods":"10","nvidia.com/gpu":"8"}' name
	kube kubectl apply --server-side -f - >/dev/null || return
	for name in $(kube kubectl get nodes -o name); do
		TYPE=application/merge-patch+json kube_api PATCH "/api/v1/nodes/${name#*/}/status" \
			"{\"status\":{\"capacity\":$have,\"allocatable\":$have}}" >/dev/null
	done
}

# The extender as in docs/kubernetes.md; this scheduler is older than v1.
kube_scheduler() {
	{
		echo "apiVersion: kubescheduler.config.k8s.io/v1beta1"
		sed -n '/^kind: KubeSchedulerConfiguration/,/^```/p' "$LAB_ROOT/docs/kubernetes.md" |
			grep -v '^```'
		echo "clientConnection: {kubeconfig: $KUBECONFIG}"
		echo "leaderElection: {leaderElect: false}"
		echo "percentageOfNodesToScore: 100"
	} >"$KUBE_DIR/scheduler.yaml"
	lab_spawn kube-scheduler lab_in kube kube-scheduler --config="$KUBE_DIR/scheduler.yaml" \
		--port=0 --secure-port=0 -v=1
}

kube_pod() {
	local ns=$1 name=$2 job=$3 annotations='' pair
	shift 3
	for pair; do
		annotations+="${annotations:+,}\"antiphase.io/${pair%%=*}\":\"${pair#*=}\""
	done
	kube_api POST "/api/v1/namespaces/$ns/pods" "{\"metadata\":{\"name\":\"$name\",
		\"labels\":{\"antiphase.io/job\":\"$job\"},\"annotations\":{$annotations}},
		\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"x\",\"resources\":{
		\"requests\":{\"nvidia.com/gpu\":\"8\"},\"limits\":{\"nvidia.com/gpu\":\"8\"}}}]}}" \
		>/dev/null
}

kube_where() {
	kube kubectl get pod -n "$1" "$2" -o 'jsonpath={.spec.nodeName}'
}

kube_is_bound() {
	[ -n "$(kube_where "$1" "$2")" ]
}

# In place of a kubelet.
kube_runs() {
	TYPE=application/merge-patch+json kube_api PATCH "/api/v1/namespaces/$1/pods/$2/status" \
		'{"status":{"phase":"Running"}}' >/dev/null
}

# Without kubelets pods disappear as soon as they are deleted.
kube_clear() {
	kube kubectl delete pods -n "$1" --all --force --grace-period=0 >/dev/null 2>&1
}
