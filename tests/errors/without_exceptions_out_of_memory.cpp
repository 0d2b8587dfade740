// SPDX-License-Identifier: MIT
// Built with -fno-exceptions -fno-rtti, without a test framework: where the memory of tables, of rows, or of what they
// are made from cannot be had, the handler is told so, once, and the object stays empty or what it was. Each such
// allocation fails once. (The lists of the standard library cannot say so without exceptions; they are small.)
#include <rope/rope.hpp>

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
int calls = 0;
rope::Status last;

void remember(const rope::Status& status) {
    last = status;
    ++calls;
}

void expect(bool ok, const char* what, long n) {
    if (ok) return;
    ++failures;
    std::printf("FAILED: %s, with %ld allocations (%d calls of the handler: %s)\n", what, n, calls, last.message());
}

/// Runs a call with its first such allocation failing, its second, and so on, until it goes through. call() says if
/// it is done; while it is not, is_as_before() must hold. Returns how many there were.
template <class Call, class IsAsBefore>
long fail_each(const char* what, const Call& call, const IsAsBefore& is_as_before) {
    for (long n = 0;; ++n) {
        const long before = asked;
        calls = 0;
        until_none_is_left = n;
        const bool is_done = call();
        until_none_is_left = -1;
        if (asked - before <= n) {
            expect(is_done && calls == 0, what, n);
            return n;
        }
        expect(!is_done, what, n);
        expect(calls == 1 && last.code() == rope::StatusCode::out_of_memory, what, n);
        expect(std::strncmp(last.message(), "There is no memory for ", 23) == 0 && last.argument().empty(), what, n);
        expect(is_as_before(), what, n);
        if (failures > 20) return n;
    }
}
template <class Call>
long fail_each(const char* what, const Call& call) {
    return fail_each(what, call, [] { return true; });
}

template <class T>
void fail_all() {
    rope::Config config;
    config.head_dim = 64;
    config.layout = rope::Layout::half_split;
    const auto expect_some = [](long n, long least, const char* what) { expect(n >= least, what, n); };
    expect_some(fail_each("a table", [&] { return rope::CosSinCache<T>(config, 1000).max_positions() == 1000; }), 6,
                "a table");
    expect_some(fail_each("a compact table",
                          [&] { return rope::CompactCosSinCache<T>(config, 100000).max_positions() == 100000; }),
                11, "a compact table");
    expect_some(fail_each("an embedding", [&] { return rope::SinusoidalEmbedding<T>(64, 100).max_positions() == 100; }),
                7, "an embedding");
    const rope::Frequencies f = rope::frequencies(config);
    const rope::CosSinCache<T> cache(config, 50);
    expect_some(fail_each("a longer table",
                          [&] {
                              const rope::CosSinCache<T> longer = cache.extended(f, 300);
                              return longer.max_positions() == 300 || longer.data() != cache.data();
                          }),
                17, "a longer table");

    expect_some(fail_each("rows",
                          [&] {
                              rope::Rows<T> rows(config);
                              return rows.pairs() > 0;
                          }),
                6, "rows");
    rope::Rows<T> rows(config);
    rows.build(rope::start_at(0), 3);
    expect_some(
        fail_each(
            "rows of a step", [&] { return rows.build(rope::start_at(0), 9); }, [&] { return rows.rows() == 3; }),
        1, "rows of a step");
    expect_some(fail_each("moves",
                          [&] {
                              rope::Moves<T> moves(config, 0, config, 0);
                              return moves.pairs() > 0;
                          }),
                12, "moves");
    rope::Moves<T> moves(config);
    expect_some(fail_each(
                    "moves of a step", [&] { return moves.build(-3); }, [&] { return moves.rows() == 0; }),
                1, "moves of a step");

    rope::ModelConfig model;
    model.configs = {config};
    model.config_of_layer = {0};
    model.layer_types = {rope::LayerType::full_attention};
    model.heads = {{4, 2, 2}};
    const rope::TableOptions options = {900, 10, 0};
    expect_some(fail_each("the object per model",
                          [&] {
                              const rope::RotaryEmbedding<T> rotary(model, options);
                              return rotary.tables() == 1 && rotary.positions() == 10;
                          }),
                12, "the object per model");
    rope::RotaryEmbedding<T> rotary(model, options);
    expect_some(fail_each(
                    "more positions",
                    [&] {
                        rotary.reserve(50);
                        return rotary.positions() == 50;
                    },
                    [&] { return rotary.positions() == 10 && rotary.table(0)->q.max_positions() == 10; }),
                17, "more positions");
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
    rope::set_error_handler(remember);
    fail_all<float>();
    fail_all<double>();
    expect(largest_list <= 4096, "what may not fail is small", static_cast<long>(largest_list));
    std::printf("%ld allocations, %d failed; the largest that may not fail has %zu bytes\n", asked, failures,
                largest_list);
    return failures == 0 && asked > 1000 ? 0 : 1;
}
