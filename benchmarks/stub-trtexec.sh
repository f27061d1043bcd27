#!/bin/sh
# Stands in for trtexec: answers its command line with recorded files of $STUB_FOLDER, as fast as a shell can.
set -eu
folder=${STUB_FOLDER:?}
answer=timed
for arg in "$@"; do
  case $arg in
    --help) answer=help ;;
    --saveEngine=*) answer=build; engine=${arg#*=} ;;
    --exportTimes=*) times=${arg#*=} ;;
    --exportLayerInfo=*) layers=${arg#*=} ;;
  esac
done
case $answer in
  build)
    echo 'an engine of the stub' >"$engine"
    cat "$folder/layers.json" >"$layers"
    ;;
  timed) cat "$folder/times.json" >"$times" ;;
esac
cat "$folder/$answer.log"
