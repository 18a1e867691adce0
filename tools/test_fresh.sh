#!/usr/bin/env bash
# Runs ./dev commands on a fresh Debian 12: a debootstrap'ed folder that holds nothing but a clone of
# the commit at hand. Needs root that may mount (CAP_SYS_ADMIN). The base system is made once and
# kept; every call starts from a copy of it, which goes at the end, however that comes.
# usage: test_fresh.sh FOLDER COMMAND...    (COMMAND: demo, test, ...: what ./dev takes)
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
machine=$folder/machine
inside=

remove_machine() {
  rm -rf --one-file-system "$machine"
}

end_inside() {
  [ -z "$inside" ] || kill -KILL "$inside" 2>/dev/null || true
  [ -z "$inside" ] || wait "$inside" 2>/dev/null || true
  exit "$1"
}

# Mounts and processes live in namespaces of their own and go with them. In the background, since a
# trap waits for what is in the foreground; --kill-child then ends all that was started inside.
run_in_namespaces() {
  local status=0
  unshare --mount --pid --fork --kill-child "$@" &
  inside=$!
  wait "$inside" || status=$?
  inside=
  return "$status"
}

make_base() {
  [ ! -f "$folder/base/made" ] || return 0
  rm -rf --one-file-system "$folder/base"
  run_in_namespaces --mount-proc debootstrap --variant=minbase bookworm "$folder/base" \
    >"$folder/debootstrap.log" 2>&1 || {
    tail -n 20 "$folder/debootstrap.log" >&2
    exit 1
  }
  touch "$folder/base/made"
}

# copy_here PATH: to the same place in the machine, links resolved.
copy_here() {
  [ -e "$1" ] || return 0
  mkdir -p "$machine$(dirname "$1")"
  cp -rL "$1" "$machine$(dirname "$1")/" 2>/dev/null || true
}

# Where pip finds its packages. No token, name or password: they do not belong into what is copied.
copy_pip_settings() {
  local file certificates
  for file in /etc/pip.conf "$HOME/.pip/pip.conf" "$HOME/.config/pip/pip.conf"; do
    [ -f "$file" ] || continue
    mkdir -p "$machine$(dirname "$file")"
    sed -nE -e 's#//[^/@]*@#//#' -e '/^\[/p; /^[[:space:]]*((extra-)?index-url|cert)[[:space:]]*[=:]/p' \
      "$file" >"$machine$file"
    certificates=$(sed -nE 's/^[[:space:]]*cert[[:space:]]*[=:][[:space:]]*(.*)$/\1/p' "$file")
    [ -z "$certificates" ] || copy_here "$certificates"
  done
}

# What this machine knows of the network: name server, package sources, certificates, pip's settings.
copy_network_settings() {
  local path
  for path in /etc/resolv.conf /etc/apt/sources.list /etc/apt/sources.list.d /etc/ssl/certs; do
    copy_here "$path"
  done
  copy_pip_settings
}

make_machine() {
  remove_machine
  cp -a "$folder/base" "$machine"
  copy_network_settings
  git clone --quiet "$root" "$machine/qsim"
  mkdir -p "$machine/data"
}

run_inside() {
  local name proxies=()
  for name in {http,https,no}_proxy {HTTP,HTTPS,NO}_PROXY; do
    [ -z "${!name:-}" ] || proxies+=("$name=${!name}")
  done
  # shellcheck disable=SC2016
  run_in_namespaces bash -c '
    set -e
    machine=$1 data=$2 command=$3 home=$4
    shift 4
    mount -t proc proc "$machine/proc"
    mount --rbind /dev "$machine/dev"
    [ ! -d "$data" ] || mount --bind "$data" "$machine/data"
    exec chroot "$machine" /usr/bin/env -i HOME="$home" PATH=/usr/sbin:/usr/bin:/sbin:/bin \
      QSIM_DATA=/data SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt \
      PIP_CERT=/etc/ssl/certs/ca-certificates.crt "$@" /qsim/dev "$command"
  ' bash "$machine" "${QSIM_DATA:-$root/../shared/data}" "$1" "$HOME" "${proxies[@]}"
}

trap remove_machine EXIT
trap 'end_inside 130' INT
trap 'end_inside 143' TERM
trap 'end_inside 129' HUP
[ -z "$(git -C "$root" status --porcelain)" ] ||
  echo "  uncommitted changes are not part of the clone" >&2
make_base
make_machine
for command in "$@"; do
  echo "fresh machine: ./dev $command" >&2
  run_inside "$command"
done
