#include <functional>
#include <string_view>

#include "runtime/runtime_state.hpp"

namespace msda {
namespace {

class Hash {
  public:
    template <class T>
    void add(const T& value) {
        // The mixing step of boost::hash_combine, for 64 bits.
        state_ ^= std::hash<T>{}(value) + 0x9e3779b97f4a7c15ull + (state_ << 6) + (state_ >> 2);
    }
    std::size_t value() const { return state_; }

  private:
    std::size_t state_ = 0;
};

}  // namespace

// Of the fields that tell problems of one application apart; equality looks at all of them.
std::size_t OperatorKeyHash::operator()(const OperatorKey& key) const noexcept {
    Hash hash;
    const Problem& p = key.problem;
    hash.add(static_cast<int>(p.pass));
    for (const std::int64_t size : {p.batch, p.queries, p.heads, p.head_dim, p.pixels, p.alignment}) hash.add(size);
    for (const Level& level : p.levels) {
        hash.add(level.height);
        hash.add(level.width);
    }
    for (const std::int64_t points : p.points) hash.add(points);
    for (const Type type : {p.value, p.location, p.weight, p.output}) hash.add(static_cast<int>(type));
    hash.add(static_cast<int>(p.accumulate));
    hash.add(static_cast<int>(p.specialise));
    hash.add(static_cast<int>(key.device.kind));
    hash.add(key.context);
    if (key.config)
        for (const ConfigField& field : config_fields()) hash.add(*key.config.*field.member);
    return hash.value();
}

}  // namespace msda
