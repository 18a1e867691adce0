#!/usr/bin/env bash
# Runs ./dev commands on a fresh Debian 12: a debootstrap'ed folder that holds nothing but a clone of
# the commit at hand. Needs root. The base system is made once; every call starts from a copy of it.
# usage: test_fresh.sh FOLDER COMMAND...    (COMMAND: demo, test, ...: what ./dev takes)
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
machine=$folder/machine

make_base() {
  [ ! -f "$folder/base/made" ] || return 0
  rm -rf "$folder/base"
  debootstrap --variant=minbase bookworm "$folder/base" >"$folder/debootstrap.log" 2>&1 || {
    tail -n 20 "$folder/debootstrap.log" >&2
    exit 1
  }
  touch "$folder/base/made"
}

# What this machine knows of the network: name server, package sources, certificates, npm's settings.
copy_network_settings() {
  local path
  for path in /etc/resolv.conf /etc/apt/sources.list /etc/apt/sources.list.d /etc/ssl/certs \
    "$HOME/.npmrc"; do
    [ -e "$path" ] || continue
    mkdir -p "$machine$(dirname "$path")"
    cp -rL "$path" "$machine$(dirname "$path")/" 2>/dev/null || true
  done
}

make_machine() {
  rm -rf --one-file-system "$machine"
  cp -a "$folder/base" "$machine"
  copy_network_settings
  git clone --quiet "$root" "$machine/qsim"
  mkdir -p "$machine/data"
}

# The mounts live in a namespace of their own and go with it.
run_inside() {
  # shellcheck disable=SC2016
  unshare --mount bash -c '
    set -e
    machine=$1 data=$2 command=$3
    mount -t proc proc "$machine/proc"
    mount --rbind /dev "$machine/dev"
    [ ! -d "$data" ] || mount --bind "$data" "$machine/data"
    exec chroot "$machine" /usr/bin/env -i HOME="$4" PATH=/usr/sbin:/usr/bin:/sbin:/bin \
      QSIM_DATA=/data SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt \
      NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt /qsim/dev "$command"
  ' bash "$machine" "${QSIM_DATA:-$root/../shared/data}" "$1" "$HOME"
}

[ -z "$(git -C "$root" status --porcelain)" ] ||
  echo "  uncommitted changes are not part of the clone" >&2
make_base
make_machine
for command in "$@"; do
  echo "fresh machine: ./dev $command" >&2
  run_inside "$command"
done
