#!/usr/bin/env bash
# Installs the commands that the proofs of kills, failing system calls and power cuts use. Only Debian's packages, and only
# as root: elsewhere it says what is missing, and the proofs that miss it say that they skip.
set -euo pipefail

declare -A package_of=(
  [strace]=strace [mkfs.ext4]=e2fsprogs [mkfs.xfs]=xfsprogs [xfs_io]=xfsprogs [losetup]=mount [fusermount3]=fuse3
  [setfacl]=acl [setfattr]=attr [setcap]=libcap2-bin [setpriv]=util-linux [prlimit]=util-linux
)

missing() {
  local command
  for command in "${!package_of[@]}"; do
    PATH="$PATH:/usr/sbin:/sbin" command -v "$command" >/dev/null || echo "$command"
  done
}

mapfile -t commands < <(missing | sort)
if ((${#commands[@]} == 0)); then
  echo "prove-setup: everything is there"
  exit 0
fi
if ((EUID != 0)) || ! command -v apt-get >/dev/null; then
  echo "prove-setup: skipped, this needs root and apt-get; missing: ${commands[*]}"
  exit 0
fi
mapfile -t packages < <(for command in "${commands[@]}"; do echo "${package_of[$command]}"; done | sort -u)
echo "prove-setup: installing ${packages[*]}"
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get -qq update && apt-get -qq install -y --no-install-recommends "${packages[@]}"; } >/dev/null; then
  echo "prove-setup: apt-get failed; the proofs that miss ${commands[*]} will say that they skip"
fi
