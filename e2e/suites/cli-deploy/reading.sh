#!/bin/sh
# What the reading commands show of a Workload that runs, for people and for programs.
set -eu
c=../lib/compute.sh
$c 0 'web' status
$c 0 'web.*4/4' workloads
$c 0 'nginx:1.29' workloads describe web
$c 0 'ORD' instances
$c 0 'web-default-dfw-0' instances describe web-default-dfw-0
$c 0 'web' instances --city=ORD -o json | jq --exit-status 'length == 2' >&2
$c 0 'DFW' cities
$c 0 '' instance-types
$c 0 '' events
$c 0 'web' explain web
$c 0 '' quota
$c 0 '' access
# Completion asks the project, as kubectl asks for it.
$c 0 'web' __complete rollout status w >&2
