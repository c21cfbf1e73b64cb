#!/bin/sh
# Fails when an ISA-flagged object defines a weak symbol: the linker may pick that copy for
# baseline code, which then dies with SIGILL on an older CPU.
nm=$1; shift
if weak=$("$nm" -C --defined-only "$@" | grep -E ' W '); then
  echo "weak symbols in $*:"; echo "$weak"; exit 1
fi
