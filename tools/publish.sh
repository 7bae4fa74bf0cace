#!/usr/bin/env bash
# publish.sh VERSION [--dry-run] builds the release of the last commit and publishes it. Run it at the root of the checkout.
#
#   tools/publish.sh v0.1.0 --dry-run    check everything, build the release, and publish nothing
#   tools/publish.sh v0.1.0              publish the files, the signature, the image, the chart, the tag, the formula and the manifests
#
# dist/release.env says where. Before anything is built, it checks that all places answer and can be written; before anything is
# published, that none of them has something else under this version. If it fails on the way, run it again: it publishes the rest.
#
# The credentials are yours: those of git for the repositories, those of `docker login` for the registry, and in the environment
# HOLDFAST_UPLOADS_AUTHORIZATION, the header Authorization for the uploads.
set -euo pipefail

usage() {
	sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
	exit 2
}

version=
dry_run=false
for argument in "$@"; do
	case $argument in
	--dry-run) dry_run=true ;;
	-*) usage ;;
	*)
		[ -z "$version" ] || usage
		version=$argument
		;;
	esac
done
[ -n "$version" ] || usage
exec go -C tools run ./publish -checkout .. -version "$version" -dry-run="$dry_run"
