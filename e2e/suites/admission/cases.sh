#!/bin/sh
# Creates what each line of cases.txt describes, and compares the answer. Nothing is stored.
set -eu
samples=../../../deploy/samples
count=0
failed=0
while IFS='|' read -r what sample patch expected; do
  case $what in '#'* | '') continue ;; esac
  sample=$(echo "$sample" | tr -d ' ')
  expected=$(echo "$expected" | sed -e 's/^ *//' -e 's/ *$//')
  count=$((count + 1))
  # `create` verifies nothing on this side: the API server is to answer.
  answer=$(kubectl patch --local --type=json --patch "$patch" -f "$samples/$sample.yaml" --output yaml |
    kubectl create --validate=false --namespace "$NAMESPACE" --dry-run=server -f - 2>&1) && admitted=yes || admitted=no
  case $expected in
    -) [ "$admitted" = yes ] || { failed=$((failed + 1)); echo "$what ($sample): refused: $answer" >&2; } ;;
    *)
      if [ "$admitted" = yes ] || ! printf '%s\n' "$answer" | grep -qF -- "$expected"; then
        failed=$((failed + 1))
        echo "$what ($sample): expected: $expected; got: $answer" >&2
      fi
      ;;
  esac
done <cases.txt
echo "$count cases, $failed failed"
[ "$failed" = 0 ] && [ "$count" -ge 70 ]
