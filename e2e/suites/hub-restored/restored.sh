#!/bin/sh
# Waits until fedhub considers the hub restored (1) or trusts it (0).
set -eu
. "$(dirname "$0")/../lib/wait.sh"
until "$E2E" fedhub metrics | grep -Fqx "fedhub_hub_restored $1"; do again "fedhub_hub_restored is not $1"; done
