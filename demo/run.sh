#!/usr/bin/env bash
# The demonstration: everything goes to ./demo-out. `make demo` sets up the environment and calls it.
set -euo pipefail
cd "$(dirname "$0")/.."
out=demo-out
mkdir -p "$out"
samples=hpc/samples
step() { printf '\n== %s\n' "$*"; }
began=$(date +%s)

step "The official Challenge network, N = 1024, L = 120"
python -m datasets graph-challenge --neurons 1024 --layers 120 --out "$out/net.h5"

step "Cut for 2 ranks by hypergraph partitioning, against a random cut"
python -m partition build "$out/net.h5" --parts 2 --out "$out/plan.h5"
python -m partition stats "$out/plan.h5" --json "$out/stats.json"

step "Inference of 2,000 images on 2 ranks, checked against the official categories"
mpirun -n 2 python -m hpc spdnn infer "$out/net.h5" "$samples/challenge-1024.h5" \
  --plan "$out/plan.h5" --categories kept --out "$out/categories.tsv" --json "$out/infer.json"

step "The same images through a serial scipy loop"
python demo/scipy_loop.py "$out/net.h5" "$samples/challenge-1024.h5" --json "$out/infer.json"

step "Training on real digits, 2 ranks"
python -m datasets random --sizes 784,256,256,10 --degree 32 --kind er \
  --activation relu,relu,identity --init scaled --out "$out/untrained.h5"
python -m partition build "$out/untrained.h5" --parts 2 --out "$out/train-plan.h5"
mpirun -n 2 python -m hpc spdnn train "$out/untrained.h5" "$samples/digits.h5" \
  --plan "$out/train-plan.h5" --epochs 12 --batch 50 --lr 0.002 --optimizer adam \
  --validation 0.2 --out "$out/trained.h5" --json "$out/train.json"
python demo/loss_curve.py "$out/train.json" --png "$out/loss.png"

if [ -f demo/pipebd.sh ]; then
  . demo/pipebd.sh
fi

printf '\nAll in %s after %d s.\n' "$out" $(($(date +%s) - began))
