#!/usr/bin/env bash
# Types, lint, import rules, format, unused code, and that generated files are fresh. Runs all, fails if any fails.
cd "$(dirname "$0")/.." || exit 1
failed=()
run() {
  local name=$1
  shift
  local start=$SECONDS
  if "$@"; then echo "check: $name ok ($((SECONDS - start)) s)"; else
    echo "check: $name FAILED"
    failed+=("$name")
  fi
}
run types npx tsc -p .
run lint npx eslint .
run imports npx depcruise --config .dependency-cruiser.cjs --output-type err net sys arp bgp src test bench scripts
run format npx biome check .
run unused npx knip
run generated npx tsx scripts/generate-crds.ts --check
run generated-docs npx tsx scripts/generate-docs.ts --check
[ "${#failed[@]}" = 0 ] || {
  echo "check: failed: ${failed[*]}"
  exit 1
}
