# What the tests of ./dev share: a repository of its own, its checks, and a machine of fakes
# (dpkg-query, apt-get, sudo), so that nothing is installed or built. Sourced with `root` set.
# shellcheck shell=bash disable=SC2154,SC2034  # root is the caller's, dev is for it
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

# A repository with the scripts alone: what ./dev logs stays out of the real one.
mkdir -p "$scratch"/repository/{compiler,core,examples,golden,report,sim,tests,tools}
cp "$root/dev" "$root/CMakePresets.json" "$scratch/repository/"
cp "$root/tools/packages.txt" "$scratch/repository/tools/"
cp -r "$root/tools/dev" "$root/tools/gpu_test" "$scratch/repository/tools/"
cp -r "$root/bench" "$scratch/repository/"
mkdir "$scratch/repository/tests/fuzz"
cp "$root/tests/fuzz/run.sh" "$root/tests/fuzz/npy_target.cpp" "$scratch/repository/tests/fuzz/"
# What the report's charts come from; CHARTS_FAIL=1 where they cannot be had.
mkdir "$scratch/repository/tools/charts"
# shellcheck disable=SC2016  # the script's own variable
printf '%s\n' '#!/bin/sh' 'exit ${CHARTS_FAIL:-0}' >"$scratch/repository/tools/charts/install.sh"
chmod +x "$scratch/repository/tools/charts/install.sh"
dev=$scratch/repository/dev

# expect NAME STATUS PATTERN COMMAND...: exit status, and a pattern in stdout or stderr.
expect() {
  local name=$1 wanted=$2 pattern=$3 status=0
  shift 3
  "$@" >"$scratch/output" 2>&1 || status=$?
  if [ "$status" -ne "$wanted" ] || ! grep -qE -- "$pattern" "$scratch/output"; then
    echo "FAILED: $name: exit $status (expected $wanted), expected /$pattern/ in:"
    sed 's/^/  | /' "$scratch/output"
    failures=$((failures + 1))
  fi
}

# expect_usage NAME LINE COMMAND...: exit status 2, and that one line as all there is to read.
expect_usage() {
  local name=$1 line=$2
  shift 2
  expect "$name" 2 . "$@"
  if ! diff <(echo "dev: $line; \`./dev help\` says more") "$scratch/output" >"$scratch/difference"; then
    echo "FAILED: $name: expected (<) and printed (>):"
    sed 's/^/  | /' "$scratch/difference"
    failures=$((failures + 1))
  fi
}

# fake NAME: an executable on the fakes' PATH, its body from stdin.
fake() {
  { echo '#!/bin/sh'; cat; } >"$scratch/bin/$1"
  chmod +x "$scratch/bin/$1"
}

# fake_machine: a machine where everything but cppcheck is there.
fake_machine() {
mkdir "$scratch/bin"
fake dpkg-query <<'FAKE'
shift 3
for package in "$@"; do
  case $package in
    cppcheck) ;;
    ninja-build) [ -n "${WITHOUT_NINJA:-}" ] || echo "installed ninja-build" ;;
    debootstrap) [ -n "${WITHOUT_DEBOOTSTRAP:-}" ] || echo "installed debootstrap" ;;
    clang-tidy) [ -n "${HAS_CLANG_TIDY:-}" ] && echo "installed clang-tidy" || echo "config-files clang-tidy" ;;
    *) echo "installed $package" ;;
  esac
done
exit 1
FAKE
fake apt-get <<FAKE
echo "apt-get \$* frontend=\${DEBIAN_FRONTEND:-}" >>"$scratch/apt.log"
FAKE
fake id <<'FAKE'
echo 1000
FAKE
fake sudo <<FAKE
echo sudo >>"$scratch/apt.log"
exec "\$@"
FAKE
fake clang-format <<'FAKE'
exit 0
FAKE
}
on_fake_machine() { env PATH="$scratch/bin:$PATH" "$@"; }

# finish: the last line of a test.
finish() {
  [ "$failures" -eq 0 ] || exit 1
  echo "all checks passed"
}
