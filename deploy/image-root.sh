#!/bin/sh
# Collects what a program needs of a file system: itself, and the libraries that it loads where it looks for them.
#
#   image-root.sh PROGRAM DIRECTORY
#
# The Dockerfile makes its final stage of DIRECTORY; `make image-check` does the same without a container engine.
set -eu
if [ $# -ne 2 ]; then
  sed -n 's/^#   //p' "$0" >&2
  exit 2
fi
install -d -m 0755 "$2"
install -m 0755 "$1" "$2/$(basename "$1")"
ldd "$1" | grep -oE '/[^ ]+' | sort -u | while read -r library; do
  install -D -m 0755 "$library" "$2$library"
done
