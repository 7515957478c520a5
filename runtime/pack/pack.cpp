// Writing and reading a pack's bytes.
#include "runtime/pack/pack.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "msda/error.hpp"
#include "runtime/digest.hpp"
#include "runtime/pack/pack_manifest.hpp"

namespace msda {
namespace {

constexpr std::string_view magic = "MSDAPACK";
constexpr std::uint32_t format_version = 1;
constexpr std::size_t header_bytes = 40;
constexpr std::size_t largest_manifest = std::size_t{64} << 20;
constexpr std::size_t largest_part = std::size_t{256} << 20;

template <class Integer>
std::string little_endian(Integer value) {
    std::string bytes;
    for (std::size_t i = 0; i < sizeof value; i++) bytes += static_cast<char>(value >> (8 * i) & 0xff);
    return bytes;
}

template <class Integer>
Integer read_little_endian(std::string_view bytes) {
    Integer value = 0;
    for (std::size_t i = 0; i < sizeof value; i++)
        value |= static_cast<Integer>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    return value;
}

std::string raw_digest(std::string_view bytes) {
    const auto digest = digest_of(bytes);
    return {digest.begin(), digest.end()};
}

std::string hex_digest(std::string_view bytes) {
    std::string hex;
    for (const std::uint8_t byte : digest_of(bytes)) hex += fmt::format("{:02x}", byte);
    return hex;
}

PackFile::Entry append(std::string& parts, std::string_view bytes, PackedKernels about) {
    PackFile::Entry entry{std::move(about), parts.size(), bytes.size(), hex_digest(bytes)};
    parts += bytes;
    return entry;
}

}  // namespace

std::string write_pack(PackContent content) {
    std::ranges::stable_sort(content.kernels, {},
                             [](const PackedKernels& k) { return std::pair(k.source_digest, k.capability); });
    PackManifest manifest;
    manifest.generator = content.generator;
    std::string parts;
    manifest.database = append(parts, to_text(content.database), {});
    for (const PackedKernels& kernels : content.kernels) {
        const bool twin = !manifest.kernels.empty() &&
                          manifest.kernels.back().kernels.source_digest == kernels.source_digest &&
                          manifest.kernels.back().kernels.capability == kernels.capability;
        if (!twin) manifest.kernels.push_back(append(parts, kernels.binary.bytes, kernels));
    }
    const std::string json = to_json(manifest);
    return std::string(magic) + little_endian(format_version) + little_endian(std::uint32_t{0}) +
           little_endian(static_cast<std::uint64_t>(json.size())) + raw_digest(json) + json + parts;
}

PackFile::PackFile(std::string bytes, std::string name) : bytes_(std::move(bytes)), name_(std::move(name)) {
    const auto refuse = [&](const std::string& why) { throw Error(Code::bad_file, fmt::format("{}: {}", name_, why)); };
    const std::string_view all = bytes_;
    if (all.size() < header_bytes || !all.starts_with(magic)) refuse("not a pack, or its header is damaged");
    if (const auto version = read_little_endian<std::uint32_t>(all.substr(8)); version > format_version)
        refuse(fmt::format("written by a newer msda (pack format {}); this one reads up to format {}", version,
                           format_version));
    const auto length = read_little_endian<std::uint64_t>(all.substr(16));
    if (length > largest_manifest || length > all.size() - header_bytes) refuse("the manifest is longer than the file");
    const std::string_view json = all.substr(header_bytes, length);
    if (raw_digest(json) != all.substr(24, 16)) refuse("the manifest does not fit its digest");

    PackManifest manifest;
    try {
        manifest = parse_manifest(json);
    } catch (const Error& error) {
        refuse(error.what());
    }
    generator_ = std::move(manifest.generator);
    database_ = std::move(manifest.database);
    entries_ = std::move(manifest.kernels);
    const std::size_t begin = header_bytes + length;
    for (std::size_t i = 0; i <= entries_.size(); i++) {
        Entry& entry = i < entries_.size() ? entries_[i] : database_;
        if (entry.bytes > largest_part || entry.offset > all.size() - begin ||
            entry.bytes > all.size() - begin - entry.offset)
            refuse("a part lies beyond the end: cut off?");
        entry.offset += begin;
        if (i < entries_.size()) by_key_.emplace(std::pair(entry.kernels.source_digest, entry.kernels.capability), i);
    }
}

std::string_view PackFile::part(std::size_t offset, std::size_t bytes, const std::string& digest,
                                const std::string& what) const {
    const std::string_view content = std::string_view(bytes_).substr(offset, bytes);
    if (hex_digest(content) != digest)
        throw Error(Code::bad_file, fmt::format("{}: {} is damaged: its content does not fit its digest", name_, what));
    return content;
}

Database PackFile::database() const {
    return parse_database(part(database_.offset, database_.bytes, database_.digest, "the database"), name_).database;
}

Binary PackFile::binary(const Entry& entry) const {
    Binary binary = entry.kernels.binary;
    binary.bytes =
        part(entry.offset, entry.bytes, entry.digest, fmt::format("the code of '{}'", entry.kernels.problem));
    return binary;
}

const PackFile::Entry* PackFile::find(const std::string& source_digest, int capability) const {
    const auto at = by_key_.find({source_digest, capability});
    return at == by_key_.end() ? nullptr : &entries_[at->second];
}

}  // namespace msda
