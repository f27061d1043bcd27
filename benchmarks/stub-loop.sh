#!/usr/bin/env bash
# What a performance engineer writes who has no bench: runs trtexec again and again, and keeps a row of each run.
#
#     stub-loop.sh TRTEXEC RUNS FOLDER FLAG...
set -euo pipefail
trtexec=$1 runs=$2 folder=$3
shift 3
db=$folder/results.sqlite
sqlite3 "$db" 'CREATE TABLE runs (run INTEGER PRIMARY KEY, started TEXT, exit_code INTEGER, queries INTEGER,
  throughput_qps REAL, gpu_median_ms REAL, gpu_mean_ms REAL, gpu_p99_ms REAL, latency_median_ms REAL, latency_p99_ms REAL)'
for ((run = 1; run <= runs; run += 1)); do
  mkdir -p "$folder/$run"
  cd "$folder/$run"
  started=$(date -u +%FT%TZ)
  code=0
  "$trtexec" "$@" >stdout.log 2>stderr.log || code=$?
  throughput=$(sed -n 's/.*Throughput: \([0-9.]*\) qps.*/\1/p' stdout.log)
  values=$(jq -r '
    def at(p): .[((length - 1) * p) | round];
    (map(.computeMs) | sort) as $gpu | (map(.latencyMs) | sort) as $latency
    | [length, ($gpu | at(0.5)), (($gpu | add) / length), ($gpu | at(0.99)), ($latency | at(0.5)), ($latency | at(0.99))]
    | map(tostring) | join(",")' times.json)
  IFS=, read -r queries median mean p99 latency latency99 <<<"$values"
  sqlite3 "$db" "INSERT INTO runs VALUES ($run, '$started', $code, $queries, $throughput, $median, $mean, $p99, $latency, $latency99)"
done
