#!/bin/sh
# Checks that a git repository is ready for a release. See --help.
set -u

usage() {
    cat <<'USAGE'
Check that a git repository is ready for a release. Changes nothing.

usage: preflight.sh [options] VERSION

VERSION is the new version without a prefix, such as 1.5.0 or 2.0.0-rc.1.

options:
  --repo DIR        the repository (default: .)
  --branch NAME     the branch to release from (default: main)
  --prefix TEXT     what stands before the version in a tag (default: v)
  --changelog FILE  the changelog, from the top of the repository
                    (default: CHANGELOG.md)
  --remote NAME     also ask this remote whether the tag is free (network)

exit status: 0 ready, 1 a check failed, 2 wrong usage
USAGE
}

die() {
    printf 'preflight.sh: %s\n' "$1" >&2
    exit 2
}

failed=0
ok() { printf 'ok    %s\n' "$1"; }
skip() { printf 'skip  %s\n' "$1"; }
bad() {
    printf 'FAIL  %s\n' "$1"
    failed=$((failed + 1))
}

repo=. branch=main prefix=v changelog=CHANGELOG.md remote='' version=''
while [ $# -gt 0 ]; do
    case $1 in
        -h | --help) usage; exit 0 ;;
        --repo | --branch | --prefix | --changelog | --remote)
            [ $# -ge 2 ] || die "$1 needs a value"
            case $1 in
                --repo) repo=$2 ;;
                --branch) branch=$2 ;;
                --prefix) prefix=$2 ;;
                --changelog) changelog=$2 ;;
                --remote) remote=$2 ;;
            esac
            shift ;;
        -*) die "there is no option '$1'; see --help" ;;
        *)
            [ -z "$version" ] || die "more than one version: '$version' and '$1'"
            version=$1 ;;
    esac
    shift
done
[ -n "$version" ] || { usage >&2; exit 2; }
command -v git >/dev/null || die "git is not installed"
top=$(git -C "$repo" rev-parse --show-toplevel 2>/dev/null) || die "'$repo' is not a git work tree"
cd "$top" || die "cannot enter '$top'"
git rev-parse --verify --quiet HEAD >/dev/null || die "the repository has no commit"

# semver: MAJOR.MINOR.PATCH, then perhaps -pre.release; no leading zeros, no build metadata
number='(0|[1-9][0-9]*)'
part="($number|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
is_version() {
    printf '%s\n' "$1" | LC_ALL=C grep -Eq "^$number\.$number\.$number(-$part(\.$part)*)?\$"
}

# Prints the versions of standard input in ascending order of precedence.
sort_versions() {
    LC_ALL=C awk '
        function less_part(x, y) {
            if (x ~ /^[0-9]+$/ && y ~ /^[0-9]+$/) return x + 0 < y + 0
            if (x ~ /^[0-9]+$/) return 1
            if (y ~ /^[0-9]+$/) return 0
            return (x "") < (y "")
        }
        function less(x, y,    a, b, c, d, i, m, n, p, q) {
            p = index(x, "-"); q = index(y, "-")
            split(p ? substr(x, 1, p - 1) : x, a, "."); split(q ? substr(y, 1, q - 1) : y, b, ".")
            for (i = 1; i <= 3; i++) if (a[i] + 0 != b[i] + 0) return a[i] + 0 < b[i] + 0
            if (!p || !q) return p && !q
            m = split(substr(x, p + 1), c, "."); n = split(substr(y, q + 1), d, ".")
            for (i = 1; i <= m && i <= n; i++) if (c[i] != d[i]) return less_part(c[i], d[i])
            return m < n
        }
        { v[NR] = $0 }
        END {
            for (i = 2; i <= NR; i++) {
                t = v[i]
                for (j = i - 1; j >= 1 && less(t, v[j]); j--) v[j + 1] = v[j]
                v[j + 1] = t
            }
            for (i = 1; i <= NR; i++) print v[i]
        }'
}

# Version
is_version "$version" ||
    die "'$version' is not a semantic version such as 1.5.0 or 2.0.0-rc.1 (without '$prefix')"
last=$(git tag --merged HEAD | while IFS= read -r tag; do
    bare=${tag#"$prefix"}
    if [ "$prefix$bare" = "$tag" ] && is_version "$bare"; then printf '%s\n' "$bare"; fi
done | sort_versions | tail -n 1)
if [ -z "$last" ]; then
    skip "no earlier version tag starts with '$prefix'"
elif [ "$last" = "$version" ]; then
    bad "$version is already the newest version in this history"
elif [ "$(printf '%s\n' "$last" "$version" | sort_versions | tail -n 1)" = "$version" ]; then
    ok "$version comes after $last"
else
    bad "$version does not come after $last"
fi

# Tag
tag=$prefix$version
if git rev-parse --verify --quiet "refs/tags/$tag" >/dev/null; then
    bad "the tag $tag exists in this repository"
else
    ok "the tag $tag is free in this repository"
fi
if [ -n "$remote" ]; then
    git ls-remote --exit-code --tags "$remote" "refs/tags/$tag" >/dev/null 2>&1
    case $? in
        0) bad "the tag $tag exists at $remote" ;;
        2) ok "the tag $tag is free at $remote" ;;
        *) bad "cannot ask $remote for its tags" ;;
    esac
else
    skip "no --remote given, so the tags there were not checked"
fi

# Tree
current=$(git symbolic-ref --quiet --short HEAD || echo 'a detached HEAD')
if [ "$current" = "$branch" ]; then
    ok "on branch $branch"
else
    bad "on $current, not on $branch"
fi
if [ -z "$(git status --porcelain)" ]; then
    ok "the work tree is clean"
else
    bad "the work tree has changes or untracked files; see 'git status'"
fi
if upstream=$(git rev-parse --abbrev-ref --symbolic-full-name '@{upstream}' 2>/dev/null); then
    ahead=$(git rev-list --count "$upstream..HEAD")
    behind=$(git rev-list --count "HEAD..$upstream")
    if [ "$ahead" = 0 ] && [ "$behind" = 0 ]; then
        ok "HEAD is what $upstream was at the last fetch"
    else
        bad "HEAD is $ahead ahead of and $behind behind $upstream"
    fi
else
    bad "$current has no upstream branch, so CI cannot have seen this commit"
fi

# Statements of the version
if [ ! -f "$changelog" ]; then
    bad "there is no $changelog"
elif awk -v v="$version" '
        /^#/ {
            gsub(/[^0-9A-Za-z.+-]/, " ")
            for (i = 1; i <= NF; i++) if ($i == v || $i == "v" v) hit = 1
        }
        END { exit !hit }' "$changelog"; then
    ok "$changelog has a heading for $version"
else
    bad "$changelog has no heading for $version"
fi
found=0
for manifest in Cargo.toml package.json pyproject.toml; do
    [ -f "$manifest" ] || continue
    pattern='s/^[[:space:]]*"?version"?[[:space:]]*[=:][[:space:]]*"([^"]*)".*/\1/p'
    stated=$(sed -n -E "$pattern" "$manifest" | head -n 1)
    if [ -z "$stated" ]; then
        skip "$manifest states no version of its own"
    elif [ "$stated" = "$version" ]; then
        ok "$manifest states $version"
    else
        bad "$manifest states $stated, not $version"
    fi
    found=1
done
[ "$found" = 1 ] || skip "no Cargo.toml, package.json or pyproject.toml at the top"

if [ "$failed" -gt 0 ]; then
    printf '\nNot ready: %d failed\n' "$failed"
    exit 1
fi
printf '\nReady to tag %s at %s\n' "$tag" "$(git rev-parse --short HEAD)"
