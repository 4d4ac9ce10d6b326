#!/bin/sh
office="${0%/*}/soffice.bin"
"$office" "$@"
code=$?
# The codes by which LibreOffice asks to be started again, as after its first start in a new home.
case $code in 79 | 81) "$office" "$@"; code=$? ;; esac
exit $code
