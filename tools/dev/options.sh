# shellcheck shell=bash
# What the command line of ./dev asks for, in variables; part of ./dev, which sources it.
# shellcheck disable=SC2034 # the commands in ./dev read them

preset=
install=yes
check=no
command=
programs=20000
seed=1
seed_given=no
rtl_cxx=clang++
coverage=no
mutants=0
verify_options=no
bundle=
data=
gpu_run=()
gpu_options=no
bench_run=()
only=()
fresh_commands=(demo test)
lint_fast=no
tier=(-LE long) # of ctest
fuzz_run=()

usage() {
  cat <<'USAGE'
usage: ./dev COMMAND [options]

  demo        set up, build, and run the shipped network on the shipped picture
  test        set up, build, and run the tests; --full: every test
  test-fresh  demo and test on a fresh Debian 12, made with debootstrap in build/fresh (as root)
  build       set up and build; the executable is build/release/qsim
  wheel       set up, build libqsim_golden, and put the Python package's wheel into build/release/wheel
  verify-rtl  lint, proofs and random programs on the RTL, more than the tests run
  fuzz        fuzz the readers, the compiler and the engines; exit code 1 on a finding
  gpu-test    everything that needs a GPU, tests and benchmarks; ends with a table
  bench       set up, build, and run the benchmarks; --against compares
  fmt         format the C++ sources; --check only lists what would change
  lint        run clang-tidy, cppcheck, shellcheck and mypy; changes no file, so --check is implied
  gen         rewrite the generated reference pages; --check only compares

  --preset NAME   a preset of CMakePresets.json: release (default), edit, dev, asan,
                  nocuda; fuzz has its own
  --no-install    install nothing; list the missing packages and end with exit code 3
  --help          print this text, as the command help does

  verify-rtl takes:
  --programs N    random programs (default 20000)
  --seed S        the first one's seed (default 1)
  --cxx NAME      compiler of the Verilated models: clang++ (default) or g++
  --coverage      line and toggle coverage as well
  --mutants N     N single-token faults planted in the RTL as well; slow, some 15 s each

  test takes:
  --full          the long tests too (CONTRIBUTING.md lists them); continuous integration leaves them out

  lint takes:
  --fast          without clang-tidy, which takes many minutes

  test-fresh takes:
  --demo          only the first of the two commands, as in continuous integration

  fuzz takes (tests/fuzz/README.md):
  --seconds N     for each target (default 30)
  --target NAME   only this target; may be repeated
  --jobs J        targets at a time (default 1)
  --seed S        chooses the inputs and the vector path (default: random, and printed)

  bench takes (bench/README.md):
  --only NAME     only this benchmark; may be repeated
  --json FILE     keep the figures as JSON; - is stdout
  --against BASE  compare with a file of --json, or with a name of bench/baselines;
                  exit code 6 where a figure is more than 10% worse
  --page          rewrite the tables of docs/measurements/performance.md

  gpu-test takes (docs/guide/gpu_test.md):
  --bundle DIR    only make the folder; its run.sh does the work on a machine with a GPU
  --data DIR      copy DIR/cifar10/test_batch.bin into the folder
  --quick         fewer shapes, no benchmarks
  --lenient       skip what the machine lacks (data, PyTorch, ...) without a failure
  --minutes N     time for all steps (default 9; 3 with --quick)
  --only NAME     only steps whose name has NAME in it; may be repeated

Set-up installs Debian packages listed in tools/packages.txt, with sudo where not root.
USAGE
}

# fail_usage MESSAGE: what is wrong in one line, with the words that are allowed where they are few.
fail_usage() {
  echo "dev: $1; \`./dev help\` says more" >&2
  exit 2
}

