// Strict reading of JSON that may have been written by anybody: limits before the parser runs, and fields taken one by
// one, so that what is missing, unknown or of the wrong kind is named and no number is bent to fit.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

namespace msda {

// Throws Error(bad_file) with that reason.
[[noreturn]] void refuse(const std::string& why);

// Throws Error(bad_file) when a JSON text is longer than `longest` bytes or its brackets are nested deeper than
// `deepest`: the parser must not be led into deep recursion or large memory by a hostile text.
void check_json_limits(std::string_view text, std::size_t longest, int deepest);

// An object whose fields are taken one by one. Every call throws Error(bad_file) that names the object and the field.
// The object must outlive it.
class JsonFields {
  public:
    // `name` is what messages call the object.
    JsonFields(const nlohmann::json& object, std::string name);

    // The field as it is; it counts as known from then on.
    const nlohmann::json& take(const std::string& key);
    std::string text(const std::string& key);
    // A whole number within the bounds; 1.0 is none.
    std::int64_t integer(const std::string& key, std::int64_t low, std::int64_t high);
    // An int of at least 0.
    int count(const std::string& key);
    // Microseconds, finite and positive, or zero where that is allowed.
    double time(const std::string& key, bool zero_allowed = false);
    // Refuses fields that nothing took.
    void finish() const;

  private:
    const nlohmann::json& object_;
    std::string name_;
    std::set<std::string> left_;
};

}  // namespace msda
