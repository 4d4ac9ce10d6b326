#!/bin/sh
# Keeps an incident timeline as a tab-separated file. See --help.
set -eu

usage() {
    cat <<'USAGE'
Keep an incident timeline.

usage: timeline.sh [-f FILE] add [--at TIME] KIND TEXT...
       timeline.sh [-f FILE] show
       timeline.sh [-f FILE] summary

commands:
  add      append an entry; the time is now, in UTC, unless --at gives it
  show     print all entries, ordered by time, as a Markdown table
  summary  print how long detection, mitigation and resolution took, and the
           longest time without communication

KIND is one of:
  started    harm to users began (often found out later: use --at)
  detected   somebody or something noticed
  change     something was changed, or undone
  decision   something was decided, with the reason
  comms      an update was sent
  note       an observation
  mitigated  users are no longer harmed
  resolved   the incident is over

options:
  -f FILE    the timeline (default: $INCIDENT_TIMELINE or incident-timeline.tsv)
  --at TIME  14:02 (today, UTC) or 2026-05-04T14:02[:30]Z

The author is $INCIDENT_AUTHOR, or else the login name.
exit status: 0 done, 1 the timeline lacks what was asked for, 2 wrong usage
USAGE
}

fail() {
    printf 'timeline.sh: %s\n' "$1" >&2
    exit "${2:-2}"
}

need_file() {
    [ -s "$file" ] || fail "there is no timeline in '$file' yet; start it with 'add'" 1
}

day_pattern='[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])'
time_pattern='([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]'

full_time() { # completes and checks a time
    case $1 in
        [0-2][0-9]:[0-5][0-9]) time=$(date -u +%Y-%m-%d)T$1:00Z ;;
        *T[0-2][0-9]:[0-5][0-9]Z) time=${1%Z}:00Z ;;
        *) time=$1 ;;
    esac
    printf '%s\n' "$time" | grep -Eq "^${day_pattern}T${time_pattern}Z\$" ||
        fail "'$1' is not a time; use 14:02 or 2026-05-04T14:02Z (always UTC)"
    printf '%s\n' "$time"
}

add() {
    at=
    if [ "${1-}" = --at ]; then
        [ $# -ge 2 ] || fail "--at needs a time"
        at=$(full_time "$2") || exit 2
        shift 2
    fi
    [ $# -ge 2 ] || fail "add needs a kind and a text; see --help"
    case $1 in
        started | detected | change | decision | comms | note | mitigated | resolved) kind=$1 ;;
        *) fail "'$1' is not a kind; see --help for the eight kinds" ;;
    esac
    shift
    text=$(printf '%s' "$*" | tr '\t\r\n' '   ')
    author=$(printf '%s' "${INCIDENT_AUTHOR:-$(id -un)}" | tr '\t\r\n' '   ')
    at=${at:-$(date -u +%Y-%m-%dT%H:%M:%SZ)}
    printf '%s\t%s\t%s\t%s\n' "$at" "$kind" "$author" "$text" >>"$file"
    tail -n 1 "$file"
}

show() {
    need_file
    printf '| Time (UTC) | Kind | Who | What |\n| --- | --- | --- | --- |\n'
    LC_ALL=C sort -s -t "$tab" -k 1,1 "$file" |
        awk -F '\t' '{ gsub(/\|/, "\\|"); print "| " $1 " | " $2 " | " $3 " | " $4 " |" }'
}

summary() {
    need_file
    LC_ALL=C sort -s -t "$tab" -k 1,1 "$file" | awk -F '\t' '
        function seconds(t,    y, m, d) { # since an arbitrary day, proleptic Gregorian
            y = substr(t, 1, 4) + 0; m = substr(t, 6, 2) + 0; d = substr(t, 9, 2) + 0
            if (m < 3) { y--; m += 12 }
            d += 365 * y + int(y / 4) - int(y / 100) + int(y / 400) + int((153 * m - 457) / 5)
            return d * 86400 + substr(t, 12, 2) * 3600 + substr(t, 15, 2) * 60 + substr(t, 18, 2)
        }
        function span(s) {
            return sprintf("%d h %02d min", int(s / 3600), int(s % 3600 / 60))
        }
        function line(label, from, to) {
            if ((from in at) && (to in at) && at[to] < at[from])
                printf "%-24s negative, check the times\n", label
            else if ((from in at) && (to in at))
                printf "%-24s %s\n", label, span(at[to] - at[from])
            else
                printf "%-24s unknown, no entry of kind %s\n", label, (from in at) ? to : from
        }
        {
            now = seconds($1)
            # The first start and detection count, but the last mitigation and resolution.
            if (!($2 in at) || $2 == "mitigated" || $2 == "resolved") at[$2] = now
            if ($2 == "detected" && !said) said = now
            if ($2 == "comms") {
                updates++
                if (said && now - said > quiet) quiet = now - said
                said = now
            }
        }
        END {
            line("Started to detected", "started", "detected")
            line("Detected to mitigated", "detected", "mitigated")
            line("Started to mitigated", "started", "mitigated")
            line("Detected to resolved", "detected", "resolved")
            if (said && ("resolved" in at) && at["resolved"] - said > quiet)
                quiet = at["resolved"] - said
            printf "%-24s %d\n", "Updates sent", updates
            printf "%-24s %s\n", "Longest silence", quiet ? span(quiet) : "unknown"
        }'
}

tab=$(printf '\t')
file=${INCIDENT_TIMELINE:-incident-timeline.tsv}
if [ "${1-}" = -f ]; then
    [ $# -ge 2 ] || fail "-f needs a file"
    file=$2
    shift 2
fi
[ $# -ge 1 ] || { usage >&2; exit 2; }
command=$1
shift
case $command in
    -h | --help | help) usage ;;
    add) add "$@" ;;
    show) show ;;
    summary) summary ;;
    *) fail "'$command' is not a command; use add, show or summary" ;;
esac
