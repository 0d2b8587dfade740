// SPDX-License-Identifier: MIT
#include "threads.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <system_error>
#include <thread>
#if defined(_WIN32)
#    include <process.h>
#else
#    include <unistd.h>
#endif

namespace rotary {
namespace {

int64_t process() {
#if defined(_WIN32)
    return _getpid();
#else
    return getpid();
#endif
}

class Threads {
 public:
    explicit Threads(int64_t process) : process_(process) {}
    bool is_of(int64_t process) const { return process_ == process; }

    bool try_run(int64_t wanted, int64_t count, rope_work work, void* job) {
        std::unique_lock<std::mutex> owner(owner_, std::try_to_lock);
        if (!owner.owns_lock()) return false;
        const int64_t pieces = std::min(wanted, count);
        start(pieces - 1);
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            work_ = work;
            job_ = job;
            count_ = count;
            pieces_ = pieces;
            next_ = 0;
            left_ = pieces;
            ++round_;
        }
        begun_.notify_all();
        take_pieces();
        std::unique_lock<std::mutex> lock(mutex_);
        ended_.wait(lock, [this] { return left_ == 0; });
        return true;
    }

 private:
    void start(int64_t others) {
        while (running_ < others) {
            try {
                std::thread([this] { wait(); }).detach();
            } catch (const std::system_error&) {
                return;  // the pieces are done by fewer
            }
            ++running_;
        }
    }

    void wait() {
        uint64_t seen = 0;
        for (;;) {
            {
                std::unique_lock<std::mutex> lock(mutex_);
                begun_.wait(lock, [&] { return round_ != seen; });
                seen = round_;
            }
            take_pieces();
        }
    }

    // Pieces are handed out under the lock, so a thread that wakes up late takes one of the current round, or none.
    void take_pieces() {
        std::unique_lock<std::mutex> lock(mutex_);
        while (next_ < pieces_) {
            const int64_t piece = next_++;
            const int64_t begin = count_ * piece / pieces_, end = count_ * (piece + 1) / pieces_;
            const rope_work work = work_;
            void* const job = job_;
            lock.unlock();
            work(job, begin, end);
            lock.lock();
            if (--left_ == 0) ended_.notify_one();
        }
    }

    const int64_t process_;
    std::mutex owner_, mutex_;
    std::condition_variable begun_, ended_;
    rope_work work_ = nullptr;
    void* job_ = nullptr;
    int64_t count_ = 0, pieces_ = 0, next_ = 0, left_ = 0, running_ = 0;
    uint64_t round_ = 0;
};

}  // namespace

void run_in_threads(void* context, int64_t count, rope_work work, void* job) {
    // Never freed: threads wait in it until the process ends. After a fork they are gone, and their locks in any state.
    static std::atomic<Threads*> threads{nullptr};
    Threads* mine = threads.load();
    const int64_t pid = process();
    if (mine == nullptr || !mine->is_of(pid)) {
        auto* made = new Threads(pid);
        if (threads.compare_exchange_strong(mine, made)) {
            mine = made;
        } else {
            delete made;  // another thread was faster
        }
    }
    const int64_t wanted = static_cast<const std::atomic<int64_t>*>(context)->load();
    if (wanted < 2 || count < 2 || !mine->try_run(wanted, count, work, job)) work(job, 0, count);
}

}  // namespace rotary
