// SPDX-License-Identifier: MIT
// The header's version is CMake's, and that of every place on a page that names one.
#include <rope/version.hpp>

#include <fstream>
#include <regex>
#include <sstream>
#include <string>

#include "support/catch.hpp"

namespace {

const std::string header = std::to_string(ROPE_VERSION_MAJOR) + "." + std::to_string(ROPE_VERSION_MINOR) + "." +
                           std::to_string(ROPE_VERSION_PATCH);
const std::string minor = std::to_string(ROPE_VERSION_MAJOR) + "." + std::to_string(ROPE_VERSION_MINOR);

}  // namespace

#define ROPE_TO_TEXT_(x) #x
#define ROPE_TO_TEXT(x) ROPE_TO_TEXT_(x)

TEST_CASE("the header and CMake name one version") {
    CHECK(header == ROPE_VERSION_STRING);
    CHECK(header == ROPE_CMAKE_VERSION);
    CHECK(std::string(ROPE_TO_TEXT(ROPE_VERSION_NAMESPACE)) ==
          "v" + std::to_string(ROPE_VERSION_MAJOR) + "_" + std::to_string(ROPE_VERSION_MINOR));
}

TEST_CASE("README.md and the guide name the same version") {
    const std::string page = GENERATE(as<std::string>{}, ROPE_README, ROPE_GUIDE);
    INFO(page);
    std::ifstream file(page);
    std::stringstream text;
    text << file.rdbuf();
    const std::string readme = text.str();
    const std::regex place(R"((find_package\(rope |GIT_TAG v?|rope v?)(\d+\.\d+(\.\d+)?))");
    int places = 0;
    for (std::sregex_iterator i(readme.begin(), readme.end(), place), end; i != end; ++i, ++places) {
        INFO(i->str());
        const std::string named = (*i)[2];
        CHECK((named == header || named == minor));
    }
    CHECK(places >= 1);
}