# The words that are allowed, as usage and CMakePresets.json have them; presets of $command.
commands() { usage | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p' | listed; }
presets() {
  case $command in
    fuzz) echo fuzz ;;
    gpu-test) echo "release, edit, dev" ;;
    *) sed -n 's/.*"name": "\([a-z]*\)", "configurePreset".*/\1/p' CMakePresets.json | grep -vx fuzz | listed ;;
  esac
}
fuzz_targets() { printf '%s\n' tests/fuzz/*_target.cpp | sed 's/.*\///; s/_target\.cpp$//' | listed; }

# Lines of stdin as "a, b, c".
listed() { paste -sd, | sed 's/,/, /g'; }

parse_arguments() {
  while [ $# -gt 0 ]; do
    case $1 in
      --help | -h | help)
        usage
        exit 0
        ;;
      --no-install) install=no ;;
      --check) check=yes ;;
      --preset)
        [ $# -ge 2 ] || fail_usage "--preset needs a name"
        preset=$2
        shift
        ;;
      --preset=*) preset=${1#--preset=} ;;
      --seed)
        [ $# -ge 2 ] || fail_usage "--seed needs a value"
        seed=$2
        seed_given=yes
        shift
        ;;
      --programs | --cxx | --mutants)
        [ $# -ge 2 ] || fail_usage "$1 needs a value"
        verify_option "${1#--}" "$2"
        shift
        ;;
      --coverage) verify_option coverage yes ;;
      --demo) fresh_commands=(demo) ;;
      --fast) lint_fast=yes ;;
      --full) tier=() ;;
      --seconds | --target | --jobs)
        [ $# -ge 2 ] || fail_usage "$1 needs a value"
        fuzz_option "$1" "$2"
        shift
        ;;
      --bundle | --data | --minutes)
        [ $# -ge 2 ] || fail_usage "$1 needs a value"
        gpu_option "$1" "$2"
        shift
        ;;
      --json | --against)
        [ $# -ge 2 ] || fail_usage "$1 needs a value"
        bench_option "$1" "$2"
        shift
        ;;
      --page) bench_run+=(--page) ;;
      --only)
        [ $# -ge 2 ] || fail_usage "--only needs a value"
        only+=(--only "$2")
        shift
        ;;
      --quick | --lenient) gpu_option "$1" ;;
      -*) fail_usage "unknown option '$1'" ;;
      *)
        [ -z "$command" ] || fail_usage "one command at a time: '$command' and '$1'"
        command=$1
        ;;
    esac
    shift
  done
  [ -n "$command" ] || fail_usage "no command; allowed: $(commands)"
  case $command in
    demo | test | test-fresh | build | wheel | verify-rtl | fuzz | gpu-test | bench | fmt | lint | gen) ;;
    *) fail_usage "unknown command '$command'; allowed: $(commands)" ;;
  esac
  choose_preset
  if [ "$check" = yes ] && [[ ! $command =~ ^(fmt|lint|gen)$ ]]; then
    fail_usage "--check is for fmt, lint and gen, not for $command"
  fi
  if [ ${#fresh_commands[@]} -eq 1 ] && [ "$command" != test-fresh ]; then
    fail_usage "--demo is for test-fresh, not for $command"
  fi
  if [ "$lint_fast" = yes ] && [ "$command" != lint ]; then
    fail_usage "--fast is for lint, not for $command"
  fi
  if [ ${#tier[@]} -eq 0 ] && [ "$command" != test ]; then
    fail_usage "--full is for test, not for $command"
  fi
  if [ "$seed_given" = yes ]; then
    case $command in
      fuzz) fuzz_option --seed "$seed" ;;
      verify-rtl) verify_option seed "$seed" ;;
      *) fail_usage "--seed is for fuzz and verify-rtl, not for $command" ;;
    esac
  fi
  if [ ${#fuzz_run[@]} -gt 0 ] && [ "$command" != fuzz ]; then
    fail_usage "--seconds, --target and --jobs are for fuzz, not for $command"
  fi
  if [ "$verify_options" = yes ] && [ "$command" != verify-rtl ]; then
    fail_usage "--programs, --cxx, --coverage and --mutants are for verify-rtl, not for $command"
  fi
  if [ ${#bench_run[@]} -gt 0 ] && [ "$command" != bench ]; then
    fail_usage "--against, --json and --page are for bench, not for $command"
  fi
  if [ ${#only[@]} -gt 0 ]; then
    case $command in
      bench) bench_run+=("${only[@]}") ;;
      gpu-test) gpu_run+=("${only[@]}") ;;
      *) fail_usage "--only is for bench and gpu-test, not for $command" ;;
    esac
  fi
  if [ "$gpu_options" = yes ] && [ "$command" != gpu-test ]; then
    fail_usage "--bundle, --data, --lenient, --minutes and --quick are for gpu-test, not for $command"
  fi
  if [ "$command" = gpu-test ] && [[ $preset =~ ^(asan|nocuda)$ ]]; then
    fail_usage "preset $preset has no CUDA; gpu-test takes release, edit or dev"
  fi
  if [ -n "$bundle" ] && [ ${#gpu_run[@]} -gt 0 ]; then
    fail_usage "--lenient, --minutes, --quick and --only are for a run, not for --bundle; the bundle's run.sh takes them"
  fi
}

# fuzz_option NAME VALUE: of fuzz.
fuzz_option() {
  if [ "$1" = --target ]; then
    [ -f "tests/fuzz/$2_target.cpp" ] || fail_usage "--target: there is no '$2' in tests/fuzz; allowed: $(fuzz_targets)"
  else
    [[ $2 =~ ^[1-9][0-9]{0,8}$ ]] || fail_usage "$1 needs a number from 1 to 999999999, not '$2'"
  fi
  fuzz_run+=("$1" "$2")
}

# Fuzzing is a build of its own, with another compiler and without tests: neither is silently the other.
choose_preset() {
  local wanted=$preset
  preset=${preset:-$([ "$command" = fuzz ] && echo fuzz || echo release)}
  grep -q "\"name\": \"$preset\", \"configurePreset\"" CMakePresets.json ||
    fail_usage "unknown preset '$preset'; allowed: $(presets)"
  if [ "$command" = fuzz ] && [ "$preset" != fuzz ]; then
    fail_usage "fuzz takes only its own preset, not '$wanted'"
  elif [ "$command" != fuzz ] && [ "$preset" = fuzz ]; then
    fail_usage "preset fuzz is for fuzz, not for $command"
  fi
}

# from_caller PATH: a path as the caller meant it; the script itself runs in the repository's root.
from_caller() {
  case $1 in
    /*) echo "$1" ;;
    *) echo "$OLDPWD/$1" ;;
  esac
}

# bench_option NAME VALUE: of bench. What has no slash and is no .json is a name of bench/baselines.
bench_option() {
  if [ "$1" = --against ] && [[ ! $2 =~ /|\.json$ ]] || [[ -z $2 || $2 = - ]]; then
    bench_run+=("$@")
  else
    bench_run+=("$1" "$(from_caller "$2")")
  fi
}

# gpu_option NAME [VALUE]: of gpu-test.
gpu_option() {
  case $1 in
    --bundle) bundle=$(from_caller "$2") ;;
    --data) data=$(from_caller "$2") ;;
    *) gpu_run+=("$@") ;;
  esac
  gpu_options=yes
}

# verify_option NAME VALUE: of verify-rtl.
verify_option() {
  case $1 in
    cxx) [[ $2 =~ ^(clang\+\+|g\+\+)$ ]] || fail_usage "--cxx is clang++ or g++, not '$2'" ;;
    coverage) ;;
    *) [[ $2 =~ ^[0-9]+$ ]] || fail_usage "--$1 needs a number, not '$2'" ;;
  esac
  printf -v "$([ "$1" = cxx ] && echo rtl_cxx || echo "$1")" %s "$2"
  verify_options=yes
}
