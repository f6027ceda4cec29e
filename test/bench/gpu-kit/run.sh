#!/bin/sh
# Runs the bench of the box: ./run.sh OUT [--minutes 9] [--steps 1,2,4] (--help tells all options).
set -u
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
known=$(ldconfig -p 2>/dev/null || /sbin/ldconfig -p 2>/dev/null)
glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null || ldd --version 2>/dev/null | head -n 1)
glibc=${glibc##* }
brought=$(cat "$here/glibc/version")
older() { [ "$1" != "$2" ] && [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }

# Folders of libraries that come before the system's: of the box's those alone that the system lacks.
libraries=${LD_LIBRARY_PATH:-}
take() { libraries="${libraries:+$libraries:}$1"; }
case "$known" in *libGLX_nvidia.so.0*) ;; *)
  for folder in /usr/local/nvidia/lib64 /usr/local/nvidia/lib; do
    [ -e "$folder/libGLX_nvidia.so.0" ] && take "$folder"
  done
esac
for folder in "$here/lib"/*; do
  case "$known" in *"$(basename "$folder") "*) ;; *) take "$folder" ;; esac
done

# Where glibc is older than the box's, Node runs by the box's own, with its libraries of C++; drivers that were linked
# with an older glibc run by a newer one. The rest of the system keeps its own.
if older "${glibc:-0}" "$brought"; then
  export HEARTH_LIBRARIES="$here/glibc:$here/lib/libstdc++.so.6:$here/lib/libgcc_s.so.1${libraries:+:$libraries}"
  export HEARTH_NODE="$here/node.sh" HEARTH_SYSTEM_GLIBC="${glibc:-unknown}"
else
  export LD_LIBRARY_PATH="$libraries"
fi
node=${HEARTH_NODE:-$here/node}
if ! version=$("$node" --version 2>&1); then
  echo "run.sh: Node doesn't start on this machine (glibc ${glibc:-unknown}; the box brings $brought): $version" >&2
  exit 1
fi

# The loader finds the usual folders by itself.
if [ -z "${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}" ]; then
  for file in /usr/local/nvidia/share/vulkan/icd.d/*.json; do
    [ -e "$file" ] && VK_DRIVER_FILES="${VK_DRIVER_FILES:+$VK_DRIVER_FILES:}$file" && export VK_DRIVER_FILES
  done
fi
exec "$node" "$here/program.mjs" test/bench/gpu-kit/main.ts "$@"
