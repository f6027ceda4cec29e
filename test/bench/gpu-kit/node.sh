#!/bin/sh
# Node by the box's own glibc, for run.sh and for the processes that the program starts.
here=$(dirname -- "$0")
exec "$here/glibc/ld-linux-x86-64.so.2" --library-path "$HEARTH_LIBRARIES" "$here/node" "$@"
