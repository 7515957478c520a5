// Opening packs once, and looking things up in them.
#include "runtime/pack/packs.hpp"

#include <fmt/format.h>

#include "msda/error.hpp"

namespace msda {
namespace {

constexpr std::int64_t largest_pack = std::int64_t{4} << 30;

}  // namespace

PackFile open_pack(const FileSystem& files, const std::string& path) {
    std::string bytes;
    const std::error_code error = files.read(path, bytes, Trust::owner, largest_pack);
    if (error == std::errc::operation_not_permitted)
        throw Error(
            Code::io_failed,
            fmt::format(
                "{}: not used: a pack holds code, so it must be a file of this user or root that nobody else can "
                "write (chown, chmod go-w)",
                path));
    if (error) throw Error(Code::io_failed, fmt::format("cannot read {}: {}", path, error.message()));
    return PackFile(std::move(bytes), path);
}

Packs::Packs(const FileSystem& files, Warnings& warnings, std::vector<std::string> paths)
    : files_(files), warnings_(warnings), paths_(std::move(paths)) {}

const std::vector<Packs::Pack>& Packs::opened() {
    std::call_once(once_, [this] {
        for (const std::string& path : paths_) try {
                packs_.push_back({path, std::make_unique<const PackFile>(open_pack(files_, path))});
            } catch (const Error& error) {
                warnings_.once(path, fmt::format("pack not used: {}", error.what()));
            }
    });
    return packs_;
}

std::optional<Binary> Packs::find(const std::string& source_digest, int capability) {
    for (const Pack& pack : opened()) {
        const PackFile::Entry* entry = pack.file->find(source_digest, capability);
        if (entry == nullptr) continue;
        try {
            return pack.file->binary(*entry);
        } catch (const Error& error) {
            warnings_.once(error.what(), fmt::format("kernels of a pack not used: {}", error.what()));
        }
    }
    return std::nullopt;
}

std::vector<Layer> Packs::layers() {
    std::vector<Layer> layers;
    for (const Pack& pack : opened()) try {
            layers.push_back({pack.path, pack.file->database()});
        } catch (const Error& error) {
            warnings_.once(error.what(), fmt::format("records of a pack not used: {}", error.what()));
        }
    return layers;
}

}  // namespace msda
