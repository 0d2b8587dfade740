#!/bin/sh
# SPDX-License-Identifier: MIT
# text.sh FILE: some 11 MB of English prose, the HTML pages of Debian's package `anarchism` without their tags.
# Needs apt-get and dpkg-deb, but not root. The package also has the same text as markdown, which is left out: what is
# kept for validation, the end of the file, would otherwise stand in the part that is trained on.
set -eu
export LC_ALL=C
if [ $# -ne 1 ]; then
    echo "text.sh: Name the file that the text is written to." >&2
    exit 1
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
(cd "$folder" && apt-get -q download anarchism >&2 && dpkg-deb -x anarchism_*.deb unpacked)
find "$folder/unpacked/usr/share/doc/anarchism/html" -name '*.html' | sort | while read -r page; do
    sed -z -e 's/<head>.*<\/head>//' -e 's/<[^>]*>//g' -e 's/&nbsp;/ /g' -e 's/&lt;/</g' -e 's/&gt;/>/g' \
        -e 's/&quot;/"/g' -e "s/&#39;/'/g" -e 's/&amp;/\&/g' "$page" | sed -e 's/[ \t]\{1,\}/ /g' -e 's/^ //' | cat -s
done > "$folder/text"
mv "$folder/text" "$1"
sha256sum "$1"
