#!/bin/sh
# Trains the papers' rows on one GPU, the most telling first, for some minutes.
#
#   dev/gpu.sh MINUTES WORKERS BUDGET [OPTION ...]      such as: dev/gpu.sh 600 6 gpu --data data
#
# So many rows train at once: one alone leaves most of a GPU idle. `nvidia-cuda-mps-control -d` before
# lets them share it at the same moment. Call it again to go on: what is measured stays, and a row that
# was broken off goes on from its last checkpoint. Budget and options are those of `fabir reproduce`: `gpu`
# has one recipe for all rows, `full-50d` the papers' own. Reports are in runs/STUDY-BUDGET.
set -eu
end=$(($(date +%s) + $1 * 60)) workers=$2 budget=$3
shift 3
[ "$workers" = 1 ] || export OMP_NUM_THREADS=1

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
    *) failed=$status ;; # a row diverged, as is said above
  esac
}

# A worker skips a row that another one trains.
work() {
  failed=0
  row fabir-table-2 "fabir bidaf" "$@"
  row qanet-ablation "qanet qanet-no-self-attention qanet-no-convolution" "$@"
  row fabir-table-1 "fabir no-characters no-convolution linear-selector selector-width-1" "$@"
  row fabir-table-1 "matrix-reduction row-wise 2-heads 2-layers 4-layers switching
    selectors-in-different-layers" "$@"
  row a3-figure-8 "bidaf-cs224n a3-charemb a3-charemb-triselfatt a3-charemb-condoutput
    a3-charemb-triselfatt-condoutput" "$@"
  row rnet-table-1 "rnet-0-baseline rnet-1-characters rnet-2-attention rnet-3-gated rnet-5-output" "$@"
  exit "$failed"
}

pids=
for worker in $(seq "$workers"); do
  work "$@" &
  pids="$pids $!"
done
failed=0
for pid in $pids; do
  wait "$pid" || failed=$?
done
exit "$failed"
