#!/bin/sh
# Stands in for nvidia-smi: keeps the lock of its GPU in a file and logs what it was asked. What it prints for a lock is
# as real drivers print it, the frequencies are those of an H200. FAKE_SMI_deny and its like make it misbehave. What has
# nothing to do with locks it leaves to stub-nvidia-smi.mjs. A shell starts in a tenth of the CPU of Node.
line="$*"
echo "$line" >>"$FAKE_SMI_folder/smi.log"
state="$FAKE_SMI_folder/smi-clock"
bus=00000000:00:06.0

refuse() {
  printf 'The current user does not have permission to change clocks for GPU %s.\n' "$bus"
  echo 'Terminating early due to previous errors.'
  exit 4
}

case "$line" in
*-rgc* | *-rmc*)
  [ -z "$FAKE_SMI_failsReset" ] || refuse
  case "$line" in *-rgc*) : >"$state" ;; esac
  echo 'All done.'
  ;;
*-lgc*)
  [ -z "$FAKE_SMI_deny" ] || refuse
  bounds=${line#*-lgc }
  if [ -n "$FAKE_SMI_unsupported" ]; then
    printf 'Setting locked GPU clocks is not supported for GPU %s.\nTreating as warning and moving on.\n' "$bus"
  else
    printf 'GPU clocks set to "(gpuClkMin %s, gpuClkMax %s)" for GPU %s\n' "${bounds%,*}" "${bounds#*,}" "$bus"
    [ -n "$FAKE_SMI_ignoresLock" ] || printf %s "${bounds#*,}" >"$state"
  fi
  echo 'All done.'
  ;;
*--query-supported-clocks*) for mhz in $(seq 1980 -15 345); do echo "3201, $mhz"; done ;;
*--query-gpu=persistence_mode*) echo "${FAKE_SMI_persistence:-Enabled}" ;;
*--query-gpu=clocks.current.graphics*)
  mhz=$(cat "$state" 2>/dev/null)
  case "$mhz" in '' | tdp) echo 1980 ;; *) echo "$mhz" ;; esac
  ;;
'-q -x') exec /bin/cat "$FAKE_SMI_report" ;;
*) exec "$FAKE_SMI_support/stub-nvidia-smi.mjs" "$@" ;;
esac
