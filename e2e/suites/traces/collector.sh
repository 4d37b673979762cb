#!/bin/sh
# An OpenTelemetry Collector that writes the spans it receives to a file, one batch a line.
#
#   collector.sh start     returns once it listens
#   collector.sh fedhub    starts fedhub and the fedhubs of both cells with --traces to it
#   collector.sh spans     prints each span as one object, with the attributes of its process
#   collector.sh end       ends it, and starts the fedhubs as before
set -eu
. "$(dirname "$0")/../lib/wait.sh"
root=$(dirname "$KUBECONFIGS")
scratch=$root/scratch/traces
log=$root/logs/collector.log
case $1 in
  start)
    mkdir -p "$scratch"
    rm -f "$scratch/spans.json"
    cat >"$scratch/collector.yaml" <<CONFIGURATION
receivers:
  otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}
exporters:
  file: {path: "$scratch/spans.json", flush_interval: 100ms}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    traces: {receivers: [otlp], exporters: [file]}
CONFIGURATION
    timeout 900 "$COLLECTOR" --config "$scratch/collector.yaml" >"$log" 2>&1 </dev/null &
    echo $! >"$scratch/collector.pid"
    until grep -q 'Everything is ready' "$log"; do again "the collector does not start: $(tail -n 3 "$log")"; done
    ;;
  fedhub)
    endpoint=$(sed -n 's/.*Starting HTTP server.*"endpoint": "\([0-9.:]*\)".*/\1/p' "$log")
    for member in '' '--cell dfw' '--cell ord'; do
      # shellcheck disable=SC2086
      "$E2E" fedhub start $member --with=--traces --env="OTEL_EXPORTER_OTLP_ENDPOINT=http://$endpoint" \
        --env=OTEL_BSP_SCHEDULE_DELAY=200
    done
    ;;
  spans)
    jq --compact-output 'def values: map({key, value: (.value | to_entries[0].value)}) | from_entries;
      .resourceSpans[] | (.resource.attributes | values) as $process
      | .scopeSpans[].spans[] | . + {process: $process, attributes: (.attributes | values)}' "$scratch/spans.json"
    ;;
  end)
    kill "$(cat "$scratch/collector.pid")" || true
    "$E2E" fedhub restart
    "$E2E" fedhub restart --cell dfw
    "$E2E" fedhub restart --cell ord
    ;;
esac
