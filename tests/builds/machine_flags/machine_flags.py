#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""machine_flags.py INCLUDE [COMPILER...]

Asks each compiler (those named, and every g++ and clang++ of this machine in PATH) for each flag, processor and extension that
it has, and preprocesses include/rope/detail/base/machine.hpp with each. Where two have one ROPE_MACHINE, they must have the same
predefined macros, but for those of NOT_INSTRUCTIONS. With ROPE_TEST_ALL=1, which takes many minutes, cross compilers are asked,
too, and the newest clang for other machines.
"""
import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import tempfile
import time

ALL = os.environ.get("ROPE_TEST_ALL", "") not in ("", "0")
# Machines of clang: the flag that names a processor, and what comes before the name of an extension.
MACHINES = {
    "x86_64-linux-gnu": ("-march=", ""), "i386-linux-gnu": ("-march=", ""),
    "aarch64-linux-gnu": ("-mcpu=", "-march=armv8-a+"), "armv7a-linux-gnueabihf": ("-mcpu=", "-march=armv8-a+"),
    "riscv64-linux-gnu": ("-mcpu=", "-march=rv64gc_"), "powerpc64le-linux-gnu": ("-mcpu=", ""),
    "s390x-linux-gnu": ("-march=", ""), "loongarch64-linux-gnu": ("-march=", ""), "wasm32": ("-mcpu=", "")}
# Flags of clang that are no features, and that change instructions on some machine.
OTHER_FLAGS = ["-mgeneral-regs-only", "-msoft-float", "-mno-unaligned-access", "-mthumb", "-mcx16", "-mno-implicit-float"]
# Units that differ in one of these are not linked with each other: size of pointers, byte order, how numbers are handed over.
ABI = re.compile(r"__SIZEOF_(POINTER|LONG)__|__BYTE_ORDER__|__GCC_IEC_559|__SOFTFP__|__ARM_PCS\w*|__riscv_(float_)?abi\w*"
                 r"|__loongarch_\w*float|__NO_FPRS__")
# Macros that flags change and that stand for no instruction.
NOT_INSTRUCTIONS = re.compile("|".join([
    r"__(BF|FP|D)?(FLT|DBL|LDBL|INT|UINT|SIZE|SIZEOF|PTR|CHAR|SHRT|LONG|WCHAR|WINT|DECIMAL|DEC|GLIBCXX)\w*",  # types and limits
    r"__LONG_?DOUBLE\w*|__FLOAT128(_TYPE)?__|__builtin_\w+q|__(BIGGEST|STDCPP_DEFAULT_NEW)_ALIGN\w*|UNICODE",
    r"__(?!riscv|loongarch|wasm|thumb)[a-z]\w*|__(ANDROID|PI[CE]|CONSTANT_CFSTRINGS)__",  # names of processors and systems
    r"__(riscv_cmodel|AARCH64_CMODEL|CMODEL)_\w*",  # where code lies
    r"_ARCH_([467]\d\d|A2)\w*",  # names of processors with 32 bits
    r"__riscv_(s\w+|zicsr|zifencei)",  # for operating systems; control registers, which older compilers do not name
    r"__riscv_(zic64b|zicc\w+|za\d+rs|zama16b)",  # properties of memory
    r"__ARM_FEATURE_(CDE|CDE_COPROC|COPROC)",  # coprocessors, by intrinsics alone
    r"__ARM_ARCH(_PROFILE)?",  # a generation: its instructions have macros of their own
]))


def run(command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def is_clang(compiler):
    return os.path.basename(compiler).startswith("clang")


def compilers(named):
    names = list(named)
    for folder in os.environ["PATH"].split(os.pathsep):
        names += sorted(glob.glob(os.path.join(folder, "*g++*")))
    found = {}
    for name in names:
        own = r"([\w-]+-)?(clan)?g\+\+(-\d+)?" if ALL else r"(clan)?g\+\+(-\d+)?"
        if re.fullmatch(own, os.path.basename(name)) and os.access(name, os.X_OK):
            found.setdefault(os.path.realpath(name), name)
    return list(found.values())


class Asked:
    """A compiler and the machine that it compiles for."""

    def __init__(self, compiler, machine, source, pool):
        self.compiler, self.machine, self.source, self.pool = compiler, machine, source, pool
        self.command = [compiler] + ([f"--target={machine}"] if machine else [])
        self.plain = self.ask([])

    def ask(self, flags):
        """The machine's name and the macros with these flags; None where they are none of this machine."""
        code, out, err = run([*self.command, *flags, "-dD", "-E", self.source])
        if code or "unused" in err:
            return None
        macros = dict(re.findall(r"^#define (\w+)(?:\([^)]*\))? ?(.*)$", out, re.M))
        return re.search(r"^NAME (.*)$", out, re.M)[1], {k: v for k, v in macros.items() if not k.startswith("ROPE_")}

    def ask_each(self, flags, together):
        """The flags that change anything, each with the answer; first asked so many at a time."""
        said = []
        groups = [flags[i:i + together] for i in range(0, len(flags), together)]
        while groups:
            smaller = []
            for group, answer in zip(groups, self.pool.map(self.ask, [" ".join(group).split() for group in groups])):
                if len(group) > 1 and answer != self.plain:
                    smaller += [group[:len(group) // 2], group[len(group) // 2:]]
                elif answer and answer != self.plain:
                    said.append((group[0], answer))
            groups = smaller
        return said

    def flags(self):
        """What changes nothing and what is likely to: flags, and processors and extensions."""
        if not is_clang(self.compiler):
            _, out, _ = run([self.compiler, "-Q", "--help=target"])
            words = re.findall(r"^  (-m[^ =<]+)(?=\s)", out, re.M)
            words += ["-mno-" + word[2:] for word in words]
            values = [option + name for option, names in re.findall(r"(-m(?:arch|cpu)=) option\S*\n((?:    .*\n)+)", out)
                      for name in names.split() if name != "native"]
            _, _, err = run([self.compiler, "-march=armv8-a+none_of_these", "-E", "-x", "c++", os.devnull])
            values += ["-march=armv8-a+" + name for line in re.findall(r"valid arguments are: ([^;\n]*)", err)
                       for name in line.split() if "+none" in err]
            return words, values
        _, out, _ = run([self.compiler, "--autocomplete=-m"])
        words = [line.split()[0] for line in out.splitlines()]
        values = ["-mapxf"] if self.ask(["-mapxf"]) else []  # it stands for others, and is not listed
        for option in [word for word in words if word.endswith("features=")]:
            values += [option + name for name in run([self.compiler, "--autocomplete=" + option])[1].split()]
        # Flags of this machine are those that clang hands on as features of it; flags of others it names or drops.
        words = [word for word in words if not word.endswith("=")]
        features = set()
        for many in ([w for w in words if w.startswith("-mno-")], [w for w in words if not w.startswith("-mno-")]):
            _, out, err = run([*self.command, "-###", "-c", "-x", "c++", os.devnull, *many])
            features |= set(re.findall(r'"-target-feature" "([+-][^"]*)"', out + err))
        words = [w for w in words if "+" + w[2:] in features or "-" + w[5:] in features] + OTHER_FLAGS
        processor, before = MACHINES[self.machine]
        _, out, err = run([*self.command, "-print-supported-cpus"])
        values += [processor + name for name in re.findall(r"^\t(\S+)$", out + err, re.M)]
        if before:
            _, out, err = run([*self.command, "-print-supported-extensions"])
            ratified, _, experimental = (out + err).partition("Experimental")
            values += [before + name for name in re.findall(r"^    ([a-z]\S*) ", ratified, re.M)]
            values += [f"-menable-experimental-extensions {before}{name}{version.replace('.', 'p')}"
                       for name, version in re.findall(r"^    ([a-z]\S*) +(\d\S*)", experimental, re.M)]
        return words, values


def differences(a, b, of):
    return sorted(key for key in a.keys() | b.keys() if a.get(key) != b.get(key) and of(key))


def examine(asked):
    """Sentences on flags that share a name and should not."""
    words, values = asked.flags()
    negative = [word for word in words if word.startswith("-mno-")]
    positive = [word for word in words if not word.startswith("-mno-")]
    said = asked.ask_each(negative, 32) + asked.ask_each(positive, 4) + asked.ask_each(values, 1)
    of_name = {asked.plain[0]: ("no flag", asked.plain[1])}
    sentences = []
    for flag, (name, macros) in said:
        if differences(macros, asked.plain[1], ABI.fullmatch):
            continue
        other, known = of_name.setdefault(name, (flag, macros))
        keys = differences(macros, known, lambda key: not NOT_INSTRUCTIONS.fullmatch(key))
        if keys:
            sentences.append(f"{' '.join(asked.command)} {flag}: {', '.join(keys)} not as with {other}, but the name is {name}, too")
    print(f"{' '.join(asked.command)}: {len(words)} flags, {len(values)} processors and extensions, {len(of_name)} names", flush=True)
    return sentences


def changed_in_regions(compiler, include):
    """Sentences on flags with which the name changes in a region of the library. As C: g++ 12 reads a file of C++ as a whole."""
    sentences = []
    targets = set()
    for file in glob.glob(include + "/rope/detail/simd/*/isa.hpp"):
        with open(file, encoding="ascii") as text:
            targets |= set(re.findall(r'pragma GCC target\("(.*)"\)', text.read()))
    assert len(targets) > 1, "no regions"
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "regions.c")
        with open(source, "w", encoding="ascii") as file:
            file.write(f'#include "{include}/rope/detail/base/machine.hpp"\n#define TEXT_(x) #x\n#define TEXT(x) TEXT_(x)\n')
            file.write('const char* outside = "name " TEXT(ROPE_MACHINE);\n')
            for number, target in enumerate(sorted(targets)):
                file.write(f'#pragma GCC push_options\n#pragma GCC target("{target}")\n#ifndef __AVX2__\n#error no region\n#endif\n'
                           f'const char* inside{number} = "name " TEXT(ROPE_MACHINE);\n#pragma GCC pop_options\n')
        for flag in "-msse2", "-msse4.2", "-mavx", "-mfma", "-mavx2", "-mavx512f", "-mprfchw":
            code, out, err = run([compiler, flag, "-x", "c", "-S", "-o", "-", source])
            names = set(re.findall(r'"name ([^"]*)"', out))
            if code or len(names) != 1:
                sentences.append(f"{compiler} {flag}: in a region the name {' becomes '.join(sorted(names))} {err}")
    return sentences


def main():
    include, named = os.path.abspath(sys.argv[1]), sys.argv[2:]
    found = compilers(named)
    newest = max([c for c in found if is_clang(c)], key=lambda c: int(run([c, "-dumpversion"])[1].split(".")[0]), default="")
    sentences, count, begun = [], 0, time.monotonic()
    only = os.environ.get("ROPE_TEST_ONLY", "")
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
        source = os.path.join(folder, "name.cpp")
        with open(source, "w", encoding="ascii") as file:
            file.write(f'#include "{include}/rope/detail/base/machine.hpp"\nNAME ROPE_MACHINE\n')
        for compiler in found:
            own = run([compiler, "-dumpmachine"])[1].strip().replace("-pc-", "-")
            machines = [""] if not is_clang(compiler) else list(MACHINES) if compiler == newest and ALL else [own]
            for machine in machines:
                if only not in compiler + " " + machine:
                    continue
                asked = Asked(compiler, machine, source, pool)
                if asked.plain:
                    sentences += examine(asked)
                    count += 1
    for compiler in [c for c in found if not is_clang(c) and run([c, "-dumpmachine"])[1].startswith("x86_64")]:
        sentences += changed_in_regions(compiler, include)
    print("\n".join(sentences))
    print(f"{count} compilers and machines in {time.monotonic() - begun:.0f} s")
    sys.exit(1 if sentences or not count else 0)


if __name__ == "__main__":
    main()
