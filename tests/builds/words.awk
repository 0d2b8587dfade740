# SPDX-License-Identifier: MIT
# awk -f words.awk FILE...
# Counts the words of comments, and how many of them are "what", "whatever", "that of" and "those of": such sentences are
# about pronouns and not about things. More than 2 in 1000 are an error.
{
    at = match($0, /\/\/[\/<]*/)
    if (at == 0) next
    text = tolower(substr($0, at + RLENGTH))
    words += split(text, parts, /[^a-z0-9_']+/)
    while (match(text, /(^|[^a-z_])(what|whatever|that of|those of)([^a-z_]|$)/)) {
        found++
        places = places "\n" FILENAME ":" FNR ":" $0
        text = substr(text, RSTART + RLENGTH - 1)
    }
}
END {
    printf "%d words, %d times what, whatever, that of or those of\n", words, found
    if (1000 * found > 2 * words) {
        print "at most 2 in 1000 are allowed:" places
        exit 1
    }
}
