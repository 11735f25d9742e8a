#!/bin/sh
# Trains the papers' rows at full length, the most telling first, for some minutes.
#
#   dev/gpu.sh MINUTES BUDGET [OPTION ...]      such as: dev/gpu.sh 600 full-50d --data data
#
# Call it again to go on: what is measured stays, and a row that was broken off goes on from its
# last checkpoint. The options are those of `fabir reproduce`. Reports are in runs/STUDY-BUDGET.
set -eu
minutes=$1 budget=$2
shift 2
end=$(($(date +%s) + minutes * 60))

row() { # STUDY "ROW ..." OPTION ...
  study=$1 rows=$2
  shift 2
  left=$((end - $(date +%s)))
  [ "$left" -gt 0 ] || { echo "the time is over"; exit 0; }
  status=0
  timeout -s INT -k 60 "$left" fabir reproduce "$study" --budget "$budget" "$@" --rows $rows || status=$?
  case $status in
    0) ;;
    124 | 130 | 137) echo "the time is over in $study"; exit 0 ;;
    *) exit "$status" ;;
  esac
}

row fabir-table-2 fabir "$@"
row fabir-table-2 bidaf "$@"
row fabir-table-1 "fabir no-characters no-convolution linear-selector selector-width-1" "$@"
row fabir-table-1 "matrix-reduction row-wise 2-heads 2-layers 4-layers switching
  selectors-in-different-layers" "$@"
row rnet-table-1 "rnet-0-baseline rnet-1-characters rnet-2-attention rnet-3-gated rnet-5-output" "$@"
row a3-figure-8 "a3-charemb a3-charemb-triselfatt a3-charemb-condoutput
  a3-charemb-triselfatt-condoutput" "$@"
row qanet-ablation "qanet qanet-no-convolution qanet-no-self-attention" "$@"
echo "all rows are measured"
