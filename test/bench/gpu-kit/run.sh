#!/bin/sh
# Runs the bench of the box: ./run.sh OUT [--minutes 9] [--steps 1,2,4] (--help tells all options).
set -u
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
known=$(ldconfig -p 2>/dev/null || /sbin/ldconfig -p 2>/dev/null)

# Folders of LD_LIBRARY_PATH come before the system's, so that only libraries that the system lacks are taken from the box.
take_missing() {
  for folder in "$1"/*; do
    case "$known" in *"$(basename "$folder") "*) ;; *) LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder" ;; esac
  done
  export LD_LIBRARY_PATH
}
LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}
case "$known" in *libGLX_nvidia.so.0*) ;; *)
  for folder in /usr/local/nvidia/lib64 /usr/local/nvidia/lib; do
    [ -e "$folder/libGLX_nvidia.so.0" ] && LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder"
  done
esac
take_missing "$here/lib"
if ! version=$("$here/node" --version 2>&1); then
  echo "run.sh: Node doesn't start on this machine: $version" >&2
  exit 1
fi

# The loader finds the usual folders by itself.
if [ -z "${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}" ]; then
  for file in /usr/local/nvidia/share/vulkan/icd.d/*.json; do
    [ -e "$file" ] && VK_DRIVER_FILES="${VK_DRIVER_FILES:+$VK_DRIVER_FILES:}$file" && export VK_DRIVER_FILES
  done
fi
exec "$here/node" "$here/program.mjs" test/bench/gpu-kit/main.ts "$@"
