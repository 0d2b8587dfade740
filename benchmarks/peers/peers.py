#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""This library beside what engines use now: one table of times.

    python3 benchmarks/peers/peers.py               installs ONNX Runtime, PyTorch and ggml's source by pip, into the
                                                    folder; PyTorch is a download of gigabytes
    python3 benchmarks/peers/peers.py --only rope,loop     needs nothing but a compiler
    python3 benchmarks/peers/peers.py --ggml FOLDER        ggml from a folder of yours (llama.cpp's is its ggml/)

All contestants run in this process, one after the other, in rounds. Before anything is timed, each one rotates the same
numbers, and its result is compared with the rotation in double."""
import argparse, array, ctypes, glob, json, math, os, pathlib, platform, subprocess, sys, tarfile, time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
HEADS, HEAD_DIM, START, BASE = 32, 128, 1000, 500000.0
TOKENS = (1, 16, 128, 2048)
NAMES = {"rope": "this library", "loop": "plain loop", "ggml": "ggml", "onnx": "ONNX Runtime", "torch": "eager PyTorch"}
LARGEST_ERROR = 2e-3  # of numbers in [-1, 1]; angles in float are wrong by some 6e-5 here, and ggml's by more


class Problem(ctypes.Structure):
    _fields_ = [(n, ctypes.c_long) for n in ("seq", "heads", "head_dim", "start")] + [("base", ctypes.c_double)]


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if done.returncode != 0:
        sys.exit("%s failed:\n%s" % (" ".join(map(str, command)), done.stdout))
    return done.stdout


def numbers(count):
    """Floats in [-1, 1), the same for every contestant."""
    state, some = 1, array.array("f")
    for _ in range(min(count, 65536)):
        state = (state * 1664525 + 1013904223) % 2**32
        some.append(state / 2**31 - 1)
    return (some * (count // len(some) + 1))[:count]


def rotated(x, seq):
    """The rotation in double."""
    y, pairs = array.array("d", x), HEAD_DIM // 2
    for t in range(seq):
        angles = [(START + t) * BASE ** (-2 * i / HEAD_DIM) for i in range(pairs)]
        rows = [(math.cos(a), math.sin(a)) for a in angles]
        for h in range(HEADS):
            at = (t * HEADS + h) * HEAD_DIM
            for i, (c, s) in enumerate(rows):
                a, b = x[at + i], x[at + pairs + i]
                y[at + i], y[at + pairs + i] = a * c - b * s, a * s + b * c
    return y


class SharedObject:
    """A contestant of peer.hpp."""

    def __init__(self, path, seq):
        lib = ctypes.CDLL(str(path))
        lib.make_peer.restype, lib.name_of_peer.restype = ctypes.c_void_p, ctypes.c_char_p
        lib.run_peer.argtypes, lib.free_peer.argtypes = [ctypes.c_void_p, ctypes.c_long], [ctypes.c_void_p]
        count = seq * HEADS * HEAD_DIM
        self.memory = (ctypes.c_char * (4 * count + 4096))()
        begin = -ctypes.addressof(self.memory) % 4096
        self.x = (ctypes.c_float * count).from_buffer(self.memory, begin)
        self.x[:] = numbers(count)
        self.lib, self.name = lib, lib.name_of_peer().decode()
        self.peer = lib.make_peer(ctypes.byref(Problem(seq, HEADS, HEAD_DIM, START, BASE)), self.x)

    def calls(self, count):
        self.lib.run_peer(self.peer, count)

    def result(self):
        self.calls(1)
        return self.x

    def end(self):
        self.lib.free_peer(self.peer)


class Onnx:
    """com.microsoft's RotaryEmbedding as a graph of one node, its tensors bound once."""

    def __init__(self, seq):
        import numpy as np, onnx, onnxruntime
        from onnx import TensorProto as T, helper as h
        self.name = "ONNX Runtime " + onnxruntime.__version__
        width, length = HEADS * HEAD_DIM, START + seq
        angles = np.outer(np.arange(length), BASE ** (-2 * np.arange(HEAD_DIM // 2) / HEAD_DIM))
        tables = [h.make_tensor(n, T.FLOAT, angles.shape, f(angles).astype("float32").tobytes(), raw=True)
                  for n, f in (("cos", np.cos), ("sin", np.sin))]
        node = h.make_node("RotaryEmbedding", ["x", "positions", "cos", "sin"], ["y"], domain="com.microsoft",
                           num_heads=HEADS, interleaved=0)
        graph = h.make_graph([node], "rotary", [h.make_tensor_value_info("x", T.FLOAT, [1, seq, width]),
                                                h.make_tensor_value_info("positions", T.INT64, [1, seq])],
                             [h.make_tensor_value_info("y", T.FLOAT, [1, seq, width])], tables)
        model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17), h.make_opsetid("com.microsoft", 1)])
        model.ir_version = 9
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        of = onnxruntime.OrtValue.ortvalue_from_numpy
        x = np.frombuffer(numbers(seq * width), "float32").reshape(1, seq, width)
        self.y = of(np.zeros_like(x))
        self.binding = self.session.io_binding()
        self.binding.bind_ortvalue_input("x", of(x))
        self.binding.bind_ortvalue_input("positions", of(np.arange(START, START + seq, dtype="int64").reshape(1, seq)))
        self.binding.bind_ortvalue_output("y", self.y)

    def calls(self, count):
        for _ in range(count):
            self.session.run_with_iobinding(self.binding)

    def result(self):
        self.calls(1)
        return self.y.numpy().ravel().tolist()

    def end(self):
        pass


class Torch:
    """Whole tensors, as transformers writes it; cos and sin of the tokens are made beforehand."""

    def __init__(self, seq):
        import torch
        torch.set_num_threads(1)
        self.name = "PyTorch " + torch.__version__
        angles = torch.outer(torch.arange(START, START + seq, dtype=torch.float64),
                             BASE ** (-2 * torch.arange(HEAD_DIM // 2, dtype=torch.float64) / HEAD_DIM))
        angles = torch.cat((angles, angles), -1)[:, None, :]
        self.cos, self.sin = angles.cos().float(), angles.sin().float()
        self.x = torch.tensor(numbers(seq * HEADS * HEAD_DIM)).view(seq, HEADS, HEAD_DIM)
        self.cat, self.no_grad = torch.cat, torch.inference_mode

    def once(self):
        x, half = self.x, HEAD_DIM // 2
        return x * self.cos + self.cat((-x[..., half:], x[..., :half]), -1) * self.sin

    def calls(self, count):
        with self.no_grad():
            for _ in range(count):
                self.once()

    def result(self):
        return self.once().flatten().tolist()

    def end(self):
        pass


def compiler():
    return os.environ.get("CXX", "g++")


def build_ggml(folder, given):
    """Returns the flags that compile and link ggml_peer.cpp."""
    source = pathlib.Path(given) if given else None
    if source is None:
        if not glob.glob(str(folder / "llama_cpp_python-*.tar.gz")):
            run(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", "llama-cpp-python",
                "-d", folder, "llama-cpp-python")
        archive = sorted(glob.glob(str(folder / "llama_cpp_python-*.tar.gz")))[-1]
        with tarfile.open(archive) as tar:
            tar.extractall(folder, [m for m in tar.getmembers() if "/vendor/llama.cpp/ggml/" in m.name])
        source = pathlib.Path(archive[:-len(".tar.gz")]) / "vendor/llama.cpp/ggml"
        (source / "ggml.pc.in").touch()  # the archive leaves it out
    build = folder / "ggml"
    run("cmake", "-S", source, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=OFF",
        "-DCMAKE_POSITION_INDEPENDENT_CODE=ON", "-DGGML_OPENMP=OFF", "-DGGML_BUILD_TESTS=OFF", "-DGGML_BUILD_EXAMPLES=OFF")
    run("cmake", "--build", build, "-j", os.cpu_count() or 1)
    with open(source / "CMakeLists.txt") as file:
        version = ".".join(line.split()[1].rstrip(")") for line in file
                           if line.startswith(("set(GGML_VERSION_MAJOR", "set(GGML_VERSION_MINOR", "set(GGML_VERSION_PATCH")))
    libraries = [next(build.rglob("lib%s.a" % name)) for name in ("ggml-cpu", "ggml-base")]
    return ['-DPEER_VERSION="%s"' % version, "-I", source / "include"], [*libraries, "-pthread", "-ldl"]


def make(names, folder, ggml):
    """Compiles the contestants in C++. Returns, by name, a function that makes a contestant for a number of tokens."""
    version = run(compiler(), "--version").splitlines()[0].replace('"', "")
    sources = {"rope": (["-O2", "-I", ROOT / "include"], []),
               "loop": (["-O3", "-march=native", '-DPEER_COMPILER="%s"' % version, "-I", ROOT / "examples/quickstart"], [])}
    if "ggml" in names:
        flags, libraries = build_ggml(folder, ggml)
        sources["ggml"] = (["-O2", *flags], libraries)
    makers = {"onnx": Onnx, "torch": Torch}
    for name in names:
        if name in sources:
            flags, libraries = sources[name]
            path = folder / (name + ".so")
            run(compiler(), "-std=c++17", "-fPIC", "-shared", *flags, HERE / (name + "_peer.cpp"), *libraries, "-o", path)
            makers[name] = lambda seq, path=path: SharedObject(path, seq)
    return {name: makers[name] for name in names}


def check(makers):
    """The largest error of each contestant on 16 tokens."""
    exact, errors = rotated(numbers(16 * HEADS * HEAD_DIM), 16), {}
    for name, make_one in makers.items():
        peer = make_one(16)
        errors[name] = max(abs(a - b) for a, b in zip(peer.result(), exact))
        peer.end()
        if not errors[name] < LARGEST_ERROR:
            sys.exit("%s is wrong by %.1e; nothing was timed." % (NAMES[name], errors[name]))
    return errors


def times(makers, seq, rounds):
    """Seconds of a call, a list for each contestant."""
    peers = {name: make_one(seq) for name, make_one in makers.items()}
    counts, seconds = {}, {name: [] for name in peers}

    def time_of(name, count):
        begin = time.perf_counter()
        peers[name].calls(count)
        return time.perf_counter() - begin

    for name in peers:
        counts[name] = 1
        while min(time_of(name, counts[name]) for _ in range(3)) < 1e-3:
            counts[name] *= 2
    order = list(peers)
    for r in range(rounds):
        for name in order[r % len(order):] + order[:r % len(order)]:
            seconds[name].append(time_of(name, counts[name]) / counts[name])
    for peer in peers.values():
        peer.end()
    return {name: sorted(s) for name, s in seconds.items()}


def in_words(seconds):
    for unit, size in (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3)):
        if seconds < 1000 * size or unit == "ms":
            return "%.3g %s" % (seconds / size, unit)


def machine():
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(NAMES), help="names of contestants: " + ", ".join(NAMES))
    parser.add_argument("--ggml", help="folder of ggml's source")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/peers", help="folder of installed packages and compiled contestants")
    parser.add_argument("--rounds", type=int, default=101)
    options = parser.parse_args()
    names = options.only.split(",")
    for name in names:
        if name not in NAMES:
            parser.error("--only names %r; there are %s." % (name, ", ".join(NAMES)))
    if options.rounds < 1:
        parser.error("--rounds is %d; it must be at least 1." % options.rounds)
    options.folder.mkdir(parents=True, exist_ok=True)

    packages = {"onnx": ["onnx", "onnxruntime"], "torch": ["torch", "numpy"]}
    wanted = sorted({p for name in names for p in packages.get(name, [])})
    if wanted and "ROPE_PEERS_INSTALLED" not in os.environ:
        python = options.folder / "python/bin/python3"
        if not python.exists():
            run(sys.executable, "-m", "venv", options.folder / "python")
        run(python, "-m", "pip", "install", "-q", *wanted)
        os.execve(python, [str(python), *sys.argv], {**os.environ, "ROPE_PEERS_INSTALLED": "1"})

    makers = make(names, options.folder, options.ggml)
    errors = check(makers)
    one_each = {name: make_one(1) for name, make_one in makers.items()}
    print("Rotating [tokens, %d, %d] floats, half-split, on one thread; %s, %s rounds" %
          (HEADS, HEAD_DIM, machine(), options.rounds))
    for name, peer in one_each.items():
        print("  %-14s %s; largest error %.1e" % (NAMES[name], peer.name, errors[name]))
        peer.end()
    print("\nMedian time of a call (10th to 90th percentile), and the median over that of %s:\n" % NAMES[names[0]])
    print("| tokens | " + " | ".join(NAMES[name] for name in names) + " |")
    print("|---|" + "---|" * len(names))
    for seq in TOKENS:
        measured, cells = times(makers, seq, options.rounds), []
        first = measured[names[0]]
        for name in names:
            s = measured[name]
            low, median, high = (s[int(len(s) * q)] for q in (0.1, 0.5, 0.9))
            cell = "%s (%s to %s)" % tuple(map(in_words, (median, low, high)))
            cells.append(cell if name == names[0] else "%s, %.3g" % (cell, median / first[len(first) // 2]))
        print("| %d | " % seq + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
