// A line of a tuning database, of the older schema when the input starts with '1'. What is accepted reads back as it
// was written, and meets the generator without harm.
#include "tests/fuzz/fuzz.hpp"
#include "tuning_db/check.hpp"
#include "tuning_db/record.hpp"
#include "tuning_db/schema.hpp"

using namespace msda;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view input = fuzz::view(data, size);
    const int schema = fuzz::take_byte(input) == '1' ? 1 : current_schema;
    const auto record = fuzz::accepted([&] { return parse_line(input, schema); });
    if (!record) return 0;
    const std::string line = to_line(*record);
    const auto again = fuzz::accepted([&] { return parse_line(line, current_schema); });
    fuzz::require(again == record, "an accepted record reads back");
    fuzz::require(to_line(*again) == line, "its line is stable");
    if (const auto problem = fuzz::accepted([&] { return parse_problem(record->problem); })) {
        std::string why;
        const bool usable = usable_config(*record, *problem, Silicon{}, why).has_value();
        fuzz::require(usable == why.empty(), "a config is usable or there is a reason");
    }
    return 0;
}
