# Installing Debian and Ubuntu packages, and how many compilers to run. Sourced by the scripts beside it.

say() { printf '==> %s\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# The newest Boost.JSON that apt offers: 1.75 was the first release with it.
boost_json_package() {
  apt-cache search --names-only '^libboost-json1\.[0-9]+-dev$' | awk '{print $1}' | sort -V | tail -n 1
}

build_packages() {
  local boost
  boost=$(boost_json_package)
  [ -n "$boost" ] || die "apt offers no libboost-json1.75-dev or newer: Lattice needs Debian 12," \
    "Ubuntu 24.04 or something younger"
  echo "g++ cmake ninja-build pkg-config $boost libssl-dev libcurl4-openssl-dev libzip-dev" \
    "libutf8proc-dev libpcre2-dev libedit-dev zlib1g-dev libcli11-dev ca-certificates"
}

test_packages() { echo "googletest libbenchmark-dev python3 python3-yaml curl"; }

is_installed() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q '^install ok installed$'; }

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# Asks if somebody is there to answer. YES=1 answers for them.
confirm() {
  [ "${YES:-0}" = 1 ] || [ ! -t 0 ] && return 0
  local answer
  read -r -p "$1 [Y/n] " answer
  case $answer in [nN]*) return 1 ;; esac
}

update_lists() {
  say "updating apt's lists of packages"
  as_root apt-get update -qq
}

# apt can only be asked about packages once it has lists of them: a bare system has none.
ensure_lists() {
  command -v apt-get >/dev/null || die "this script installs with apt (Debian, Ubuntu). Elsewhere," \
    "install the libraries of docs/libraries.md and run: cmake --preset release &&" \
    "cmake --build --preset release"
  [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null || NO_ROOT=1
  if [ -z "$(apt-cache policy ninja-build 2>/dev/null | grep Candidate)" ] && [ -z "${NO_ROOT:-}" ]
  then update_lists; fi
}

# Installs those of the named packages that are missing, having said which.
install_packages() {
  local missing=() package
  for package in "$@"; do is_installed "$package" || missing+=("$package"); done
  [ ${#missing[@]} -gt 0 ] || return 0
  say "packages to install with apt: ${missing[*]}"
  [ -z "${NO_ROOT:-}" ] || die "they need root, and there is no sudo. As root, run:" \
    "apt-get install --no-install-recommends ${missing[*]}"
  confirm "Install them?" || die "nothing was installed"
  local install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends)
  if ! as_root "${install[@]}" "${missing[@]}" >/dev/null; then
    update_lists  # lists that are too old name files that are gone
    as_root "${install[@]}" "${missing[@]}" >/dev/null || die "apt could not install them"
  fi
}

# As many compilers as there are processors, but 1.5 GB of memory for each.
build_jobs() {
  local cores memory_kb jobs
  cores=$(nproc)
  memory_kb=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo)
  jobs=$((memory_kb / 1500000))
  [ "$jobs" -ge 1 ] || jobs=1
  [ "$jobs" -le "$cores" ] || jobs=$cores
  echo "$jobs"
}
