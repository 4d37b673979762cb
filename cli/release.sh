#!/bin/sh
# Makes of the users' command line what datumctl installs.
#
#   release.sh pack PROGRAM DIRECTORY        an archive of the program, stripped, by the name of this machine's platform
#   release.sh index DIRECTORY VERSION URL   checksums of the archives there, and an index that says where they are fetched
#
# `make release` does both; the workflow `release` packs on a machine of each platform.
set -eu

failed() {
  echo "release.sh: $1" >&2
  exit 2
}

pack() {
  case $(uname -m) in
  aarch64) machine=arm64 ;;
  *) machine=$(uname -m) ;;
  esac
  stripped=$(mktemp -d)
  trap 'rm -rf "$stripped"' EXIT
  # Most of the program is line tables, and datumctl hashes all of it whenever it starts a plugin.
  strip -o "$stripped/datumctl-compute" "$1"
  chmod 0755 "$stripped/datumctl-compute"
  mkdir -p "$2"
  # The same program makes the same archive.
  tar --create --owner 0 --group 0 --numeric-owner --mtime @0 --directory "$stripped" datumctl-compute |
    gzip --no-name >"$2/datumctl-compute_$(uname -s)_$machine.tar.gz"
}

index() {
  directory=$1 version=$2 url=${3%/}
  case $url in https://?*) ;; *) failed "datumctl fetches plugins by https alone, and not from \"$url\"" ;; esac
  cd "$directory"
  sha256sum datumctl-compute_*.tar.gz >checksums.txt
  cat >index.yaml <<END
apiVersion: datumctl.datum.net/v1alpha1
kind: PluginList
items:
- apiVersion: datumctl.datum.net/v1alpha1
  kind: Plugin
  metadata:
    name: compute
  spec:
    shortDescription: Deploy and run workloads in cities
    version: $version
    platforms:
END
  while read -r sum archive; do
    platform=${archive#datumctl-compute_}
    case $platform in
    Linux_x86_64.tar.gz) os=linux arch=amd64 ;;
    Linux_arm64.tar.gz) os=linux arch=arm64 ;;
    Darwin_x86_64.tar.gz) os=darwin arch=amd64 ;;
    Darwin_arm64.tar.gz) os=darwin arch=arm64 ;;
    *) failed "$archive is of a platform that datumctl does not know" ;;
    esac
    cat >>index.yaml <<END
    - selector:
        matchLabels: {os: $os, arch: $arch}
      uri: $url/$archive
      sha256: $sum
END
  done <checksums.txt
}

case "${1-}:$#" in
pack:3) pack "$2" "$3" ;;
index:4) index "$2" "$3" "$4" ;;
*)
  sed -n 's/^#   //p' "$0" >&2
  exit 2
  ;;
esac
