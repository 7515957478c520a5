// A file of the kernel cache. As it comes it is nothing, or exactly what storing its payload would have written; stored
// code comes back, and with one byte changed or cut off it is never loaded but removed.
#include "runtime/disk_cache.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/memory_files.hpp"

using namespace msda;

namespace {

const std::string directory = "/cache";
const std::string key = "00112233445566778899aabbccddeeff";
const std::string path = directory + "/" + key + ".msda-bin";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view input = fuzz::view(data, size);
    fuzz::MemoryFiles memory(directory);
    const FileSystem files(memory.calls());
    Warnings warnings([](const std::string&) {});
    DiskCache cache(files, directory, warnings);

    memory.files[path] = input;
    if (const auto found = cache.load(key)) {
        cache.store(key, *found);
        fuzz::require(memory.files[path] == input, "only a whole entry is loaded");
    } else {
        fuzz::require(memory.files.empty(), "a damaged entry is removed");
    }

    const auto place = static_cast<std::size_t>(fuzz::take_byte(input) | fuzz::take_byte(input) << 8);
    const int flip = fuzz::take_byte(input);
    cache.store(key, input);
    fuzz::require(memory.files.size() == 1, "one file an entry, no temporary");
    fuzz::require(cache.load(key) == input, "what is stored is loaded");
    std::string& entry = memory.files[path];
    if (flip != 0)
        entry[place % entry.size()] = static_cast<char>(entry[place % entry.size()] ^ flip);
    else
        entry.resize(place % entry.size());
    fuzz::require(!cache.load(key), "a damaged entry is not loaded");
    fuzz::require(memory.files.empty() && memory.open_descriptors() == 0, "and nothing is left behind");
    return 0;
}
