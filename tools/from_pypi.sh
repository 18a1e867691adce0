# shellcheck shell=sh
# What the scripts tools/*/install.sh DIR share; they source it with their arguments. DIR is whole or, where
# something fails, not there; nothing is done when DIR is current. Quiet.
#   begin NAME INTERPRETER FILE...  ends the script when each DIR/FILE is current; else DIR's parent is there, and
#                                   $part_dir is not. NAME is what is installed; INTERPRETER is the Python that
#                                   requirements.txt pins it for, a shell pattern
#   pip_in VENV COMMAND...          pip of a virtual environment, with what all calls of it have
#   pip_pinned VENV COMMAND...      the same of what requirements.txt pins, and nothing else
#   finish                          $part_dir becomes DIR

fail() {
  echo "install.sh: $1" >&2
  exit 1
}

if [ $# -ne 1 ]; then
  echo "usage: $0 DIR" >&2
  exit 2
fi
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
python=${QSIM_PYTHON:-/usr/bin/python3}
target_dir=$1
part_dir=$target_dir.part
stamp=installed.sha256

begin() {
  name=$1 interpreter=$2
  shift 2
  [ -x "$python" ] || fail "there is no $python"
  found=$("$python" -c 'import platform as p; print(p.python_implementation(), *p.python_version_tuple()[:2], p.machine())')
  wanted="$found $(cat "$here"/* "$here/../from_pypi.sh" | sha256sum)"
  if [ -f "$target_dir/$stamp" ] && [ "$(cat "$target_dir/$stamp")" = "$wanted" ]; then
    current=yes
    for file; do [ -e "$target_dir/$file" ] || current=no; done
    [ "$current" = no ] || exit 0
  fi
  rm -rf "$target_dir" "$part_dir"
  # shellcheck disable=SC2254 # a pattern
  case $found in
    $interpreter) ;;
    *) fail "requirements.txt pins $name for $interpreter; $python is $found" ;;
  esac
  "$python" -c 'import ensurepip' 2>/dev/null || fail "$python has no ensurepip (Debian: python3-venv)"
  trap 'rm -rf "$part_dir"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  mkdir -p "$(dirname "$target_dir")"
}

pip_in() {
  venv=$1 what=$2
  shift 2
  "$venv/bin/python" -m pip --quiet --disable-pip-version-check --no-input "$what" "$@" >&2
}

pip_pinned() {
  pip_in "$@" --retries 2 --require-hashes --only-binary :all: --no-deps -r "$here/requirements.txt" ||
    fail "pip could not $2 $name"
}

finish() {
  printf '%s\n' "$wanted" >"$part_dir/$stamp"
  mv "$part_dir" "$target_dir"
}
