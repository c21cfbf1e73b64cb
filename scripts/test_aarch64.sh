#!/bin/sh
# Cross-builds for 64-bit Arm and runs the unit tests of the rooms that hold kernels under qemu.
# Usage: scripts/test_aarch64.sh [ROOM...]          default: base numeric vectors transport kernels/cpu
# Needs: g++-aarch64-linux-gnu qemu-user ninja-build cmake pkg-config googletest, a Debian mirror.
# The Arm builds of the libraries are unpacked into build/aarch64-sysroot; nothing is installed and
# root is not needed. Delete that folder to fetch them again.
set -eu
cd "$(dirname "$0")/.."

sysroot=$PWD/build/aarch64-sysroot
packages="libboost1.81-dev libboost-json1.81-dev libboost-json1.81.0 libboost-container1.81-dev
  libboost-container1.81.0 libboost-system1.81-dev libboost-system1.81.0 libssl-dev libssl3
  libutf8proc-dev libutf8proc2 libpcre2-dev libpcre2-8-0 libcurl4-openssl-dev libcurl4 libzip-dev
  libzip4 libedit-dev libedit2 zlib1g-dev zlib1g libcli11-dev libspdlog-dev libfmt-dev"

fetch_sysroot() {
  rm -rf "$sysroot.part"
  mkdir -p "$sysroot.part/apt/lists/partial" "$sysroot.part/apt/cache/archives/partial"
  # An apt of its own, so that the system's list of architectures stays as it is.
  apt="apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Debug::NoLocking=1
    -o APT::Sandbox::User= -o Dir::State=$sysroot.part/apt -o Dir::State::status=/dev/null
    -o Dir::State::lists=$sysroot.part/apt/lists -o Dir::Cache=$sysroot.part/apt/cache"
  $apt update
  (cd "$sysroot.part/apt" && $apt download $packages)
  for package in "$sysroot.part"/apt/*.deb; do dpkg-deb -x "$package" "$sysroot.part"; done
  rm -rf "$sysroot.part/apt"
  mv "$sysroot.part" "$sysroot"
}

[ -d "$sysroot" ] || fetch_sysroot
[ $# -gt 0 ] || set -- base numeric vectors transport kernels/cpu

cmake --preset aarch64
targets=""
pattern=""
for room in "$@"; do
  [ -f "src/$room/CMakeLists.txt" ] || continue
  name=$(echo "$room" | tr / _)
  targets="$targets src/$room/all"
  pattern="$pattern${pattern:+|}^$name\\.|^no_weak_symbols\\.lattice_$name"
done
cmake --build build/aarch64 --target $targets
ctest --test-dir build/aarch64 -R "$pattern" --output-on-failure
