# SPDX-License-Identifier: MIT
# awk -f interface.awk rope.h: a C program that prints what programs are compiled against: the number of each name, the size
# of each struct and the offset of each member, and the declarations of functions.
BEGIN { print "#include <rope/rope.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {" }
{ sub(/ *\/\/.*/, "") }
/^enum \{/ { is_enum = 1 }
is_enum {
    names = $0
    while (match(names, /ROPE_[A-Z0-9_]+ =/)) {
        name = substr(names, RSTART, RLENGTH - 2)
        names = substr(names, RSTART + RLENGTH)
        printf "printf(\"%s %%d\\n\", %s);\n", name, name
    }
    if (/\};/) is_enum = 0
    next
}
/^typedef struct rope_[a-z_]+ \{/ {
    struct = $3
    printf "printf(\"struct %s %%d\\n\", (int)sizeof(%s));\n", struct, struct
    next
}
/^}/ { struct = "" }
struct != "" {
    gsub(/\[[0-9]+\]/, "")
    n = split($0, declarators, /[,;]/)
    for (i = 1; i < n; ++i) {
        words = split(declarators[i], word, /[ *]+/)
        printf "printf(\"  %s.%s %%d\\n\", (int)offsetof(%s, %s));\n", struct, word[words], struct, word[words]
    }
}
/^(ROPE_C_API [a-z]|typedef .*\(\*)/ { is_function = 1; text = "" }
is_function {
    text = text " " $0
    if (/;/) {
        gsub(/ +/, " ", text)
        sub(/ (ROPE_C_API )?/, "", text)
        printf "puts(\"%s\");\n", text
        is_function = 0
    }
}
END { print "return 0;\n}" }
