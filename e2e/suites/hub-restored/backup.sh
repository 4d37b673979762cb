#!/bin/sh
# A backup of the hub: a copy of the data of its etcd, which is stopped meanwhile.
#
#   backup.sh take|restore [COMMAND...]
#
# COMMAND runs while the hub is stopped.
set -eu
what=$1
shift
root=$(dirname "$KUBECONFIGS")
data=$root/etcd/hub backup=$root/scratch/hub-backup
"$E2E" process stop kube-apiserver-hub
"$E2E" process stop etcd-hub
if [ "$what" = take ]; then
  rm -rf "$backup"
  cp -a "$data" "$backup"
else
  rm -rf "$data"
  cp -a "$backup" "$data"
fi
[ $# = 0 ] || "$@"
"$E2E" process start etcd-hub
"$E2E" process start kube-apiserver-hub
