// SPDX-License-Identifier: MIT
// Built with -fno-exceptions -fno-rtti, without a test framework: a refused call hands its sentence to the handler, and
// when the handler returns, the process ends by std::abort. With the argument "abort" it makes one bad call without a
// handler.
#include <rope/gguf_config.hpp>
#include <rope/rope.hpp>
#include <rope/testing.hpp>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "support/data.hpp"

namespace {

constexpr auto kLayout = rope::Layout::half_split;

int checks = 0;
int failures = 0;
int pipe_of_parent = -1;  // in the process of a refused call
std::vector<float> x = support::normal<float>(2 * 3 * 8, 1);
const std::vector<float> before = x;

void expect(bool ok, const char* what) {
    ++checks;
    if (ok) return;
    ++failures;
    std::printf("FAILED: %s\n", what);
}

void my_log(const char* message) {
    const std::string line = std::string(message) + (x == before ? "\n" : " (And something was written.)\n");
    if (write(pipe_of_parent, line.data(), line.size()) < 0) _exit(2);
}

void tell(const rope::Status& status) { my_log(status.message()); }

/// Makes a call in a process of its own, which must tell its parent the sentence, once, and abort.
template <class Call>
void aborts(const char* sentence, const Call& call) {
    int ends[2] = {-1, -1};
    expect(pipe(ends) == 0, "a pipe");
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        pipe_of_parent = ends[1];
        call();
        _exit(0);
    }
    close(ends[1]);
    std::string said(4096, '\0');
    std::size_t size = 0;
    for (ssize_t n = 1; n > 0; size += static_cast<std::size_t>(n)) n = read(ends[0], &said[size], said.size() - size);
    close(ends[0]);
    said.resize(size);
    int status = 0;
    waitpid(child, &status, 0);
    expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, sentence);
    expect(said == std::string(sentence) + "\n", sentence);
    if (said != std::string(sentence) + "\n") std::printf("  said: %s", said.c_str());
}

/// One call of each kind: operations, objects under construction, functions with a result, rows and moves, readers.
void refuse_all(const rope::Config& config, const rope::CosSinCache<float>& cache, const std::vector<int>& past) {
    const auto view = rope::view(x.data(), 2, 3, 8);
    aborts("positions[1] is 16; this cache holds positions 0 to 15.", [&] { rope::apply<kLayout>(view, cache, past); });
    aborts(
        "q and k may share elements, which would be rotated twice; two views that are written must be shown to share "
        "none by "
        "their strides.",
        [&] { rope::apply<kLayout>(view, view, cache); });
    aborts("layout is 7; it must be Layout::interleaved (0) or Layout::half_split (1).",
           [&] { rope::apply(static_cast<rope::Layout>(7), view, cache); });
    aborts("positions[1] is 16; this cache holds positions 0 to 15.",
           [&] { rope::pass<kLayout>(cache, past, rope::heads(view).rotate()); });
    aborts("position is 16; this cache holds positions 0 to 15.", [&] { cache.cos_row(16); });
    aborts("max_positions is 0; it must be at least 1.", [&] { rope::CosSinCache<float>(config, 0); });
    rope::Config wrong = config;
    wrong.schedule = rope::schedule::Ntk{0.0};
    aborts("schedule.factor is 0; it must be from 2^-32 to 2^32.", [&] { rope::frequencies(wrong); });
    aborts(
        "The slice of tokens has first 1 and count 2; neither must be negative, and they must lie within the view, "
        "which has 2.",
        [&] { (void)view.slice_tokens(1, 2); });
    aborts("sections[0] is -1; sections must not be negative, and there are at most 524288 pairs in all.",
           [] { rope::mrope_sections({-1}); });
    aborts("get is empty; it must be a function that finds a key.", [] { rope::read_gguf_config({}); });
    aborts("layer is 0; this model has 0 layers, counted from 0.",
           [&] { rope::query_path(rope::ModelConfig(), 0, rope::heads(view)); });
    aborts("positions has 2 ids; there must be one for each token, seq (4) of them.", [&] {
        rope::Rows<float>(config).build({1, 2}, 4);
    });
    aborts(
        "The sections of the map (or its axis_of) have 3 pairs; they must add up to 4, one pair for two features that "
        "rotate.",
        [&] {
            rope::Moves<float>(config, rope::mrope_sections({1, 1, 1}));
        });
    aborts("delta is 1152921504606846976; it must be from -2^53 to 2^53.",
           [&] { rope::Moves<float>(config).build(rope::Index(1) << 60); });
    aborts("old_positions has 1 id; there must be one for each token, seq (2) of them.",
           [&] { rope::reposition<kLayout>(view, config, {0}, {1}); });
    aborts("number of part is 4; of 4 parts it must be from 0 to 3.", [] { rope::part(4, 4); });
}

}  // namespace

int main(int argc, char** argv) {
    const rlimit no_core_files = {};
    setrlimit(RLIMIT_CORE, &no_core_files);
    rope::Config config;
    config.head_dim = 8;
    const rope::CosSinCache<float> cache(config, 16);
    const auto view = rope::view(x.data(), 2, 3, 8);
    const std::vector<int> past = {0, 16};
    if (argc > 1 && std::strcmp(argv[1], "abort") == 0) {
        rope::apply<kLayout>(view, cache, past);
        std::printf("apply returned\n");
        return 0;
    }

    expect(rope::set_error_handler(tell) == nullptr, "there was no handler before");
    refuse_all(config, cache, past);
    // A program that must go on asks first, or takes the Status.
    expect(rope::check(view, cache, past).code() == rope::StatusCode::out_of_range, "check");
    const rope::Status s = rope::apply<kLayout>(view, cache, past, rope::no_throw());
    expect(s.code() == rope::StatusCode::out_of_range && x == before, "no_throw, which writes nothing");
    rope::apply<kLayout>(view, cache, rope::start_at(3));
    expect(x != before, "a right call rotates");
    x = before;
    expect(rope::set_error_handler(nullptr) == tell, "the handler is handed back");

    // The block of the guide's page on errors.
#include "errors_3.inc"
    aborts("positions[1] is 16; this cache holds positions 0 to 15.", [&] { rope::apply<kLayout>(view, cache, past); });
    std::printf("%d checks, %d failed\n", checks, failures);
    return failures == 0 && checks > 15 ? 0 : 1;
}
