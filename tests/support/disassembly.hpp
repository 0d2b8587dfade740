// SPDX-License-Identifier: MIT
// What cannot lie about the code that runs: the instructions of this program, from objdump, and the place from which it
// touches a page of memory for the first time, from the fault that this causes. x86-64 Linux.
#pragma once

#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace support {

inline std::string this_program() {
    char path[4096] = {};
    const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    return std::string(path, length > 0 ? static_cast<std::size_t>(length) : 0);
}

/// What a command prints.
inline std::string output_of(const std::string& command) {
    std::string text;
    std::FILE* const pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return text;
    char part[65536];
    for (std::size_t n = 0; (n = std::fread(part, 1, sizeof(part), pipe)) > 0;) text.append(part, n);
    pclose(pipe);
    return text;
}

/// A function of this program. Addresses are those of the file.
struct Function {
    std::string name;  // mangled
    std::uintptr_t begin = 0, end = 0;
    bool has_wide_registers = false;     // ymm or zmm
    bool has_widest_registers = false;   // zmm
    bool has_fma = false;                // vfmadd..., vfmsub...
    bool has_vex = false;                // anything that an SSE machine does not run
    bool has_packed_products = false;    // mulps, mulpd, with or without v
    bool has_packed_integers = false;    // pcmpgtd, pmaxsd, ...
    bool has_packed_sums = false;        // addps, subpd, ...
    bool has_scalar_arithmetic = false;  // addss, vfmadd231sd, ...
};

/// Whether a function is one of an instruction set: rope::v0_1::detail::(namespace of the machine)::avx2::anything.
inline bool is_of(const std::string& function, const std::string& isa) {
    const std::size_t detail = function.find("6detail");
    if (detail == std::string::npos) return false;
    std::size_t at = detail + 7, length = 0;
    for (; at < function.size() && function[at] >= '0' && function[at] <= '9'; ++at)
        length = 10 * length + static_cast<std::size_t>(function[at] - '0');
    const std::string name = std::to_string(isa.size()) + isa;
    return at + length < function.size() && function.compare(at + length, name.size(), name) == 0;
}

/// Sums, products, quotients of one float or double: addss, vfmadd231sd.
inline bool is_scalar_arithmetic(const std::string& instruction) {
    const std::size_t size = instruction.size();
    if (size < 5 || (instruction.compare(size - 2, 2, "ss") != 0 && instruction.compare(size - 2, 2, "sd") != 0))
        return false;
    for (const char* operation : {"add", "sub", "mul", "div", "sqrt"})
        if (instruction.find(operation) != std::string::npos) return true;
    return false;
}

/// All of the library's functions in this program.
inline std::vector<Function> functions_of_this_program() {
    std::vector<Function> list;
    const std::string text = output_of("objdump -d --no-show-raw-insn '" + this_program() + "'");
    bool inside = false;
    for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
        end = text.find('\n', begin);
        if (end == std::string::npos) end = text.size();
        const char* const line = text.c_str() + begin;
        const std::size_t length = end - begin;
        char* after = nullptr;
        const std::uintptr_t address = std::strtoull(line, &after, 16);
        if (after[0] == ' ' && after[1] == '<' && text[end - 1] == ':') {  // 0000000000001234 <name>:
            const std::string name(after + 2, length - 2 - static_cast<std::size_t>(after - line));
            if (inside && list.back().end == 0) list.back().end = address;
            inside = name.find("4rope") != std::string::npos;
            if (inside) list.push_back({name, address});
        } else if (inside && after[0] == ':') {  //     1234:  vmulps %ymm0,%ymm1,%ymm2
            Function& f = list.back();
            f.end = address + 1;
            const char* const op = after + 1 + std::strspn(after + 1, " \t");
            const std::string instruction(op, length - static_cast<std::size_t>(op - line));
            const auto has = [&](const char* what) { return instruction.find(what) != std::string::npos; };
            if (has("%ymm") || has("%zmm")) f.has_wide_registers = true;
            if (has("%zmm")) f.has_widest_registers = true;
            if (has("vfmadd") || has("vfmsub")) f.has_fma = true;
            if (instruction[0] == 'v' && !has("verr") && !has("verw")) f.has_vex = true;
            if (has("mulps") || has("mulpd")) f.has_packed_products = true;
            if (has("addps") || has("addpd") || has("subps") || has("subpd")) f.has_packed_sums = true;
            if (has("pcmpgt") || has("pmax")) f.has_packed_integers = true;
            f.has_scalar_arithmetic =
                f.has_scalar_arithmetic || is_scalar_arithmetic(instruction.substr(0, instruction.find(' ')));
        }
    }
    return list;
}

/// How much further up this program lies than its file says.
inline std::uintptr_t load_offset() {
    std::uintptr_t offset = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* to) {
            *static_cast<std::uintptr_t*>(to) = info->dlpi_addr;
            return 1;  // the program is the first
        },
        &offset);
    return offset;
}

/// A page, zeros, of which the first access is caught.
class TrapPage {
 public:
    TrapPage() : size_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
        page_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page_ == MAP_FAILED) std::abort();
    }
    ~TrapPage() { munmap(page_, size_); }
    TrapPage(const TrapPage&) = delete;
    TrapPage& operator=(const TrapPage&) = delete;

    template <class T>
    T* data() const {
        return static_cast<T*>(page_);
    }

    /// Where in the file the instruction lies that touches the page first while f runs; 0 when none does.
    template <class F>
    std::uintptr_t first_access(F&& f) {
        caught = 0;
        trapped = page_;
        trapped_size = size_;
        struct sigaction action = {}, before = {};
        action.sa_sigaction = [](int, siginfo_t*, void* context) {
            if (caught != 0) std::abort();  // another fault than the one that was laid out
            caught = static_cast<std::uintptr_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
            mprotect(trapped, trapped_size, PROT_READ | PROT_WRITE);
        };
        action.sa_flags = SA_SIGINFO;
        mprotect(page_, size_, PROT_NONE);
        sigaction(SIGSEGV, &action, &before);
        f();
        sigaction(SIGSEGV, &before, nullptr);
        mprotect(page_, size_, PROT_READ | PROT_WRITE);
        return caught == 0 ? 0 : caught - load_offset();
    }

 private:
    void* page_;
    std::size_t size_;
    inline static volatile std::uintptr_t caught = 0;
    inline static void* trapped = nullptr;
    inline static std::size_t trapped_size = 0;
};

}  // namespace support
