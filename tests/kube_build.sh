#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kube_build.sh DIR - builds DIR/kube-apiserver and DIR/kube-scheduler from Debian 12's
# source package (Debian has no binary package of them): Kubernetes 1.20.2 of 2021, the
# last version whose own tree compiles with Debian's Go.  Runs once: about 8 minutes on
# one CPU, 3 GiB of disk while it runs, 150 MB afterwards.  'make kube' calls it.
set -eu
dir=${1:?}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
[ ! -x "$dir/kube-apiserver" ] || [ ! -x "$dir/kube-scheduler" ] || exit 0
work=$dir/work
mkdir -p "$work/lists/partial" "$work/gopath/src/k8s.io"
cd "$work"

# Uses the source archive of the mirror that packages are installed from, and changes no
# other setting of apt.
key=/usr/share/keyrings/debian-archive-keyring.gpg
# shellcheck disable=SC2016  # expanded by apt-get
site=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(RELEASE) $(COMPONENT)' \
	'Created-By: Packages' | awk '$2 == "Debian" && $3 == "bookworm" && $4 == "main" { print $1; exit }')
[ -n "$site" ] || { echo "kube_build: packages here are not those of Debian 12" >&2; exit 1; }
echo "deb-src [signed-by=$key] $site bookworm main" >sources.list
own="-o Dir::Etc::SourceList=$work/sources.list -o Dir::Etc::SourceParts=/dev/null \
	-o Dir::State::Lists=$work/lists -o APT::Sandbox::User=root -qq"
# shellcheck disable=SC2086  # a list of options
apt-get $own update
# shellcheck disable=SC2086
apt-get $own source --download-only kubernetes
apt-get -o APT::Sandbox::User=root -qq download golang-github-modern-go-reflect2-dev
tar -xzf kubernetes_*.orig.tar.gz
tree=$(find . -maxdepth 1 -type d -name 'kubernetes-*' -exec basename {} \;)
version=${tree#kubernetes-}
ln -sfn "$work/$tree" gopath/src/k8s.io/kubernetes

# The bundled reflect2 (1.0.1) crashes when compiled by Go 1.18 or later.
dpkg-deb -x golang-github-modern-go-reflect2-dev_*.deb reflect2
vendored=$tree/vendor/github.com/modern-go/reflect2
rm -f "$vendored"/*.go "$vendored"/*.s
cp reflect2/usr/share/gocode/src/github.com/modern-go/reflect2/*.go \
	reflect2/usr/share/gocode/src/github.com/modern-go/reflect2/*.s "$vendored"

export PATH="/usr/lib/go-1.19/bin:$PATH" GOPATH="$work/gopath" GOCACHE="$work/cache" \
	CGO_ENABLED=0 GOFLAGS='' GOPROXY=off
cd gopath/src/k8s.io/kubernetes
# Its own makefile generates sources and sets the version.
make -s WHAT=cmd/kube-apiserver KUBE_GIT_VERSION="v$version" KUBE_GIT_TREE_STATE=archive \
	KUBE_GIT_COMMIT=debian
own=k8s.io/component-base/version
vendor=k8s.io/kubernetes/vendor/$own
GO111MODULE=off go build -ldflags "-s -w -X $own.gitVersion=v$version -X $own.gitMajor=1 \
	-X $own.gitMinor=20 -X $vendor.gitVersion=v$version -X $vendor.gitMajor=1 \
	-X $vendor.gitMinor=20" -o "$work/" \
	k8s.io/kubernetes/cmd/kube-scheduler k8s.io/kubernetes/cmd/kube-apiserver
mv "$work/kube-scheduler" "$work/kube-apiserver" "$dir/"
cd "$dir"
chmod -R u+w work
rm -rf work
