#!/bin/bash
# Everything that the tests need, and then the tests: the dev preset (g++, AddressSanitizer, UBSan) for all of
# them, and the release preset for those of the program and of real models.
#
# Usage: scripts/test.sh [--yes] [--fast] [--reference-fixtures DIR]
#   --yes                     install packages without asking
#   --fast                    the dev preset only: no downloads
#   --reference-fixtures DIR  reference values that cannot be shipped; without them their tests skip
#   --help                    this text
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/packages.sh

fast=0
reference=
while [ $# -gt 0 ]; do
  case $1 in
    --yes | -y) YES=1 ;;
    --fast) fast=1 ;;
    --reference-fixtures)
      [ $# -ge 2 ] || die "--reference-fixtures needs a folder"
      [ -d "$2" ] || die "no folder $2"
      reference=$(realpath "$2")
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
export YES=${YES:-0}

ensure_lists
packages=$(build_packages)  # alone, so that its failure ends the script
# shellcheck disable=SC2046,SC2086 # lists of words
install_packages $packages $(test_packages)
jobs=$(build_jobs)
# Where ccache is installed, it keeps what was compiled for the next run, in this clone or another.
if command -v ccache >/dev/null; then
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
fi

# run_preset PRESET UNIT_TESTS MODELS: builds all of it and runs its tests.
run_preset() {
  say "preset $1: building with $jobs jobs"
  cmake --preset "$1" -DLATTICE_BUILD_TESTS=ON -DLATTICE_UNIT_TESTS="$2" \
    -DLATTICE_REFERENCE_FIXTURES="$reference" -DLATTICE_TEST_MODELS="$3" >/dev/null
  cmake --build "build/$1" -j "$jobs"
  say "preset $1: testing"
  ctest --test-dir "build/$1" --output-on-failure -j "$jobs"
}

run_preset dev ON ""
[ "$fast" = 0 ] || exit 0
say "preset release: building the program that fetches models"
cmake --preset release -DLATTICE_BUILD_TESTS=ON -DLATTICE_UNIT_TESTS=OFF -DLATTICE_BUILD_BENCHMARKS=ON >/dev/null
cmake --build build/release --target lattice_program -j "$jobs"
scripts/fetch_test_models.sh build/release/bin/lattice "$reference"
run_preset release OFF "$PWD/build/test-models"
