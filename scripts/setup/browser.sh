#!/usr/bin/env bash
# Installs what the tests of the pages need: Chromium, and axe-core, which finds what readers with a disability cannot use.
# Both are used by tests only. Without them these tests are skipped.
. "$(dirname "$0")/common.sh"
cd "$PROJECT"

version=4.14.1
# SHA-512 of the package, in base64 as its registry states it.
integrity='FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=='
folder=.cache/axe-core-$version

need_packages "A test of the pages" "chromium|chromium-browser|google-chrome" npm openssl
[ ! -s "$folder/axe.min.js" ] || exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$work" && npm pack --silent "axe-core@$version" >/dev/null) \
    || die "axe-core $version could not be fetched: check the network, then type the command again."
packed=$work/axe-core-$version.tgz
[ "$(openssl dgst -sha512 -binary "$packed" | base64 --wrap=0)" = "$integrity" ] \
    || die "axe-core $version has another checksum than the one in this project, so it is not used."
tar -xzf "$packed" -C "$work"
mkdir -p "$folder"
cp "$work/package/LICENSE" "$folder"
cp "$work/package/axe.min.js" "$folder/axe.part"
mv "$folder/axe.part" "$folder/axe.min.js"
