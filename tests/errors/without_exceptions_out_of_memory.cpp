// SPDX-License-Identifier: MIT
// Built with -fno-exceptions -fno-rtti, without a test framework: where the memory of tables, of rows, or of what they
// are made from cannot be had, the handler is told so, and the process ends by std::abort. Each such allocation fails
// once, in a process of its own. (The lists of the standard library cannot say so without exceptions; they are small.)
#include <rope/rope.hpp>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

long until_none_is_left = -1;  // of those that may fail; negative: all succeed
long asked = 0;                // of those, so far
std::size_t largest_list = 0;  // of those that may not

void* memory_or_null(std::size_t bytes, std::size_t alignment) {
    ++asked;
    if (until_none_is_left == 0) return nullptr;
    if (until_none_is_left > 0) --until_none_is_left;
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void* memory(std::size_t bytes) {
    if (bytes > largest_list) largest_list = bytes;
    void* const p = std::malloc(bytes);
    if (p == nullptr) std::abort();
    return p;
}

int failures = 0;
long aborted = 0;

void expect(bool ok, const char* what, long n) {
    if (ok) return;
    ++failures;
    std::printf("FAILED: %s, with %ld allocations\n", what, n);
}

/// Returns, so that the process aborts, when it is told what it should be.
void remember(const rope::Status& status) {
    const bool is_right = status.code() == rope::StatusCode::out_of_memory && status.argument().empty() &&
                          std::strncmp(status.message(), "There is no memory for ", 23) == 0;
    if (!is_right) _exit(3);
}

/// Runs a call, in a process of its own each time, with its first such allocation failing, its second, and so on, until
/// it goes through. call() says if it is done. Expects at least so many allocations.
template <class Call>
void fail_each(const char* what, long least, const Call& call) {
    for (long n = 0;; ++n) {
        std::fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            asked = 0;
            until_none_is_left = n;
            const bool is_done = call();
            _exit(!is_done || largest_list > 4096 ? 2 : asked <= n ? 0 : 1);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (WIFEXITED(status)) {
            expect(WEXITSTATUS(status) == 0 && n >= least, what, n);
            return;
        }
        expect(WTERMSIG(status) == SIGABRT, what, n);
        ++aborted;
    }
}

template <class T>
void fail_all() {
    rope::Config config;
    config.head_dim = 64;
    config.layout = rope::Layout::half_split;
    fail_each("a table", 6, [&] { return rope::CosSinCache<T>(config, 1000).max_positions() == 1000; });
    fail_each("a compact table", 11,
              [&] { return rope::CompactCosSinCache<T>(config, 100000).max_positions() == 100000; });
    fail_each("an embedding", 7, [&] { return rope::SinusoidalEmbedding<T>(64, 100).max_positions() == 100; });
    const rope::Frequencies f = rope::frequencies(config);
    const rope::CosSinCache<T> cache(config, 50);
    fail_each("a longer table", 17, [&] { return cache.extended(f, 300).max_positions() == 300; });

    fail_each("rows", 6, [&] { return rope::Rows<T>(config).pairs() == 32; });
    rope::Rows<T> rows(config);
    rows.build(rope::start_at(0), 3);
    fail_each("rows of a step", 1, [&] { return rows.build(rope::start_at(0), 9), rows.rows() == 9; });
    fail_each("moves", 12, [&] { return rope::Moves<T>(config, 0, config, 0).pairs() == 32; });
    rope::Moves<T> moves(config);
    fail_each("moves of a step", 1, [&] { return moves.build(-3), moves.rows() == 1; });

    rope::ModelConfig model;
    model.configs = {config};
    model.config_of_layer = {0};
    model.layer_types = {rope::LayerType::full_attention};
    model.heads = {{4, 2, 2}};
    const rope::TableOptions options = {900, 10, 0};
    fail_each("the object per model", 12, [&] { return rope::RotaryEmbedding<T>(model, options).positions() == 10; });
    rope::RotaryEmbedding<T> rotary(model, options);
    fail_each("more positions", 17, [&] { return rotary.reserve(50), rotary.positions() == 50; });
}

}  // namespace

void* operator new(std::size_t bytes) { return memory(bytes); }
void* operator new[](std::size_t bytes) { return memory(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return memory_or_null(bytes, 16); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return memory_or_null(bytes, 16); }
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return memory_or_null(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }

int main() {
    const rlimit no_core_files = {};
    setrlimit(RLIMIT_CORE, &no_core_files);
    rope::set_error_handler(remember);
    fail_all<float>();
    fail_all<double>();
    std::printf("%ld allocations, %d failed\n", aborted, failures);
    return failures == 0 && aborted > 100 ? 0 : 1;
}
