#!/usr/bin/env bash
# Builds the wheel, with the command `trireme` inside it: build.sh FOLDER [PROFILE], as `cargo --profile` has it. It needs maturin.
# TRIREME=FILE takes a command that was built already.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:?'the folder in which the wheel is to be'}
profile=${2:-release}
if [ -z "${TRIREME:-}" ]; then
    cargo build --manifest-path "$here/../cli/Cargo.toml" --profile "$profile"
    target=$(cargo metadata --manifest-path "$here/Cargo.toml" --format-version 1 --no-deps |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
    [ "$profile" = dev ] && built=debug || built=$profile
    TRIREME=$target/$built/trireme
fi
mkdir -p "$here/python/trireme/bin"
install -m 755 "$TRIREME" "$here/python/trireme/bin/trireme"
strip "$here/python/trireme/bin/trireme"
python3 -m maturin build --manifest-path "$here/Cargo.toml" --profile "$profile" --strip --out "$out"
