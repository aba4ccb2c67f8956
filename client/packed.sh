#!/usr/bin/env bash
# Packs the Python and the TypeScript client, installs each into an empty project, and runs its quickstart there.
#
#     TOOLFS_BIN=COMMAND PYTHON=INTERPRETER client/packed.sh FOLDER
#
# FOLDER is emptied. The interpreter needs the package `build`.
set -euo pipefail
client=$(cd "$(dirname "$0")" && pwd)
folder=$1
: "${TOOLFS_BIN:?names the command that the quickstarts start}" "${PYTHON:?names the interpreter}"
rm -rf "$folder"
mkdir -p "$folder"/{packages,python,typescript}

"$PYTHON" -m build --outdir "$folder/packages" "$client/python" >"$folder/build.log" 2>&1 || { cat "$folder/build.log"; exit 1; }
(cd "$client/typescript" && npm pack --silent --pack-destination "$folder/packages")
ls -l "$folder/packages"

cd "$folder/python"
python3 -m venv .venv
.venv/bin/pip install --quiet --disable-pip-version-check "$folder"/packages/*.whl
# Isolated: what the quickstart imports is the installed package, and nothing of the repository.
.venv/bin/python -I "$client/python/tools/run_quickstart.py"

cd "$folder/typescript"
npm init --yes >/dev/null
npm pkg set type=module >/dev/null
npm install --silent --no-audit --no-fund "$folder"/packages/*.tgz
node "$client/typescript/tools/run-quickstart.mjs" node_modules/toolfs/README.md
