// SPDX-License-Identifier: MIT
// The set that is forced, or named by ROPE_ISA, is the one that runs, and consists of the instructions of its name, but
// for the single pairs of sse2, which are those of portable. A name that is none of the available sets is refused, and
// changes nothing.
#include <rope/rope.hpp>

#include <rope/detail/simd/isa_choice.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/disassembly.hpp"
#include "support/isas.hpp"
#include "support/refusal.hpp"

using rope::Index;
using rope::Layout;
using support::Function;
using support::is_of;
using support::refusal;

namespace {

const std::vector<Function>& functions() {
    static const std::vector<Function> list = support::functions_of_this_program();
    return list;
}

const Function* function_at(std::uintptr_t address) {
    for (const Function& f : functions())
        if (address >= f.begin && address < f.end) return &f;
    return nullptr;
}

/// The set that has the instruction at `address`; "portable" for what is of no other set, as that set's loads need not
/// be inlined.
std::string set_at(std::uintptr_t address) {
    if (address == 0) return "(the data was not touched)";
    const Function* const f = function_at(address);
    for (const char* name : rope::available_isas())
        if (f != nullptr && is_of(f->name, name)) return name;
    return "portable";
}

/// One call of each kind.
struct Calls {
    static constexpr Index kDim = 64;
    support::TrapPage page;
    rope::Config config = [] {
        rope::Config c;
        c.head_dim = kDim;
        return c;
    }();
    rope::CosSinCache<float> cache{config, 8};
    rope::CosSinCache<double> cache_of_double{config, 8};
    rope::SinusoidalEmbedding<float> embedding{2 * kDim, 8};

