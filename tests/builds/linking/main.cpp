// SPDX-License-Identifier: MIT
// Calls the unit for the oldest machine. With "cross": also hands what one unit makes to another, where the machine runs
// all three.
#include "units.hpp"

#include <cstdio>
#include <cstring>

int main(int argc, char** argv) {
    std::printf("%s\n", base::results().c_str());
#ifdef ROPE_OTHER_VERSION
    static_cast<void>(argc);
    static_cast<void>(argv);
    std::printf("%s\n", other::results().c_str());
#else
    if (argc > 1 && std::strcmp(argv[1], "cross") == 0) {
        const auto positions = rope::start_at(3);
        const std::string alone = base::use(base::cache(), base::compact(), base::rotary(), base::rows(), base::moves(),
                                            base::sinusoidal(), positions);
        const bool same = base::use(v3::cache(), v4::compact(), v3::rotary(), v3::rows(), v4::moves(), v3::sinusoidal(),
                                    positions) == alone &&
                          v3::use(v4::cache(), base::compact(), v4::rotary(), v4::rows(), base::moves(),
                                  v4::sinusoidal(), positions) == alone &&
                          v4::use(base::cache(), v3::compact(), base::rotary(), base::rows(), v3::moves(),
                                  base::sinusoidal(), positions) == alone;
        const std::string model = base::read(base::model());
        const bool models_are = base::read(v4::model()) == model && v3::read(base::model()) == model &&
                                v4::read(v3::model()) == model && base::read(v3::model()) == model;
        std::printf("cross %s\n", same && models_are ? "ok" : "wrong");
    }
#endif
}
