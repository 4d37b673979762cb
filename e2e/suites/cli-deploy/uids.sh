#!/bin/sh
# Prints the Instances of the suite's namespace with their UIDs and how often each was restarted by its template.
set -eu
kubectl get instances --namespace "$NAMESPACE" --output 'jsonpath={range .items[*]}{.metadata.name} {.metadata.uid}{"\n"}{end}' | sort