    template <class T>
    rope::TensorView<T> view(Index first_head = 0) const {
        return rope::view(page.data<T>() + first_head * kDim, 1, 1, 2, kDim);
    }
    std::uintptr_t apply(Layout layout) {
        return page.first_access([&] { rope::apply(layout, view<float>(), cache); });
    }
    std::uintptr_t apply_double() {
        return page.first_access([&] { rope::apply<Layout::half_split>(view<double>(), cache_of_double); });
    }
    std::uintptr_t apply_bfloat16() {
        return page.first_access([&] { rope::apply<Layout::half_split>(view<rope::bfloat16>(), cache); });
    }
    std::uintptr_t apply_two() {
        return page.first_access([&] { rope::apply<Layout::half_split>(view<float>(), view<float>(2), cache); });
    }
    std::uintptr_t apply_copy() {
        return page.first_access([&] { rope::apply_copy<Layout::half_split>(view<float>(), view<float>(2), cache); });
    }
    std::uintptr_t add() {
        return page.first_access([&] { embedding.add(view<float>()); });
    }
};

bool contains(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

std::string child(const std::string& environment) {
    return support::output_of(environment + " '" + support::this_program() + "' '[child]'");
}

}  // namespace

TEST_CASE("a set that is forced runs, and consists of its instructions") {
    Calls calls;
    support::for_each_isa([&](const char* name) {
        const std::string isa = name;
        CHECK(rope::active_isa() == isa);
        const auto runs = [&](std::uintptr_t at, bool multiplies) {
            CHECK(set_at(at) == isa);
            const Function* const f = function_at(at);
            REQUIRE(f != nullptr);
            CAPTURE(isa, f->name, f->has_wide_registers, f->has_fma, f->has_vex, f->has_packed_products);
            if (isa == "avx2" || isa == "avx512") {
                CHECK(f->has_wide_registers);
                CHECK(f->has_widest_registers == (isa == "avx512"));
                CHECK((f->has_packed_products && f->has_fma) == multiplies);
            } else if (isa == "sse2") {
                CHECK(f->has_packed_products == multiplies);
            } else if (isa != "portable" && isa != "emulated") {
                FAIL("say here by which instructions this set is known");
            }
        };
        runs(calls.apply(Layout::interleaved), true);
        runs(calls.apply(Layout::half_split), true);
        runs(calls.apply_double(), true);
        runs(calls.apply_bfloat16(), true);
        runs(calls.apply_two(), true);
        runs(calls.apply_copy(), true);
        runs(calls.add(), false);
    });
}

#ifndef __AVX__
TEST_CASE("outside the sets that need it, nothing asks for more than the machine that this was compiled for") {
    for (const Function& f : functions()) {
        CAPTURE(f.name);
        if (!is_of(f.name, "avx512") && !is_of(f.name, "avx2")) CHECK(!f.has_vex);
        if (!is_of(f.name, "avx512")) CHECK(!f.has_widest_registers);
    }
}
#endif

TEST_CASE("a set with fma multiplies and adds with one rounding, the others with two") {
    // a * c and b * s agree in their upper 24 bits, so that what is left is the error of rounded products.
    rope::Frequencies f;
    f.inv_freq.assign(40, 0.7);
    const rope::CosSinCache<float> cache(f, 2);
    const float c = cache.cos_row(1)[0], s = cache.sin_row(1)[0];
    support::for_each_isa([&](const char* isa) {
        CAPTURE(isa);
        std::vector<float> x(80);
        for (std::size_t i = 0; i < 40; ++i) {
            x[i] = s;
            x[40 + i] = c;
        }
        rope::apply<Layout::half_split>(rope::view(x.data(), 1, 1, 80), cache, rope::start_at(1));
        for (std::size_t i = 0; i < 40; ++i) CHECK((x[i] != 0.0f) == rope::detail::active_isa_has_fma());
    });
}

TEST_CASE("names that are refused change nothing") {
    const rope::IsaNames names = rope::available_isas();
    REQUIRE(names.size() >= 1);
    CHECK(std::count(names.begin(), names.end(), std::string("portable")) == 1);
    for (const char* good : names) {
        const support::ForcedIsa forced(good);
        for (const char* bad : {"nonsense", "", "avx", "AVX2", "sse2 ", "portable,sse2"}) {
            const support::Refusal r = refusal([&] { rope::force_isa(bad); });
            CAPTURE(r.message);
            CHECK(r.code == rope::StatusCode::invalid_argument);
            CHECK(contains(r.message, std::string("name, the argument of force_isa, is \"") + bad + "\";"));
            for (const char* name : names) CHECK(contains(r.message, name));
            CHECK(rope::active_isa() == std::string(good));
        }
    }
}

TEST_CASE("a set that this unit does not have, chosen by another unit, is the portable one here") {
    Calls calls;
    rope::detail::chosen_isa.store(rope::detail::isa_id("another"));
    CHECK(rope::active_isa() == std::string("portable"));
    CHECK(set_at(calls.apply(Layout::half_split)) == "portable");
    CHECK(set_at(calls.add()) == "portable");
    CHECK(rope::detail::active_isa_has_fma() == rope::detail::portable::kHasFma);
    rope::force_isa(nullptr);
}

// ---- ROPE_ISA, which is read once per process: in processes of their own ----

TEST_CASE("what the other tests start", "[.][child]") {
    Calls calls;
    const float before = 1.0f;
    const auto report = [&](const char* what, auto&& call) {
        *calls.page.data<float>() = before;
        std::uintptr_t at = 0;
        const support::Refusal r = refusal([&] { at = call(); });
        const bool wrote = r.code != rope::StatusCode::ok && *calls.page.data<float>() != before;
        std::printf("%s: %s at %zx.%s\n", what, r.message.c_str(), at, wrote ? " It wrote before." : "");
    };
    const auto v = calls.view<float>();
    const auto say = [](const char* what, const rope::Status& status) {
        std::printf("%s: %s\n", what, status.ok() ? "(accepted)" : status.message());
    };
    say("check", rope::check(v, calls.cache));
    say("check of two", rope::check(v, calls.view<float>(2), calls.cache));
    say("check_copy", rope::check_copy(v, calls.view<float>(2), calls.cache));
    say("check of add", calls.embedding.check(v));
    // Each is the first call, until one is accepted.
    if (std::getenv("ROPE_TEST_ADD_FIRST") != nullptr) report("add", [&] { return calls.add(); });
    report("apply", [&] { return calls.apply(Layout::half_split); });
    report("apply of two", [&] { return calls.apply_two(); });
    report("apply_copy", [&] { return calls.apply_copy(); });
    report("add", [&] { return calls.add(); });
    report("active_isa", [&] { return rope::active_isa(), std::uintptr_t(0); });
    report("force_isa(nullptr)", [&] { return rope::force_isa(nullptr), std::uintptr_t(0); });
    try {
        std::printf("active: %s.\n", rope::active_isa());
    } catch (const std::invalid_argument&) {
        rope::force_isa("portable");
        std::printf("active after force_isa: %s.\n", rope::active_isa());
    }
}

TEST_CASE("ROPE_ISA names the set that runs; without it, or empty, the best one does") {
    const auto address = [](const std::string& text, const std::string& what) {
        const std::string key = "\n" + what + ": (accepted) at ";
        const std::size_t at = text.find(key);
        return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + key.size(), nullptr, 16);
    };
    const auto all_run = [&](const std::string& environment, const std::string& isa) {
        const std::string said = child(environment);
        CAPTURE(environment, said);
        for (const char* call : {"apply", "apply of two", "apply_copy", "add"})
            CHECK(set_at(address(said, call)) == isa);
        for (const char* ask : {"check", "check of two", "check_copy", "check of add"})
            CHECK(contains(said, std::string("\n") + ask + ": (accepted)\n"));
        CHECK(contains(said, "\nactive: " + isa + "."));
    };
    const std::string best = rope::available_isas()[0];
    for (const std::string name : rope::available_isas()) {
        all_run("ROPE_ISA=" + name, name);
        all_run("ROPE_TEST_ADD_FIRST=1 ROPE_ISA=" + name, name);
    }
    all_run("env -u ROPE_ISA", best);
    all_run("ROPE_ISA=", best);
    all_run("ROPE_TEST_ADD_FIRST=1 ROPE_ISA=", best);
}

TEST_CASE("ROPE_ISA with another name is refused by every call, and by every check") {
    const std::string longest = "12345678901234567890123456789012";  // that is said as a whole
    for (const std::string& bad : {std::string("nonsense"), std::string("avx"), std::string("SSE2"),
                                   std::string("portable2"), longest, longest + "3"}) {
        const std::string said = child("ROPE_ISA=" + bad);
        CAPTURE(said);
        std::string list;
        for (const std::string name : rope::available_isas()) list += (list.empty() ? "" : ", ") + name;
        const std::string sentence = "The environment variable ROPE_ISA is \"" +
                                     (bad.size() > longest.size() ? longest + "..." : bad) +
                                     "\"; it must be one of the instruction sets available here: " + list + ".";
        for (const char* call : {"check", "check of two", "check_copy", "check of add", "apply", "apply of two",
                                 "apply_copy", "add", "active_isa", "force_isa(nullptr)"}) {
            CAPTURE(call);
            CHECK(contains(said, std::string("\n") + call + ": " + sentence));
        }
        CHECK(!contains(said, "It wrote before."));
        CHECK(contains(said, "active after force_isa: portable."));
    }
}
