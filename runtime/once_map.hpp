// A bounded map that makes each value once: threads that ask for the same key at once wait for the first one's result.
// No lock is held while a value is made. A failure reaches everybody who waits and is forgotten, so that the next call
// tries again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace msda {

template <class Key, class Value, class Hash = std::hash<Key>>
class OnceMap {
  public:
    using Pointer = std::shared_ptr<Value>;

    // Keeps at most `capacity` finished values, dropping the least recently used; their holders keep them alive.
    explicit OnceMap(std::size_t capacity) : capacity_(capacity) {}

    // The finished value, or null when there is none or it is still being made.
    Pointer find(const Key& key) {
        const std::lock_guard lock(mutex_);
        const auto found = entries_.find(key);
        if (found == entries_.end() || found->second.value == nullptr) return nullptr;
        found->second.used = ++clock_;
        return found->second.value;
    }

    // The value, made by make() -> Pointer when there is none. Rethrows what make() throws, in every thread that waited
    // for it. `made` is true in the one thread that made it.
    template <class Make>
    Pointer get(const Key& key, Make&& make) {
        std::promise<Pointer> promise;
        std::shared_future<Pointer> pending;
        {
            const std::lock_guard lock(mutex_);
            Entry& entry = entries_[key];
            entry.used = ++clock_;
            if (entry.value != nullptr) return entry.value;
            if (entry.pending.valid())
                pending = entry.pending;
            else
                entry.pending = promise.get_future().share();
        }
        if (pending.valid()) return pending.get();
        return make_one(key, promise, std::forward<Make>(make));
    }

    // Drops the finished values whose key satisfies a predicate.
    template <class Predicate>
    void erase_if(Predicate predicate) {
        std::vector<Pointer> dropped;  // destroyed after the lock is gone
        const std::lock_guard lock(mutex_);
        std::erase_if(entries_, [&](auto& entry) {
            if (entry.second.value == nullptr || !predicate(entry.first)) return false;
            dropped.push_back(std::move(entry.second.value));
            return true;
        });
    }

    std::size_t size() {
        const std::lock_guard lock(mutex_);
        return entries_.size();
    }

  private:
    struct Entry {
        Pointer value;
        std::shared_future<Pointer> pending;
        std::uint64_t used = 0;
    };

    template <class Make>
    Pointer make_one(const Key& key, std::promise<Pointer>& promise, Make&& make) {
        Pointer value;
        try {
            value = make();
        } catch (...) {
            {
                const std::lock_guard lock(mutex_);
                entries_.erase(key);
            }
            promise.set_exception(std::current_exception());
            throw;
        }
        std::vector<Pointer> dropped;  // destroyed after the lock is gone
        {
            const std::lock_guard lock(mutex_);
            Entry& entry = entries_[key];
            entry.value = value;
            entry.pending = {};
            drop_oldest(dropped);
        }
        promise.set_value(value);
        return value;
    }

    void drop_oldest(std::vector<Pointer>& dropped) {
        while (entries_.size() > capacity_) {
            auto oldest = entries_.end();
            for (auto entry = entries_.begin(); entry != entries_.end(); ++entry)
                if (entry->second.value != nullptr &&
                    (oldest == entries_.end() || entry->second.used < oldest->second.used))
                    oldest = entry;
            if (oldest == entries_.end()) return;
            dropped.push_back(std::move(oldest->second.value));
            entries_.erase(oldest);
        }
    }

    const std::size_t capacity_;
    std::mutex mutex_;
    std::unordered_map<Key, Entry, Hash> entries_;
    std::uint64_t clock_ = 0;
};

}  // namespace msda
