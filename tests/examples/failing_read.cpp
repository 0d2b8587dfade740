// SPDX-License-Identifier: MIT
// Preloaded into a program (LD_PRELOAD), this breaks the reads of one file, FAILING_FILE: as FAILING_HOW says, they end
// with EIO (error), or as if the file had ended (end).
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

extern "C" __attribute__((visibility("default"))) ssize_t read(int file, void* to, size_t size) {
    const char* const path = std::getenv("FAILING_FILE");
    const char* const how = std::getenv("FAILING_HOW");
    struct stat failing, this_one;
    if (path != nullptr && how != nullptr && stat(path, &failing) == 0 && fstat(file, &this_one) == 0 &&
        failing.st_dev == this_one.st_dev && failing.st_ino == this_one.st_ino) {
        if (std::strcmp(how, "end") == 0) return 0;
        errno = EIO;
        return -1;
    }
    using Read = ssize_t (*)(int, void*, size_t);
    static const Read next = reinterpret_cast<Read>(dlsym(RTLD_NEXT, "read"));
    return next(file, to, size);
}
