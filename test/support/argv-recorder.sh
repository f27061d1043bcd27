#!/bin/sh
# Stands before a stand-in for trtexec: writes each argument to ARGV_JOURNAL behind a zero byte, and a line end for each call.
for argument in "$@"; do
  printf '\0%s' "$argument" >>"$ARGV_JOURNAL"
done
printf '\0\0\n' >>"$ARGV_JOURNAL"
exec "$ARGV_PROGRAM" "$@"
