# SPDX-License-Identifier: MIT
# awk -v name=NAME -f mutate.awk list.txt FILE > mutated
# Replaces what the block NAME of the list replaces. Exits with 3 if a place is not in the file exactly once.
function begin_place() { places++; old[places] = ""; new[places] = ""; in_new = 0 }
FILENAME == ARGV[1] {
    if ($1 == "==") { wanted = ($2 == name); in_new = 1; next }
    if (!wanted || !/^[-+]/) next
    text = substr($0, 2) "\n"
    if (/^-/) {
        if (in_new) begin_place()
        old[places] = old[places] text
    } else {
        in_new = 1
        new[places] = new[places] text
    }
    next
}
{ file = file $0 "\n" }
END {
    if (places == 0) exit 3
    file = "\n" file
    for (i = 1; i <= places; i++) {
        at = index(file, "\n" old[i])
        if (at == 0) exit 3
        rest = substr(file, at + 1)
        if (index(rest, "\n" old[i]) != 0) exit 3
        file = substr(file, 1, at) new[i] substr(rest, length(old[i]) + 1)
    }
    printf "%s", substr(file, 2)
}
