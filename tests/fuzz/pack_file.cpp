// A pack, by the first byte: as it is; with a header made for the manifest (up to a zero byte) and parts that the input
// gives, so that digests do not keep the fuzzer out; or as content to write, which must read back.
#include <algorithm>
#include <string>

#include "runtime/digest.hpp"
#include "runtime/pack/pack.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace msda;

namespace {

std::string with_header(std::string_view manifest, std::string_view content) {
    std::string bytes = "MSDAPACK";
    bytes += std::string("\1\0\0\0\0\0\0\0", 8);
    for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(manifest.size() >> shift & 0xff);
    for (const std::uint8_t byte : digest_of(manifest)) bytes += static_cast<char>(byte);
    return bytes.append(manifest).append(content);
}

void open(std::string bytes) {
    const std::size_t size = bytes.size();
    const auto pack = fuzz::accepted([&] { return PackFile(std::move(bytes), "input"); });
    if (!pack) return;
    for (const PackFile::Entry& entry : pack->entries()) {
        fuzz::require(entry.bytes <= size && entry.offset <= size - entry.bytes, "parts lie within the file");
        (void)fuzz::accepted([&] { return pack->binary(entry); });
        fuzz::require(pack->find(entry.kernels.source_digest, entry.kernels.capability) != nullptr,
                      "entries are found");
    }
    (void)fuzz::accepted([&] { return pack->database(); });
}

PackContent content_of(std::string_view input) {
    PackContent content;
    content.generator = "0.1.0";
    for (const std::string_view part : fuzz::parts(input, '\n')) {
        PackedKernels kernels;
        kernels.source_digest = part.substr(0, 2);
        kernels.capability = part.size() > 2 ? static_cast<unsigned char>(part[2]) : 0;
        kernels.kernels = {"forward", "finish"};
        kernels.binary.target = {Target::Format::cubin, kernels.capability, "a"};
        kernels.binary.bytes = part.substr(std::min<std::size_t>(part.size(), 3));
        content.kernels.push_back(kernels);
    }
    // The manifest is JSON: texts are UTF-8, as digests and names are.
    for (PackedKernels& kernels : content.kernels)
        for (char& c : kernels.source_digest) c = static_cast<char>(c & 0x7f);
    return content;
}

void write_and_read(const PackContent& content) {
    const std::string bytes = write_pack(content);
    const PackFile pack(bytes, "output");
    for (const PackedKernels& kernels : content.kernels) {
        const PackFile::Entry* entry = pack.find(kernels.source_digest, kernels.capability);
        fuzz::require(entry != nullptr, "what is written is found");
        const bool first = std::ranges::any_of(content.kernels, [&](const PackedKernels& other) {
            return other.source_digest == kernels.source_digest && other.capability == kernels.capability &&
                   other.binary.bytes == pack.binary(*entry).bytes;
        });
        fuzz::require(first, "with its code");
    }
    PackContent again{pack.generator(), pack.database(), {}};
    for (const PackFile::Entry& entry : pack.entries()) {
        again.kernels.push_back(entry.kernels);
        again.kernels.back().binary = pack.binary(entry);
    }
    fuzz::require(write_pack(again) == bytes, "what is read is written as it was");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view input = fuzz::view(data, size);
    switch (fuzz::take_byte(input) % 3) {
        case 0:
            open(std::string(input));
            break;
        case 1: {
            const std::size_t end = input.find('\0');
            open(with_header(input.substr(0, end), end == std::string_view::npos ? "" : input.substr(end + 1)));
            break;
        }
        default:
            write_and_read(content_of(input));
    }
    return 0;
}
