#!/usr/bin/env bash
# Installs what the lab and the tests need and lacks here: npm packages and Debian packages. Does nothing where all is present.
set -euo pipefail
cd "$(dirname "$0")/.."

# command:package pairs; the routers and kube-proxy's friends are needed by the interop and cluster tests
needs=(
  nft:nftables ip:iproute2 tcpdump:tcpdump conntrack:conntrack ping:iputils-ping curl:curl socat:socat iperf3:iperf3
  gcc:gcc make:make python3:python3 iptables:iptables
  /usr/lib/frr/bgpd:frr bird:bird2 gobgpd:gobgpd exabgp:exabgp bgpctl:openbgpd keepalived:keepalived
)
missing=()
for need in "${needs[@]}"; do
  command -v "${need%%:*}" >/dev/null 2>&1 || PATH="$PATH:/usr/sbin:/sbin" command -v "${need%%:*}" >/dev/null 2>&1 || missing+=("${need##*:}")
done

if [ "${#missing[@]}" -gt 0 ]; then
  if [ "$(id -u)" != 0 ]; then
    echo "setup: these packages are missing: ${missing[*]}; run 'sudo apt-get install ${missing[*]}' or run this as root" >&2
    exit 1
  fi
  if ! command -v apt-get >/dev/null; then
    echo "setup: install by your distribution's package manager: ${missing[*]}" >&2
    exit 1
  fi
  echo "setup: installing ${missing[*]}"
  # The routers run inside test namespaces only: their system services must never start on this host.
  policy=/usr/sbin/policy-rc.d
  if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
    trap 'rm -f "$policy"' EXIT
  fi
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq >/dev/null
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  echo "setup: npm ci"
  # Headers for the one native module that is compiled (raw-socket) come with Node itself where it has them.
  prefix=$(dirname "$(dirname "$(node -p 'fs.realpathSync(process.execPath)')")")
  [ -e "$prefix/include/node/node.h" ] && export npm_config_nodedir=$prefix
  npm ci --no-fund --no-audit --loglevel=error
fi
