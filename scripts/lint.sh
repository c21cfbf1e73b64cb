#!/bin/bash
# Layout (clang-format) and the checks of .clang-tidy. Changes nothing; exit status 1 when there is a finding.
#
# Usage: scripts/lint.sh [--against COMMIT | --all] [PATH...]
#   --against COMMIT  what differs from that commit, uncommitted changes included; the default is main
#   --all             every file
#   PATH...           every file below these
#   --help            this text
#
# Without PATHs, sources that include a changed header are checked, too. What this machine does not compile (other
# processors' kernels) is checked for its layout only.
set -euo pipefail
shopt -s extglob
cd "$(dirname "$0")/.."
. scripts/lib/packages.sh

against=main
all=0
paths=()
while [ $# -gt 0 ]; do
  case $1 in
    --against)
      [ $# -ge 2 ] || die "--against needs a commit"
      against=$2
      shift
      ;;
    --all) all=1 ;;
    --help | -h)
      sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"
      exit 0
      ;;
    -*)
      echo "unknown argument: $1 (see --help)" >&2
      exit 2
      ;;
    *) paths+=("$1") ;;
  esac
  shift
done
for tool in clang-format clang-tidy; do
  command -v "$tool" >/dev/null || die "no $tool here: apt-get install $tool"
done

# The files to look at: those of git, minus what is gone from the working tree.
list_files() {
  if [ "$all" = 1 ] || [ ${#paths[@]} -gt 0 ]; then
    git ls-files --cached --others --exclude-standard -- "${paths[@]}"
  else
    git diff --name-only --diff-filter=d "$(git merge-base "$against" HEAD)"
    git ls-files --others --exclude-standard
  fi | grep -E '\.(cc|h|inl)$' | sort -u
}

# Sources that clang-tidy has to see because of the files on standard input.
list_sources() {
  while read -r file; do
    case $file in
      *.cc) echo "$file" ;;
      *) [ ${#paths[@]} -gt 0 ] || git grep -lF "\"${file#@(src|include)/}\"" -- '*.cc' || true ;;
    esac
  done | sort -u
}

mapfile -t files < <(list_files)
if [ ${#files[@]} -eq 0 ]; then
  say "nothing to look at"
  exit 0
fi
status=0
say "layout of ${#files[@]} files"
clang-format --dry-run -Werror "${files[@]}" || status=1

[ -f build/dev/compile_commands.json ] || cmake --preset dev >/dev/null
mapfile -t sources < <(printf '%s\n' "${files[@]}" | list_sources |
  while read -r file; do
    if grep -qF "\"file\": \"$PWD/$file\"" build/dev/compile_commands.json; then echo "$file"; fi
  done)
if [ ${#sources[@]} -gt 0 ]; then
  say "clang-tidy of ${#sources[@]} sources"
  printf '%s\0' "${sources[@]}" |
    xargs -0 -n 1 -P "$(nproc)" clang-tidy -p build/dev --quiet \
      --extra-arg=-Wno-unknown-warning-option `# g++'s own` \
      2> >(grep -vE '^[0-9]+ warnings? ' >&2) || status=1
fi
exit "$status"
