#!/bin/bash
# From a fresh clone to real embeddings and a chat: installs what the build needs, builds Lattice, fetches the
# default models (all-MiniLM-L6-v2, 91 MB, and SmolLM2-135M-Instruct, 98 MB or, from the hub, 269 MB; Apache-2.0),
# compares some sentences and answers a question. Run it again at any time.
#
# Usage: scripts/quickstart.sh [--yes] [--prefix DIR]
#   --yes         install packages without asking
#   --prefix DIR  put the program into DIR/bin (default: ~/.local)
#   --help        this text
#
# Needs Debian 12, Ubuntu 24.04 or younger. Packages come from apt, with sudo if you are not root.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/packages.sh
. scripts/lib/models.sh

prefix=$HOME/.local
while [ $# -gt 0 ]; do
  case $1 in
    --yes | -y) YES=1 ;;
    --prefix)
      [ $# -ge 2 ] || die "--prefix needs a folder"
      prefix=$2
      shift
      ;;
    --help | -h)
      sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"
      exit 0
      ;;
    *)
      echo "unknown argument: $1 (see --help)" >&2
      exit 2
      ;;
  esac
  shift
done

ensure_lists
packages=$(build_packages)
# shellcheck disable=SC2086 # a list of words
install_packages $packages

jobs=$(build_jobs)
say "building build/release with $jobs jobs (some minutes the first time)"
cmake --preset release -DLATTICE_BUILD_TESTS=OFF -DLATTICE_BUILD_BENCHMARKS=OFF >/dev/null
cmake --build build/release --target lattice_program -j "$jobs"

mkdir -p "$prefix/bin"
install --strip -m 755 build/release/bin/lattice "$prefix/bin/lattice"
lattice=$prefix/bin/lattice
say "installed $lattice"

pull_model "$lattice" all-minilm-l6-v2

sentences=("A cat sits on the mat." "A kitten rests on a rug." "The stock market fell today."
  "Shares lost value this morning." "How do I bake bread?")
say "how alike are these sentences? (1 = the same)"
"$lattice" embed --format table "${sentences[@]}"

pull_model "$lattice" smollm2-135m-instruct
say "lattice chat -p 'What is the largest ocean on Earth?' --temperature 0"
"$lattice" chat -p "What is the largest ocean on Earth?" --temperature 0 --max-tokens 100 </dev/null

cat <<END

Done. Next:
  $lattice chat
  $lattice similarity "a friend" "a companion"
  $lattice embed "some text" --format json
  $lattice --help
END
case ":$PATH:" in
  *":$prefix/bin:"*) ;;
  *) echo "To type just 'lattice', add $prefix/bin to PATH: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
